#!/bin/sh
# Runs every test and closes with the time of each suite and one line: N passed, N failed, N skipped.
#
# A test that lacks a tool writes `skipped: needs TOOL` to standard error and returns; it counts as
# skipped here, like one that is ignored. With CI set, a skipped test fails the run.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# On a machine that builds once, what makes the next build faster costs a fifth of this one: the state of an
# incremental build, and crates in many small parts.
if [ -n "${CI:-}" ]; then
    export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_CODEGEN_UNITS=4
fi

# The status of a pipeline is that of `tee`, so that of cargo goes through a file.
run_cargo() {
    {
        status=0
        cargo test --locked --workspace "$@" 2>&1 </dev/null || status=$?
        echo "$status" >"$work/status"
    } | tee "$work/log"
    status=$(cat "$work/status")
}

start=$(date +%s)
run_cargo --no-run
built=$(date +%s)
[ "$status" != 0 ] || run_cargo --no-fail-fast
ended=$(date +%s)

# The name of a suite is that of its program: `boardlab_ftl` tests the crate from inside, `ftl` from outside.
awk '
    /^ +Running / { suite = $NF; sub(/^.*\//, "", suite); sub(/-[0-9a-f]+\)$/, "", suite) }
    /^ +Doc-tests / { suite = $2 " (documents)" }
    /^test result: .* finished in / { printf "%9.1f s  %s\n", $NF, suite }' "$work/log" | sort -rn >"$work/times"
if [ -s "$work/times" ]; then
    echo "The time of each suite, beside $((built - start)) s of building and $((ended - built)) s of testing:"
    cat "$work/times"
fi

# shellcheck disable=SC2046 # three numbers
set -- $(awk '
    /^test result: / { passed += $4; failed += $6; skipped += $8 }
    /skipped: needs / { passed -= 1; skipped += 1 }
    END { print passed + 0, failed + 0, skipped + 0 }' "$work/log")
passed=$1 failed=$2 skipped=$3

if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
    echo "cargo ended with status $status: something did not build or did not finish"
    failed=1
fi
if [ -n "${CI:-}" ] && [ "$skipped" != 0 ]; then
    echo "tests were skipped, which fails under CI"
    status=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
