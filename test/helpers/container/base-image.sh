#!/bin/bash
# Builds the image that the Dockerfile starts from: Debian by mmdebstrap, and the Node.js and npm of the lockfile of runtimes. As
# in the official image: a user `node`, no compiler.
#
# Usage: base-image.sh VERSION NODE NPM, with a program and the folder of a package, in the folder of the command `docker`
set -eu
version=$1 node=$2 npm=$3
mkdir base
cd base
mkdir -p local/bin local/lib/node_modules
cp "$node" local/bin
[[ $(local/bin/node --version) == "v$version" ]]
cp -r "$npm" local/lib/node_modules/npm
for name in npm npx; do ln -s ../lib/node_modules/npm/bin/$name-cli.js local/bin/$name; done
mmdebstrap --quiet --variant=minbase --include=libstdc++6 --dpkgopt='path-exclude=/usr/share/doc/*' \
  --customize-hook='chroot "$1" useradd --uid 1000 --create-home node' \
  bookworm debian.tar http://deb.debian.org/debian
printf '%s\n' '*' '!debian.tar' '!local' >.dockerignore
cat >Dockerfile <<END
FROM scratch
ADD debian.tar /
COPY local /usr/local
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
END
../docker build --from scratch --tag "docker.io/library/node:$version-bookworm-slim" .
