#!/usr/bin/env bash
# Everything that must hold before a change lands: format, lints, all tests (library,
# command line, README, rival benchmark, the page in a browser) and the documentation's links.
set -euo pipefail
cd "$(dirname "$0")"

# A minimal toolchain may lack these two; the tests do not depend on them.
if cargo fmt --version >/dev/null 2>&1; then
    cargo fmt --all --check
fi
if cargo clippy --version >/dev/null 2>&1; then
    cargo clippy --workspace --all-targets -- -D warnings
fi
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --quiet
cargo test --workspace
# Both mostly wait, for a server and for a browser.
api=
log=$(mktemp)
trap 'kill "$api" 2>/dev/null || true; rm -f "$log"' EXIT
tests/api/run.sh >"$log" 2>&1 &
api=$!
tests/browser/run.sh
if ! wait "$api"; then
    cat "$log"
    exit 1
fi
tail -n 8 "$log"
