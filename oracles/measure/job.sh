# In the guest: measures each device without delays and with them. Run by guest.sh.
. /h/measure.sh
nandsim='id_bytes=0x20,0xda,0x10,0x95'

modprobe nandsim $nandsim; measure nandsim-base /dev/mtd0; rmmod nandsim
modprobe nandsim $nandsim do_delays=1 access_delay=2000 programm_delay=4000 erase_delay=20 input_cycle=50 output_cycle=50
measure nandsim /dev/mtd0; rmmod nandsim
modprobe mtdram total_size=4096 erase_size=64; measure mtdram /dev/mtd0; rmmod mtdram

# A loop device without a cache of its own over null_blk: BusyBox' losetup cannot set one up.
cp -r /h/lib /h/losetup /tmp/; modprobe loop
on_loop() { /tmp/lib/ld-linux-x86-64.so.2 --library-path /tmp/lib /tmp/losetup "$@" || exit 1; }
modprobe null_blk gb=1 irqmode=0 submit_queues=1; measure null_blk-base /dev/nullb0
on_loop --direct-io=on /dev/loop1 /dev/nullb0; measure loop-null_blk-base /dev/loop1; on_loop -d /dev/loop1; rmmod null_blk
modprobe null_blk gb=1 irqmode=2 completion_nsec=5000000 submit_queues=1; measure null_blk /dev/nullb0
on_loop --direct-io=on /dev/loop1 /dev/nullb0; measure loop-null_blk /dev/loop1; on_loop -d /dev/loop1; rmmod null_blk
modprobe sd_mod
modprobe scsi_debug dev_size_mb=16 ndelay=1; sleep 1; measure scsi_debug-base /dev/sda; rmmod scsi_debug
modprobe scsi_debug dev_size_mb=16 ndelay=5000000; sleep 1; measure scsi_debug /dev/sda; rmmod scsi_debug
dd if=/dev/zero of=/tmp/disk bs=1M count=8 2>/dev/null; losetup /dev/loop0 /tmp/disk; measure loop /dev/loop0
measure_cpu cpu
