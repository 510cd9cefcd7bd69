#!/bin/sh
# Packs boardlab for machines without Rust: a static program, as an archive and as a Debian package, in dist/.
#
# usage: setup/dist.sh [x86_64] [aarch64]   without an argument, both
#
# setup/setup.sh says what that needs beyond Rust, gcc, Python, git and dpkg-deb, and installs it. What cannot be made is
# named, the rest is made, and the script ends with status 1.
#
# The same commit, Rust and gcc give the same bytes, wherever the tree lies: every time is that of the last commit
# (SOURCE_DATE_EPOCH overrides it), and the program has no path of this machine in it.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C TZ=UTC
umask 022
status=0
host=$(uname -m)
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
cargo_home=${CARGO_HOME:-$HOME/.cargo}
build_folder=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)

say() { echo "dist: $*"; }
fail() { say "$@" >&2; exit 1; }
incomplete() { say "$@" >&2; status=1; }

target() { echo "$1-unknown-linux-musl"; }
program() { echo "$build_folder/$(target "$1")/release/boardlab"; }
compiler() { if [ "$1" = "$host" ]; then echo cc; else echo "$1-linux-gnu-gcc"; fi; }
debian_name() { case $1 in x86_64) echo amd64 ;; aarch64) echo arm64 ;; esac; }

# What building for $1 lacks on this machine.
lacking() {
    libraries=$(rustc --print target-libdir --target "$(target "$1")" 2>/dev/null) || libraries=
    [ -d "$libraries" ] || echo "Rust's standard library for $(target "$1")"
    command -v "$(compiler "$1")" >/dev/null || echo "the compiler $(compiler "$1")"
}

