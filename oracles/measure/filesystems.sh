#!/usr/bin/env bash
# Mount, ls, tiobench, fsync and small files of JFFS2 and UBIFS on nandsim, by the plan of nand-filesystems: filesystems.sh GUEST
# BOARDLAB [OUT].
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"
# nandsim takes 2.1056 ms (2 ms, and 2,112 bytes at 50 ns) for each command that moves a page into its register or another part of it
# to the bus. Here that is what the port adds to a command, two of which a program and an erase have. `-icount shift=1` gives the
# CPU an instruction every 2 ns: it has the cycles of the model at 500 MHz. Linux 6.1 formats a UBIFS volume with zstd.
set=(--set kernel.profile=linux-6.1 --set part.geometry.blocks=48 --set board.memory.ram="256 MiB" --set board.cpu.clock="500 MHz"
  --set board.nand_port.per_command="2105600 ns" --set part.timing.read="1 ns" --set part.timing.read_cycle="1 ns"
  --set part.timing.write_cycle="1 ns" --set part.timing.program="1894400 ns" --set part.timing.program_max="10 ms"
  --set part.timing.erase="15788800 ns" --set part.timing.erase_max="50 ms" --set fill.level="50 %" --set 'compare.chips=["16 MiB"]'
  --set tiobench.size="512 KiB" --set tiobench.random=15 --set 'tiobench.data=["zero", "random"]'
  --set ubifs.compressor=zstd)
"$boardlab" measure plan nand-filesystems --device jffs2=/dev/mtdblock0 --device ubifs=/dev/ubi0_0 "${set[@]}" >"$share/filesystems.plan"
cp "$here/measure.sh" "$share/"
cat >"$share/job.sh" <<'END'
. /h/measure.sh
modprobe nandsim id_bytes=0x20,0xda,0x10,0x95 parts=48,48 do_delays=1 access_delay=2000 programm_delay=6000 erase_delay=20 input_cycle=50 output_cycle=50
modprobe jffs2; modprobe mtdblock; modprobe ubifs
flash_erase -j -q /dev/mtd0 0 0 && ubiattach -m 1 -b 1 && ubimkvol /dev/ubi0 -N root -m || exit 1
/tmp/agent --destroy /dev/mtdblock0 --destroy /dev/ubi0_0 --destroy /mnt --out /tmp/filesystems.jsonl /h/filesystems.plan && cp /tmp/filesystems.jsonl /h/
END
boot job.sh -icount shift=1,sleep=off
show predictions
