"""Tables of Parquet files: which files, and which of their row groups, may contain a value.

    lake.index("events/", ["trace_id"])
    found = lake.which("events/", ["157410d7cb501245"], column="trace_id")
    rows = polars.scan_parquet([file.path for file in found])

The command-line tool does the work (`bloomgrove lake`): in a process of its own, except for `which`, which takes
milliseconds. What it warns about, such as files that have changed, is a RuntimeWarning.
"""

import datetime
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from ._tool import StrPath, ask, run

__all__ = ["File", "index", "info", "sync", "which"]


class File(NamedTuple):
    """A file that may contain a value."""

    path: str
    row_groups: "tuple[int, ...] | None"
    """The row groups that may contain it; None if the file must be read whole."""


def index(
    table: StrPath,
    columns: "str | Iterable[str]",
    *,
    wasted: float = 1,
    keys: int = 100,
    from_footers: bool = False,
    replace: bool = False,
    files: "Iterable[StrPath] | None" = None,
    index: "StrPath | None" = None,
) -> dict[str, Any]:
    """Indexes columns of a table: a query for `keys` values will open `wasted` files too many on average.

    With `from_footers`, the Bloom filters that the files have are used where there are any. `files` are the files of a
    snapshot, if not every file in the directory belongs to the table.
    """
    columns = [columns] if isinstance(columns, str) else columns
    options = [f"--column={column}" for column in columns]
    options += [f"--wasted={wasted}", f"--keys={keys}"]
    options += ["--from-footers"] * from_footers + ["--replace"] * replace
    return _run("index", table, options, files, index)


def sync(
    table: StrPath, *, files: "Iterable[StrPath] | None" = None, index: "StrPath | None" = None
) -> dict[str, Any]:
    """Reads what is new or has changed since the last time, and forgets what is gone."""
    return _run("sync", table, [], files, index)


def info(table: StrPath, *, index: "StrPath | None" = None) -> dict[str, Any]:
    """What the index of a table contains."""
    return _run("info", table, [], None, index)


def which(
    table: StrPath,
    values: Iterable[object],
    *,
    column: "str | None" = None,
    files: "Iterable[StrPath] | None" = None,
    index: "StrPath | None" = None,
    trust: bool = False,
) -> list[File]:
    """The files that may contain any of the values in a column. All others certainly do not.

    Values are str, int, bool, dates, Decimal or UUID, as the type of the column prints them. Files that are new or have
    changed are listed, with a warning; with `trust`, nobody looks for changes.
    """
    texts = [_text(value) for value in values]
    if not texts:
        return []
    options = [f"--column={column}"] if column is not None else []
    options += ["--trust"] * trust
    found = _run("which", table, options, files, index, values=texts)
    return [
        File(file["path"], None if file["row_groups"] is None else tuple(file["row_groups"])) for file in found["files"]
    ]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, (bytes, float)):
        raise TypeError(f"a value is str, int, bool, a date, Decimal or UUID, not {type(value).__name__}")
    return str(value)


def _run(
    verb: str,
    table: StrPath,
    options: list[str],
    files: "Iterable[StrPath] | None",
    index: "StrPath | None",
    values: Iterable[str] = (),
) -> dict[str, Any]:
    arguments: list[StrPath] = ["lake", verb, "--json", *options]
    if index is not None:
        arguments.append(f"--index={os.fspath(index)}")
    answer: dict[str, Any]
    if files is not None:
        (answer,) = run([*arguments, "--files-from=-", "--", table, *values], [os.fspath(file) for file in files])
    elif verb == "which":
        (answer,) = ask([*arguments, "--", table, *values])
    else:
        (answer,) = run([*arguments, "--", table, *values])
    return answer
