#!/bin/sh
# Compares what two builds of boardlab answer: every evaluation and every built-in scenario, with all that can be done with
# it, as JSON. Prints a line for each; ends with status 1 where one differs.
#
# usage: setup/same.sh OLD NEW [MAPPING]   OLD and NEW are two programs `boardlab`, run in the root of the repository
#
# Without MAPPING the bytes have to be the same. With it, a sed script turns the old answers into what is expected of the
# new ones: for renamed keys, and for texts that are not compared.
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
old=$1 new=$2 mapping=${3:-/dev/null}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# The name of an answer, and the arguments that give it.
answers() {
    for experiment in nor nandfs sdwear sata fcse; do
        echo "reproduce-$experiment reproduce $experiment"
    done
    for file in scenarios/*.toml; do
        scenario=$(basename "$file" .toml)
        for action in run tune powercut life; do
            echo "$action-$scenario $action $scenario"
        done
    done
    echo "list list"
    echo "sweep sweep nor-write --grid linux.wait=170us,200us --grid seed=1..2"
}

status=0
answers >"$work/answers"
while read -r name arguments; do
    for which in old new; do
        eval "program=\$$which"
        # An action that an experiment lacks is refused: the words are compared as well.
        # shellcheck disable=SC2086 # arguments are words
        "$program" $arguments --format json --no-wall-time --quiet >"$work/$which" 2>"$work/$which.err" ||
            echo "status $?" >>"$work/$which"
        cat "$work/$which.err" >>"$work/$which"
    done
    sed -f "$mapping" "$work/old" >"$work/expected"
    if cmp -s "$work/expected" "$work/new"; then
        echo "same     $name ($(wc -c <"$work/new") bytes)"
    else
        echo "differs  $name"
        diff "$work/expected" "$work/new" | cut -c1-200 | head -5
        status=1
    fi
done <"$work/answers"
exit $status
