"""One filter: keys, set operations, files, errors."""

import copy
import os
import pickle
import random
import struct
from pathlib import Path

import pytest

import bloomgrove
from bloomgrove import Filter, MappedFilter, Params


def filter_of(keys, items=1000, fpr=1e-9):
    filter = Filter(items=items, fpr=fpr)
    filter.insert_many(keys)
    return filter


def test_inserted_keys_are_always_found():
    for kind in (int, str, lambda n: str(n).encode()):
        for layout in ("standard", "blocked"):
            filter = Filter(Params(1 << 14, 6, layout=layout))
            keys = [kind(n) for n in range(500)]
            for key in keys[:250]:
                filter.insert(key)
            filter.insert_many(keys[250:])
            assert all(key in filter for key in keys)
            assert filter.contains_many(keys).count() == 500


def test_keys_mean_the_same_as_in_rust():
    filter = filter_of([17])
    assert struct.pack("<Q", 17) in filter and "17" not in filter and 18 not in filter
    filter = filter_of(["é"])
    assert "é".encode() in filter and bytearray("é".encode()) in filter and memoryview("é".encode()) in filter
    filter = filter_of([-1])
    assert -1 in filter and 2**64 - 1 in filter and struct.pack("<q", -1) in filter
    filter = filter_of([2**64 - 1, 2**63, -(2**63)])
    assert 2**63 in filter


def test_subclasses_are_keys_like_their_base():
    class Text(str):
        pass

    class Number(int):
        pass

    filter = filter_of(["a"])
    assert Text("a") in filter
    filter = filter_of([3])
    assert Number(3) in filter


@pytest.mark.parametrize("key", [None, True, False, 1.0, [], (), {}, object(), 1j, range(3)])
def test_what_is_no_key_is_an_error(key):
    filter = Filter(items=10, fpr=0.01)
    with pytest.raises(TypeError, match="a key is bytes, str or int"):
        key in filter
    with pytest.raises(TypeError):
        filter.insert(key)
    assert filter.count_ones() == 0


@pytest.mark.parametrize("key", [2**64, -(2**63) - 1, 10**100])
def test_an_integer_out_of_range_is_an_error(key):
    with pytest.raises(OverflowError, match="2\\*\\*64"):
        Filter(items=10, fpr=0.01).insert(key)


def test_a_lone_surrogate_is_no_key():
    with pytest.raises(UnicodeEncodeError):
        "\ud800" in Filter(items=10, fpr=0.01)


def test_insert_says_whether_a_key_is_new():
    filter = Filter(items=1000, fpr=1e-9)
    assert filter.insert("a") is True
    assert filter.insert("a") is False


def test_union_and_intersection_are_those_of_the_sets():
    one, two = filter_of(range(100)), filter_of(range(50, 150))
    assert one | two == filter_of(range(150))
    both = one & two
    assert all(key in both for key in range(50, 100))
    union = one.copy()
    union |= two
    assert union == one | two and union != one
    union &= one
    assert union == one
    assert (one | one) == one == (one & one)
    one |= one
    assert one.estimated_common_items(two) == pytest.approx(50, abs=10)
    assert one.estimated_common_items(one) == pytest.approx(one.estimated_items())


def test_filters_with_other_params_cannot_be_combined():
    one, two = Filter(items=10, fpr=0.01), Filter(items=100, fpr=0.01)
    with pytest.raises(bloomgrove.Incompatible) as caught:
        one | two
    assert isinstance(caught.value, bloomgrove.Error) and isinstance(caught.value, ValueError)
    assert "one has 128 bits" in str(caught.value) and "the other has 1,024 bits" in str(caught.value)
    assert one != two
    with pytest.raises(TypeError):
        one | {1, 2}
    assert one != 3 and not one == "x"


