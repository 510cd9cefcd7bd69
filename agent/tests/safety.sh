#!/bin/sh
# In the guest of oracles/: what the agent must refuse. One function a case; every case compares the checksum of the
# device before and after. The exit status is the number of cases that failed. Run by safety-guest.sh.
agent=${AGENT:-/h/boardlab-agent}
failed=0 number=0

for module in virtio_blk ahci sd_mod sg sdhci-pci mmc_block loop raid1 ext4 vfat nls_cp437 nls_ascii mtdblock jffs2; do
  modprobe $module
done
modprobe mtdram total_size=4096 erase_size=64
until [ -e /dev/mmcblk0 ] && [ "$(cat /sys/block/sda/size)" -gt 0 ]; do sleep 0.1; done

# A filesystem that is mounted writably writes its superblock when it likes: then without the first MiB.
skip=0
sum() { dd if="$1" bs=1M skip=$skip 2>/dev/null | md5sum; }
clear() { dd if=/dev/zero of="$1" bs=1M 2>/dev/null; sync; }
put() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; sync; }
plan() { { echo boardlab-plan 1; cat; } >/tmp/plan; }
# The usual step: writes all of the device.
write_plan() { echo "step write block.write device=$1 size=65536" | plan; }
# Some seconds pass between the check and the next step.
wait_then() { { echo "step wait cpu.copy count=1000000000 limit_ms=4000"; cat; } | plan; }

tell() {
  number=$((number + 1))
  [ "$1" = ok ] || { failed=$((failed + 1)); sed 's/^/    /' /tmp/err; cut -c1-300 /tmp/out; }
  echo "$1 $number $2"
}

# refuses CASE TEXT DEVICE OPTION...: status 3, TEXT in the message, no step begun, DEVICE as before.
refuses() {
  case=$1 text=$2 device=$3; shift 3
  before=$(sum "$device")
  "$agent" "$@" /tmp/plan >/tmp/out 2>/tmp/err; status=$?
  if [ $status = 3 ] && grep -q -- "$text" /tmp/err && ! grep -q '"begin"' /tmp/out && [ "$before" = "$(sum "$device")" ]
  then tell ok "$case"; else tell "FAILED (status $status)" "$case"; fi
}

# fails CASE TEXT DEVICE COMMAND OPTION...: COMMAND is done after the check; then the step fails with TEXT.
fails() {
  case=$1 text=$2 device=$3 command=$4; shift 4
  before=$(sum "$device")
  start "$@"; eval "$command"
  wait $pid; status=$?
  if [ $status = 1 ] && grep '"step":"write"' /tmp/out | grep -q -- "$text" && [ "$before" = "$(sum "$device")" ]
  then tell ok "$case"; else tell "FAILED (status $status)" "$case"; fi
}

# Starts the agent and waits until it says that a step begins: then it is past its check.
start() {
  : >/tmp/out
  "$agent" "$@" /tmp/plan >/tmp/out 2>/tmp/err & pid=$!
  until grep -q '"begin"' /tmp/out || ! kill -0 $pid; do sleep 0.1; done
}
partition() { printf 'n\np\n1\n\n\nw\n' | fdisk "$1" >/dev/null 2>&1; sleep 0.2; }

