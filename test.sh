#!/usr/bin/env bash
# Everything that must hold before a change lands: format, lints, documentation, all tests (library, command line,
# guide, rival benchmark), the API and the page in a browser.
set -euo pipefail
cd "$(dirname "$0")"

# A minimal toolchain may lack these two; the tests do not depend on them.
if cargo fmt --version >/dev/null 2>&1; then
    cargo fmt --all --check
fi
if cargo clippy --version >/dev/null 2>&1; then
    cargo clippy --workspace --all-targets --all-features -- -D warnings
    # The tool without its server; everything else is checked already.
    cargo clippy --workspace --bin bloomgrove -- -D warnings
fi
# Documents the whole workspace, from what clippy has compiled.
RUSTDOCFLAGS="-D warnings" python3 tests/public_items.py

cargo test --workspace --all-features --no-run

# These two mostly wait, for a server and for a browser, so they run beside the other tests.
program=$(tests/program.sh)
logs=$(mktemp -d)
tests/api/run.sh "$program" >"$logs/api" 2>&1 &
api=$!
tests/browser/run.sh "$program" >"$logs/page" 2>&1 &
page=$!
trap 'kill "$api" "$page" 2>/dev/null || true; rm -rf "$logs"' EXIT

result=0
cargo test --workspace --all-features || result=1
for name in api page; do
    if wait "${!name}"; then
        tail -n 8 "$logs/$name"
    else
        cat "$logs/$name"
        echo "the tests of the $name failed"
        result=1
    fi
done
exit "$result"
