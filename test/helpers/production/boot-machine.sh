#!/bin/bash
# Boots systemd as the first process of an overlay over this machine's files. Changes go to memory, and the settings of the
# kernel cannot be changed. Only what is in basic.target starts: the services that this machine has enabled do not. The
# repository is hidden, and the network has only a loopback device, so that only the archives of a folder, which are copied to
# /root, can run.
#
# Usage: boot-machine.sh FOLDER NODE REPOSITORY ARCHIVES, in namespaces of its own
set -eu
folder=$1 node=$2 repository=$3 files=$4
mount --make-rprivate /
mount -t tmpfs tmpfs "$folder"
machine=$folder/machine
mkdir "$machine" "$folder/changes" "$folder/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/changes,workdir=$folder/work" "$machine"
mount -t proc proc "$machine/proc"
mount -t sysfs -o ro sysfs "$machine/sys"
mount -t tmpfs -o mode=755 tmpfs "$machine/sys/fs/cgroup"
mount --bind /proc/sys "$machine/proc/sys"
mount -o remount,bind,ro "$machine/proc/sys"
for path in run dev; do mount -t tmpfs -o mode=755 tmpfs "$machine/$path"; done
mount -t tmpfs tmpfs "$machine/tmp"
mkdir -p "$machine/dev/pts" "$machine/dev/shm" "$machine/$repository"
for device in null zero full random urandom tty; do
  touch "$machine/dev/$device"
  mount --bind "/dev/$device" "$machine/dev/$device"
done
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$machine/dev/pts"
ln -s pts/ptmx "$machine/dev/ptmx"
mount -t tmpfs tmpfs "$machine/dev/shm"
mount -t tmpfs tmpfs "$machine/$repository"
rm -rf "$machine"/etc/systemd/system/*.wants
ln -s /dev/null "$machine/etc/systemd/system/systemd-modules-load.service"
touch -a "$machine/usr/bin/node"
mount --bind "$node" "$machine/usr/bin/node"
mkdir "$machine/run/outside"
cp "$files"/*.tar.gz "$machine/root"
cd "$machine"
pivot_root . run/outside
umount --lazy run/outside
mount -t cgroup2 cgroup2 /sys/fs/cgroup
own="/sys/fs/cgroup$(sed --quiet s/^0:://p /proc/self/cgroup)/$(basename "$folder")"
mkdir "$own"
echo 0 >"$own/cgroup.procs"
umount /sys/fs/cgroup
echo booting
exec unshare --cgroup env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c '
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  exec /lib/systemd/systemd --system --unit=basic.target --log-target=journal'
