#!/usr/bin/env bash
# A real Linux kernel as an oracle: boots Debian's kernel package under QEMU (no root, no KVM, no hardware) with nandsim, MTD, JFFS2,
# UBI and UBIFS as modules, runs a job script in it with a folder shared with the host, and returns the job's exit status.
#
#   guest.sh prepare DIR [ARCHITECTURE]  download Debian's kernel into DIR and build DIR/vmlinuz and DIR/initrd; does nothing when they
#                                        are newer than what they are made of (10 s; network only for the first time). ARCHITECTURE is
#                                        Debian's name of it: amd64 (default), armhf or mipsel, the last two without mtd-utils
#   guest.sh ready DIR [ARCHITECTURE]    exit status 0 when DIR is prepared for these very files, without output
#   guest.sh run DIR SHARE JOB [QEMU-ARG]...
#                                        boot (4 s), mount the host folder SHARE at /h, run /h/JOB with sh, power off; the console goes to
#                                        standard output, the exit status is the job's, 124 when it did not finish
#   guest.sh host DIR COMMAND [ARGUMENT]...
#                                        boot, and run a command of this machine, as root and in the same folder. The guest has the files
#                                        of this machine, and what it changes in them goes away with it; it has FUSE, and only PATH of
#                                        the environment. Output and exit status are the command's
#   guest.sh cut DIR SHARE JOB WRITES...
#                                        the same, with the power failing: when the guest has written WRITES times to files of SHARE, the machine
#                                        is stopped and SHARE/cache, SHARE/log and SHARE/trace are copied to SHARE/cut-WRITES/; at the last
#                                        WRITES it is killed instead. `cache` is nandsim's cache_file, `trace` the order of the writes
#
# For `run`, `host` and `cut`: KERNEL_ARGS is appended to the kernel's command line; GUEST_SECONDS (300) and GUEST_MB (1024) limit the guest.
# In a job: README.md in this folder says which commands there are.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

tools='nanddump nandwrite flash_erase flash_eraseall mtd_debug mtdinfo ubiattach ubidetach ubiformat ubimkvol ubirename ubirmvol
  ubirsvol ubiupdatevol ubinfo'
modules='nandsim mtdram mtdblock block2mtd phram ubi ubifs jffs2 virtio_pci virtio_blk 9p 9pnet_virtio
  zstd deflate lzo lzo-rle crc32_generic crc32c_generic zlib_deflate zlib_inflate lzo_compress lzo_decompress xxhash_generic
  ahci sd_mod sg bsg sdhci-pci mmc_block null_blk brd scsi_debug loop virtio_net raid1 ext4 vfat nls_cp437 nls_ascii fuse overlay'

fail() { echo "guest: $*" >&2; exit 1; }

# What the prepared files were made of: they are made anew when it changes.
recipe() { { echo "$1"; cat "$here"/guest.sh "$here"/guest-init.sh "$here"/guest-*.c "$here"/count.sh; } | sha256sum | cut -c1-16; }

ready() {
  [ -s "$1/vmlinuz" ] && [ -s "$1/initrd" ] && [ "$(cat "$1/recipe" 2>/dev/null)" = "$(recipe "${2:-amd64}")" ]
}

