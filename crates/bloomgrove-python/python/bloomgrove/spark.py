"""Filters and indexes built on a Spark cluster, and used there. PySpark 3.5 and 4.

    build(df, column, ...)                          one filter of a column
    build_index(df, set_column, key_column, ...)    one filter per set: an Index
    contains(column, filter)                        a condition: rows whose key may be in the filter
    read(spark, table, keys, column=...)            the rows of a Parquet table with these keys, from the files that
                                                    can contain them

Keys stay on the executors: a partition becomes one filter there (or one per set), filters are united in a tree, and the
driver gets one filter per set. This package must be installed on the executors.

A row that crosses from the JVM into Python costs a fraction of a microsecond. `build` and `build_index` pay that once. `read` crosses
none. `contains` pays it for every row, so it helps where it saves more than that, such as a shuffle of wide rows; to
join two tables of one cluster, Spark's own runtime filter (spark.sql.optimizer.runtime.bloomFilter.enabled) and
broadcast joins are better.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import lake
from ._bloomgrove import Filter, Index, IndexBuilder, Params
from ._tool import StrPath
from .codec import compress, expand

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["build", "build_index", "contains", "read"]

# A builder of many sets passes its filters on when they take this many bytes.
_MEMORY = 256 << 20
# A task unites this many filters.
_FAN = 8
# Above this many keys, a condition is a join.
_LONG = 1000


def build(
    df: DataFrame, column: str, *, params: Params | None = None, items: int | None = None, fpr: float | None = None
) -> Filter:
    """A filter of all values of a column; nulls are skipped.

    Either `params`, or the number of distinct values and a false-positive rate. Each partition becomes a filter by
    `mapInArrow`; those are united eight at a time on the executors, and the last few by the driver.
    """
    params = _params(params, items, fpr)
    parts = df.select(column).mapInArrow(functools.partial(_build, params), "filter binary")
    count = df.rdd.getNumPartitions() if hasattr(df, "rdd") else _FAN + 1
    while count > _FAN:
        count = -(-count // _FAN)
        parts = parts.repartition(count).mapInArrow(functools.partial(_unite, params), "filter binary")
    whole = Filter(params)
    for row in parts.collect():
        whole |= expand(bytes(row[0]), limit=1 << 48)
    return whole


def build_index(
    df: DataFrame,
    set_column: str,
    key_column: str,
    *,
    params: Params | None = None,
    items: int | None = None,
    fpr: float | None = None,
) -> Index:
    """An index with a filter for every value of `set_column`, of its values of `key_column`. Rows with a null in either
    are skipped. Sets are named by text: numbers, dates and others are cast.

    Either `params`, or the number of keys of the largest set and a false-positive rate. Each partition builds a filter
    for every set that it has; filters of the same set are shuffled together and united. The result is, bit for bit, the
    index that `IndexBuilder` makes of all rows in one process.
    """
    params = _params(params, items, fpr)
    schema = "name binary, filter binary"
    rows = df.select(set_column, key_column)
    if rows.dtypes[0][1] not in ("string", "binary"):
        rows = df.select(df[set_column].cast("string"), key_column)
    parts = rows.mapInArrow(functools.partial(_build_sets, params), schema)
    parts = parts.repartition("name").mapInArrow(functools.partial(_unite_sets, params), schema)
    builder = IndexBuilder(params)
    parts = parts.persist()
    try:
        # All at once: the iterator runs one partition after another.
        parts.count()
        for row in parts.toLocalIterator():
            builder.update_many([bytes(row[0])], [bytes(row[1])])
    finally:
        parts.unpersist()
    return builder.index()


def contains(column: Column | str, filter: Filter) -> Column:
    """A condition for `where`: whether the value may be in the filter; null for a null.

    The filter is broadcast to the executors once. Before PySpark 4.1, rows are tested one by one, which takes several times
    as long.
    """
    from pyspark.sql import SparkSession, functions

    session = SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("there is no active Spark session")
    shared = session.sparkContext.broadcast(filter)
    column = functions.col(column) if isinstance(column, str) else column
    condition: Column
    if not hasattr(functions, "arrow_udf"):
        # Not pandas_udf: there, integers with nulls become floats, which are other numbers beyond 2**53.
        def test_one(key: Any) -> bool | None:
            return None if key is None else key in shared.value

        condition = functions.udf(test_one, "boolean")(column)
        return condition

    import pyarrow

    def test(keys: pyarrow.Array) -> pyarrow.Array:
        return pyarrow.array(shared.value.contains_many(keys))

    # Annotations are text here; Spark wants to see classes.
    test.__annotations__ = {"keys": pyarrow.Array, "return": pyarrow.Array}
    condition = functions.arrow_udf(test, "boolean")(column)
    return condition


def read(
    spark: SparkSession,
    table: StrPath,
    keys: Iterable[Any],
    *,
    column: str,
    index: StrPath | None = None,
    files: Iterable[StrPath] | None = None,
    schema: StructType | None = None,
) -> DataFrame:
    """The rows of a Parquet table whose `column` is one of the keys.

    The driver looks the keys up in the index of the table (see `lake.index`), and Spark opens only the files that can
    contain them. Files that are new or have changed are always opened, so no row is missed. The table must be a
    directory that the driver can read. Without `schema`, Spark first runs a job to find out the schema.

    Spark's reader cannot be told which row groups to read: within a file it skips those whose statistics exclude the keys.
    """
    from pyspark.sql.functions import col

    wanted = list(keys)
    table = os.fspath(table)
    if "://" not in table:
        # The Java process of the driver may have been started in another directory.
        table = os.path.abspath(table)
    found = lake.which(table, wanted, column=column, index=index, files=files)
    if not found and schema is not None:
        return spark.createDataFrame([], schema)
    if not found:
        return spark.read.parquet(table).limit(0)
    reader = spark.read.option("basePath", table)
    reader = reader if schema is None else reader.schema(schema)
    rows = reader.parquet(*[file.path for file in found])
    if len(wanted) <= _LONG:
        return rows.where(col(column).isin(wanted))
    sought = spark.createDataFrame([(key,) for key in wanted], rows.select(column).schema)
    return rows.join(sought.distinct(), column, "left_semi")


def _params(params: Params | None, items: int | None, fpr: float | None) -> Params:
    if params is not None and items is None and fpr is None:
        return params
    if params is None and items is not None and fpr is not None:
        return Params.for_items(items, fpr)
    raise TypeError("pass either params, or both items and fpr")


# What runs on the executors: plain functions of batches, which Dask and Ray can call just as well.


def _build(params: Params, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    import pyarrow

    filter = Filter(params)
    for batch in batches:
        filter.insert_many(batch.column(0))
    yield pyarrow.record_batch([pyarrow.array([compress(filter)], pyarrow.binary())], ["filter"])


def _unite(params: Params, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    import pyarrow

    whole = Filter(params)
    for batch in batches:
        for message in batch.column(0):
            whole |= expand(message.as_py(), limit=1 << 48)
    yield pyarrow.record_batch([pyarrow.array([compress(whole)], pyarrow.binary())], ["filter"])


def _build_sets(params: Params, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    builder = IndexBuilder(params)
    for batch in batches:
        builder.insert_many(batch.column(0), batch.column(1))
        if builder.bytes > _MEMORY:
            yield from _drain(builder)
    yield from _drain(builder)


def _unite_sets(params: Params, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    builder = IndexBuilder(params)
    for batch in batches:
        builder.update_many(batch.column(0), batch.column(1))
    yield from _drain(builder)


def _drain(builder: IndexBuilder) -> Iterator[RecordBatch]:
    import pyarrow

    sets = builder.drain()
    # In batches of some megabytes: an Arrow column of binary has at most two gigabytes.
    step = max(1, (16 << 20) // max(1, max((len(message) for _, message in sets), default=1)))
    for start in range(0, len(sets), step):
        part = sets[start : start + step]
        names = pyarrow.array([name for name, _ in part], pyarrow.binary())
        messages = pyarrow.array([message for _, message in part], pyarrow.binary())
        yield pyarrow.record_batch([names, messages], ["name", "filter"])
