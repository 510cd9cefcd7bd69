#!/usr/bin/env bash
# Programs that people use, on mounts of `boardlab image mount --rw`: programs.sh BOARDLAB [FILESYSTEM...]
#
# On an image of each filesystem (jffs2, ubifs, yaffs2, logfs): git clones a repository and checks it, rsync copies a tree with
# hard links and attributes there and back, tar archives and unpacks it, fio verifies what it wrote at random. Then the image is
# unmounted, the changes are applied, and the result is checked and compared. Needs FUSE, as root or with fuse3; git, rsync, fio.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BOARDLAB=$(realpath "${1:?programs.sh BOARDLAB [FILESYSTEM...]}"); shift
. "$here/mount.sh"
[ $# -gt 0 ] || set -- jffs2 ubifs yaffs2 logfs
work=$(mktemp -d)
finish() { [ -z "$mounted" ] || umount -l "$mounted"; rm -rf "$work"; }
trap finish EXIT
cd "$work"
export HOME=$work GIT_CONFIG_NOSYSTEM=1

fail() { echo "programs: $*" >&2; exit 1; }

# A repository of 30 commits, and a tree with everything that an ordinary user can make.
sources() {
  git init -q --initial-branch=main repository
  mkdir repository/d{0..4}
  for number in $(seq 30); do
    seq $((number * 100)) >"repository/d$((number % 5))/f$number"
    git -C repository add .
    git -C repository -c user.name=n -c user.email=e@example.org commit -q -m "commit $number"
  done
  mkdir -p tree/deep/er "tree/with spaces"
  for number in $(seq 200); do
    head -c $((number * 37)) /dev/urandom >"tree/deep/f$number"
  done
  ln tree/deep/f* "tree/with spaces"
  ln -s ../deep/f7 tree/deep/er/link; mkfifo tree/pipe; chmod 4755 tree/deep/f9; chmod 600 tree/deep/f10
  truncate -s 300000 tree/hole; printf end >>tree/hole
  touch -d 2001-02-03T04:05:06 tree/deep/f11 tree/deep
}

# An image of a file, with room.
image() {
  mkdir -p root; echo welcome >root/motd
  local flash="--page 2KiB --block 128KiB" raw=$((64 * (2048 + 64))) size
  case $1 in
    jffs2) size=$((512 * 65536)); "$BOARDLAB" image create root image --fs jffs2 --page 1 --block 64KiB ;;
    ubifs) size=$((300 * 131072)); "$BOARDLAB" image create root image $flash --max-blocks 300 ;;
    yaffs2) size=$((300 * raw)); "$BOARDLAB" image create root image $flash --fs yaffs2 --oob 64 ;;
    logfs) size=$((300 * raw)); "$BOARDLAB" image create root image $flash --fs logfs --oob 64 --max-blocks 300 ;;
    *) fail "no filesystem $1: expected jffs2, ubifs, yaffs2 or logfs" ;;
  esac >told
  head -c $((size - $(stat -c %s image))) /dev/zero | tr '\0' '\377' >>image
}

# A line each: kind, mode, links, time, name, target, and of files the size. Folders have links and times of their own.
lines() {
  find "$1" -mindepth 1 \( -type d -printf '%y %m %P\n' -o -type f -printf '%y %m %n %Ts %P %s\n' \
    -o -printf '%y %m %n %Ts %P %l\n' \) | sort
}

same() { # TREE OTHER WHAT
  local one other
  one=$(lines "$1"); other=$(lines "$2")
  if [ "$one" != "$other" ]; then
    diff -y -W 150 --suppress-common-lines <(echo "$one") <(echo "$other") | head -5 >&2 || true
    fail "$3: the trees differ"
  fi
  (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >one.sums
  (cd "$2" && sha256sum --quiet -c "$work/one.sums") || fail "$3: the contents differ"
}

programs() { # FILESYSTEM
  local fs=$1 attributes=-X
  [ "$fs" != logfs ] || attributes=   # it has none
  git clone -q repository files/clone
  git -C files/clone fsck --full --strict >told 2>&1 || { cat told >&2; fail "$fs: git fsck"; }
  [ "$(git -C files/clone rev-parse HEAD)" = "$(git -C repository rev-parse HEAD)" ] || fail "$fs: another commit"
  git -C files/clone gc -q; [ -z "$(git -C files/clone status --porcelain)" ] || fail "$fs: git status"
  echo "ok $fs git"
  rsync -aHA $attributes tree/ files/there/; rsync -aHA $attributes files/there/ back/
  same tree files/there "$fs: rsync"; same tree back "$fs: rsync back"; rm -r back
  [ -z "$(rsync -aHAn --checksum --itemize-changes tree/ files/there/)" ] || fail "$fs: rsync would copy again"
  echo "ok $fs rsync"
  tar -C files/there -cf files/archive.tar .; mkdir files/unpacked; tar -C files/unpacked -xpf files/archive.tar
  same tree files/unpacked "$fs: tar"; rm files/archive.tar
  echo "ok $fs tar"
  fio --name=verify --directory=files --size=3m --rw=randrw --bs=1k-9k --bs_unaligned --verify=crc32c --do_verify=1 \
    --ioengine=psync --fsync=50 --randseed=7 --output=fio.told || { cat fio.told >&2; fail "$fs: fio"; }
  rm files/verify*
  echo "ok $fs fio"
}

sources
for fs in "$@"; do
  rm -f image image.overlay
  image "$fs"
  block=   # which nothing in these two shows
  case $fs in jffs2) block="--block 64KiB" ;; yaffs2) block="--block 128KiB" ;; esac
  mount_image image files --rw $block; programs "$fs"; unmount
  "$BOARDLAB" image apply image >told || { cat told >&2; fail "$fs: image apply"; }
  "$BOARDLAB" image check image >told || { cat told >&2; fail "$fs: image check"; }
  rm -rf out; mkdir out
  "$BOARDLAB" image extract image - /there --tar 2>told | tar -C out -xp
  same tree out "$fs: the image"
  echo "ok $fs image"
done
