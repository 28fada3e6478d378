"""Spark with this package, on two executors of one core each.

    spark.py DIRECTORY ROWS GROUPS FILES FILE_ROWS

Prints three tables: an index of GROUPS groups from ROWS rows, against one process; 20 keys of a table of FILES files of
FILE_ROWS rows, with and without its index; and a semi-join of TPC-H at scale factor 1, beside Spark's own runtime filter.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, expr

from bloomgrove import IndexBuilder, Params, lake
from bloomgrove import spark as grove

DIRECTORY = Path(sys.argv[1])
ROWS, GROUPS, FILES, FILE_ROWS = map(int, sys.argv[2:6])
ROUNDS = 3
# For what takes milliseconds in a JVM that is warm.
SHORT_ROUNDS = 9

spark = (
    SparkSession.builder.master("local-cluster[2,1,2048]")
    .config("spark.executor.memory", "2g")
    .config("spark.driver.memory", "2g")
    .config("spark.sql.shuffle.partitions", 8)
    .config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
print(f"PySpark {pyspark.__version__}, two executors of one core each", flush=True)


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def shuffled():
    """The bytes that all stages so far have written to be shuffled."""
    context = spark.sparkContext
    with urllib.request.urlopen(f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages") as answer:
        return sum(stage["shuffleWriteBytes"] for stage in json.load(answer))


def groups():
    path = DIRECTORY / f"rows-{ROWS}"
    if not path.exists():
        rows = spark.range(0, ROWS, 1, 16)
        rows = rows.select(expr(f"concat('group-', pmod(hash(id), {GROUPS}))").alias("name"), expr("id * 7919").alias("key"))
        rows.write.parquet(str(path))
    params = Params.for_items(ROWS // GROUPS * 5 // 4, 0.01)
    df = spark.read.parquet(str(path))
    before = shuffled()
    took, index = timed(lambda: grove.build_index(df, "name", "key", params=params))
    moved = shuffled() - before

    def alone():
        builder = IndexBuilder(params)
        for batch in pyarrow.dataset.dataset(path).to_batches():
            builder.insert_many(batch["name"], batch["key"])
        return builder.index()

    took_alone, one = timed(alone)
    assert one.to_bytes() == index.to_bytes() and len(one) == GROUPS
    size = len(one.to_bytes())
    print(f"\n| an index of {GROUPS} groups from {ROWS} rows | |\n|---|---|\n| Spark | {took:.1f} s |")
    print(f"| shuffled | {moved / 1e6:.1f} MB |\n| one process, `IndexBuilder` | {took_alone:.1f} s |")
    print(f"| the index, equal bit for bit | {size / 1e6:.1f} MB |", flush=True)


def files():
    path = DIRECTORY / f"table-{FILES}-{FILE_ROWS}"
    if not (path / "complete").exists():
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        for part in range(FILES):
            text = os.urandom(16 * FILE_ROWS).hex()
            ids = [text[at : at + 32] for at in range(0, len(text), 32)]
            rows = pyarrow.table({"id": ids, "number": range(part * FILE_ROWS, (part + 1) * FILE_ROWS)})
            pyarrow.parquet.write_table(rows, path / f"part-{part:05}.parquet")
        (path / "complete").touch()
    took_index, _ = timed(lambda: lake.index(path, "id", keys=20, replace=True))
    schema = spark.read.parquet(str(path)).schema
    spark.read.schema(schema).parquet(str(path)).count()
    times = [], [], []
    # The first rounds warm up both and do not count.
    for turn in range(-2, SHORT_ROUNDS):
        ids = [pyarrow.parquet.read_table(path / f"part-{(turn + 2) * 7 + place:05}.parquet")["id"] for place in range(20)]
        keys, others = [[column[row].as_py() for column in ids] for row in (100, 200)]
        took, found = timed(lambda: grove.read(spark, path, keys, column="id", schema=schema).collect())
        ours = took
        took, expected = timed(lambda: spark.read.schema(schema).parquet(str(path)).where(col("id").isin(keys)).collect())
        theirs = took
        # What is left to do when the files are known. Other keys: a plan that Spark has compiled takes less.
        names = [file.path for file in lake.which(path, others, column="id")]
        took, _ = timed(lambda: spark.read.schema(schema).parquet(*names).where(col("id").isin(others)).collect())
        if turn >= 0:
            for list, seconds in zip(times, (ours, theirs, took), strict=True):
                list.append(seconds)
        assert sorted(found) == sorted(expected) and len(found) == 20
    took_lookup, _ = timed(lambda: lake.which(path, keys, column="id"))
    ours, theirs, known = map(statistics.median, times)
    print(f"\n| 20 keys in {FILES:,} files of {FILE_ROWS:,} rows | |\n|---|---|\n| `read` | {ours:.2f} s |")
    print(f"| Spark without it | {theirs:.2f} s |\n| ratio | {theirs / ours:.1f} |")
    print(f"| of `read`, `lake.which` | {took_lookup:.3f} s |\n| Spark, told which files | {known:.2f} s |")
    print(f"| making the index, once | {took_index:.1f} s |", flush=True)


def semi_join():
    """Line items of the orders of one week: 6 million rows against 10,000 or so."""
    path = DIRECTORY / "tpch"
    if not (path / "lineitem.parquet").exists():
        generator = Path(sys.executable).parent / "tpchgen-cli"
        subprocess.run([generator, "parquet", "-s", "1", "--tables=orders,lineitem", f"--output-dir={path}"], check=True)
    orders = spark.read.parquet(str(path / "orders.parquet"))
    items = spark.read.parquet(str(path / "lineitem.parquet"))
    orders = orders.where("o_orderdate BETWEEN DATE '1995-03-01' AND DATE '1995-03-07'")
    # A sort-merge join, as for tables that are too large to broadcast.
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)
    spark.conf.set("spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold", 0)

    def join(items):
        return items.join(orders, items.l_orderkey == orders.o_orderkey, "left_semi").count()

    def own(enabled):
        spark.conf.set("spark.sql.optimizer.runtime.bloomFilter.enabled", enabled)
        return join(items)

    def ours():
        spark.conf.set("spark.sql.optimizer.runtime.bloomFilter.enabled", False)
        filter = grove.build(orders, "o_orderkey", items=20_000, fpr=0.01)
        return join(items.where(grove.contains("l_orderkey", filter)))

    def broadcast():
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", 10 << 20)
        try:
            return own(False)
        finally:
            spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)

    contenders = {
        "Spark, no filter": lambda: own(False), "Spark's runtime filter": lambda: own(True),
        "`build` and `contains`": ours, "Spark, broadcast join": broadcast}
    times = {name: [] for name in contenders}
    counts = set()
    for _ in range(ROUNDS):
        for name, work in contenders.items():
            took, count = timed(work)
            times[name].append(took)
            counts.add(count)
    assert len(counts) == 1, counts
    print(f"\n| line items of one week's orders, TPC-H SF 1: {counts.pop()} of 6 million | seconds |\n|---|---|")
    for name, seconds in times.items():
        print(f"| {name} | {statistics.median(seconds):.2f} |", flush=True)


groups()
files()
semi_join()
spark.stop()
