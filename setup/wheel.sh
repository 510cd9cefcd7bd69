#!/bin/sh
# Builds the wheel of the Python package into dist/, with the maturin that setup/python-packages.txt pins.
#
# usage: setup/wheel.sh
set -eu
cd "$(dirname "$0")/.."
[ -x .setup/python/bin/maturin ] || { echo "maturin is missing: setup/setup.sh python" >&2; exit 1; }

# The licences of what is linked into the module go with it.
rm -rf python/licenses
mkdir -p python/licenses dist
cp LICENSE-MIT LICENSE-APACHE python/licenses
setup/third-party.py "$(rustc -vV | sed -n 's/^host: //p')" boardlab-python >python/licenses/THIRD-PARTY

rm -f dist/boardlab-*.whl
cd python
../.setup/python/bin/maturin build --locked --quiet --profile "${PROFILE:-release}" --out ../dist
cd ..
ls -l dist/boardlab-*.whl
