# Changes images through mounts of `boardlab image mount --rw`, by system calls and by programs. It runs on the host
# and in the guest, by the same BusyBox: its shell runs its own programs.
#
# Comes behind oracles/mount/mount.sh. Set before: BOARDLAB, the command; FILES, the program guest-files; LISTS, a folder
# with NAME.list, operations for guest-files; WORK, a folder in no mount. The kernel's own filesystems are changed by
# `by_system_calls` and `by_programs` alone.

trap '[ -z "$mounted" ] || umount -l "$mounted"' EXIT

# The lists, each in a folder.
by_system_calls() { # ROOT
  mkdir "$1/lists"
  for list in "$LISTS"/*.list; do
    name=${list##*/}; name=${name%.list}
    mkdir "$1/lists/$name"
    $FILES run "$1/lists/$name" <"$list" >/dev/null
  done
}

# What an installation, an administrator and a daemon do.
by_programs() ( # ROOT
  mkdir "$1/programs"
  cd "$1/programs"
  tar -cf "$WORK/archive" -C ../lists hard-links owners-and-modes renames strange-names symbolic-links times truncates
  mkdir unpacked; tar -xpf "$WORK/archive" -C unpacked
  cp -a unpacked copied
  chown -R 1000:100 copied; chmod -R go-w copied; touch -h -d @981173106 copied/*
  cp ../lists/churn/large-0 big; gzip -c big >big.gz
  dd if=big of=dd bs=4096 count=64 2>/dev/null
  dd if=big of=dd bs=1000 seek=37 skip=600 count=31 conv=notrunc 2>/dev/null
  truncate -s 50000 dd; truncate -s 333333 dd; printf end | dd of=dd bs=1 seek=400000 conv=notrunc 2>/dev/null
  truncate -s 1000000 hole; printf end | dd of=hole bs=1 seek=1234567 conv=notrunc 2>/dev/null
  fallocate -l 70000 reserved
  ln dd hard; ln -s ../lists soft; ln -sf hard soft; mkfifo -m 0620 pipe
  mknod -m 0600 console c 5 1; mknod disk b 31 7; chown 8:9 disk
  number=0
  while [ $number -lt 16 ]; do
    echo "line $number of the log" >>log
    cp log new; mv new log.$((number % 3)); mv log.$((number % 3)) log.last
    echo "$number" >small-$number; ln small-$number link-$number; mv small-$number small
    number=$((number + 1))
  done
  sed -i 's/of the log/of a file/' log
  # Unlinked and replaced while they are open.
  exec 3>gone 4<gone; rm gone; cat big >&3; cat <&4 >kept; exec 3>&- 4<&-
  for number in 1 2 3; do dd if=big of=kept bs=30000 conv=notrunc,fsync 2>/dev/null; done
  exec 3<log.last; cp log new; mv new log.last; cat <&3 >replaced; exec 3<&-
  find copied -type f -size +40 -exec truncate -s 5000 {} +
  find copied -type f -name '*1*' -exec rm {} +
  mv copied moved; mv moved/renames/c moved/inner; rm -r moved/owners-and-modes; rm big
)

# All changes, in two mounts, put into the image. IMAGE.log-1 and IMAGE.log-2 are their overlays, and IMAGE.live is the
# tree as the second one told it in the end.
change_image() { # IMAGE FOLDER
  mount_image "$1" "$2" --rw
  by_system_calls "$2"
  unmount; cp "$1.overlay" "$1.log-1"
  mount_image "$1" "$2" --rw
  by_programs "$2"
  $FILES manifest "$2" >"$1.live"
  unmount; cp "$1.overlay" "$1.log-2"
  "$BOARDLAB" image apply "$1" >"$1.told" || { cat "$1.told"; return 1; }
}
