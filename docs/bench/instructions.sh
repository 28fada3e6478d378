#!/bin/sh
# Counts the instructions of every timed section of bench-compare: exact where times are noisy.
#
#   [SKIP=N] [STOP=N] docs/bench/instructions.sh target/dist/bench-compare filters small --rounds 1
#
# Prints the number of instructions between each two readings of the clock, in order: every odd line is a timed
# section. The clock is replaced by one that advances 0.1 ms per reading, so that every build does the same work.
# SKIP runs at full speed up to that reading; STOP ends the program at one. Needs valgrind and a C compiler.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/clock.c" <<'C'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <valgrind/callgrind.h>
static long setting(const char *name) { const char *value = getenv(name); return value ? atol(value) : 0; }
int clock_gettime(clockid_t id, struct timespec *time) {
    static long reading, skip, stop;
    (void)id;
    if (reading++ == 0) skip = setting("SKIP"), stop = setting("STOP");
    time->tv_sec = 1000 + reading / 10000;
    time->tv_nsec = reading % 10000 * 100000;
    if (reading == skip + 1) CALLGRIND_START_INSTRUMENTATION;
    if (reading > skip + 1) CALLGRIND_DUMP_STATS;
    if (stop && reading >= stop) _exit(0);
    return 0;
}
C
cc -O2 -shared -fPIC -o "$work/clock.so" "$work/clock.c"
LD_PRELOAD="$work/clock.so" valgrind -q --tool=callgrind --instr-atstart=no --dump-line=no \
    --callgrind-out-file="$work/out" "$@" > /dev/null 2> "$work/errors" || { cat "$work/errors" >&2; exit 1; }
dump=1
while [ -e "$work/out.$dump" ]; do
    sed -n 's/^\(totals\|summary\): //p;T;q' "$work/out.$dump"
    dump=$((dump + 1))
done
