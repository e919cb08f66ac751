#!/bin/bash
# Builds the image that the Dockerfile starts from: Debian by mmdebstrap, and Node.js and npm from the npm registry. As in the
# official image: a user `node`, no compiler.
#
# Usage: base-image.sh VERSION ARCHITECTURE, in the folder of the command `docker`
set -eu
version=$1 node=node-linux-$2
mkdir base
cd base
npm install --prefix packages --no-audit --no-fund --ignore-scripts --loglevel=error "$node@$version" npm@11
mkdir -p local/bin local/lib/node_modules
cp packages/node_modules/$node/bin/node local/bin
cp -r packages/node_modules/npm local/lib/node_modules
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
