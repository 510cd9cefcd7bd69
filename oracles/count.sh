#!/bin/busybox sh
# Counts what the simulated NAND chip does in an interval. This is a file of the guest.
#   count begin       starts an interval; nandsim must be loaded
#   count end         prints what was done since: one line of NAME=COUNT fields
#   count wear BLOCKS prints how often each of the first BLOCKS blocks was erased since the probes were set, in their order, with commas
#   count stop        takes the probes away: nandsim can be unloaded
#
# Names: page_reads, page_programs, block_erases: what the array did (nandsim's actions); column_changes: moves within the page that was
# read last (05h); operations: calls of the controller (exec_op); commands, addresses: command and address cycles; bytes_out, bytes_in: data bytes from and to the chip. The kernel adds them up in
# histograms of two probes, so nothing is lost however long the interval is.
set -eu
cd /sys/kernel/tracing

# nandsim's action is a field of bits 20 to 22 of its second argument; a controller operation is struct nand_operation of Linux 6.1:
# at 8 the pointer to its instructions, at 16 their number; an instruction has 40 bytes: type at 0, at 8 the number of address or data bytes.
probe() {
  [ -d events/flash ] && return 0
  fields='' index=0
  while [ $index -lt 6 ]; do
    fields="$fields t$index=+$((40 * index))(+8(\$arg2)):u32 n$index=+$((40 * index + 8))(+8(\$arg2)):u32"
    index=$((index + 1))
  done
  fields="$fields opcode=+8(+8(\$arg2)):u8"
  echo 'p:flash/action ns_do_state_action action=$arg2:u32' >>kprobe_events
  echo "p:flash/operation ns_exec_op count=+16(\$arg2):u32 only_check=\$arg3:u8 $fields" >>kprobe_events
  echo 'p:flash/erase nand_erase_op block=$arg2:u32' >>kprobe_events
  echo 'hist:keys=action' >>events/flash/action/trigger
  echo 'hist:keys=block' >>events/flash/erase/trigger
  echo 'hist:name=column_changes:keys=only_check if only_check == 0 && t0 == 0 && opcode == 5' >>events/flash/operation/trigger
  echo 'hist:name=operations:keys=only_check if only_check == 0' >>events/flash/operation/trigger
  index=0
  while [ $index -lt 6 ]; do
    for kind in commands:0 addresses:1 bytes_out:2 bytes_in:3; do
      echo "hist:name=${kind%:*}$index:keys=only_check:vals=n$index if only_check == 0 && count > $index && t$index == ${kind#*:}"
    done
    index=$((index + 1))
  done | while read -r trigger; do echo "$trigger" >>events/flash/operation/trigger; done
}

# All sums since the probes were set: NAME COUNT a line.
sums() {
  { cat events/flash/action/hist events/flash/operation/hist; } | tr -d '{},' | awk '
    /^# trigger info/ { name = "action"; if (match($0, /name=[a-z_]+/)) name = substr($0, RSTART + 5, RLENGTH - 5) }
    name == "action" && $1 == "action:" {
      kind = int($2 / 1048576) % 8
      if (kind == 1) sum["page_reads"] += $4
      if (kind == 2) sum["page_programs"] += $4
      if (kind == 3) sum["block_erases"] += $4
    }
    $1 == "only_check:" {
      if (name == "operations" || name == "commands" || name == "column_changes") sum[name] += $4; else sum[name] += $6
    }
    END {
      sum["page_reads"] -= sum["column_changes"]  # at a column change nandsim copies the page again
      split("page_reads column_changes page_programs block_erases operations commands addresses bytes_out bytes_in", names, " ")
      for (i = 1; i <= 9; i++) printf "%s %.0f\n", names[i], sum[names[i]]
    }'
}

# The erases of each block, which the MTD layer numbers from the beginning of the chip.
wear() {
  tr -d '{},' <events/flash/erase/hist | awk -v blocks="$1" '
    $1 == "block:" { erases[$2] = $4 }
    END { for (block = 0; block < blocks; block++) printf "%s%d", block ? "," : "", erases[block]; print "" }'
}

case ${1:-} in
  begin) probe; sums >/tmp/.count ;;
  end) sums | awk 'NR == FNR { before[$1] = $2; next } { printf "%s%s=%.0f", separator, $1, $2 - before[$1]; separator = " " } END { print "" }' /tmp/.count - ;;
  wear) wear "$2" ;;
  stop)
    : >events/flash/action/trigger  # opening to truncate removes all
    : >events/flash/erase/trigger
    : >events/flash/operation/trigger
    : >kprobe_events
    ;;
  *) sed -n '2,11p' "$0"; exit 2 ;;
esac
