"""The command-line tool, which this package contains."""

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Union

from ._bloomgrove import run_tool
from ._errors import ToolError

StrPath = Union[str, "os.PathLike[str]"]


def main() -> int:
    """Runs the tool with the arguments of this process, and returns its exit code."""
    return run_tool(["bloomgrove", *sys.argv[1:]])


def run(arguments: Sequence[StrPath], lines: "Sequence[str] | None" = None) -> list[Any]:
    """Runs the tool in a process of its own, with these lines as its input, and returns the JSON that it prints.

    What it reports without failing becomes a warning.
    """
    # Not at the top: the tool itself is started through this file, and needs neither.
    import json
    import subprocess

    command = [sys.executable, "-m", "bloomgrove", *[os.fspath(argument) for argument in arguments]]
    text = "".join(f"{line}\n" for line in lines or [])
    done = subprocess.run(command, input=text.encode("utf-8", "surrogateescape"), capture_output=True)
    report = done.stderr.decode("utf-8", "replace").strip().removeprefix("bloomgrove: ")
    if done.returncode not in (0, 1):
        raise ToolError(report or f"the tool ended with exit code {done.returncode}")
    if report:
        warnings.warn(report.replace("\nbloomgrove: ", "\n"), RuntimeWarning, stacklevel=3)
    decoder, answers = json.JSONDecoder(), []
    rest = done.stdout.decode("utf-8", "surrogateescape").strip()
    while rest:
        answer, end = decoder.raw_decode(rest)
        answers.append(answer)
        rest = rest[end:].lstrip()
    return answers


def which(
    paths: "StrPath | Iterable[StrPath]",
    query: str,
    *,
    regexp: bool = False,
    ignore_case: bool = False,
    column: "str | None" = None,
    extract: "str | None" = None,
    index: "StrPath | None" = None,
    maybe: bool = False,
) -> list[str]:
    """The files, in these directories or among these files, that contain a text: `bloomgrove which`.

    The text is found as whole words; with regexp it is a regular expression. The first call reads every file and stores
    an index next to them (or in `index`); later calls read only what has changed, and what may contain the text. With
    `maybe`, the files that may contain it, without reading them. `column` and `extract` say what the keys of a file are:
    a column of a CSV or Parquet file, or tokens, lines, ngrams=N, regex=..., json=...
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    arguments: list[StrPath] = ["which", "--json"]
    for name, value in [("column", column), ("extract", extract), ("index", index)]:
        if value is not None:
            arguments.append(f"--{name}={os.fspath(value)}")
    if ignore_case:
        arguments.append("--ignore-case")
    if maybe:
        arguments.append("--maybe")
    arguments += [f"--regexp={query}", "--"] if regexp else ["--", query]
    answers = run([*arguments, *paths])
    return [file for answer in answers for file in answer["files"]]
