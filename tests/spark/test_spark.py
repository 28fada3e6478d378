"""Filters, indexes and tables on a cluster of two executors."""

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, expr

from bloomgrove import Filter, IndexBuilder, Params, lake
from bloomgrove import spark as grove

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))


@pytest.fixture(scope="session")
def spark():
    # The guide names files below the directory in which Spark was started.
    shutil.copytree(ROOT / "examples", "examples")
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    settings = {
        "spark.ui.enabled": False,
        "spark.sql.shuffle.partitions": 4,
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.sql.execution.arrow.maxRecordsPerBatch": 5000,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def test_the_filter_of_a_column_equals_one_of_one_process(spark):
    df = spark.range(0, 60_000, 1, 20).select(
        (col("id") * 7).alias("number"), col("id").cast("int").alias("small"),
        expr("CASE WHEN id % 5 = 0 THEN NULL ELSE concat('user-', id) END").alias("name"))
    params = Params.for_items(60_000, 0.01)
    one = Filter(params)
    one.insert_many(range(0, 420_000, 7))
    assert grove.build(df, "number", params=params) == one
    one = Filter(params)
    one.insert_many(f"user-{n}" for n in range(60_000) if n % 5)
    assert grove.build(df, "name", items=60_000, fpr=0.01) == one
    # Integers of 32 bits are the same keys as those of 64.
    assert 59_999 in grove.build(df, "small", params=params)
    with pytest.raises(TypeError):
        grove.build(df, "number", items=5)
    with pytest.raises(Exception, match="cannot be keys"):
        grove.build(df.select(col("number").cast("double")), "number", params=params)


def test_an_index_of_groups_equals_one_of_one_process(spark):
    df = spark.range(0, 60_000, 1, 8).select(
        expr("CASE WHEN id % 97 = 0 THEN NULL ELSE concat('set-', id % 50) END").alias("name"), col("id").alias("key"))
    params = Params.for_items(1200, 0.001)
    builder = IndexBuilder(params)
    builder.insert_many([None if n % 97 == 0 else f"set-{n % 50}" for n in range(60_000)], range(60_000))
    one = builder.index()
    assert len(one) == 50
    assert grove.build_index(df, "name", "key", params=params).to_bytes() == one.to_bytes()


def test_an_executor_that_is_killed_changes_nothing(spark, tmp_path):
    flag = tmp_path / "killed"

    def slow(batches):
        """The first task to get here kills its executor."""
        for batch in batches:
            try:
                os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
                # The executor is the process that started the daemon that started this worker.
                daemon = os.getppid()
                executor = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
                assert b"java" in Path(f"/proc/{executor}/cmdline").read_bytes()
                os.kill(executor, signal.SIGKILL)
                time.sleep(60)
            except FileExistsError:
                pass
            yield batch

    df = spark.range(0, 40_000, 1, 8).mapInArrow(slow, "id long")
    params = Params.for_items(40_000, 0.01)
    one = Filter(params)
    one.insert_many(range(40_000))
    assert grove.build(df, "id", params=params) == one
    assert flag.exists()


def test_contains_keeps_what_may_be_in_the_filter(spark):
    filter = Filter(items=1000, fpr=1e-6)
    filter.insert_many(range(0, 1000, 10))
    df = spark.range(0, 5000, 1, 4)
    assert df.where(grove.contains("id", filter)).count() == 100
    # Numbers that a float cannot tell apart, with nulls among them.
    large = df.select(expr("CASE WHEN id % 2 = 0 THEN NULL ELSE 9007199254740992 + id END").alias("large"))
    filter.insert(2**53 + 7)
    assert [row.large for row in large.where(grove.contains("large", filter)).collect()] == [2**53 + 7]
    names = Filter(items=10, fpr=1e-6)
    names.insert("n7")
    df = df.select(expr("CASE WHEN id = 3 THEN NULL ELSE concat('n', id) END").alias("name"))
    assert [row.name for row in df.where(grove.contains(col("name"), names)).collect()] == ["n7"]


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """A table of 40 files, with two row groups each."""
    path = tmp_path_factory.mktemp("table")
    rng = random.Random(1)
    for part in range(40):
        ids = [part * 100 + n for n in range(100)]
        rng.shuffle(ids)
        (path / f"day={part % 4}").mkdir(exist_ok=True)
        rows = pyarrow.table({"id": ids, "name": [f"name-{id}" for id in ids]})
        pyarrow.parquet.write_table(rows, path / f"day={part % 4}/part-{part}.parquet", row_group_size=50)
    lake.index(path, ["id", "name"])
    return path


def test_read_opens_only_files_that_can_match(spark, table):
    whole = spark.read.parquet(str(table))
    for column, keys in [("id", [17, 1234, 99_999]), ("name", ["name-3999", "nobody"]), ("id", [99_999])]:
        found = grove.read(spark, table, keys, column=column)
        expected = whole.where(col(column).isin(keys))
        assert found.schema == expected.schema
        assert sorted(found.collect()) == sorted(expected.collect())
        assert len(found.inputFiles()) <= len(keys)
        again = grove.read(spark, table, keys, column=column, schema=whole.schema)
        assert again.schema == expected.schema and sorted(again.collect()) == sorted(expected.collect())
    many = list(range(0, 4000, 3))
    assert grove.read(spark, table, many, column="id").count() == len(many)
    shutil.copy(table / "day=0/part-0.parquet", table / "day=1/part-99.parquet")
    with pytest.warns(RuntimeWarning, match="is listed without being checked"):
        assert grove.read(spark, table, [17], column="id").count() == 2
    (table / "day=1/part-99.parquet").unlink()


def test_the_examples_of_the_guide(spark):
    import examples

    lake.index("examples/events", ["trace_id"])
    page = str(ROOT / "docs/guide/python.md")
    examples.page(page, "python spark", {"spark": spark})
    names = {"Filter": Filter}
    examples.page(page, "python dask", names)
    assert 1228 in names["users"]
