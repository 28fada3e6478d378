#!/usr/bin/env bash
# Tables of Parquet files as others write and store them: random ones from pyarrow and DuckDB, and one in an object
# store, a server of the S3 protocol that runs here (moto).
#
#   tests/lake/run.sh                  builds the tool
#   tests/lake/run.sh PROGRAM          tests this program, which must have the feature `s3`
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

program=${1:-}
[ -n "$program" ] || program=$("$root/tests/program.sh")
tools=$("$root/tests/python.sh" python)

export PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$tools/compiled
"$tools/bin/python" "$here/s3.py" "$program" "$root/examples/events"
"$tools/bin/python" "$here/engines.py" "$program"
