# The job that measures: runs a workload of this folder on the guest's JFFS2 and prints a line of counts for each interval.
# usage, in the guest: sh measure.sh WORKLOAD ID_BYTES BLOCKS COMPR
#
# A workload is a list of operations (docs/formats/file-tree.md) with lines between them that begin with `@`:
#   @mount  @unmount     with all options                @list   lists everything with its attributes (ls -lR)
#   @check               mount read-only becomes         @read   reads every file to its end
#                        read-write, wait for the        @drop   forgets what memory holds of files
#                        background check                @settle waits until the flash has been idle for a second;
#                                                             then nothing is collected in the background any more
#   @mount-read-only                                     @count NAME  ends an interval and begins the next
set -eu
workload=$1 id=$2 blocks=$3 compr=$4
modprobe nandsim id_bytes=$id parts=$blocks >/dev/null
flash_erase -q -j /dev/mtd0 0 0
echo 100000 >/proc/sys/vm/dirty_writeback_centisecs  # the write buffer is flushed by sync alone: 5 s of this machine mean nothing
operations=/tmp/operations
: >$operations

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
    @mount) mount -t jffs2 -o "compr=$compr" mtd0 /mnt ;;
    @mount-read-only) mount -t jffs2 -o "ro,compr=$compr" mtd0 /mnt ;;
    @check) mount -o remount,rw /mnt; settle ;;
    @unmount) umount /mnt ;;
    @list) ls -lR /mnt >/dev/null ;;
    @read) guest-files manifest /mnt >/dev/null ;;
    @drop) sync; for time in 1 2 3; do echo 3 >/proc/sys/vm/drop_caches; done ;;  # the first time takes only marks of use away
    @settle) settle ;;
    @count\ *) echo "${line#@count } $(count end)"; count begin ;;
    *) echo "no such line: $line"; exit 1 ;;
  esac
done <"$workload"
carry_out
if grep -q " /mnt " /proc/mounts; then umount /mnt; fi
count stop
rmmod nandsim
