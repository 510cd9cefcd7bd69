#!/bin/sh
# Builds boardlab, reproduces the published evaluations, and says first and last where the report is.
set -eu
cd "$(dirname "$0")/.."
program=${CARGO_TARGET_DIR:-target}/debug/boardlab
report=$PWD/report/index.html

echo "The report will be at $report"
begun=$(date +%s)
[ -e "$program" ] || echo "Building boardlab: two to four minutes on two cores, once ..."
# Cargo's 150 lines are of use to somebody who watches.
[ -t 2 ] && quiet= || quiet=--quiet
# Without the engine that compiles ARM code: a third of the build, and no evaluation needs it.
cargo build --locked $quiet --package boardlab-cli --no-default-features
echo "Built in $(($(date +%s) - begun)) s. Reproducing five evaluations: two to three minutes ..."
status=0
"$program" reproduce --out report || status=$?
[ ! -e "$report" ] || echo "The report: $report"
exit $status
