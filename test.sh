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
    cargo clippy --workspace --all-targets --all-features -- -D warnings
    # As it is built without the server; everything else is checked already.
    cargo clippy --workspace --bin bloomgrove -- -D warnings
fi
# The whole workspace here too: its features are those that clippy has checked dependencies with.
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps --quiet
python3 tests/public_items.py
cargo test --workspace --all-features

# Both use the program that the tests have built, and mostly wait: for a server and for a browser.
program=$(tests/program.sh)
log=$(mktemp)
tests/api/run.sh "$program" >"$log" 2>&1 &
api=$!
trap 'kill "$api" 2>/dev/null || true; rm -f "$log"' EXIT
page=passed
tests/browser/run.sh "$program" || page=failed
if wait "$api"; then
    api_result=passed
    tail -n 8 "$log"
else
    api_result=failed
    cat "$log"
fi
echo "the page in a browser: $page; the API: $api_result"
[ "$page$api_result" = passedpassed ]
