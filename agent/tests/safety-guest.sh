#!/usr/bin/env bash
# Runs safety.sh in the guest of oracles/: safety-guest.sh GUEST [AGENT]. AGENT is a static program; without
# it one is built. With CASES in the environment these cases alone are tried.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
guest=$1 agent=${2:-}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir "$work/share"
if [ -z "$agent" ]; then
  make -C "$here/.." CC="cc -static" BUILD="$work/build" >/dev/null
  agent=$work/build/boardlab-agent
fi
cp "$agent" "$work/share/boardlab-agent"; { printf "CASES='%s'\n" "${CASES:-}"; cat "$here/safety.sh"; } >"$work/share/safety.sh"
for disk in vda vdb sata card; do truncate -s 16M "$work/$disk"; done
"$here/../../oracles/guest.sh" run "$guest" "$work/share" safety.sh \
  -drive if=virtio,format=raw,file="$work/vda" -drive if=virtio,format=raw,file="$work/vdb" \
  -device ahci,id=a -drive if=none,id=d,format=raw,file="$work/sata" -device ide-hd,bus=a.0,drive=d \
  -device sdhci-pci -drive if=none,id=s,format=raw,file="$work/card" -device sd-card,drive=s
