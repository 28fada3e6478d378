"""Filters from Python: this package against rbloom and fastbloom-rs, each in turn in every round.

    driver.py KEYS ROUNDS INDEX KEYS_OF_INDEX

Prints a line of JSON with the seconds of every contender, then waits: for every line on standard input it queries the
index once, by which_many, and prints the seconds and the number of sets found.
"""
import json
import random
import statistics
import sys
import time
from importlib.metadata import version

import fastbloom_rs
import numpy
import pyarrow
import rbloom

import bloomgrove

KEYS, ROUNDS = int(sys.argv[1]), int(sys.argv[2])
FPR = 0.01


def keys_of(kind, seed):
    """Keys, no two equal, and none in two seeds."""
    rng = random.Random(seed)
    numbers = [seed << 56 | number << 20 | rng.getrandbits(20) for number in range(KEYS)]
    rng.shuffle(numbers)
    return numbers if kind == "int" else [f"user-{number:016x}@example.org" for number in numbers]


def arrays_of(kind, keys):
    return numpy.array(keys) if kind == "int" else pyarrow.array(keys)


class Ours:
    name = "bloomgrove"

    def new(self):
        return bloomgrove.Filter(items=KEYS, fpr=FPR)

    def insert(self, filter, keys, kind):
        insert = filter.insert
        for key in keys:
            insert(key)

    def contains(self, filter, keys, kind):
        found = 0
        for key in keys:
            found += key in filter
        return found


class OursList(Ours):
    name = "bloomgrove, a list at once"

    def insert(self, filter, keys, kind):
        filter.insert_many(keys)

    def contains(self, filter, keys, kind):
        return filter.contains_many(keys).count()


class OursColumn(OursList):
    name = "bloomgrove, a NumPy or Arrow column at once"


class Rbloom:
    name = "rbloom"

    def new(self):
        return rbloom.Bloom(KEYS, FPR)

    def insert(self, filter, keys, kind):
        add = filter.add
        for key in keys:
            add(key)

    def contains(self, filter, keys, kind):
        found = 0
        for key in keys:
            found += key in filter
        return found


class RbloomList(Rbloom):
    name = "rbloom, a list at once"

    def insert(self, filter, keys, kind):
        filter.update(keys)

    contains = None


class RbloomNew(RbloomList):
    """Strings as they come from a file: Python has not computed their hashes yet."""

    name = "rbloom, a list of new strings at once"


class Fastbloom:
    name = "fastbloom-rs"

    def new(self):
        return fastbloom_rs.BloomFilter(KEYS, FPR)

    def insert(self, filter, keys, kind):
        add = filter.add_int if kind == "int" else filter.add_str
        for key in keys:
            add(key)

    def contains(self, filter, keys, kind):
        found, contains = 0, filter.contains_int if kind == "int" else filter.contains_str
        for key in keys:
            found += contains(key)
        return found


class FastbloomList(Fastbloom):
    name = "fastbloom-rs, a list at once"

    def insert(self, filter, keys, kind):
        (filter.add_int_batch if kind == "int" else filter.add_str_batch)(keys)

    def contains(self, filter, keys, kind):
        return sum((filter.contains_int_batch if kind == "int" else filter.contains_str_batch)(keys))


def race(kind):
    """Nanoseconds per key of every contender: inserting, finding, rejecting."""
    present, absent = keys_of(kind, 1), keys_of(kind, 2)
    columns = arrays_of(kind, present), arrays_of(kind, absent)
    contenders = [Ours(), Rbloom(), Fastbloom(), OursList(), RbloomList(), FastbloomList(), OursColumn()]
    if kind == "str":
        contenders.insert(5, RbloomNew())
    times = {contender.name: ([], [], []) for contender in contenders}
    for _ in range(ROUNDS):
        for contender in contenders:
            keys = columns if isinstance(contender, OursColumn) else (present, absent)
            if isinstance(contender, RbloomNew):
                keys = [key[:1] + key[1:] for key in present], absent
            filter = contender.new()
            start = time.perf_counter()
            contender.insert(filter, keys[0], kind)
            took = [time.perf_counter() - start]
            for part, least, most in [(0, KEYS, KEYS), (1, 0, 0.03 * KEYS)] if contender.contains else []:
                start = time.perf_counter()
                found = contender.contains(filter, keys[part], kind)
                took.append(time.perf_counter() - start)
                assert least <= found <= most, (contender.name, found)
            for one, all in zip(took, times[contender.name]):
                all.append(one)
    median = lambda seconds: statistics.median(seconds) / KEYS * 1e9 if seconds else None
    return {name: [median(seconds) for seconds in three] for name, three in times.items()}


versions = ", ".join(f"{name} {version(name)}" for name in ["bloomgrove", "rbloom", "fastbloom-rs", "numpy", "pyarrow"])
python = ".".join(map(str, sys.version_info[:3]))
print(json.dumps({"versions": f"CPython {python}, {versions}", "int": race("int"), "str": race("str")}), flush=True)

index = bloomgrove.Index.open(sys.argv[3])
keys = numpy.fromfile(sys.argv[4], "<u8")
for line in sys.stdin:
    start = time.perf_counter()
    answers = index.which_many(keys, numbers=line.strip() == "numbers")
    took = time.perf_counter() - start
    print(json.dumps([took, len(pyarrow.array(answers).flatten())]), flush=True)
