#!/usr/bin/env bash
# Mount and ls of JFFS2 on nandsim, as the plan of nand-filesystems has them: filesystems.sh GUEST BOARDLAB [OUT]. OUT also gets the
# predicted run as JSON. README.md says what nandsim does otherwise than a chip.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"
# A page takes 2 ms, and so long as all its bytes at 50 ns, however many are read.
set=(--set kernel.profile=linux-6.1 --set part.geometry.blocks=48 --set fill.level="50 %" --set board.memory.ram="256 MiB"
  --set part.timing.read="2105600 ns" --set part.timing.read_cycle="1 ns" --set part.timing.program="4 ms" --set part.timing.program_max="10 ms"
  --set part.timing.erase="20 ms" --set part.timing.erase_max="50 ms" --set 'compare.levels=["0 %"]' --set 'compare.chips=["16 MiB"]'
  --set 'compare.files=["64 KiB"]' --set tiobench.size="512 KiB" --set tiobench.random=40)
"$boardlab" run nand-filesystems "${set[@]}" --json --quiet >"$out/model.json"
"$boardlab" measure plan nand-filesystems --device jffs2=/dev/mtdblock0 "${set[@]}" | grep -v tiobench >"$share/jffs2.plan"
cp "$here/measure.sh" "$share/"
cat >"$share/job.sh" <<'END'
. /h/measure.sh
modprobe nandsim id_bytes=0x20,0xda,0x10,0x95 parts=48 do_delays=1 access_delay=2000 programm_delay=4000 erase_delay=20 input_cycle=50 output_cycle=50
modprobe jffs2; modprobe mtdblock
flash_erase -j -q /dev/mtd0 0 0 || exit 1
/tmp/agent --destroy /dev/mtdblock0 --destroy /mnt --out /tmp/jffs2.jsonl /h/jffs2.plan && cp /tmp/jffs2.jsonl /h/
END
boot job.sh -icount shift=1,sleep=off
show predictions
