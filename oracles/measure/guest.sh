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
step read-16384 mtd.read device=/dev/mtd0 size=16384 count=30
step read-262144 mtd.read device=/dev/mtd0 size=262144 count=15
step write-16384 mtd.program device=/dev/mtd0 size=16384 count=30
step write-262144 mtd.program device=/dev/mtd0 offset=1048576 size=262144 count=10
END
cat >"$share/cpu.plan" <<'END'
boardlab-plan 1
step copy-65536 cpu.copy size=65536 count=30
step copy-1048576 cpu.copy size=1048576 count=10
step crc-65536 cpu.crc size=65536 count=30
step crc-1048576 cpu.crc size=1048576 count=10
step pipe-4 cpu.pipe processes=4 count=2000
step pipe-16 cpu.pipe processes=16 count=2000
step futex-4 cpu.futex processes=4 count=2000
step futex-16 cpu.futex processes=16 count=2000
step sleep-1000000 cpu.sleep time_ns=1000000 count=100
step sleep-9000000 cpu.sleep time_ns=9000000 count=100
step timer cpu.timer count=1000
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
measure_cpu cpu-line
END
boot job.sh -icount shift=1,sleep=off

# What mtdram and the CPU take nobody sets. So the line through two measurements predicts others: by medians, for the kernel does
# other work at times. `line MEASUREMENT STEP "OPERATION KEYS" KEY LEAST MOST BETWEEN...`
line() {
  "$boardlab" measure read "$out/$1.jsonl" --format csv | awk -F, -v step="$2" -v operation="$3" -v key="$4" -v x0="$5" -v x1="$6" \
    -v all="${*:7}" '
      $2 == "steps" && $4 == "p50_ns" && $3 == step "-" x0 { y0 = $5 }
      $2 == "steps" && $4 == "p50_ns" && $3 == step "-" x1 { y1 = $5 }
      END {
        if (y0 == "" || y1 == "") { print "no " step "-" x0 " and -" x1 >"/dev/stderr"; exit 1 }
        count = split(all, between, " ")
        for (i = 1; i <= count; i++)
          printf "step %s-%d %s %s=%d predict.p50_ns=%.0f\n", step, between[i], operation, key, between[i],
            y0 + (y1 - y0) * (between[i] - x0) / (x1 - x0)
      }'
}
{
  echo boardlab-plan 1
  line mtdram read "mtd.read device=/dev/mtd0 count=30" size 16384 262144 32768 65536 131072
  line mtdram write "mtd.program device=/dev/mtd0 count=30" size 16384 262144 32768 65536 131072
} >"$share/mtdram-line.plan"
{
  echo boardlab-plan 1
  line cpu copy "cpu.copy count=30" size 65536 1048576 131072 524288
  line cpu crc "cpu.crc count=30" size 65536 1048576 131072 524288
  line cpu pipe "cpu.pipe count=2000" processes 4 16 8 12
  line cpu futex "cpu.futex count=2000" processes 4 16 8 12
  line cpu sleep "cpu.sleep count=100" time_ns 1000000 9000000 3000000
} >"$share/cpu-line.plan"
boot ram-job.sh -icount shift=1,sleep=off
show 'predictions|steps'
