"""Whole columns: what every library calls an array means the same as a list of its values."""

import random

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest

from bloomgrove import Filter, Index, IndexBuilder, Params

PARAMS = Params.for_items(5000, 1e-9)
INTEGERS = [0, 1, -1, 17, 100, -128, 127]
LARGE = [2**63 - 1, -(2**63), 2**40, -5]
TEXTS = ["", "a", "é", "漢字", "x" * 40, "the quick brown fox jumps"]


def filter_of(keys):
    filter = Filter(PARAMS)
    filter.insert_many(keys)
    return filter


def looped(keys):
    filter = Filter(PARAMS)
    for key in keys:
        filter.insert(key)
    return filter


def same(column, keys):
    """Whether a column is taken for these keys, by inserting and by testing."""
    present = [key for key in keys if key is not None]
    expected = looped(present)
    assert filter_of(column) == expected
    answers = expected.contains_many(column).to_list()
    assert answers == [None if key is None else True for key in keys]
    assert Filter(PARAMS).contains_many(column).count() == 0


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers_of_every_width_are_python_integers(kind):
    keys = [abs(key) if kind[0] == "u" else key for key in INTEGERS]
    keys = [key for key in keys if numpy.iinfo(kind).min <= key <= numpy.iinfo(kind).max]
    if kind == "int64":
        keys += LARGE
    if kind == "uint64":
        keys += [2**64 - 1, 2**63]
    same(numpy.array(keys, kind), keys)
    same(numpy.array([key for key in keys for _ in range(2)], kind)[::2], keys)
    same(numpy.array(keys, numpy.dtype(kind).newbyteorder(">")), keys)
    same(pyarrow.array(keys, kind), keys)
    same(pyarrow.array([None, *keys, None], kind), [None, *keys, None])
    same(polars.Series(keys, dtype=getattr(polars, kind.replace("int", "Int").replace("uI", "UI"))), keys)
    same(pandas.Series(keys, dtype=kind), keys)
    same(pyarrow.array([None, *keys, *keys], kind).dictionary_encode(), [None, *keys, *keys])


@pytest.mark.parametrize(
    "kind",
    [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(), pyarrow.binary(), pyarrow.large_binary(),
     pyarrow.binary_view()],
    ids=str,
)
def test_text_and_binary_of_every_kind(kind):
    keys = [None, *TEXTS, None, *TEXTS]
    binary = "binary" in str(kind)
    array = pyarrow.array([key.encode() if binary and key is not None else key for key in keys], kind)
    same(array, keys)
    same(array.slice(3, 7), keys[3:10])
    same(array.slice(2, 0), [])
    same(pyarrow.chunked_array([array, array.slice(2, 3), array.slice(0, 0)]), keys + keys[2:5])
    if "view" not in str(kind):
        same(array.dictionary_encode(), keys)
        same(array.dictionary_encode().slice(4, 5), keys[4:9])
        same(pyarrow.table({"key": array}), keys)


def test_a_slice_of_a_dictionary_inserts_only_what_it_refers_to():
    array = pyarrow.array(["a", "b", "c", "a"]).dictionary_encode().slice(0, 1)
    assert filter_of(array) == looped(["a"])


def test_other_forms_of_columns():
    same(pyarrow.array([b"0123", None, b"4567"], pyarrow.binary(4)), [b"0123", None, b"4567"])
    same(pyarrow.nulls(5), [None] * 5)
    same(pyarrow.array([], "int64"), [])
    same(pyarrow.array([], "string").dictionary_encode(), [])
    same(pyarrow.array([None, None], "string").dictionary_encode(), [None, None])
    same(polars.Series(["a", None, "b"], dtype=polars.Categorical), ["a", None, "b"])
    same(polars.DataFrame({"key": TEXTS}), TEXTS)
    same(polars.Series([1, None, 3]), [1, None, 3])
    same(pandas.Series(["a", "b"]), ["a", "b"])
    same(pandas.Series(["a", "b", "a"]).astype("category"), ["a", "b", "a"])
    same(pandas.Series([1, None], dtype="Int64"), [1, None])
    same(pandas.Series([1, None], dtype="int64[pyarrow]"), [1, None])
    same(pandas.Index([1, 2]), [1, 2])
    same(pandas.DataFrame({"key": [1, 2]}, index=[0, 1])["key"], [1, 2])
    same(duckdb.sql("SELECT unnest([1, NULL, 3]) AS key").to_arrow_table(), [1, None, 3])
    same(numpy.array(["a", "bcd"]), ["a", "bcd"])
    same(numpy.array([b"a", b"bcd"]), ["a", "bcd"])
    same(numpy.array(["a", "b"], dtype=object), ["a", "b"])
    same([numpy.int32(5), numpy.uint64(2**64 - 1)], [5, 2**64 - 1])
    assert filter_of(key for key in ["a", None, b"b"]) == looped(["a", "b"])
    same({"a": 1, "b": 2}, ["a", "b"])
    same([], [])
    same([None, None, 3], [None, None, 3])


