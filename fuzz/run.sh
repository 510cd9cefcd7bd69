#!/bin/sh
# Fuzzes one target with libFuzzer, on the Rust of rust-toolchain.toml; needs a C++ compiler besides.
#
# usage: fuzz/run.sh TARGET SECONDS     search; begins with fuzz/corpus/TARGET and what was found before
#        fuzz/run.sh all SECONDS        search with every target in turn: ubi and ubifs a sixth of the time
#                                       each, all others equal shares of the rest
#        fuzz/run.sh TARGET keep        put what was found into fuzz/corpus/TARGET, minimised
#        fuzz/run.sh TARGET INPUT...    run inputs once each
#
# What is found stays below target/fuzz: the corpus, and the input of a crash, a hang or too much memory,
# which ends the run with a status other than 0.
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 2 ] || { sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
target=$1
shift

if [ "$target" = all ]; then
    targets=$(sed -n '/^\[\[bin\]\]/,/^name/s/^name = "\(.*\)"/\1/p' fuzz/Cargo.toml)
    large=$(($1 / 6))
    small=$((($1 - 2 * large) / ($(echo "$targets" | wc -l) - 2)))
    status=0
    for target in $targets; do
        case $target in
        ubi | ubifs) share=$large ;;
        *) share=$small ;;
        esac
        fuzz/run.sh "$target" "$share" || { status=$? && echo "fuzz: $target ended with status $status"; }
    done
    exit "$status"
fi

host=$(rustc -vV | sed -n 's/^host: //p')
build=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
# What cargo-fuzz passes, less the address sanitizer, which needs nightly: counters at every edge, and
# the operands of comparisons.
coverage="--cfg fuzzing -Cpasses=sancov-module"
for flag in level=4 inline-8bit-counters pc-table trace-compares; do
    coverage="$coverage -Cllvm-args=-sanitizer-coverage-$flag"
done
# With a machine named, build scripts and macros are compiled without these flags.
CARGO_TARGET_DIR=$build RUSTFLAGS="$coverage" cargo build --quiet --release \
    --manifest-path fuzz/Cargo.toml --target "$host" --bin "$target"
program=$build/$host/release/$target

kept=fuzz/corpus/$target
found=$build/corpus/$target
mkdir -p "$kept" "$found" "$build/crashes"
limits="-timeout=10 -rss_limit_mb=1024 -max_len=65536 -artifact_prefix=$build/crashes/$target-"

case $1 in
keep)
    # Inputs of UBI and UBIFS are large: one for each edge is enough, however often it is taken.
    case $target in
    ubi | ubifs) limits="$limits -use_counters=0" ;;
    esac
    # shellcheck disable=SC2086 # several words
    "$program" $limits -merge=1 -set_cover_merge=1 "$kept" "$found"
    ;;
*[!0-9]*)
    # shellcheck disable=SC2086
    "$program" $limits "$@"
    ;;
*)
    echo "fuzz: searching $1 s for inputs that break $target"
    # shellcheck disable=SC2086
    "$program" $limits -verbosity=0 -print_funcs=0 -max_total_time="$1" -print_final_stats=1 "$found" "$kept"
    ;;
esac
