#!/usr/bin/env bash
# Clicks through the server's page in Chromium.
#
#   tests/browser/run.sh                  builds the tool, tests its page
#   tests/browser/run.sh PROGRAM          tests the page of this program
#   tests/browser/run.sh --screenshots    also makes the pictures of the documentation
#
# Takes Debian's Chromium, and installs it when it is missing; CHROMIUM names another one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

screenshots=
program=
for argument in "$@"; do
    case $argument in
    --screenshots) screenshots=$root/docs/page ;;
    -*) echo "run.sh: unknown option $argument" >&2 && exit 2 ;;
    *) program=$(realpath "$argument") ;;
    esac
done

chromium=${CHROMIUM:-$(command -v chromium || true)}
if [ -z "$chromium" ]; then
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    $as_root apt-get update -q
    $as_root apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core
    chromium=$(command -v chromium)
fi

[ -n "$program" ] || program=$("$root/tests/program.sh")

cd "$here"
# Installed once for each state of the lock file.
if ! cmp -s package-lock.json node_modules/.installed; then
    npm ci --no-audit --no-fund --loglevel=error
    cp package-lock.json node_modules/.installed
fi
CHROMIUM=$chromium PROGRAM=$program SCREENSHOTS=$screenshots \
    node --test --test-concurrency=1 --test-timeout=150000 --test-reporter=spec ./*.test.mjs
