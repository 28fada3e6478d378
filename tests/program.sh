#!/usr/bin/env bash
# Builds the command-line tool, and prints where it is.
#
# It is the one that `cargo test --workspace --all-features` builds, so that after it there is nothing left to do:
# `cargo build -p bloomgrove-cli` selects fewer features of shared dependencies, and compiles most
# of them a second time. Cargo builds the tool along with any of its integration tests; this one is
# the smallest.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cargo test --quiet --manifest-path "$root/Cargo.toml" --workspace --all-features --no-run --test guide >&2
echo "${CARGO_TARGET_DIR:-$root/target}/debug/bloomgrove"