def test_a_stream_is_read_chunk_by_chunk():
    batches = (pyarrow.record_batch({"key": [n, n + 1]}) for n in range(0, 1000, 2))
    schema = pyarrow.schema({"key": "int64"})
    assert filter_of(pyarrow.RecordBatchReader.from_batches(schema, batches)) == looped(range(1000))


def test_an_exception_in_a_stream_leaves_what_was_read():
    def batches():
        yield pyarrow.record_batch({"key": [1, 2]})
        raise OSError("the disk is gone")

    filter = Filter(PARAMS)
    reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema({"key": "int64"}), batches())
    with pytest.raises(ValueError, match="the disk is gone"):
        filter.insert_many(reader)
    assert filter == looped([1, 2])


def test_an_exception_in_an_iterator_passes_through():
    def keys():
        yield "a"
        raise KeyError("b")

    filter = Filter(PARAMS)
    with pytest.raises(KeyError):
        filter.insert_many(keys())
    filter.insert("c")
    assert "c" in filter


@pytest.mark.parametrize("column", [
    pyarrow.array([1.5]), pyarrow.array([True]), pyarrow.array([[1]]), pyarrow.array([{"a": 1, "b": 2}]),
    pyarrow.table({"a": [1], "b": [2]}), numpy.array([1.5]), numpy.array([True]), numpy.array(["2024-01-01"], "M8[s]"),
    numpy.array([1 + 2j]), polars.Series([1.5]), [1.5], [True], [object()], 17, None, "text", b"bytes", object(),
    numpy.array([1.5, "x"], dtype=object), pyarrow.array([1.5]).dictionary_encode(),
], ids=lambda column: str(type(column)))
def test_what_is_no_column_of_keys_is_an_error(column):
    filter, index = Filter(PARAMS), Index(PARAMS)
    index.add("set", filter)
    for use in (filter.insert_many, filter.contains_many, index.which_many):
        with pytest.raises(TypeError):
            use(column)
    assert filter.count_ones() == 0


def test_a_column_has_one_dimension():
    for array in (numpy.zeros((2, 2), int), numpy.array(5)):
        with pytest.raises(ValueError, match="dimension"):
            Filter(PARAMS).insert_many(array)


def test_keys_of_mixed_types_are_an_error():
    for keys in ([1, "a"], ["a", 1], [b"a", None, 1]):
        with pytest.raises(TypeError, match="different keys"):
            Filter(PARAMS).insert_many(keys)
    with pytest.raises(OverflowError):
        Filter(PARAMS).insert_many([1, 2**64])


def test_a_consumed_stream_is_an_error():
    reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema({"key": "int64"}), [])
    capsule = reader.__arrow_c_stream__()

    class Twice:
        def __arrow_c_stream__(self, requested_schema=None):
            return capsule

    Filter(PARAMS).insert_many(Twice())
    with pytest.raises(ValueError, match="consumed"):
        Filter(PARAMS).insert_many(Twice())

    class Wrong:
        def __arrow_c_array__(self, requested_schema=None):
            return 1, 2

    with pytest.raises(TypeError):
        Filter(PARAMS).insert_many(Wrong())


def test_answers_go_to_every_library():
    filter = filter_of([1, 2, 3])
    answers = filter.contains_many(numpy.array([1, 9, 3]))
    assert pyarrow.array(answers).to_pylist() == [True, False, True]
    assert polars.Series(answers).to_list() == [True, False, True]
    assert numpy.asarray(answers).tolist() == [True, False, True]
    assert pandas.Series(numpy.asarray(answers)).sum() == 2
    assert len(answers) == 3 and answers[0] is True and answers[-2] is False and "bool" in repr(answers).lower()
    with pytest.raises(IndexError):
        answers[3]
    array = numpy.array([1, 9, 3])
    assert array[numpy.asarray(filter.contains_many(array))].tolist() == [1, 3]
    with pytest.raises(ValueError):
        numpy.asarray(filter.contains_many([None]))
    # The array outlives the answers.
    array = pyarrow.array(filter.contains_many(range(100_000)))
    del answers
    assert array.true_count == 3