# Debian's newest kernel package, once; for another architecture than this machine's also its shell, and lists of
# packages of its own, so that nothing of this machine changes.
download() {
  local dir=$1 arch=$2 image=$3 package; local -a apt=() packages
  ls "$dir"/linux-image-*.deb >/dev/null 2>&1 && return 0
  if [ "$arch" != amd64 ]; then
    mkdir -p "$dir/apt/lists/partial" "$dir/apt/archives/partial"
    apt=(-o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o "Dir::State=$dir/apt" -o Dir::State::status=/dev/null
      -o "Dir::Cache=$dir/apt" -o Acquire::Languages=none)
    apt-get "${apt[@]}" -q update >"$dir/download.log" 2>&1 || cat "$dir/download.log" >&2   # one list of several is enough
    packages=(busybox-static)
  fi
  package=$(apt-cache "${apt[@]}" depends "$image" 2>/dev/null | awk '/Depends:/ {print $2; exit}')
  [ -n "$package" ] || fail "apt knows no $image: is there a network? As root, run apt-get update"
  ( cd "$dir" && apt-get "${apt[@]}" download -q "$package" "${packages[@]}" >"$dir/download.log" 2>&1 ) ||
    { rm -f "$dir"/*.deb; cat "$dir/download.log" >&2; fail "the kernel package $package could not be downloaded: is there a network?"; }
  rm -rf "$dir/download.log" "$dir/apt"
}

prepare() {
  local dir root release arch=${2:-amd64} image program
  case $arch in
    amd64) image=linux-image-amd64 ;;
    armhf) image=linux-image-armmp ;;
    mipsel) image=linux-image-4kc-malta ;;
    *) fail "no kernel for $arch: expected amd64, armhf or mipsel" ;;
  esac
  mkdir -p "$1"; dir=$(cd "$1" && pwd)
  ready "$dir" "$arch" && return 0
  rm -f "$dir/recipe"
  download "$dir" "$arch" "$image"
  work=$(mktemp -d)  # global, for the trap
  trap 'rm -rf "$work"' EXIT
  root=$work/root
  # Only what the modules below need is taken out of the package, of which the rest is 400 MB.
  dpkg --fsys-tarfile "$dir"/linux-image-*.deb | tar -x -C "$work" --exclude='*/drivers/net/*/*' --exclude='*/drivers/gpu*' --exclude='*/sound/*' --exclude='*/drivers/media/*'
  release=$(ls "$work/lib/modules")
  if [ "$arch" = amd64 ]; then unpack "$work/boot/vmlinuz-$release" "$dir/vmlinuz"; else cp "$work/boot/vmlinuz-$release" "$dir/vmlinuz"; fi
  depmod -b "$work" "$release" 2>/dev/null || true
  mkdir -p "$root"/{bin,sbin,dev,proc,sys,tmp,mnt,h,lib64,lib/modules/"$release"}
  ln -s /bin/busybox "$root/sbin/modprobe"   # the kernel itself calls it, for compressors
  copy_modules "$work" "$root" "$release" "$arch"
  if [ "$arch" = amd64 ]; then
    cp /bin/busybox "$root/bin/"
    copy_tools "$root"
    for program in guest-files guest-posix; do
      gcc -O2 -static -std=c11 -Wall -Wextra -Werror -o "$root/sbin/$program" "$here/$program.c"
    done
  else
    dpkg --fsys-tarfile "$dir"/busybox-static_*.deb | tar -x -C "$root" ./bin/busybox
  fi
  cp "$here/guest-init.sh" "$root/init"
  cp "$here/count.sh" "$root/sbin/count"
  chmod 755 "$root/init" "$root/sbin/count"
  ( cd "$root" && find . | sort | cpio -o -H newc --quiet ) >"$dir/initrd.new"
  mv "$dir/initrd.new" "$dir/initrd"
  echo "$arch" >"$dir/architecture"
  recipe "$arch" >"$dir/recipe"
}

# The kernel inside a compressed one, which QEMU starts too: decompression under emulation takes as long as the rest
# of a boot. One that is not compressed with xz stays as it is.
unpack() {
  python3 - "$1" "$2" <<'EOF'
import lzma, struct, sys
packed = open(sys.argv[1], "rb").read()
# The header of the x86 boot protocol: 512-byte sectors of set-up code, then the payload's offset behind them and its length.
offset, length = struct.unpack_from("<II", packed, 0x248)
offset += (packed[0x1F1] + 1) * 512
payload = packed[offset:offset + length]
is_xz = payload.startswith(b"\xfd7zXZ\0")
open(sys.argv[2], "wb").write(lzma.LZMADecompressor().decompress(payload) if is_xz else packed)
EOF
}

# The mtd-utils of this machine, with the libraries they are linked to.
copy_tools() {
  local root=$1 tool path
  for tool in $tools; do
    path=$(PATH=$PATH:/usr/sbin:/sbin command -v "$tool") || fail "$tool is missing: install mtd-utils"
    cp "$path" "$root/sbin/"
  done
  for path in "$root"/sbin/*; do ldd "$path" 2>/dev/null | grep -o '/[^ ]*' || true; done | sort -u |
    while read -r path; do mkdir -p "$root$(dirname "$path")"; cp -L "$path" "$root$path"; done
}

# The modules with those that they need. The kernel of amd64 has all; that of armhf has no mtdram.
copy_modules() {
  local work=$1 root=$2 release=$3 arch=$4 module path
  for module in $modules; do
    { modprobe -S "$release" -d "$work" --show-depends "$module" 2>/dev/null || [ "$arch" != amd64 ]; } | awk '$1 == "insmod" {print $2}'
  done | sort -u | while read -r path; do
    mkdir -p "$root$(dirname "${path#"$work"}")"; cp "$path" "$root${path#"$work"}"
  done
  cp "$work/lib/modules/$release"/modules.{order,builtin,builtin.modinfo} "$root/lib/modules/$release/"
  depmod -b "$root" "$release"
}

# Without ERMS and FSRM the kernel copies eight bytes at a time: QEMU emulates `rep movsb` byte by byte. Without LA57 page
# tables have four levels. What the kernel would do against attackers and to test its ciphers is a fifth of a boot.
# On a busy host the emulated timer can be late, and a kernel that tests it panics.
cpu=max,-erms,-fsrm,-la57
spared='mitigations=off cryptomgr.notests lsm= no_timer_check'

machine() {
  local dir=$1 share=$2 job=$3 console=ttyS0; local -a qemu; shift 3
  case $(cat "$dir/architecture") in
    amd64) qemu=(qemu-system-x86_64 -M "pc,accel=tcg" -cpu "$cpu" -m "${GUEST_MB:-1024}") ;;
    armhf) qemu=(qemu-system-arm -M "virt,highmem=off" -cpu cortex-a15 -m "${GUEST_MB:-1024}") console=ttyAMA0 ;;
    mipsel) qemu=(qemu-system-mipsel -M malta -cpu 24Kf -m 256) ;;   # without memory that needs mapping
  esac
  rm -f "$share/.status"
  exec timeout --foreground "${GUEST_SECONDS:-300}" "${qemu[@]}" -nographic -no-reboot \
    -nic none -kernel "$dir/vmlinuz" -initrd "$dir/initrd" -append "console=$console panic=-1 quiet $spared JOB=$job ${KERNEL_ARGS:-}" \
    -virtfs "local,path=$share,mount_tag=host0,security_model=none,id=host0" "$@" </dev/null
}

# The firmware of a PC speaks before the kernel does.
run() {
  local share=$2
  ( machine "$@" ) | tr -d '\r' | sed '/^SeaBIOS/,/Booting from ROM/{s/.*Booting from ROM\.*//;t;d}'
  [ -f "$share/.status" ] && return "$(cat "$share/.status")"
  echo "guest: the job did not finish" >&2; return 124
}

