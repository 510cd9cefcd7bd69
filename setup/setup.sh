#!/bin/sh
# Sets up a machine that has Rust (rustup) and gcc.
#
# usage: setup/setup.sh [run|test|python|dist ARCHITECTURE...]
#   run   installs nothing: looks for cargo and a C compiler only
#   test  on Debian with Python: installs the missing packages of debian-packages.txt, fetches the crates, and prepares
#         the Python packages and the kernels that tests compare with. Does nothing, without network, when all is there.
#   python  prepares the Python packages alone, for `make wheel`
#   dist  adds what linking static programs for the architectures (x86_64, aarch64) needs: Rust's standard library, and
#         on Debian the packages of dist-packages.txt
set -eu
cd "$(dirname "$0")/.."
level=${1:-test}
list=setup/debian-packages.txt
did=nothing

say() { echo "set-up: $*"; }
fail() { say "$@" >&2; exit 1; }

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Names of the listed packages that the machine lacks.
missing_packages() {
    while read -r name _; do
        case $name in '' | '#'*) continue ;; esac
        installed "$name" || echo "$name"
    done <"$list"
}

# Says which packages are to be installed, and what for.
say_packages() {
    case $level in dist) who="packing for other machines needs" ;; *) who="the tests need" ;; esac
    say "$who these Debian packages, which this machine lacks:"
    for name in $1; do grep "^$name " "$list" | sed 's/^/  /'; done
}

install_packages() {
    say_packages "$1"
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        as_root='sudo -n'
    else
        fail "neither root nor sudo without a password to install them: as root, run: apt-get install --no-install-recommends $1"
    fi
    say "installing them with apt-get"
    apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q"
    $apt update </dev/null || say "the package lists could not be renewed; trying the old ones" >&2
    # shellcheck disable=SC2086 # each word of $1 is a package
    $apt install -y --no-install-recommends $1 </dev/null || fail "apt-get could not install: $1 (its message is above)"
}

fetch_crates() {
    mkdir -p .setup
    say "fetching the crates of Cargo.lock"
    cargo fetch --locked </dev/null || fail "cargo could not fetch the crates (its message is above)"
    cargo fetch --locked --manifest-path fuzz/Cargo.toml </dev/null ||
        fail "cargo could not fetch the crates for fuzzing (its message is above)"
    rm -f .setup/crates-*
    : >"$1"
}

# The kernel that tests compare with, in the folder $1 for the architecture $2: downloaded and packed once, and again
# when its recipe changes.
prepare_guest() {
    say "preparing the guest that tests compare with: Debian's kernel for $2 in $1"
    if [ "$2" = amd64 ] && [ "$(id -u)" = 0 ] && ! apt-cache show linux-image-amd64 >/dev/null 2>&1; then
        DEBIAN_FRONTEND=noninteractive apt-get -q update </dev/null || say "the package lists could not be renewed" >&2
    fi
    oracles/guest.sh prepare "$1" "$2" && return 0
    [ "$2" = amd64 ] && fail "the guest could not be prepared (the reason is above)"
    say "without it (the reason is above; not every Debian has a kernel for $2): tests that need it are skipped" >&2
}

# The Python packages that tests compare with, in an environment of their own.
prepare_python() {
    say "fetching the Python packages of setup/python-packages.txt into .setup/python"
    rm -rf .setup/python .setup/python-packages-*
    mkdir -p .setup
    python3 -m venv .setup/python </dev/null || fail "python3 could not make an environment (its message is above)"
    .setup/python/bin/pip install -q --disable-pip-version-check --no-deps --require-hashes \
        -r setup/python-packages.txt </dev/null || fail "pip could not install the packages (its message is above)"
    : >"$1"
}

# The same, if the list has changed since.
prepare_python_once() {
    wheels=.setup/python-packages-$(sha256sum <setup/python-packages.txt | cut -c1-16)
    [ ! -e "$wheels" ] || return 0
    prepare_python "$wheels"
    did=something
}

# Rust's standard library for static programs of the architectures $@: small downloads, through rustup.
add_targets() {
    for arch; do
        target=$arch-unknown-linux-musl
        libraries=$(rustc --print target-libdir --target "$target" 2>/dev/null) || libraries=
        [ ! -d "$libraries" ] || continue
        say "packing for other machines needs Rust's standard library for $target: adding it with rustup"
        rustup target add "$target" </dev/null || { say "rustup could not add $target" >&2; added=false; }
    done
}

# What compiles and links for the architectures $@ and is missing: nothing for that of this machine.
missing_compilers() {
    for arch; do
        case $arch in "$(uname -m)") set -- ;; x86_64) set -- x86-64 amd64 ;; aarch64) set -- aarch64 arm64 ;; esac
        [ $# = 0 ] || for package in "gcc-$1-linux-gnu" "libc6-dev-$2-cross"; do
            installed "$package" || echo "$package"
        done
    done
}

prepare_dist() {
    list=setup/dist-packages.txt
    added=true
    add_targets "$@"
    if command -v dpkg-query >/dev/null; then
        packages=$(missing_compilers "$@" | sort -u | tr '\n' ' ' | sed 's/ $//')
        [ -z "$packages" ] || install_packages "$packages"
    fi
    $added || exit 1
}

case $level in run | test | python | dist) ;; *) fail "usage: setup/setup.sh [run|test|python|dist ARCHITECTURE...]" ;; esac

command -v cargo >/dev/null ||
    fail "cargo is missing: install Rust with rustup (https://rustup.rs), open a new shell, try again"
command -v cc >/dev/null ||
    fail "a C compiler is missing, which Rust links with: as root, run: apt-get install gcc libc6-dev"

case $level in
run) exit 0 ;;
python)
    prepare_python_once
    exit
    ;;
dist)
    shift
    prepare_dist "$@"
    exit
    ;;
esac

if command -v dpkg-query >/dev/null; then
    packages=$(missing_packages | tr '\n' ' ' | sed 's/ $//')
    if [ -n "$packages" ]; then
        install_packages "$packages"
        did=something
    fi
else
    say "not a Debian machine: provide what setup/debian-packages.txt lists yourself" >&2
fi

stamp=.setup/crates-$(cat Cargo.lock fuzz/Cargo.lock rust-toolchain.toml | sha256sum | cut -c1-16)
if [ ! -e "$stamp" ]; then
    fetch_crates "$stamp"
    did=something
fi

prepare_python_once

for guest in amd64:.setup/guest armhf:.setup/guest-armhf mipsel:.setup/guest-mipsel; do
    if command -v dpkg-query >/dev/null && ! oracles/guest.sh ready "${guest#*:}" "${guest%%:*}"; then
        prepare_guest "${guest#*:}" "${guest%%:*}"
        did=something
    fi
done

if [ "$did" = nothing ]; then say "nothing to do"; else say "done"; fi
