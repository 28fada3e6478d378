"""Makes a table of Parquet files, asks several engines the same questions, and prints the figures as JSON.

    driver.py BLOOMGROVE DIRECTORY FILES ROWS ROUNDS

A question that runs in a fresh process calls this file again:

    driver.py fresh ENGINE DIRECTORY

DuckDB then runs as the command-line program, which starts in a few milliseconds; Python alone takes a quarter of a second
to load its library.
"""
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path


def write_file(task):
    """One file: uuids as text with Bloom filters, a number and a text. Returns its first uuids."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, rows, seed = task
    source = random.Random(seed)
    digits = source.randbytes(16 * rows).hex()
    ids = [digits[at : at + 32] for at in range(0, len(digits), 32)]
    table = pa.table({
        "trace_id": ids,
        "amount": pa.array([source.getrandbits(32) for _ in range(rows)], pa.int64()),
        "status": [("ok", "failed", "late")[at % 3] for at in range(rows)],
    })
    options = {"trace_id": {"ndv": rows, "fpp": 0.01}}
    pq.write_table(table, path, bloom_filter_options=options)
    return ids[:50]


def make(directory, files, rows):
    table = directory / f"table-{files}-{rows}"
    listing = directory / f"table-{files}-{rows}.json"
    if listing.exists():
        return table, json.loads(listing.read_text())
    tasks = []
    for at in range(files):
        part = table / f"part={at // 1000:03}"
        part.mkdir(parents=True, exist_ok=True)
        tasks.append((str(part / f"{at:06}.parquet"), rows, at))
    with ProcessPoolExecutor() as pool:
        keys = dict(zip((task[0] for task in tasks), pool.map(write_file, tasks, chunksize=50)))
    # The times of the files must lie in the past.
    time.sleep(3)
    listing.write_text(json.dumps(keys))
    return table, keys


# The engines: each a function from files or a table to a function from keys to the number of rows found.

def duckdb_on(files):
    import duckdb

    connection = duckdb.connect()

    def ask(keys, files=files):
        source = "[" + ", ".join(f"'{file}'" for file in files) + "]" if isinstance(files, list) else f"'{files}/**/*.parquet'"
        wanted = f"= '{keys[0]}'" if len(keys) == 1 else "IN (" + ", ".join(f"'{key}'" for key in keys) + ")"
        query = f"SELECT count(*), sum(amount) FROM read_parquet({source}, hive_partitioning = false) WHERE trace_id {wanted}"
        return connection.execute(query).fetchone()[0]

    return ask


def polars_on(table):
    import polars

    def ask(keys):
        rows = polars.scan_parquet(f"{table}/**/*.parquet", hive_partitioning=False)
        condition = polars.col("trace_id") == keys[0] if len(keys) == 1 else polars.col("trace_id").is_in(keys)
        return rows.filter(condition).select("trace_id", "amount").collect().height

    return ask


def datafusion_on(table):
    import datafusion

    settings = {
        # Without it, every footer is fetched with several reads.
        "datafusion.execution.parquet.metadata_size_hint": "16384",
        "datafusion.execution.parquet.bloom_filter_on_read": "true",
        "datafusion.execution.parquet.pushdown_filters": "true",
        "datafusion.execution.parquet.reorder_filters": "true",
    }
    configuration = datafusion.SessionConfig()
    for name, value in settings.items():
        configuration = configuration.set(name, value)
    context = datafusion.SessionContext(configuration)
    context.register_parquet("events", f"{table}/")

    def ask(keys):
        wanted = f"= '{keys[0]}'" if len(keys) == 1 else "IN (" + ", ".join(f"'{key}'" for key in keys) + ")"
        batches = context.sql(f"SELECT trace_id, amount FROM events WHERE trace_id {wanted}").collect()
        return sum(batch.num_rows for batch in batches)

    return ask


def which(tool, table, index, keys, *options):
    """The files that `lake which` names."""
    command = [tool, "lake", "which", str(table), "--index", str(index), *options]
    text = "\n".join(keys) + "\n"
    done = subprocess.run([*command, "--keys-from", "-"], input=text, capture_output=True, text=True)
    if done.returncode > 1 or done.stderr:
        sys.exit(f"lake which: {done.stderr}")
    return done.stdout.splitlines()


def indexed_on(tool, table, index, *options):
    ask_files = duckdb_on([])

    def ask(keys):
        files = which(tool, table, index, keys, *options)
        return ask_files(keys, files) if files else 0

    return ask


ENGINES = {"duckdb": duckdb_on, "datafusion": datafusion_on, "polars": polars_on}
PROGRAMS = ["lake which, duckdb", "lake which --trust, duckdb", *ENGINES]


def all_engines(tool, table, index):
    return [indexed_on(tool, table, index), indexed_on(tool, table, index, "--trust"),
            *(engine(str(table)) for engine in ENGINES.values())]


# The program itself: the command of this package starts Python first.
DUCKDB = Path(sysconfig.get_path("platlib"), "duckdb_cli", "duckdb")


def fresh(program, tool, table, index, keys):
    """How long a question takes in new processes, and its answer."""
    start = time.monotonic()
    if program in ("datafusion", "polars"):
        command = [sys.executable, __file__, "fresh", program, str(table)]
        done = subprocess.run(command, input="\n".join(keys), capture_output=True, text=True, check=True)
        return time.monotonic() - start, int(done.stdout)
    source = f"read_parquet('{table}/**/*.parquet', hive_partitioning = false)"
    if program != "duckdb":
        trust = ["--trust"] if "--trust" in program else []
        command = [tool, "lake", "which", str(table), *keys, "--index", str(index), "--format", "duckdb", *trust]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode > 1 or done.stderr:
            sys.exit(f"lake which: {done.stderr}")
        source = done.stdout.strip()
    if not source:
        return time.monotonic() - start, 0
    query = f"SELECT count(*) + 0 * coalesce(sum(amount), 0) FROM {source} WHERE trace_id = '{keys[0]}'"
    done = subprocess.run([DUCKDB, "-noheader", "-list", "-c", query], capture_output=True, text=True, check=True)
    return time.monotonic() - start, int(done.stdout)


def fresh_main(program, table):
    print(ENGINES[program](table)(sys.stdin.read().split()))


def compare(task, questions, engines):
    """Every engine answers a question before the next is asked. Returns the median seconds of each."""
    times = [[] for _ in engines]
    for keys in questions:
        answers = []
        for at, ask in enumerate(engines):
            start = time.monotonic()
            answer = ask(keys)
            seconds = time.monotonic() - start
            if isinstance(answer, tuple):
                seconds, answer = answer
            times[at].append(seconds)
            answers.append(answer)
        if len(set(answers)) != 1:
            sys.exit(f"{task}: the answers differ: {answers}")
        print(f"{task}: {[round(one[-1], 3) for one in times]}", file=sys.stderr)
    return {"task": task, "seconds": [statistics.median(one) for one in times]}


def build(tool, table, index, *options):
    """Makes an index; returns the seconds, those of the processors, and its size."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [tool, "lake", "index", str(table), "--index", str(index), "--column", "trace_id", "--replace", *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - start, used, index.stat().st_size


