# The job that measures: runs a workload of this folder on the guest's JFFS2, UBIFS or UBI and prints a line of counts for each interval.
# usage, in the guest: sh measure.sh WORKLOAD ID_BYTES BLOCKS COMPR jffs2|ubifs|ubi
#
# A workload is a list of operations (docs/formats/file-tree.md) with lines between them that begin with `@`:
#   @mount  @unmount     with all options                @list   lists everything with its attributes (ls -lR)
#   @check               mount read-only becomes         @read   reads every file to its end
#                        read-write, wait for the        @drop   forgets what memory holds of files
#                        background check                @settle waits until the flash has been idle for a second;
#                                                             then nothing is collected in the background any more
#   @mount-read-only                                     @count NAME  ends an interval and begins the next; first UBI's
#   @attach  @detach     UBI                                          background thread erases what it has to
#   @make NAME dynamic|static BYTES   makes a volume
#   @state NAME          what statfs says                @stored NAME       how many files there are, with their bytes
#   @wear NAME           how often each block was erased since the workload began, and UBI's erase counters
set -eu
workload=$1 id=$2 blocks=$3 compr=$4 filesystem=$5
modprobe nandsim id_bytes=$id parts=$blocks >/dev/null
echo 100000 >/proc/sys/vm/dirty_writeback_centisecs  # the write buffer is flushed by sync alone: 5 s of this machine mean nothing
operations=/tmp/operations
counters=/sys/kernel/debug/ubi/ubi0/detailed_erase_block_info
: >$operations

attach() { ubiattach -m 0 -d 0 >/dev/null; }

# An empty filesystem: for UBIFS, the kernel makes it in an empty volume at the first mount.
case $filesystem in
  jffs2) flash_erase -q -j /dev/mtd0 0 0; device=mtd0 ;;
  ubi | ubifs)
    # Pages are written back by sync, by unmount and by UBIFS itself, neither because of their age nor because of their number.
    echo 100000 >/proc/sys/vm/dirty_expire_centisecs
    echo 80 >/proc/sys/vm/dirty_ratio; echo 70 >/proc/sys/vm/dirty_background_ratio
    modprobe ubi; modprobe ubifs
    ubiformat -q -y /dev/mtd0; attach; device=ubi0_0
    if [ "$filesystem" = ubifs ]; then
      ubimkvol /dev/ubi0 -N volume -m >/dev/null
      mount -t ubifs $device /mnt; umount /mnt
    fi
    ubidetach -d 0 ;;
  *) echo "no such filesystem: $filesystem"; exit 1 ;;
esac

carry_out() {
  [ -s $operations ] || return 0
  guest-files run /mnt <$operations || exit 1
  : >$operations
}

settle() {
  before=none
  while :; do
    count end >/tmp/now
    now=$(cat /tmp/now)
    [ "$now" != "$before" ] || break
    before=$now
    sleep 1
  done
  collector STOP
}

# UBI erases in a thread of its own.
idle() {
  [ "$filesystem" != jffs2 ] || return 0
  before=none
  while :; do
    count end >/tmp/now
    now=$(cat /tmp/now)
    [ "$now" != "$before" ] || break
    before=$now
    sleep 0.2
  done
}

# The thread that collects garbage in the background does so by the clock on the wall, which means nothing here: it checks after a mount
# and then stands still, so that all collection is that of writes which need space.
collector() {
  for process in /proc/[0-9]*; do
    case $(cat "$process/comm" 2>/dev/null) in jffs2_gcd*) kill "-$1" "${process#/proc/}" ;; esac
  done
}

count begin
while IFS= read -r line; do
  case $line in
    @*) carry_out ;;
    *) echo "$line" >>$operations; continue ;;
  esac
  case $line in
    @attach) attach ;;
    @detach) ubidetach -d 0 ;;
    @make\ *) set -- $line; ubimkvol /dev/ubi0 -N "$2" -t "$3" -s "$4" >/dev/null ;;
    @mount) mount -t "$filesystem" -o "compr=$compr" $device /mnt ;;
    @mount-read-only) mount -t "$filesystem" -o "ro,compr=$compr" $device /mnt ;;
    @check) mount -o remount,rw /mnt; settle ;;
    @unmount) umount /mnt ;;
    @list) ls -lR /mnt >/dev/null ;;
    @read) guest-files manifest /mnt >/dev/null ;;
    @drop) sync; for time in 1 2 3; do echo 3 >/proc/sys/vm/drop_caches; done ;;  # the first time takes only marks of use away
    @settle) settle ;;
    @state\ *) idle; echo "state ${line#@state } $(stat -f -c 'blocks=%b free=%f available=%a' /mnt)" ;;
    @stored\ *) echo "stored ${line#@stored } $(find /mnt -type f -exec stat -c %s {} + | awk '{ files++; bytes += $1 } END { printf "files=%d bytes=%.0f", files, bytes }')" ;;
    @wear\ *)
      idle
      echo "wear ${line#@wear } $(count wear "$blocks")"
      [ ! -e $counters ] || echo "counters ${line#@wear } $(awk 'NR > 1 { printf "%s%d", (NR > 2 ? "," : ""), $2 }' $counters)" ;;
    @count\ *) idle; echo "${line#@count } $(count end)"; count begin ;;
    *) echo "no such line: $line"; exit 1 ;;
  esac
done <"$workload"
carry_out
if grep -q " /mnt " /proc/mounts; then umount /mnt; fi
if [ -e /sys/class/ubi/ubi0 ]; then ubidetach -d 0; fi
count stop
rmmod nandsim
