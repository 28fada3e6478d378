"""Threads, forks, buffered filters, the server, the tool and tables of Parquet files."""

import os
import subprocess
import sys
import threading
import time
import warnings
from multiprocessing import get_context

import numpy
import pyarrow
import pyarrow.parquet
import pytest

import bloomgrove
from bloomgrove import Client, Filter, Index, MappedFilter, Params, buffered, lake


def test_threads_share_a_filter():
    filter, total = Filter(items=400_000, fpr=0.001), 4
    failed = []

    def work(part):
        try:
            keys = numpy.arange(part * 100_000, (part + 1) * 100_000)
            for start in range(0, 100_000, 10_000):
                filter.insert_many(keys[start : start + 10_000])
                filter.insert(int(keys[start]))
                assert int(keys[start]) in filter
                filter.contains_many(keys[:start])
                filter | filter
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(part,)) for part in range(total)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert filter.contains_many(numpy.arange(400_000)).count() == 400_000


def test_threads_combine_filters_both_ways_round():
    one, two = Filter(items=10_000, fpr=0.01), Filter(items=10_000, fpr=0.01)
    one.insert(1), two.insert(2)

    def work(left, right):
        for _ in range(200):
            left |= right
            left == right

    threads = [threading.Thread(target=work, args=pair) for pair in [(one, two), (two, one)] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert one == two and 1 in one and 2 in one


def test_the_interpreter_runs_while_a_column_is_inserted():
    filter = Filter(items=20_000_000, fpr=0.001)
    keys = numpy.arange(20_000_000)
    thread = threading.Thread(target=filter.insert_many, args=(keys,))
    thread.start()
    steps = 0
    while thread.is_alive():
        steps += 1
        time.sleep(0.001)
    # It would be one or two if the lock of the interpreter was held.
    assert steps > 5


def child_of_fork(filter, mapped, connection):
    filter.insert("child")
    connection.send(("parent" in filter, "parent" in mapped, filter.contains_many(["parent", "x"]).to_list()))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_its_own_filter_and_shares_the_file(tmp_path):
    filter = Filter(items=1000, fpr=1e-9)
    filter.insert("parent")
    filter.save(tmp_path / "filter.grove")
    mapped = MappedFilter(tmp_path / "filter.grove")
    for way in ("fork", "spawn"):
        here, there = get_context(way).Pipe()
        process = get_context(way).Process(target=child_of_fork, args=(filter, mapped, there))
        process.start()
        assert here.recv() == (True, True, [True, False])
        process.join()
        assert process.exitcode == 0 and "child" not in filter and "parent" in filter


def test_a_buffered_filter_finds_its_keys(tmp_path, tool):
    path = tmp_path / "large.grove"
    with buffered.Builder(path, items=200_000, fpr=0.001) as builder:
        builder.insert_many(numpy.arange(100_000))
        builder.insert(-1)
        builder.sync()
        with pytest.raises(bloomgrove.Busy):
            buffered.Builder.open(path)
        assert builder.keys == 100_001
    filter = buffered.Filter(path)
    assert filter.finished and filter.keys == 100_001 and 5 in filter and -1 in filter
    answers = filter.contains_many(pyarrow.array([*range(100_000), None, -1]))
    assert answers.count() == 100_001 and answers[100_000] is None
    assert filter.contains_many(numpy.arange(10**6, 10**6 + 100_000)).count() < 300
    tool("verify", path)
    with pytest.raises(bloomgrove.Finished):
        buffered.Builder.open(path)
    with pytest.raises(ValueError):
        builder.insert(3)
    with pytest.raises(bloomgrove.Budget):
        buffered.Builder(tmp_path / "other.grove", items=10**7, fpr=0.001, memory=10)
    with pytest.raises(ZeroDivisionError), buffered.Builder(tmp_path / "cut.grove", items=1000, fpr=0.1) as builder:
        builder.insert("a")
        builder.sync()
        1 / 0
    with buffered.Builder.open(tmp_path / "cut.grove") as builder:
        assert builder.keys == 1
    assert "a" in buffered.Filter(tmp_path / "cut.grove")


@pytest.fixture
def server(tmp_path):
    if "BLOOMGROVE" not in os.environ:
        pytest.skip("needs $BLOOMGROVE, a tool with its server")
    command = [os.environ["BLOOMGROVE"], "serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        address = None
        for line in process.stdout:
            if "http://" in line:
                address = "http://" + line.split("http://")[1].split()[0].strip(".,;\"'")
                break
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield address
        process.terminate()


def test_a_server_and_its_sets(server):
    client = Client(server)
    filter = Filter(items=1000, fpr=0.001)
    filter.insert_many(["heron", "gull"])
    version = client.put_filter("site/galway", filter, tags=["birds"])["version"]
    client.create("site/pune", items=100)
    client.insert("site/pune", ["crane", 17, b"\xff"])
    assert client.which(["heron", "crane", 17, 18]) == [["site/galway"], ["site/pune"], ["site/pune"], []]
    assert client.which(["heron"], tag="fish") == [[]]
    assert client.filter("site/galway") == (filter, version)
    more = Filter(filter.params)
    more.insert("tern")
    assert client.merge("site/galway", more)["changed_bits"] > 0
    assert "tern" in client.filter("site/galway")[0]
    assert [found["name"] for found in client.list()] == ["site/galway", "site/pune"]
    assert client.set("site/pune")["name"] == "site/pune" and client.status()
    client.remove("site/pune")
    with pytest.raises(bloomgrove.ServerError) as caught:
        client.set("site/pune")
    assert caught.value.code == "not_found"
    with pytest.raises(bloomgrove.ServerError) as caught:
        client.merge("site/galway", Filter(items=10, fpr=0.1))
    assert caught.value.code == "incompatible"


def test_a_server_that_is_not_there():
    with pytest.raises(bloomgrove.ServerError, match="is a server running"):
        Client("http://127.0.0.1:1").status()
    with pytest.raises(bloomgrove.Error):
        Client("nonsense")
    with pytest.raises(ValueError):
        Client("http://127.0.0.1:1", timeout=-1)


def test_the_tool_is_in_the_package(tmp_path):
    run = lambda *words: subprocess.run([sys.executable, "-m", "bloomgrove", *words], capture_output=True, text=True)
    assert run("--version").stdout.startswith("bloomgrove ")
    assert run("--nonsense").returncode == 2
    assert run("verify", "/nonexistent").returncode == 2


def test_which_finds_files(tmp_path):
    (tmp_path / "a.log").write_text("order-4711 shipped\n")
    (tmp_path / "b.log").write_text("order-4712 lost\n")
    assert bloomgrove.which(tmp_path, "order-4711") == [str(tmp_path / "a.log")]
    both = [str(tmp_path / "a.log"), str(tmp_path / "b.log")]
    assert bloomgrove.which(both, r"\bORDER-471\d\b", regexp=True, ignore_case=True) == both
    assert bloomgrove.which(tmp_path, "absent") == []
    with pytest.raises(bloomgrove.ToolError):
        bloomgrove.which(tmp_path / "absent", "x")


def test_a_table_of_parquet_files(tmp_path):
    for part in range(5):
        table = pyarrow.table({"id": list(range(part * 100, part * 100 + 100)), "name": [f"n{part}\n"] * 100})
        pyarrow.parquet.write_table(table, tmp_path / f"part-{part}.parquet", row_group_size=50)
    lake.index(tmp_path, ["id", "name"])
    found = lake.which(tmp_path, [117, 160], column="id")
    assert found == [lake.File(str(tmp_path / "part-1.parquet"), (0, 1))]
    assert lake.which(tmp_path, [999], column="id") == lake.which(tmp_path, [], column="id") == []
    assert [file.path for file in lake.which(tmp_path, ["n3\n"], column="name")] == [str(tmp_path / "part-3.parquet")]
    with pytest.raises(bloomgrove.ToolError, match="cannot be in column"):
        lake.which(tmp_path, ["alice"], column="id")
    with pytest.raises(TypeError):
        lake.which(tmp_path, [1.5], column="id")
    pyarrow.parquet.write_table(table, tmp_path / "part-9.parquet")
    with pytest.warns(RuntimeWarning, match="is listed without being checked"):
        assert len(lake.which(tmp_path, [117], column="id")) == 2
    lake.sync(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(lake.which(tmp_path, [450], column="id")) == 2
    assert lake.info(tmp_path)["files"] == 6
    only = lake.which(tmp_path, [450], column="id", files=[tmp_path / "part-9.parquet"])
    assert [file.path for file in only] == [str(tmp_path / "part-9.parquet")]
