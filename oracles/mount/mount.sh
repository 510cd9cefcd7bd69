# A mount of `boardlab image mount`, for scripts: sourced by those here and by the tests of the kernel. Any POSIX shell,
# BusyBox' too. Set before: BOARDLAB, the command. While there is a mount its folder is in `mounted`: who sources this
# sets a trap that unmounts it.
mounted=

# Mounts IMAGE on FOLDER until `unmount`. What the command tells is in IMAGE.told.
mount_image() { # IMAGE FOLDER OPTION...
  told=$1.told folder=$2
  mkdir -p "$folder"
  : >"$told"
  "$BOARDLAB" image mount "$@" 2>"$told" &
  mounter=$! tries=0
  until grep -q '^mounted at ' "$told"; do
    kill -0 $mounter 2>/dev/null || { cat "$told"; return 1; }
    tries=$((tries + 1)); [ $tries -lt 3000 ] || { echo "$folder is not mounted yet"; return 1; }
    sleep 0.02
  done
  mounted=$folder
}

# A process that something else starts has open files of this one for a moment.
unmount() {
  tries=0
  until umount "$mounted" 2>/dev/null; do
    tries=$((tries + 1)); [ $tries -lt 200 ] || { echo "$mounted stays mounted"; return 1; }
    sleep 0.02
  done
  mounted=
  wait $mounter || { echo "the mount failed:"; cat "$told"; return 1; }
}
