#!/usr/bin/env bash
# Measures devices in the guest of oracles/ and sets predictions beside: guest.sh GUEST BOARDLAB [OUT]. GUEST is the prepared guest,
# BOARDLAB the program, OUT a folder for the measurements (a temporary one). README.md says what is measured.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"
cp "$here/job.sh" "$here/measure.sh" "$share/"

plan() { "$boardlab" measure plan "$here/$1" --device "$2" "${@:4}" >"$share/$3.plan"; }
plan nandsim.toml /dev/mtd0 nandsim --set part.timing.read="2 ms" --set part.timing.program="4 ms" --set part.timing.program_max="10 ms" \
  --set part.timing.erase="20 ms" --set part.timing.erase_max="50 ms"
plan blocks.toml /dev/nullb0 null_blk
plan blocks.toml /dev/sda scsi_debug
plan blocks.toml /dev/loop1 loop-null_blk
take losetup
cat >"$share/mtdram.plan" <<'END'
boardlab-plan 1
step erase mtd.erase device=/dev/mtd0
step program mtd.program device=/dev/mtd0 size=65536
step read mtd.read device=/dev/mtd0 size=65536 verify=1
step erase-again mtd.erase device=/dev/mtd0
step read-16k mtd.read device=/dev/mtd0 size=16384 count=30
step read-256k mtd.read device=/dev/mtd0 size=262144 count=15
step write-16k mtd.program device=/dev/mtd0 size=16384 count=30
step write-256k mtd.program device=/dev/mtd0 offset=1048576 size=262144 count=10
END
cat >"$share/loop.plan" <<'END'
boardlab-plan 1
step write block.write device=/dev/loop0 size=65536
step read block.read device=/dev/loop0 size=65536 verify=1
step flush block.flush device=/dev/loop0 count=10
END
cat >"$share/ram-job.sh" <<'END'
. /h/measure.sh
modprobe mtdram total_size=4096 erase_size=64; measure mtdram-line /dev/mtd0; rmmod mtdram
END
boot job.sh -icount shift=1,sleep=off

# mtdram takes as long as the kernel does, which nobody sets. So the line through two sizes of the measurement predicts others: by
# medians, for the kernel does other work at times.
{
  echo boardlab-plan 1
  for step in read:mtd.read write:mtd.program; do
    "$boardlab" measure read "$out/mtdram.jsonl" --format csv | awk -F, -v step="${step%%:*}" -v operation="${step#*:}" '
      $2 == "steps" && $4 == "p50_ns" && $3 == step "-16k" { small = $5 }
      $2 == "steps" && $4 == "p50_ns" && $3 == step "-256k" { large = $5 }
      END {
        for (size = 32768; size <= 131072; size *= 2)
          printf "step %s-%dk %s device=/dev/mtd0 size=%d count=30 predict.p50_ns=%.0f\n", step, size / 1024, operation, size,
            small + (large - small) * (size - 16384) / (262144 - 16384)
      }'
  done
} >"$share/mtdram-line.plan"
boot ram-job.sh -icount shift=1,sleep=off
show 'predictions|steps'
