#!/bin/sh
# Runs a command of the plant store with the settings of the service and as its user: the service could not write files
# that root has created next to the database.
if [ "$(id -un)" != plant-store ]; then exec sudo -u plant-store -- "$0" "$@"; fi
exec /usr/bin/node --env-file=/etc/plant-store/plant-store.env /opt/plant-store/current/dist/main.js "$@"
