#!/usr/bin/env bash
# Builds a Debian package of the whole program, with man pages, completions and systemd units, and checks it:
# it is unpacked, and the program in it finds a key. Needs `cargo install cargo-deb`. Prints where the package is.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
cargo build --profile dist --package bloomgrove-cli --features server >&2
program=$target/dist/bloomgrove

# What belongs to the package besides the program. Cargo.toml lists these paths.
share=target/deb
rm -rf "$share"
mkdir -p "$share"
"$program" man "$share/man1"
gzip --best --no-name "$share"/man1/*.1
"$program" completions bash >"$share/bloomgrove.bash"
"$program" completions fish >"$share/bloomgrove.fish"
"$program" completions zsh >"$share/_bloomgrove"
for unit in bloomgrove.service bloomgrove-site@.service; do
    sed 's|/usr/local/bin/|/usr/bin/|' "deploy/$unit" >"$share/$unit"
done

package=$(cargo deb --package bloomgrove-cli --profile dist --no-build)

unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
dpkg-deb --extract "$package" "$unpacked"
found=$("$unpacked/usr/bin/bloomgrove" which --no-save doc-00042 examples/sites)
[ "$found" = $'examples/sites/galway.txt\nexamples/sites/pune.txt' ]
for file in share/man/man1/bloomgrove-index-which.1.gz share/bash-completion/completions/bloomgrove \
    lib/systemd/system/bloomgrove.service share/doc/bloomgrove/README.md; do
    [ -s "$unpacked/usr/$file" ]
done
echo "$package"
