#!/usr/bin/env bash
# Installs what tests/NAME/requirements.txt lists from PyPI into a virtual environment, once, and prints where that is.
#
#   tests/python.sh NAME
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
wanted=$root/tests/$1/requirements.txt
tools=${CARGO_TARGET_DIR:-$root/target}/$1-test
if ! cmp -s "$wanted" "$tools/installed"; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    # Not compiled: most modules are never imported, and the others are compiled when they are.
    "$tools/bin/pip" install --quiet --disable-pip-version-check --no-compile -r "$wanted" >&2
    cp "$wanted" "$tools/installed"
fi
echo "$tools"
