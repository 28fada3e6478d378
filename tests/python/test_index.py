"""Many sets: queries, changes, files, and the tool on the same files."""

import pickle

import pytest

import bloomgrove
from bloomgrove import Filter, Index, IndexFile, Params

PARAMS = Params.for_items(1000, 1e-9)


def filter_of(*keys):
    filter = Filter(PARAMS)
    filter.insert_many(keys)
    return filter


def index_of(**sets):
    index = Index(PARAMS)
    for name, keys in sets.items():
        index.add(name, filter_of(*keys))
    return index


def test_an_index_is_a_mapping_of_names_to_filters():
    index = index_of(oslo=["a"], lima=["b"])
    assert len(index) == 2 and list(index) == ["oslo", "lima"] == index.names()
    assert "oslo" in index and "pune" not in index
    assert index["oslo"] == filter_of("a")
    index["pune"] = filter_of("c")
    index["oslo"] = filter_of("d")
    assert index.which("d") == ["oslo"] and index.which("a") == []
    del index["lima"]
    assert sorted(index) == ["oslo", "pune"]
    with pytest.raises(KeyError) as caught:
        index["lima"]
    assert isinstance(caught.value, bloomgrove.UnknownSet) and str(caught.value) == "there is no set named lima"
    assert Index() and len(Index()) == 0


def test_queries():
    index = index_of(oslo=["a", "b"], lima=["b"])
    assert index.which("b") == ["oslo", "lima"] and index.count("b") == 2
    assert index.any("a") and not index.any("z") and index.count("z") == 0
    assert index.expected_false() < 1e-6
    with pytest.raises(TypeError):
        index.which(1.5)


def test_changes():
    index = index_of(oslo=["a"])
    index.insert("oslo", "b")
    index.insert_many("oslo", ["c", "d", None])
    index.update("oslo", filter_of("e"))
    assert all(index.which(key) == ["oslo"] for key in "abcde")
    index.rename("oslo", "bergen")
    assert index.which("a") == ["bergen"]
    index.replace("bergen", filter_of("z"))
    assert index.which("a") == [] and index.which("z") == ["bergen"]
    index.add("tagged", filter_of("q"), tag=b"tenant-1")
    assert index.tag("tagged") == b"tenant-1" and index.tag("bergen") == b""
    with pytest.raises(bloomgrove.DuplicateSet):
        index.add("tagged", filter_of("q"))
    with pytest.raises(bloomgrove.Incompatible):
        index.add("other", Filter(items=10, fpr=0.1))
    with pytest.raises(bloomgrove.UnknownSet):
        index.insert("absent", "x")
    with pytest.raises(TypeError, match="the name of a set"):
        index.add(17, filter_of("q"))
    index.remove("bergen")
    assert index.names() == ["tagged"]


def test_a_mixed_index_takes_any_params():
    index = Index()
    index.add("small", Filter(items=10, fpr=0.1))
    index.add("large", filter_of("a"))
    assert index.which("a") == ["large"]


def test_merge():
    index = index_of(oslo=["a"])
    index.merge(index_of(lima=["b"]))
    assert index.which("b") == ["lima"]
    with pytest.raises(bloomgrove.DuplicateSet):
        index.merge(index_of(oslo=["c"]))
    index.merge(index_of(oslo=["c"]), unite=True)
    assert index["oslo"] == filter_of("a", "c")
    with pytest.raises(ValueError):
        index.merge(index)


@pytest.mark.parametrize("shape", [None, "loose", "flat", "sliced", "sealed"])
def test_every_shape_answers_the_same(shape):
    index = Index(PARAMS)
    for n in range(100):
        index.add(f"set-{n}", filter_of(n, n + 1))
    if shape == "sealed":
        index.seal()
    else:
        index.rearrange(shape)
    assert index.which(50) == ["set-49", "set-50"]
    assert sum(segment["sets"] for segment in index.segments()) == 100
    with pytest.raises(ValueError):
        index.rearrange("round")


def test_files_go_around(tmp_path, tool):
    index = index_of(oslo=["a"], lima=["b"])
    path = tmp_path / "index.grove"
    index.save(path)
    bloomgrove.verify(path)
    tool("verify", path)
    assert tool("index", "which", path, "b").split() == ["lima"]
    for again in (Index.open(path), Index.from_bytes(index.to_bytes()), pickle.loads(pickle.dumps(index))):
        assert again.which("a") == ["oslo"] and again.to_bytes() == index.to_bytes()
    with pytest.raises(bloomgrove.WrongContent):
        Filter.load(path)


def test_an_index_file_keeps_what_was_committed(tmp_path, tool):
    path = tmp_path / "index.grove"
    with IndexFile.create(path, Index(PARAMS)) as file:
        assert isinstance(file, Index)
        file.add("oslo", filter_of("a"))
    with IndexFile(path) as file:
        file.add("lima", filter_of("b"))
        file.commit()
        file.add("pune", filter_of("c"))
        with pytest.raises(bloomgrove.Busy):
            IndexFile(path)
        assert file.which("c") == ["pune"]
        file.close()
    with pytest.raises(ValueError, match="closed"):
        file.which("a")
    with pytest.raises(ZeroDivisionError), IndexFile(path) as file:
        file.remove("oslo")
        1 / 0
    index = Index.open(path)
    assert index.names() == ["oslo", "lima"]
    tool("verify", path)
    with IndexFile(path) as file:
        file.compact()
        assert len(file) == 2


def test_an_index_of_the_tool_is_read(tmp_path, tool):
    for name, lines in [("oslo", "a\nb\n"), ("lima", "b\n")]:
        (tmp_path / name).write_text(lines)
    path = tmp_path / "index.grove"
    tool("index", "build", "-o", path, "oslo", "lima", cwd=tmp_path)
    index = Index.open(path)
    assert sorted(index.which("b")) == ["lima", "oslo"] and index.which("a") == ["oslo"]
    assert index.which_many(["a", "c"]).to_list() == [["oslo"], []]
