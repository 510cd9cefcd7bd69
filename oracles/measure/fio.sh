#!/usr/bin/env bash
# fio itself on a device of the guest, through `boardlab run JOBS --on`: fio.sh GUEST BOARDLAB [OUT]. The device is null_blk with 5 ms a
# request, 64 at once; fio's figures and the agent's are of the same device. What must not be written is refused.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"

# The programs, for a guest that has none.
for program in "$(command -v fio)" "$boardlab"; do
  name=$(basename "$program")
  take "$program" "$name.real"
  printf '#!/bin/sh\nexec /tmp/lib/ld-linux-x86-64.so.2 --library-path /tmp/lib --argv0 %s /tmp/%s.real "$@"\n' "$name" "$name" >"$share/$name"
  chmod 755 "$share/$name"
done
strip "$share"/*.real
cat >"$share/jobs.fio" <<'END'
[global]
filename=/dev/sdz
direct=1
bs=4k
size=1m
[write]
rw=write
write_bw_log=pace
[read]
stonewall
rw=randread
ioengine=libaio
iodepth=8
END
cat >"$share/agent.plan" <<'END'
boardlab-plan 1
step write block.write device=/dev/nullb0 size=4096 length=1048576
step read block.read device=/dev/nullb0 size=4096 length=1048576 order=random depth=8 engine=aio
END
cat >"$share/job.sh" <<'END'
# In memory, as measure.sh says.
cp -r /h/lib /h/agent /h/fio /h/boardlab /h/*.real /tmp/
export PATH=/tmp:$PATH BOARDLAB_CONFIG= HOME=/tmp TMPDIR=/tmp
modprobe null_blk gb=1 memory_backed=1 irqmode=2 completion_nsec=5000000 submit_queues=1
/tmp/agent --destroy /dev/nullb0 --out /tmp/agent.jsonl /h/agent.plan || exit 1
cp /tmp/agent.jsonl /h/
on() { boardlab run /h/jobs.fio --on "$@" --agent /tmp/agent --json --no-wall-time --quiet; }
refused() { # STATUS ARGUMENT...
  expected=$1; shift; on "$@" >/tmp/out; status=$?
  [ $status = $expected ] || { echo "status $status: --on $*"; exit 1; }
  [ "$(head -c 2097152 /dev/nullb0 | md5sum)" = "$sum" ] || { echo "written: --on $*"; exit 1; }
}
# Without permission, for another device, with swap on it, in use as swap.
mkswap /dev/nullb0 >/tmp/out || exit 1
sum=$(head -c 2097152 /dev/nullb0 | md5sum) || exit 1; [ -n "$sum" ] || exit 1
refused 3 /dev/nullb0
refused 2 /dev/nullb0 --destroy /dev/nullb1
refused 3 /dev/nullb0 --destroy /dev/nullb0
swapon /dev/nullb0 || exit 1
refused 3 /dev/nullb0 --destroy-data /dev/nullb0
swapoff /dev/nullb0
echo "== measuring"
on /dev/nullb0 --destroy-data /dev/nullb0 >/tmp/fio.json || exit 1
cp /tmp/fio.json /h/fio.jsonl
END
boot job.sh -icount shift=1,sleep=off
mv "$out/fio.jsonl" "$out/fio.json"
