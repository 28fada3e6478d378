#!/usr/bin/env bash
# Indexes and queries a table in an object store: a server of the S3 protocol that runs here (moto).
#
#   tests/s3/run.sh                  builds the tool
#   tests/s3/run.sh PROGRAM          tests this program, which must have the feature `s3`
#
# Takes moto from PyPI into a virtual environment of its own, once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}

program=${1:-}
[ -n "$program" ] || program=$("$root/tests/program.sh")

tools=$target/s3-test
if ! cmp -s "$here/requirements.txt" "$tools/installed"; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$tools/installed"
fi
exec "$tools/bin/python" "$here/check.py" "$program" "$root/examples/events"
