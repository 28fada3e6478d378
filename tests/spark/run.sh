#!/usr/bin/env bash
# The Spark functions of the Python package, on a cluster of two executors in processes of their own, one of which is
# killed in the middle.
#
#   tests/spark/run.sh                 builds the package and the tool
#   tests/spark/run.sh PROGRAM [-k TEST]   tests the package that cargo made next to this tool
#   PYSPARK=3.5.* tests/spark/run.sh   with another version of PySpark
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

if ! command -v java >/dev/null; then
    sudo=$([ "$(id -u)" = 0 ] || echo sudo)
    $sudo apt-get update -qq >&2
    $sudo apt-get install -qq -y openjdk-17-jre-headless >&2
fi
tools=$("$root/tests/python.sh" spark)
python=$tools/bin/python

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "${PYSPARK:-}" ]; then
    "$python" -m pip install --quiet --disable-pip-version-check --target "$work/older" --no-deps "pyspark==$PYSPARK"
    "$python" -m pip install --quiet --disable-pip-version-check --target "$work/older" --no-deps 'py4j==0.10.9.7'
fi
program=${1:-}
[ -n "$program" ] || program=$("$root/tests/program.sh")
"$root/tests/package.sh" "$program" "$work"

export PYTHONPATH=$work${PYSPARK:+:$work/older} PYSPARK_PYTHON=$python PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$tools/compiled SPARK_LOCAL_IP=127.0.0.1
cd "$work"
"$python" -m pytest --quiet -p no:cacheprovider "$here" "${@:2}"