def test_copies_are_independent():
    filter = filter_of(["a"])
    for other in (filter.copy(), copy.copy(filter), copy.deepcopy(filter), pickle.loads(pickle.dumps(filter))):
        assert other == filter and other is not filter
        other.insert("b")
        assert "b" not in filter
    filter.clear()
    assert filter.count_ones() == 0 and filter.fill() == 0


def test_a_filter_is_mutable_and_so_not_hashable():
    with pytest.raises(TypeError):
        hash(Filter(items=10, fpr=0.1))


def test_files_go_around(tmp_path, tool):
    path = tmp_path / "filter.grove"
    filter = filter_of(["a", "b"])
    filter.save(path)
    bloomgrove.verify(path)
    tool("verify", path)
    assert tool("filter", "check", path, "a", "c", status=0).splitlines()
    assert Filter.load(str(path)) == filter == Filter.from_bytes(filter.to_bytes())
    assert path.read_bytes() == filter.to_bytes()
    with MappedFilter(path) as mapped:
        assert "a" in mapped and "c" not in mapped and mapped.params == filter.params
        assert mapped.contains_many(["a", "c", None]).to_list() == [True, False, None]
        assert filter == mapped and filter | mapped == filter and mapped.to_filter() == filter
        again = pickle.loads(pickle.dumps(mapped))
        assert "b" in again and os.fspath(again.path) == str(path)
    for use in (lambda: "a" in mapped, lambda: mapped.contains_many(["a"]), lambda: filter | mapped):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_a_file_of_the_tool_is_read(tmp_path, tool):
    keys = tmp_path / "keys.txt"
    keys.write_text("".join(f"{n}\n" for n in range(100)))
    tool("filter", "build", "-o", tmp_path / "text.grove", keys)
    tool("filter", "build", "-o", tmp_path / "numbers.grove", "--keys", "integer", keys)
    assert "17" in Filter.load(tmp_path / "text.grove") and 17 not in Filter.load(tmp_path / "text.grove")
    assert 17 in Filter.load(tmp_path / "numbers.grove")