def test_which_many_is_which_for_each_key():
    rng = random.Random(3)
    index = Index(PARAMS)
    sets = {f"set-{n}": rng.sample(range(300), 40) for n in range(70)}
    for name, keys in sets.items():
        index.add(name, filter_of(keys))
    keys = [None if rng.random() < 0.1 else rng.randrange(400) for _ in range(5000)]
    expected = [None if key is None else index.which(key) for key in keys]
    truth = [None if key is None else sorted(name for name in sets if key in sets[name]) for key in keys]
    assert [found if found is None else sorted(found) for found in expected] == truth
    for column in (keys, pyarrow.array(keys), polars.Series(keys), pyarrow.array(keys, "int16").dictionary_encode()):
        answers = index.which_many(column)
        assert answers.to_list() == expected
        assert pyarrow.array(answers).to_pylist() == expected
        assert polars.Series(answers).to_list() == expected
        assert answers.count() == sum(bool(found) for found in expected)
    numbers = {index.number(name): name for name in index}
    by_number = index.which_many(keys, numbers=True).to_list()
    assert [None if found is None else [numbers[n] for n in found] for found in by_number] == expected


def test_a_name_that_is_not_text_is_found_by_number():
    index = Index(PARAMS)
    index.add(b"\xff", filter_of([1]))
    assert index.which(1) == ["\udcff"] and "\udcff" in index and b"\xff" in index
    with pytest.raises(Exception, match="numbers=True"):
        index.which_many([1])
    assert index.which_many([1], numbers=True).to_list() == [[0]]


def test_strings_beyond_two_gigabytes():
    few = pyarrow.array(["x" * (1 << 20), "last"], pyarrow.large_string())
    array = few.take(pyarrow.array([0] * 2049 + [1]))
    assert array.nbytes > 2**31
    filter = filter_of(array)
    assert filter == looped(["x" * (1 << 20), "last"]) and filter.contains_many(array).count() == len(array)


def test_huge_arrays():
    array = numpy.arange(3_000_000, dtype="uint32")
    filter = Filter(items=3_000_000, fpr=0.01)
    filter.insert_many(array)
    assert filter.contains_many(array).count() == 3_000_000


def test_a_builder_of_many_sets_equals_one_filter_per_set():
    rng = random.Random(5)
    sets = [rng.choice([None, "oslo", "lima", "pune", ""]) for _ in range(3000)]
    keys = [rng.choice([None, *range(500)]) for _ in range(3000)]
    builder = IndexBuilder(PARAMS)
    chunks = pyarrow.chunked_array([pyarrow.array(sets[:7]), pyarrow.array(sets[7:2000]), pyarrow.array(sets[2000:])])
    builder.insert_many(chunks, polars.Series(keys))
    other = IndexBuilder(PARAMS)
    other.insert_many(pyarrow.array(sets).dictionary_encode(), keys)
    index = builder.index()
    assert len(builder) == 0 and index.names() == ["", "lima", "oslo", "pune"]
    for name in index:
        wanted = [key for key, own in zip(keys, sets) if own == name and key is not None]
        assert index[name] == looped(wanted)
    # Taken apart and put together again.
    united = IndexBuilder(PARAMS)
    for name, message in other.drain():
        united.update_many([name], [message])
    assert united.index().to_bytes() == index.to_bytes()
    with pytest.raises(ValueError, match="differ in length"):
        builder.insert_many(["a", "b"], [1])
    builder = IndexBuilder(PARAMS)
    builder.insert_many(numpy.array([-1, 5]), ["x", "y"])
    builder.insert_many(numpy.array([2**63], "uint64"), ["z"])
    assert sorted(builder.index()) == ["-1", "5", "9223372036854775808"]
    for wrong in ([17], [b"junk"]):
        with pytest.raises(Exception):
            IndexBuilder(PARAMS).update_many(["a"], wrong)
