#!/usr/bin/env bash
# Measures devices in the guest of oracles/ and sets predictions beside: guest.sh GUEST BOARDLAB [OUT]. GUEST is the prepared guest,
# BOARDLAB the program, OUT a folder for the measurements (a temporary one). README.md says what is measured.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"
cp "$here/job.sh" "$share/"

plan() { "$boardlab" measure plan "$here/$1" --device "$2" "${@:4}" >"$share/$3.plan"; }
plan nandsim.toml /dev/mtd0 nandsim --set part.timing.read="2 ms" --set part.timing.program="4 ms" --set part.timing.program_max="10 ms" \
  --set part.timing.erase="20 ms" --set part.timing.erase_max="50 ms"
plan blocks.toml /dev/nullb0 null_blk
plan blocks.toml /dev/sda scsi_debug
cat >"$share/mtdram.plan" <<'END'
boardlab-plan 1
step erase mtd.erase device=/dev/mtd0
step program mtd.program device=/dev/mtd0 size=65536
step read mtd.read device=/dev/mtd0 size=65536 verify=1
END
cat >"$share/loop.plan" <<'END'
boardlab-plan 1
step write block.write device=/dev/loop0 size=65536
step read block.read device=/dev/loop0 size=65536 verify=1
step flush block.flush device=/dev/loop0 count=10
END
boot job.sh -icount shift=1,sleep=off
show 'predictions|steps'
