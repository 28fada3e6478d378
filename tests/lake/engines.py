"""Does `lake which` list every file in which DuckDB finds the value, whatever happens to the files?

    engines.py PROGRAM [SEED]

Tables of random values of many types, written by pyarrow and DuckDB, are indexed from their values or from the Bloom
filters in their footers, and queried. Files are then replaced, truncated, added and removed, and the index is left
as it is, brought up to date, damaged or removed. Values are written as DuckDB prints them.
"""
import datetime
import decimal
import random
import string
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet

PROGRAM = sys.argv[1]
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**6)
rng = random.Random(SEED)
DAY = datetime.datetime(2024, 2, 29, 12)
LETTERS = string.ascii_letters + " ._-'\"äß漢\U0001F333"


def text():
    return "".join(rng.choices(LETTERS, k=rng.randrange(0, 12)))


def moment(unit):
    return DAY + datetime.timedelta(days=rng.randrange(-40_000, 40_000), **{unit: rng.randrange(10**6)})


# The name in a query, the type, a random value, and how DuckDB finds and prints one.
COLUMNS = {
    "string": ("string", pyarrow.string(), text),
    "large": ("large", pyarrow.large_string(), text),
    "coded": ("coded", pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), lambda: f"city-{rng.randrange(30)}"),
    "tiny": ("tiny", pyarrow.int8(), lambda: rng.randrange(-128, 128)),
    "int": ("int", pyarrow.int32(), lambda: rng.randrange(-2**31, 2**31)),
    "long": ("long", pyarrow.int64(), lambda: rng.choice([rng.randrange(-2**63, 2**63), rng.randrange(-9, 9)])),
    "unsigned": ("unsigned", pyarrow.uint32(), lambda: rng.randrange(2**32)),
    "huge": ("huge", pyarrow.uint64(), lambda: rng.randrange(2**64)),
    "price": ("price", pyarrow.decimal128(12, 2), lambda: decimal.Decimal(rng.randrange(-10**9, 10**9)).scaleb(-2)),
    "wide": ("wide", pyarrow.decimal128(30, 6), lambda: decimal.Decimal(rng.randrange(-10**29, 10**29)).scaleb(-6)),
    "day": ("day", pyarrow.date32(), lambda: moment("hours").date()),
    "local": ("local", pyarrow.timestamp("us"), lambda: moment("microseconds")),
    "milli": ("milli", pyarrow.timestamp("ms"), lambda: moment("milliseconds")),
    "instant": ("instant", pyarrow.timestamp("us", "UTC"), lambda: moment("seconds").replace(tzinfo=datetime.UTC)),
    "uuid": ("uuid", pyarrow.uuid(), lambda: uuid.UUID(int=rng.getrandbits(128)).bytes),
    "truth": ("truth", pyarrow.bool_(), lambda: rng.random() < 0.5),
    "nested": ("nested.id", pyarrow.struct([("id", pyarrow.int64())]), lambda: {"id": rng.randrange(10**9)}),
}


def duck(sql, **parameters):
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection.execute(sql, parameters or None).fetchall()


def write(path):
    """A file of random rows, a tenth of them null, in one or several row groups."""
    rows = rng.choice([0, 1, 50, 400])
    arrays = {}
    for name, (_, kind, value) in COLUMNS.items():
        values = [None if rng.random() < 0.1 else value() for _ in range(rows)]
        arrays[name] = pyarrow.array(values, kind)
    table = pyarrow.table(arrays)
    group = rng.choice([30, 1000])
    if rng.random() < 0.5:
        pyarrow.parquet.write_table(
            table, path, row_group_size=group, use_dictionary=rng.random() < 0.5,
            compression=rng.choice(["none", "snappy", "gzip", "zstd"]), data_page_version=rng.choice(["1.0", "2.0"]))
    else:
        # DuckDB writes Bloom filters for columns with a dictionary.
        connection = duckdb.connect()
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("rows", table)
        connection.execute(f"COPY (FROM rows) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE {group}, "
                           f"DICTIONARY_SIZE_LIMIT {rng.choice([1, 10000])})")


def lake(*words, codes=(0,)):
    done = subprocess.run([PROGRAM, "lake", *words], capture_output=True, text=True)
    if done.returncode not in codes:
        fail(f"lake {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def fail(what):
    sys.exit(f"{what}\n(seed {SEED})")


class Table:
    def __init__(self, directory):
        self.directory = directory
        self.broken = set()
        self.other = 0
        self.listed = 0
        for number in range(6):
            write(directory / f"{number}.parquet")

    def files(self):
        return sorted(self.directory.glob("*.parquet"))

    def sound(self):
        return [file for file in self.files() if file not in self.broken]

    def index(self, *options):
        columns = [word for name, *_ in COLUMNS.values() for word in ("--column", name)]
        lake("index", str(self.directory), *columns, "--replace", *options, codes=(0, 2) if self.broken else (0,))

    def check(self, what, warned=None, values_each=1):
        """Values of every column: each file in which DuckDB finds one is listed."""
        for _, (name, *_) in COLUMNS.items():
            sound = [str(file) for file in self.sound()]
            values = duck(f"SELECT DISTINCT CAST({name} AS VARCHAR) FROM read_parquet($files) WHERE {name} IS NOT NULL",
                          files=sound)
            for (value,) in rng.sample(values, min(values_each, len(values))):
                found = duck(f"SELECT DISTINCT filename FROM read_parquet($files, filename = true) "
                             f"WHERE CAST({name} AS VARCHAR) = $value", files=sound, value=value)
                expected = {Path(file) for file, in found} | self.broken
                out, err = lake("which", str(self.directory), "--column", name, "--", value, codes=(0, 2))
                listed = {Path(line) for line in out.splitlines()}
                if not expected <= listed:
                    fail(f"{what}: {name} = {value!r} is in {expected - listed}, which is not listed\n{err}")
                if warned is not None and warned != bool(err):
                    fail(f"{what}: {'no warning' if warned else err}")
                self.listed += len(listed)
                self.other += len(listed - expected)

    def change(self):
        files = self.files()
        rng.shuffle(files)
        replaced, truncated, removed = files[:3]
        self.broken -= set(files[:3])
        write(replaced)
        size = truncated.stat().st_size
        with truncated.open("r+b") as file:
            file.truncate(rng.randrange(size))
        self.broken.add(truncated)
        removed.unlink()
        write(self.directory / f"new-{rng.randrange(10**6)}.parquet")


def main():
    listed, other = 0, 0
    for options in [[], ["--from-footers"], ["--keys", "1", "--wasted", "0.01"]]:
        with tempfile.TemporaryDirectory() as directory:
            table = Table(Path(directory))
            table.index(*options)
            table.check(f"a new index {options}", warned=False, values_each=3)
            listed, other = listed + table.listed, other + table.other
            for _ in range(2):
                table.change()
                table.check("a stale index", warned=True)
                lake("sync", directory, codes=(0, 2))
                table.check("after sync")
            index = Path(directory) / ".bloomgrove-lake.grove"
            content = bytearray(index.read_bytes())
            for _ in range(20):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            index.write_bytes(content)
            table.check("a damaged index")
            index.unlink()
            table.check("no index", warned=True)
    print(f"seed {SEED}: of {listed} files listed by new indexes, {other} do not contain the value")


main()