def wasted(tool, table, index, keys, count, source):
    """Files named in vain, on average: for present keys, and for absent ones."""
    files = list(keys)
    present = absent = 0
    for _ in range(count):
        file = source.choice(files)
        named = which(tool, table, index, [source.choice(keys[file])], "--trust")
        if file not in named:
            sys.exit(f"{file} is missing from {named}")
        present += len(named) - 1
        absent += len(which(tool, table, index, [source.randbytes(16).hex()], "--trust"))
    return present / count, absent / count


def main(tool, directory, files, rows, rounds):
    directory, files, rows, rounds = Path(directory), int(files), int(rows), int(rounds)
    table, keys = make(directory, files, rows)
    # Not one of the seeds of the files, whose ids would be drawn again.
    source = random.Random("questions")
    points, many, imported = (directory / f"{name}.grove" for name in ("points", "many", "imported"))
    facts = []
    # Once without counting, so that all read from the page cache.
    build(tool, table, imported, "--from-footers")
    names = [(points, "for point lookups", ("--keys", "1")), (many, "for 1,000 keys", ("--keys", "1000")),
             (imported, "imported from footers", ("--from-footers",))]
    processor = {}
    for index, name, options in names:
        wall, used, size = build(tool, table, index, *options)
        processor[index] = used
        facts.append((f"index {name}: elapsed seconds, CPU seconds, MB", f"{wall:.1f}, {used:.1f}, {size / 1e6:.0f}"))
    facts.append(("CPU time, building ÷ importing", f"{processor[points] / processor[imported]:.1f}"))
    for index, name, _ in names:
        present, absent = wasted(tool, table, index, keys, 100, source)
        facts.append((f"files listed unnecessarily, index {name}: present key, absent key", f"{present:.2f}, {absent:.2f}"))

    def point():
        return [source.choice(keys[source.choice(list(keys))])]

    def spread(count):
        chosen = source.sample(list(keys), count)
        wanted = [source.choice(keys[file]) for file in chosen for _ in range(max(1, 20 // count))]
        return wanted + [source.randbytes(16).hex() for _ in range(1000 - len(wanted))]

    engines, in_many = all_engines(tool, table, points), all_engines(tool, table, many)
    seconds = [compare("one key, first question", [point()], engines)]
    seconds.append(compare("one key", [point() for _ in range(rounds)], engines))
    seconds.append(compare("one absent key", [[source.randbytes(16).hex()] for _ in range(rounds)], engines))
    in_fresh = [lambda keys, p=program: fresh(p, tool, table, points, keys) for program in PROGRAMS]
    seconds.append(compare("one key, new process", [point() for _ in range(rounds)], in_fresh))
    starts = []
    for _ in range(rounds):
        start = time.monotonic()
        subprocess.run([DUCKDB, "-c", "SELECT 1"], check=True, stdout=subprocess.DEVNULL)
        starts.append(time.monotonic() - start)
    facts.append(("seconds of a new process that starts DuckDB and reads nothing", f"{statistics.median(starts):.3f}"))
    for count in (20, 10, min(files, 1000)):
        task = f"1,000 keys, of which {max(count, 20)} in {count} files"
        seconds.append(compare(task, [spread(count) for _ in range(min(rounds, 3))], in_many))

    import datafusion, duckdb, polars, pyarrow
    shell = subprocess.run([DUCKDB, "--version"], capture_output=True, text=True).stdout.split()[0]
    versions = f"duckdb {duckdb.__version__} (its shell {shell}), datafusion {datafusion.__version__}, polars {polars.__version__}, pyarrow {pyarrow.__version__}"
    size = sum(Path(file).stat().st_size for file in keys)
    print(json.dumps({"bytes": size, "versions": versions, "programs": " | ".join(PROGRAMS),
                      "seconds": seconds, "facts": facts}))


if __name__ == "__main__":
    if sys.argv[1] == "fresh":
        fresh_main(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
