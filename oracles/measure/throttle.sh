#!/usr/bin/env bash
# The same with disks that QEMU throttles to 100 requests a second, in real time: throttle.sh GUEST BOARDLAB [OUT].
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"

# A throttle of 100 requests a second is a device of 10 ms with one lane. QEMU's SD card makes a request of every sector: it moves 50 KiB/s.
# What a throttle allows at once, a tenth of a second, is used up before the measurement; after a pause it allows it again, ten requests of many.
plan() {
  "$boardlab" measure plan "$here/blocks.toml" --device "$2" --set device.lanes=1 "${@:3}" |
    sed "/^scenario/a step warm-up block.read device=$2 size=512 count=30" >"$share/$1.plan"
}
many="--set step.0.count=200 --set step.1.count=200 --set step.2.count=200"
plan virtio /dev/vda $many --set device.read="10 ms" --set device.write="10 ms"
plan ahci /dev/sda $many --set device.read="10 ms" --set device.write="10 ms"
plan sd /dev/mmcblk0 --set step.2.count=200 --set device.read="0 ns" --set device.write="0 ns" --set device.transfer="50 KiB/s"
# SATA commands through SG_IO as well.
sed -n -e 1,2p -e '/ block\.read .* depth=/d' -e 's/ block\.\(read\|write\) / ata.\1 /p' "$share/ahci.plan" >"$share/sata.plan"
cat >"$share/job.sh" <<'END'
for module in virtio_blk ahci sd_mod sg sdhci-pci mmc_block; do modprobe $module; done
until [ -e /dev/mmcblk0 ] && [ "$(cat /sys/block/sda/size)" -gt 0 ]; do sleep 0.1; done
for device in virtio:/dev/vda ahci:/dev/sda sata:/dev/sda sd:/dev/mmcblk0; do
  /h/agent --destroy ${device#*:} --out /tmp/${device%%:*}.jsonl /h/${device%%:*}.plan 2>/tmp/err || { cat /tmp/err; exit 1; }
  cp /tmp/${device%%:*}.jsonl /h/
done
END
drives=()
for disk in vda sata card; do
  truncate -s 16M "$work/$disk"
  drives+=(-drive "if=none,id=$disk,format=raw,file=$work/$disk,throttling.iops-total=100")
done
boot job.sh "${drives[@]}" -device virtio-blk-pci,drive=vda \
  -device ahci,id=a -device ide-hd,bus=a.0,drive=sata -device sdhci-pci -device sd-card,drive=card
show predictions