# Flags that replace the folders of this machine in the program, one a line. The last that fits a path counts.
flags() {
    rust=$(rustc -vV | sed -n 's/^commit-hash: //p')
    echo "-Cstrip=symbols"
    echo "--remap-path-prefix=$PWD=/boardlab"
    echo "--remap-path-prefix=$build_folder=/boardlab/target"
    echo "--remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$rust"
    for registry in "$cargo_home"/registry/src/*; do echo "--remap-path-prefix=$registry=/cargo"; done
}

# Zlib is the only library in C. What the program takes of it calls `malloc`, `free`, `memcpy` and `memset` alone, which
# any C library declares alike; without musl's headers those of the compiler's own C library do.
# shellcheck disable=SC2086 # $quiet is a word or none
build() {
    variable=$(target "$1" | tr - _)
    # Cargo's lines are of use to somebody who watches.
    [ -t 2 ] && quiet= || quiet=--quiet
    cargo fetch --locked --quiet --target "$(target "$1")" || return 1
    # A profile's `strip` does not reach a package that has settings of its own.
    env "CARGO_TARGET_$(echo "$variable" | tr '[:lower:]' '[:upper:]')_LINKER=$(compiler "$1")" \
        "CC_$variable=$(compiler "$1")" "CFLAGS_$variable=-U_FORTIFY_SOURCE" LIBZ_SYS_STATIC=1 \
        "CARGO_ENCODED_RUSTFLAGS=$(flags | tr '\n' '\037' | sed 's/.$//')" CARGO_TARGET_DIR="$build_folder" \
        cargo build --locked $quiet --release --package boardlab-cli --target "$(target "$1")"
}

# Whether the program for $1 runs wherever it is put.
stands_alone() {
    ! readelf -lW "$(program "$1")" | grep -q INTERP || { say "the program for $1 is not static" >&2; return 1; }
    for folder in "$PWD" "$build_folder" "$cargo_home" "$(rustc --print sysroot)"; do
        ! grep -aqF "$folder/" "$(program "$1")" || { say "the program for $1 names $folder" >&2; return 1; }
    done
}

make_program() {
    lack=$(lacking "$1" | sed 's/$/, /' | tr -d '\n')
    if [ -n "$lack" ]; then say "for $1 this machine lacks: ${lack%, }" >&2; return 1; fi
    begun=$(date +%s)
    say "building for $1: four minutes of one core ..."
    build "$1" || { say "the program for $1 does not build (the reason is above)" >&2; return 1; }
    stands_alone "$1" || return 1
    say "built for $1 in $(($(date +%s) - begun)) s: $(wc -c <"$(program "$1")") bytes"
}

# Completions and manual pages, which the program $1 for this machine prints; without the user's defaults.
make_pages() {
    export XDG_CONFIG_HOME="$work"
    for shell in bash fish zsh; do
        "$1" completions "$shell" --quiet --out "$work/completions"
    done
    "$1" man --quiet --out "$work/man"
}

# The listed files of the repository, and the licences of the program for $1, into the folder $2.
put_files() {
    sed '/^#/d' setup/package/files.txt | xargs git ls-files -- >"$work/files"
    while read -r file; do install -D -m 644 "$file" "$2/$file"; done <"$work/files"
    setup/third-party.py "$(target "$1")" >"$2/THIRD-PARTY.txt"
    install -m 644 "$(rustc --print sysroot)/share/doc/rust/COPYRIGHT-library.html" "$2/rust-standard-library.html"
}

make_archive() {
    folder=boardlab-$version-$1
    put_files "$1" "$work/$folder"
    install -m 755 "$(program "$1")" "$work/$folder/boardlab"
    cp -R "$work/completions" "$work/man" "$work/$folder"
    tar -C "$work" --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        -cf "$work/$folder.tar" "$folder"
    gzip -9n <"$work/$folder.tar" >"dist/$folder.tar.gz"
}

debian_changelog() {
    echo "boardlab ($version-1) unstable; urgency=medium"
    printf '\n  * Version %s. CHANGELOG.md, here changelog.gz, says what it brings.\n\n' "$version"
    echo " -- $(sed -n 's/^Maintainer: //p' setup/package/control)  $(date -R -d "@$SOURCE_DATE_EPOCH")"
}

# The files of the Debian package for $1, under $2.
put_debian_files() {
    share=$2/usr/share
    doc=$share/doc/boardlab
    put_files "$1" "$doc"
    rm "$doc/LICENSE-APACHE" "$doc/LICENSE-MIT"
    mv "$doc/CHANGELOG.md" "$doc/changelog"
    debian_changelog >"$doc/changelog.Debian"
    sed 's/^$/./; s/^/ /' LICENSE-MIT | sed -e '/^@MIT@$/{r /dev/stdin' -e 'd}' setup/package/copyright >"$doc/copyright"
    install -D -m 644 setup/package/lintian-overrides "$share/lintian/overrides/boardlab"
    install -D -m 644 "$work/completions/boardlab.bash" "$share/bash-completion/completions/boardlab"
    install -D -m 644 "$work/completions/boardlab.fish" "$share/fish/vendor_completions.d/boardlab.fish"
    install -D -m 644 "$work/completions/_boardlab" "$share/zsh/vendor-completions/_boardlab"
    install -D -m 755 "$(program "$1")" "$2/usr/bin/boardlab"
    mkdir -p "$share/man/man1"
    cp "$work"/man/*.1 "$share/man/man1"
    gzip -9n "$share"/man/man1/*.1 "$doc/changelog" "$doc/changelog.Debian"
}

make_debian_package() {
    root=$work/debian-$1
    put_debian_files "$1" "$root"
    mkdir "$root/DEBIAN"
    size=$(find "$root" -printf '%s %y\n' | awk '{ kib += $2 == "f" ? int(($1 + 1023) / 1024) : 1 } END { print kib }')
    sed "s/@VERSION@/$version-1/; s/@ARCHITECTURE@/$(debian_name "$1")/; s/@SIZE@/$size/" \
        setup/package/control >"$root/DEBIAN/control"
    (cd "$root" && find usr -type f | sort | xargs md5sum) >"$root/DEBIAN/md5sums"
    find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    # One thread: the bytes of several depend on their number.
    dpkg-deb --root-owner-group --threads-max=1 -Zxz --build "$root" \
        "dist/boardlab_$version-1_$(debian_name "$1").deb" >/dev/null
}

[ $# -gt 0 ] || set -- x86_64 aarch64
for arch; do
    case $arch in x86_64 | aarch64) ;; *) sed -n '4s/^# //p' "$0" >&2; exit 2 ;; esac
done
[ -n "$version" ] || fail "Cargo.toml names no version"
for tool in git python3 readelf; do
    command -v $tool >/dev/null || fail "$tool is missing"
done
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
[ -z "$(git status --porcelain)" ] || say "the tree has changes that are in no commit; they are packed as well" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
rm -rf dist
mkdir dist

say "boardlab $version for $*, into dist/"
setup/setup.sh dist "$host" "$@" || incomplete "not all that is needed could be installed"
make_program "$host" || fail "the program for this machine prints the manual pages: without it nothing can be packed"
make_pages "$(program "$host")"
for arch; do
    if [ "$arch" != "$host" ] && ! make_program "$arch"; then
        incomplete "nothing is packed for $arch"
        continue
    fi
    make_archive "$arch"
    if command -v dpkg-deb >/dev/null; then make_debian_package "$arch"; else
        incomplete "dpkg-deb is missing: no Debian package for $arch"
    fi
done
(cd dist && sha256sum boardlab* >SHA256SUMS && wc -c boardlab*)
exit $status
