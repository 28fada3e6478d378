#!/usr/bin/env bash
# Everything that must hold before a change lands: format, lints, documentation, all tests (library, command line,
# guide, rival benchmark), the API and the page in a browser.
set -euo pipefail
cd "$(dirname "$0")"

# A minimal toolchain may lack it; the tests do not depend on it.
if cargo fmt --version >/dev/null 2>&1; then
    cargo fmt --all --check
fi
# What incremental compilation stores takes long to write, and 256 units per crate instead of 16 make slower tests.
export CARGO_INCREMENTAL=0
exec python3 tests/run.py "$@"
