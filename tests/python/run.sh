#!/usr/bin/env bash
# The Python package: pytest, the examples in its docstrings and in docs/guide/python.md, and its type stubs.
#
#   tests/python/run.sh                builds the package and the tool
#   tests/python/run.sh PROGRAM        tests with this tool, which must have the feature `server`, and the package
#                                      that cargo made next to it
#   tests/python/run.sh --wheel        makes a wheel, as `pip install .` does, and tests that
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tools=$("$root/tests/python.sh" python)
python=$tools/bin/python

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "${1:-}" = --wheel ]; then
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$work" "$root"
else
    program=${1:-}
    [ -n "$program" ] || program=$("$root/tests/program.sh")
    export BLOOMGROVE=$program
    "$root/tests/package.sh" "$program" "$work"
fi
export PYTHONPATH=$work MPLBACKEND=agg PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$tools/compiled
cd "$work"

"$python" -m pytest --quiet -p no:cacheprovider "$here"
"$python" "$here/examples.py" "$root/docs/guide/python.md" "$root/examples"
"$python" -m mypy --no-error-summary --config-file "$root/pyproject.toml" --cache-dir "$work/mypy" "$work/bloomgrove"
"$python" -m mypy.stubtest --ignore-missing-stub --ignore-disjoint-bases --mypy-config-file "$root/pyproject.toml" \
    bloomgrove._bloomgrove bloomgrove.buffered
