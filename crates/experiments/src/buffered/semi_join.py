"""TPC-H Lineitem x Orders, joined as they are and after a semi-join; prints one JSON line per run.

Arguments: the bloomgrove program, the directory of the two files. Each engine runs in a process of
its own, so that its peak memory is its own.
"""

import json
import os
import subprocess
import sys
import time

TOOL, DATA = sys.argv[1:3]
ROUNDS = 2
# What takes longer than this many seconds runs once.
LONG = 12
# The share of orders that meet the condition; their dates are evenly spread over 2,406 days.
CONDITIONS = {1: "1992-01-25", 10: "1992-08-29", 50: "1995-04-19", 100: "1999-01-01"}
ORDERS, LINES = f"{DATA}/orders.parquet", f"{DATA}/lineitem.parquet"

DUCKDB = """
import duckdb, sys
orders, lines, before = sys.argv[1:]
duckdb.sql('set enable_progress_bar = false')
print(duckdb.sql(f'''select count(*), sum(l_extendedprice), sum(o_totalprice), min(l_comment), min(o_comment)
    from '{lines}' join '{orders}' on l_orderkey = o_orderkey where o_orderdate < date '{before}' ''').fetchall())
"""

POLARS = """
import datetime, polars, sys
from polars import col
orders, lines, before = sys.argv[1:]
orders = polars.scan_parquet(orders).filter(col('o_orderdate') < datetime.date.fromisoformat(before))
both = polars.scan_parquet(lines).join(orders, left_on='l_orderkey', right_on='o_orderkey')
print(both.select(polars.len(), col('l_extendedprice').sum(), col('o_totalprice').sum(),
                  col('l_comment').min(), col('o_comment').min()).collect(engine='streaming').rows())
"""


def run(command):
    """Seconds, peak megabytes and output of the fastest of a few rounds."""
    best = None
    for _ in range(ROUNDS):
        began = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        out = child.stdout.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - began
        if status != 0:
            sys.exit(f"{command[:2]} failed")
        if best is None or took < best[0]:
            best = (took, usage.ru_maxrss / 1024, out)
        if took > LONG:
            break
    return best


def say(**facts):
    print(json.dumps(facts), flush=True)


for percent, before in CONDITIONS.items():
    lines, orders = f"{DATA}/l.parquet", f"{DATA}/o.parquet"
    reduce = [TOOL, "semi-join", ORDERS, "o_orderkey", LINES, "l_orderkey", "-o", lines, "--replace", "--json",
              "--memory", "64MB", "--where", f"o_orderdate < {before}"]
    seconds, megabytes, out = run(reduce)
    report = json.loads(out)["probe"]
    say(percent=percent, engine="semi-join", input="files", seconds=seconds, megabytes=megabytes,
        rows=report["output_rows"], bytes=report["output_bytes"], bytes_before=report["bytes"],
        false_positives=report["expected_false_positives"])
    seconds, megabytes, out = run(reduce + ["--both", orders])
    both = json.loads(out)["both"]
    say(percent=percent, engine="semi-join --both", input="files", seconds=seconds, megabytes=megabytes,
        rows=both["output_rows"], bytes=both["output_bytes"], bytes_before=both["bytes"],
        false_positives=both["expected_false_positives"])
    for engine, script in [("DuckDB", DUCKDB), ("Polars", POLARS)]:
        answers = set()
        for name, tables in [("files", (ORDERS, LINES)), ("reduced", (orders, lines))]:
            seconds, megabytes, out = run([sys.executable, "-c", script, *tables, before])
            answers.add(out)
            say(percent=percent, engine=engine, input=name, seconds=seconds, megabytes=megabytes)
        if len(answers) != 1:
            sys.exit(f"{engine}: the join of the reduced tables differs: {answers}")
