#!/usr/bin/env bash
# The round trip of docs/tasks/measure-a-board.md: a plan goes over ssh to a board, which is the guest, and what was measured comes back:
# ssh.sh GUEST BOARDLAB [OUT]. The card is QEMU's at 50 KiB/s, in real time.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"

# The guest gets a server with its libraries and a key; the host a configuration with a board called `guest`.
take dropbear
ssh-keygen -q -t ed25519 -N '' -f "$work/key"
cp "$work/key.pub" "$share/"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$work/config" <<END
Host guest
  HostName 127.0.0.1
  Port $port
  User root
  IdentityFile $work/key
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile $work/known_hosts
  LogLevel ERROR
END
mkdir "$work/bin"
printf '#!/bin/sh\nexec %s -F %s/config "$@"\n' "$(command -v ssh)" "$work" >"$work/bin/ssh"
chmod 755 "$work/bin/ssh"
export PATH=$work/bin:$PATH

cat >"$share/job.sh" <<'END'
for module in virtio_net sdhci-pci mmc_block; do modprobe $module; done
until [ -e /dev/mmcblk0 ] && [ -e /sys/class/net/eth0 ]; do sleep 0.1; done
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0
mkdir -p /lib/x86_64-linux-gnu /lib64 /etc/dropbear /tmp/.ssh
cp -n /h/lib/* /lib/x86_64-linux-gnu/; cp -n /h/lib/ld-linux* /lib64/
echo root::0:0:root:/tmp:/bin/sh >/etc/passwd; echo /bin/sh >/etc/shells
cp /h/key.pub /tmp/.ssh/authorized_keys; chmod 700 /tmp /tmp/.ssh; chmod 600 /tmp/.ssh/authorized_keys
/h/dropbear -R -E -s 2>/tmp/err || { cat /tmp/err; exit 1; }
until [ -e /h/done ]; do sleep 0.2; done
END
truncate -s 16M "$work/card"
# QEMU's SD card makes a request of every sector. After a pause it lets a tenth of a second's requests through at once, ten here: a step has
# many more.
GUEST_SECONDS=${GUEST_SECONDS:-900} "$here/../guest.sh" run "$guest" "$share" job.sh -device sdhci-pci -device sd-card,drive=card \
  -drive "if=none,id=card,format=raw,file=$work/card,throttling.iops-total=100" \
  -netdev "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:$port-:22" -device virtio-net-pci,netdev=net >"$work/console" 2>&1 &
machine=$!
trap 'touch "$share/done"; wait "$machine" || cat "$work/console"; rm -rf "$work"' EXIT
for _ in $(seq 300); do
  ssh -o ConnectTimeout=2 guest true 2>/dev/null && break
  kill -0 "$machine" 2>/dev/null || exit 1
  sleep 0.2
done

cd "$out"
"$boardlab" measure plan "$here/blocks.toml" --device /dev/mmcblk0 --set device.lanes=1 --set device.read="0 ns" --set device.write="0 ns" \
  --set device.transfer="50 KiB/s" --set step.1.count=6 --set step.2.count=200 --set step.3.count=60 | sed "/^scenario/a step warm-up block.read device=/dev/mmcblk0 size=512 count=30" >card.plan
"$boardlab" measure run card.plan --over ssh:guest --destroy /dev/mmcblk0 --agent "$share/agent" --save card.jsonl