# In the guest: this machine's files, with changes in memory. Nothing else changes them meanwhile, so that the guest may
# cache them.
files='mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose files /mnt
modprobe overlay; modprobe fuse
mkdir /tmp/changes /tmp/work
mount -t overlay -o lowerdir=/mnt,upperdir=/tmp/changes,workdir=/tmp/work files /mnt
ln -s /proc/self/fd /dev/fd   # for process substitution
for folder in dev proc sys; do mount --bind /$folder /mnt/$folder; done'

host() {
  local dir=$1 status=0; shift
  work=$(mktemp -d)  # global, for the trap
  trap 'rm -rf "$work"' EXIT
  { printf 'set -eu\n%s\nexec chroot /mnt /usr/bin/env -i' "$files"
    printf ' %q' "PATH=$PATH" sh -c 'cd "$0"; exec "$@"' "$PWD" "$@"
    echo ' >/h/stdout 2>/h/stderr </dev/null'
  } >"$work/job"
  run "$dir" "$work" job -virtfs "local,path=/,mount_tag=files,security_model=none,readonly=on,multidevs=remap" \
    >"$work/console" || status=$?
  [ ! -f "$work/stdout" ] || { cat "$work/stdout"; cat "$work/stderr" >&2; }
  if [ "$status" = 124 ] || [ ! -f "$work/stdout" ]; then cat "$work/console" >&2; fi
  return "$status"
}

cut_power() {
  local share=$2 pid writes machine trace=$2/trace; local -a first=("${@:1:3}"); shift 3
  rm -f "$trace" "$share/cache" "$share/log"; : >"$trace"
  ( machine "${first[@]}" -trace v9fs_write -trace v9fs_write_return -D "$trace" ) >"$share/console" 2>&1 &
  pid=$!
  for writes; do
    until [ "$(grep -c v9fs_write_return "$trace")" -ge "$writes" ]; do
      kill -0 "$pid" 2>/dev/null || fail "the job ended before $writes writes; its console is in $share/console"
      sleep 0.02
    done
    machine=$(pgrep -P "$pid" -f qemu-system) || fail "the machine of process $pid is gone"
    if [ "$writes" = "${!#}" ]; then kill -KILL "$machine"; else kill -STOP "$machine"; fi
    mkdir -p "$share/cut-$writes"
    cp "$share/cache" "$share/log" "$trace" "$share/cut-$writes/"
    kill -CONT "$machine" 2>/dev/null || true
  done
  wait "$pid" 2>/dev/null || true
}

case ${1:-} in
  cut) shift; cut_power "$@" ;;
  host) shift; host "$@" ;;
  prepare) shift; prepare "$@" ;;
  ready) shift; ready "$@" ;;
  run) shift; run "$@" ;;
  *) sed -n '2,/^[^#]/{/^#/p}' "$0"; exit 2 ;;
esac