not_named() { write_plan /dev/vda; refuses 'not named' 'no permission to write' /dev/vda; }
another_named() { write_plan /dev/vda; refuses 'another device named' 'no permission to write' /dev/vda --destroy /dev/vdb; }
prefix_named() { write_plan /dev/vda; refuses 'the beginning of a name' 'no permission' /dev/vda --destroy /dev/vd; }
another_name() {
  mknod /tmp/alias b $((0x$(stat -c %t /dev/vda))) $((0x$(stat -c %T /dev/vda))); write_plan /tmp/alias
  refuses 'another name of the device' 'no permission' /dev/vda --destroy /dev/vda; rm /tmp/alias
}
mounted() {
  mke2fs -q /dev/vda >/dev/null 2>&1; mount -t ext2 "$2" /dev/vda /mnt; write_plan "${3:-/dev/vda}"
  [ "$2" = -oro ] || skip=1
  refuses "$1" 'mounted (/mnt)' /dev/vda --destroy-data "${3:-/dev/vda}"; skip=0; umount /mnt; clear /dev/vda
}
mounted_writable() { mounted mounted -orw; }
mounted_read_only() { mounted 'mounted read-only' -oro; }
mounted_as_other() {
  mknod /tmp/alias b $((0x$(stat -c %t /dev/vda))) $((0x$(stat -c %T /dev/vda)))
  mounted 'mounted, named by another node' -orw /tmp/alias; rm /tmp/alias
}
mounted_elsewhere() {
  mke2fs -q /dev/vda >/dev/null 2>&1; unshare -m sh -c 'mount -t ext2 -oro /dev/vda /mnt; touch /tmp/is; until [ -e /tmp/end ]; do sleep 0.1; done' & pid=$!
  until [ -e /tmp/is ]; do sleep 0.1; done
  write_plan /dev/vda; refuses 'mounted in another namespace' 'busy' /dev/vda --destroy-data /dev/vda
  touch /tmp/end; wait $pid; clear /dev/vda
}
beside_mounted() {
  printf 'n\np\n1\n\n+4M\nn\np\n2\n\n\nw\n' | fdisk /dev/vdb >/dev/null 2>&1; sleep 0.2
  mke2fs -q /dev/vdb1 >/dev/null 2>&1; mount -t ext2 -oro /dev/vdb1 /mnt; before=$(sum /dev/vdb1); old=$(sum /dev/vdb2)
  write_plan /dev/vdb2
  if "$agent" --destroy /dev/vdb2 /tmp/plan >/tmp/out 2>/tmp/err && [ "$before" = "$(sum /dev/vdb1)" ] && [ "$old" != "$(sum /dev/vdb2)" ]
  then tell ok 'allowed: a free partition beside a mounted one'; else tell FAILED 'a free partition beside a mounted one'; fi
  umount /mnt; clear /dev/vdb; blockdev --rereadpt /dev/vdb
}
mounted_partition() {
  partition /dev/vda; mke2fs -q /dev/vda1 >/dev/null 2>&1; mount -t ext2 /dev/vda1 /mnt
  write_plan /dev/vda; skip=2; refuses 'parent of a mounted partition' 'vda1 mounted' /dev/vda --destroy-data /dev/vda
  skip=0; umount /mnt
}
partition_table() { write_plan /dev/vda; refuses 'a disk with partitions' 'found partitions' /dev/vda --destroy /dev/vda; }
ata_to_partition() {
  partition /dev/sda; echo 'step write ata.write device=/dev/sda1 size=65536' | plan
  refuses 'ATA commands to a partition' 'found a partition' /dev/sda --destroy-data /dev/sda1
}
sg_with_mount() {
  mke2fs -q /dev/sda1 >/dev/null 2>&1; mount -t ext2 /dev/sda1 /mnt
  echo 'step write ata.write device=/dev/sg0 size=65536' | plan
  skip=2; refuses 'the sg device of a disk with a mount' 'sda1 mounted' /dev/sda --destroy-data /dev/sg0
  skip=0; umount /mnt
}
sg_with_data() {
  echo 'step write scsi.write device=/dev/sg0 size=65536' | plan
  refuses 'the sg device of a disk with partitions' 'found partitions' /dev/sda --destroy /dev/sg0
}
swap_partition() {
  mkswap /dev/vda1 >/dev/null; swapon /dev/vda1; write_plan /dev/vda
  refuses 'parent of a partition with swap' 'vda1 in use as swap' /dev/vda --destroy-data /dev/vda; swapoff /dev/vda1
}
loop_on_partition() {
  losetup /dev/loop0 /dev/vda1; write_plan /dev/vda
  refuses 'parent of a partition under a loop device' 'vda1 under a loop' /dev/vda --destroy-data /dev/vda
  losetup -d /dev/loop0
}
disk_held() {
  md_start /dev/vda; write_plan /dev/vda1
  [ -e /dev/vda1 ] && refuses 'a partition whose disk is a member of RAID' 'vda held by md0' /dev/vda --destroy-data /dev/vda1
  md_stop; clear /dev/vda; blockdev --rereadpt /dev/vda; clear /dev/sda; blockdev --rereadpt /dev/sda
}
md_start() {
  echo md0 >/sys/module/md_mod/parameters/new_array; cd /sys/block/md0/md || return
  echo none >metadata_version; echo raid1 >level; echo 1 >raid_disks; echo 16000 >component_size
  echo $((0x$(stat -c %t "$1"))):$((0x$(stat -c %T "$1"))) >new_dev; echo active >array_state 2>/dev/null; cd /
}
md_stop() { echo clear >/sys/block/md0/md/array_state; sleep 0.2; }
md_member() {
  md_start /dev/vdb; write_plan /dev/vdb
  refuses 'a member of RAID' 'vdb held by md0' /dev/vdb --destroy-data /dev/vdb; md_stop; clear /dev/vdb
}
swap() {
  mkswap /dev/vda >/dev/null; swapon /dev/vda; write_plan /dev/vda
  refuses 'in use as swap' 'vda in use as swap' /dev/vda --destroy-data /dev/vda; swapoff /dev/vda; clear /dev/vda
}
looped() {
  losetup /dev/loop0 /dev/vda; write_plan /dev/vda
  refuses 'under a loop device' 'vda under a loop' /dev/vda --destroy-data /dev/vda; losetup -d /dev/loop0
}
# What is on a device, by its magic bytes.
data() { put /dev/vda "$2" "$3"; write_plan /dev/vda; refuses "with $1" "found $1" /dev/vda --destroy /dev/vda; clear /dev/vda; }
signatures() {
  data 'a boot sector' 510 '\125\252'; data 'a GPT' 512 'EFI PART'; data 'a GPT' 16776704 'EFI PART'; data LVM2 536 'LVM2 001'
  data 'md RAID' 4096 '\374\116\053\251'; data 'md RAID' 16711680 '\374\116\053\251'; data 'md RAID' 16769024 '\374\116\053\251'
  data swap 4086 SWAPSPACE2; data LUKS 0 'LUKS\272\276'; data 'ext2, ext3' 1080 '\123\357'; data XFS 0 XFSB
  data Btrfs 65600 _BHRfS_M; data F2FS 1024 '\020\040\365\362'; data FAT 82 FAT32; data exFAT 3 'EXFAT   '
  data NTFS 3 'NTFS    '; data 'ISO 9660' 32769 CD001; data SquashFS 0 hsqs; data EROFS 1024 '\342\341\365\340'
  data bcachefs 4120 '\306\205\163\366'; data ZFS 16384 '\1\1\0\0\0\0\0\0\0\0\0\1'
}
real_filesystems() {
  mke2fs -q /dev/vda >/dev/null 2>&1; write_plan /dev/vda
  refuses 'with ext2, as made by mke2fs' 'found ext2' /dev/vda --destroy /dev/vda; clear /dev/vda
}
wrong_kinds() {
  mkfifo /tmp/fifo; write_plan /tmp/fifo; refuses 'a FIFO' 'found a FIFO' /dev/vda --destroy-data /tmp/fifo
  echo data >/tmp/file; write_plan /tmp/file; refuses 'a regular file' 'found a regular file' /tmp/file --destroy-data /tmp/file
  ln -s /dev/vda /tmp/link; write_plan /tmp/link
  refuses 'a symbolic link' 'symbolic link to /dev/vda' /dev/vda --destroy-data /tmp/link
  write_plan /dev/nothing; refuses 'a missing device' 'nothing that can be' /dev/vda --destroy-data /dev/nothing
  write_plan /dev/null; refuses 'a character device' 'found a character device of' /dev/vda --destroy-data /dev/null
  write_plan /tmp; refuses 'a directory' 'found a directory' /dev/vda --destroy-data /tmp
  write_plan /dev/mtd0; refuses 'an MTD device for blocks' 'found an MTD device, expected a block device' /dev/mtd0 --destroy-data /dev/mtd0
  echo 'step write ata.write device=/dev/vda size=65536' | plan; refuses 'a disk that is no SCSI disk' 'or other disk' /dev/vda --destroy /dev/vda
  echo 'step registers mmc.registers device=/dev/vda' | plan; refuses 'a disk as a card' 'expected a card' /dev/vda
}
read_only() {
  blockdev --setro /dev/vda; write_plan /dev/vda
  refuses 'a read-only device' 'found a read-only device' /dev/vda --destroy-data /dev/vda; blockdev --setrw /dev/vda
}
no_permission() {
  write_plan /dev/vda; chmod 644 /tmp/plan; cp "$agent" /tmp/agent; before=$(sum /dev/vda)
  mkdir -p /etc; echo 'nobody:x:65534:65534::/:/bin/sh' >/etc/passwd
  su nobody -c '/tmp/agent --destroy-data /dev/vda /tmp/plan' >/tmp/out 2>/tmp/err; status=$?
  if [ $status = 3 ] && grep -q 'Permission denied' /tmp/err && [ "$before" = "$(sum /dev/vda)" ]
  then tell ok 'no permission'; else tell "FAILED (status $status)" 'no permission'; fi
}
wear() {
  { echo 'step a block.write device=/dev/vda size=65536'; echo 'step b block.write device=/dev/vda size=65536 count=769'; } | plan
  refuses 'more cycles than allowed, in several steps' 'a wear of 5 cycles' /dev/vda --destroy /dev/vda --max-cycles 4
  echo 'step a block.write device=/dev/vda size=1073741824 count=9223372036854775807' | plan
  refuses 'more cycles than there are numbers' 'a wear of' /dev/vda --destroy /dev/vda
}
changed_to_link() {
  cp -a /dev/vda /tmp/node; echo 'step write block.write device=/tmp/node' | wait_then
  fails 'a link in place of the device' 'cannot be opened' /dev/vdb 'rm /tmp/node; ln -s /dev/vdb /tmp/node' --destroy /tmp/node
  rm -f /tmp/node
}
changed_to_device() {
  cp -a /dev/vda /tmp/node; echo 'step write block.write device=/tmp/node' | wait_then
  fails 'another device in place of the device' 'changed after the check' /dev/vdb 'rm /tmp/node; cp -a /dev/vdb /tmp/node' --destroy /tmp/node
  rm -f /tmp/node
}
changed_to_fifo() {
  cp -a /dev/vda /tmp/node; echo 'step write block.write device=/tmp/node' | wait_then
  fails 'a FIFO in place of the device' 'changed after the check\|cannot be opened' /dev/vda 'rm /tmp/node; mkfifo /tmp/node' --destroy /tmp/node
  rm -f /tmp/node
}
changed_medium() {
  dd if=/dev/zero of=/tmp/one bs=1M count=4 2>/dev/null; cp /tmp/one /tmp/two; losetup /dev/loop0 /tmp/one
  echo 'step write block.write device=/dev/loop0' | wait_then
  fails 'another medium in the device' 'changed after the check' /tmp/two 'losetup -d /dev/loop0; losetup /dev/loop0 /tmp/two' --destroy /dev/loop0
  losetup -d /dev/loop0
}
mounted_later() {
  mke2fs -q /dev/vda >/dev/null 2>&1; echo 'step write block.write device=/dev/vda' | wait_then
  fails 'mounted after the check' 'cannot be opened\|mounted' /dev/vda 'mount -t ext2 -oro /dev/vda /mnt' --destroy-data /dev/vda
  umount /mnt; clear /dev/vda
}
sg_mounted_later() {
  mke2fs -q /dev/sda >/dev/null 2>&1; echo 'step write ata.write device=/dev/sg0' | wait_then
  fails 'the disk of an sg device mounted after the check' 'cannot be opened\|mounted' /dev/sda 'mount -t ext2 -oro /dev/sda /mnt' --destroy-data /dev/sg0
  umount /mnt; clear /dev/sda
}
removed() {
  modprobe scsi_debug dev_size_mb=16 delay=1; until [ -e /dev/sdb ] && [ "$(cat /sys/block/sdb/size)" -gt 0 ]; do sleep 0.1; done
  echo 'step write block.write device=/dev/sdb size=4096 count=1000000' | plan
  start --destroy /dev/sdb --max-cycles 1000; echo 1 >/sys/block/sdb/device/delete; wait $pid; status=$?
  if [ $status = 1 ] && grep -q '"state":"failed"' /tmp/out && grep -q '"end":"failed"' /tmp/out
  then tell ok 'removed while running'; else tell "FAILED (status $status)" 'removed while running'; fi
}
flash() { echo "step write mtd.erase device=$1" | plan; }
flash_cases() {
  flash /dev/mtd0; refuses 'flash not named' 'no permission' /dev/mtd0
  flash /dev/mtd0ro; refuses 'flash by its read-only device' 'read-only device' /dev/mtd0 --destroy-data /dev/mtd0ro
  flash_erase -q -j /dev/mtd0 0 0 >/dev/null   # a mount would write the clean markers
  for source in /dev/mtdblock0 mtd0 "mtd:mtdram test device"; do
    mount -t jffs2 "$source" /mnt && { flash /dev/mtd0
    refuses "flash mounted as $source" 'mtd0 mounted' /dev/mtd0 --destroy-data /dev/mtd0
    write_plan /dev/mtdblock0
    refuses "mtdblock mounted as $source" 'mounted' /dev/mtd0 --destroy-data /dev/mtdblock0
    umount /mnt; }
  done
  flash_erase -q /dev/mtd0 0 0 >/dev/null; flash /dev/mtd0
  printf '\047\005\031\126' | dd of=/dev/mtd0 bs=65536 seek=3 2>/dev/null
  refuses 'flash with an image for U-Boot' 'U-Boot' /dev/mtd0 --destroy /dev/mtd0
  flash_erase -q -j /dev/mtd0 0 0 >/dev/null; refuses 'flash with JFFS2' 'JFFS2' /dev/mtd0 --destroy /dev/mtd0
  ubiformat -q -y /dev/mtd0; refuses 'flash with UBI' 'UBI' /dev/mtd0 --destroy /dev/mtd0
  modprobe ubi; ubiattach -m 0 >/dev/null 2>&1
  refuses 'flash attached to UBI' 'attached to UBI' /dev/mtd0 --destroy-data /dev/mtd0
  write_plan /dev/mtdblock0; refuses 'mtdblock attached to UBI' 'attached to UBI' /dev/mtd0 --destroy-data /dev/mtdblock0
  ubidetach -m 0; flash_erase -q /dev/mtd0 0 0 >/dev/null
  { for i in 1 2 3; do echo "step e$i mtd.erase device=/dev/mtd0 count=640 order=random seed=$i"; done; } | plan
  refuses 'more erases of a block than allowed' 'a wear of 45 cycles' /dev/mtd0 --destroy /dev/mtd0 --max-cycles 30
  flash /dev/vda; refuses 'a disk for flash' 'expected an MTD' /dev/vda --destroy-data /dev/vda
}
folders() {
  files() { echo "step write fs.create path=$1 size=4096 count=4" | plan; }
  files /tmp/folder; refuses 'a missing folder' 'nothing that can be' /dev/vda --destroy /tmp/folder
  mkdir /tmp/folder; refuses 'a folder not named' 'no permission' /dev/vda
  ln -s /tmp/folder /tmp/link2; files /tmp/link2; refuses 'a link to a folder' 'symbolic link' /dev/vda --destroy /tmp/link2
  mkdir /tmp/folder/boardlab-agent; files /tmp/folder
  refuses 'a folder of the agent that is there' 'boardlab-agent: found' /dev/vda --destroy /tmp/folder; rmdir /tmp/folder/boardlab-agent
  mke2fs -q /dev/vda >/dev/null 2>&1; echo 'step m fs.mount device=/dev/vda path=/mnt type=ext2 options=rw' | plan
  refuses 'to mount writably what has data' 'found ext2' /dev/vda --destroy /dev/vda
  echo 'step m fs.mount device=/dev/vda path=/tmp/file type=ext2' | plan
  refuses 'to mount at a file' 'a directory to mount at' /dev/vda; clear /dev/vda
}

# Each begins with what the one before left.
partitions() {
  for each in mounted_partition partition_table swap_partition loop_on_partition ata_to_partition sg_with_mount sg_with_data disk_held; do $each; done
}
all="not_named another_named prefix_named another_name mounted_writable mounted_read_only mounted_as_other \
  mounted_elsewhere beside_mounted partitions md_member swap looped signatures real_filesystems wrong_kinds \
  read_only no_permission wear changed_to_link changed_to_device changed_to_fifo changed_medium mounted_later \
  sg_mounted_later removed flash_cases folders"
# CASES is which of them; all without it.
for case in ${CASES:-$all}; do
  $case
done
echo "safety: $number cases, $failed failed"
exit $failed
