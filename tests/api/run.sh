#!/usr/bin/env bash
# Sends what the OpenAPI document allows, and what it does not, to a real server: none of it may
# be answered with a 5xx (but "starting" and "no room"), or with anything but what the document says.
#
#   tests/api/run.sh                  builds the tool, tests its API
#   tests/api/run.sh PROGRAM          tests the API of this program
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

program=${1:-}
[ -n "$program" ] || program=$("$root/tests/program.sh")

tools=$("$root/tests/python.sh" api)

folder=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT

# Small limits, so that impossible wishes are met with a refusal and not with work.
"$program" serve --data "$folder/data" --listen 127.0.0.1:0 --memory 256MiB --max-filter 4MiB \
    --log warn >"$folder/out" 2>"$folder/log" &
server=$!
url=
for _ in $(seq 200); do
    url=$(sed -n 's/^listening on \(http[^ ]*\)$/\1/p' "$folder/out" | head -n 1)
    [ -z "$url" ] || break
    kill -0 "$server" 2>/dev/null || { cat "$folder/log" >&2; exit 1; }
    sleep 0.05
done

# It listens before it has read its store.
for _ in $(seq 200); do
    ! curl -sSf "$url/readyz" >/dev/null 2>&1 || break
    sleep 0.05
done

# Something to find, to change and to delete.
for name in a b; do
    curl -sSf -X POST "$url/v1/sets" -H 'content-type: application/json' \
        -d "{\"name\":\"$name\",\"items\":100}" >/dev/null
done

cd "$folder"
"$tools/bin/schemathesis" --config-file "$here/schemathesis.toml" run "$url/openapi.json"
kill -0 "$server" || { echo "the server has died" >&2; cat "$folder/log" >&2; exit 1; }
if grep -i panicked "$folder/log" >&2; then
    exit 1
fi
