#!/usr/bin/env bash
# Puts the Python package together, from its sources and from the library that cargo made along with a tool.
#
#   tests/package.sh PROGRAM DIRECTORY
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cp -r "$root/crates/bloomgrove-python/python/bloomgrove" "$2/bloomgrove"
cp "$(dirname "$1")/deps/lib_bloomgrove.so" "$2/bloomgrove/_bloomgrove.abi3.so"
