#!/usr/bin/env bash
# Builds a Debian package of the whole program, with man pages, completions and systemd units, and checks it:
# it is unpacked, and the program in it finds a key. Needs `cargo install cargo-deb`. Prints where the package is.
#
#   deploy/debian.sh            builds the program and the package
#   deploy/debian.sh PROGRAM    no package: makes the other files with this program, and checks that all that
#                               Cargo.toml lists exist
set -euo pipefail
cd "$(dirname "$0")/.."

program=${1:-}
if [ -z "$program" ]; then
    cargo build --profile dist --package bloomgrove-cli --features server >&2
    program=${CARGO_TARGET_DIR:-target}/dist/bloomgrove
fi

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

if [ $# -gt 0 ]; then
    for source in $(sed -n 's|.*{ source = "\.\./\.\./\([^"]*\)".*|\1|p' crates/bloomgrove-cli/Cargo.toml); do
        for file in $source; do
            [ -s "$file" ] || { echo "the Debian package needs $file" >&2; exit 1; }
        done
    done
    exit
fi

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