def test_errors_of_files_are_those_of_python(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        Filter.load(tmp_path / "absent")
    assert caught.value.filename == str(tmp_path / "absent") and caught.value.errno == 2
    with pytest.raises(OSError, match="this is a directory; pass a file"):
        Filter.load(tmp_path)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(bloomgrove.NotGrove):
        Filter.load(tmp_path / "text")
    with pytest.raises(bloomgrove.WouldReplace):
        filter_of([1]).save(tmp_path / "text")
    assert (tmp_path / "text").read_text() == "hello"


def test_damaged_bytes_are_errors_and_never_crash():
    good = filter_of(range(100), items=100, fpr=0.01).to_bytes()
    rng = random.Random(1)
    for _ in range(500):
        bad = bytearray(good)
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        with pytest.raises(bloomgrove.Error):
            Filter.from_bytes(bytes(bad))
    for end in range(0, len(good), 37):
        with pytest.raises(bloomgrove.Error):
            Filter.from_bytes(good[:end])


def test_damaged_pickles_are_errors():
    good = bloomgrove.codec.compress(filter_of(range(100)))
    for at in range(len(good)):
        bad = bytearray(good)
        bad[at] ^= 0x41
        with pytest.raises((bloomgrove.Error, MemoryError)):
            bloomgrove.codec.expand(bytes(bad))


def test_params_are_checked():
    with pytest.raises(bloomgrove.InvalidParams):
        Params(0, 3)
    with pytest.raises(bloomgrove.InvalidParams):
        Params(100, 3, layout="blocked")
    with pytest.raises(bloomgrove.Unreachable):
        Params.for_items(100, 2.0)
    for wrong in ({"layout": "round"}, {"family": "sha"}, {"derivation": "x"}, {"key": bytes(16)}, {"family": "siphash"}):
        with pytest.raises(ValueError):
            Params(512, 3, **wrong)
    for wrong in ({}, {"items": 3}, {"params": Params(512, 3), "items": 3}):
        with pytest.raises(TypeError):
            Filter(**wrong)
    with pytest.raises(OverflowError):
        Params(-1, 3)
    with pytest.raises(MemoryError):
        Filter(Params(1 << 48, 3))


def test_every_family_can_be_used_and_pickled():
    more = {"siphash": {"key": bytes(range(16))}, "affine": {"coefficients": [(1, 0), (5, 4)], "modulus": 10}}
    for family in ("xxh3", "xxh3-128", "murmur3", "md5", "siphash", "xxh64", "affine"):
        params = Params(10 if family == "affine" else 512, 2, family=family, **more.get(family, {}))
        assert params.family == family
        again = pickle.loads(pickle.dumps(params))
        assert again == params and hash(again) == hash(params) and {params: 1}[again] == 1
        filter = Filter(params)
        filter.insert_many([19, 132, 25])
        assert [key in filter for key in (19, 132, 25)] == [True] * 3
        assert pickle.loads(pickle.dumps(filter)) == filter
    # The worked example of the guide.
    assert [key in filter for key in (133, 25, 24)] == [False, True, True]


def test_the_rate_is_what_was_asked_for():
    filter = Filter(items=20_000, fpr=0.01)
    filter.insert_many(range(20_000))
    wrong = filter.contains_many(range(20_000, 120_000)).count()
    # 1 % of 100,000, within six standard deviations.
    assert 800 < wrong < 1200
    assert filter.expected_fpr() == pytest.approx(0.01, rel=0.1)
    assert filter.estimated_items() == pytest.approx(20_000, rel=0.05)


def test_messages_and_deltas():
    old = filter_of(range(100))
    new = old.copy()
    new.insert_many(range(100, 120))
    received = bloomgrove.codec.expand(bloomgrove.codec.compress(old))
    delta = bloomgrove.codec.delta(old, new)
    bloomgrove.codec.apply(received, delta)
    assert received == new
    with pytest.raises(bloomgrove.OtherVersion):
        bloomgrove.codec.apply(filter_of([7]), delta)
    with pytest.raises(bloomgrove.TooLarge):
        bloomgrove.codec.expand(bloomgrove.codec.compress(old), limit=10)


def test_tune_explains():
    choice = bloomgrove.tune.recommend(1000, 0.001, layout="standard")
    assert choice.layout == "standard" and choice.why and choice.params.bits == choice.bits
    assert bloomgrove.tune.accuracy(1_000_000, 1000, 0.001) == pytest.approx(0.5, abs=0.001)


def test_members_come_back(tmp_path):
    filter = filter_of([17, 204, 90_000])
    assert bloomgrove.reconstruct(filter, range(100_000)) == [17, 204, 90_000]
    assert set(bloomgrove.sample(filter, range(100_000), 50)) <= {17, 204, 90_000}
    assert bloomgrove.reconstruct(filter, [204, 3, 17]) == [17, 204]
    names = tmp_path / "names.txt"
    names.write_text("lima\noslo\npune\n")
    filter = filter_of(["oslo", "pune"])
    assert bloomgrove.reconstruct(filter, names) == ["oslo", "pune"]
    assert bloomgrove.reconstruct(filter_of(["17"]), range(20), decimal=True) == [17]
    with pytest.raises(bloomgrove.NoMember):
        bloomgrove.sample(filter, ["x", "y"])
    with pytest.raises(bloomgrove.InvalidNamespace):
        bloomgrove.sample(filter, ["x", 3])
    for wrong in (range(0, 10, 2), range(-3, 3), [], 17, b"x"):
        with pytest.raises((bloomgrove.Error, ValueError, TypeError)):
            bloomgrove.sample(filter, wrong)


def test_paths_are_path_like(tmp_path):
    class Somewhere:
        def __fspath__(self):
            return str(tmp_path / "x.grove")

    filter_of([1]).save(Somewhere())
    assert 1 in Filter.load(Path(tmp_path) / "x.grove")
    with pytest.raises(TypeError):
        Filter.load(17)
