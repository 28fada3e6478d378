#!/usr/bin/env bash
# Builds the command-line tool and the library of the Python package, and prints where the tool is.
#
# It is the one that `cargo test --workspace --all-features` builds, so that after it there is nothing left to do:
# `cargo build -p bloomgrove-cli` selects fewer features of shared dependencies, and compiles most
# of them a second time. Cargo builds a tool or library along with any of its integration tests; these are
# the smallest.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cargo test --quiet --manifest-path "$root/Cargo.toml" --workspace --all-features --no-run --test guide --test arrangement >&2
echo "${CARGO_TARGET_DIR:-$root/target}/debug/bloomgrove"
