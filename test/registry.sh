#!/bin/sh
# An npm whose registry is the folder of this file: `staged` and `published` have the packages by their names and versions.
# As without the right to stage, what matches the pattern in FAILS fails, and a dry run of it only warns.
set -eu
registry=${0%/*}
mkdir -p "$registry/staged" "$registry/published"
case "$1 ${2-}" in
  'view '*)
    file=$registry/published/${2#@plant-store/}
    [ -e "$file" ] || { echo 'npm error code E404' >&2; exit 1; }
    echo "sha512-$(openssl dgst -sha512 -binary "$file" | base64 --wrap=0)"
    ;;
  'stage publish')
    case "$*" in *' --access public --provenance --ignore-scripts '*) ;; *) exit 2 ;; esac
    case "$*" in ${FAILS-})
      echo 'This command requires you to be logged in.'
      case "$*" in *--dry-run) exit ;; *) exit 1 ;; esac ;;
    esac
    case "$*" in *--dry-run) exit ;; esac
    name=$(tar -xzOf "$3" package/package.json | jq -r '"\(.name)@\(.version)"')
    id=${name#@plant-store/}
    cp "$3" "$registry/staged/$id"
    echo "+ $name (staged with id $id)"
    ;;
  'stage list')
    cd "$registry/staged"
    find . -type f -exec sha1sum {} + | sed 's/^\(.*\)  \.\/\(.*\)/id: \2\nshasum: \1/'
    ;;
  'stage approve') mv "$registry/staged/$3" "$registry/published" ;;
  'stage reject') rm "$registry/staged/$3" ;;
  *) PATH=${PATH#*"$registry:"} exec npm "$@" ;;
esac
