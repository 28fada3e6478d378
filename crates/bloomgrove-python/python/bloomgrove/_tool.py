"""The command-line tool, which this package contains."""

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Union

from ._bloomgrove import ask_tool, run_tool
from ._errors import ToolError

StrPath = Union[str, "os.PathLike[str]"]


def main() -> int:
    """Runs the tool with the arguments of this process, and returns its exit code."""
    return run_tool(["bloomgrove", *sys.argv[1:]])


def run(arguments: Sequence[StrPath], lines: "Sequence[str] | None" = None) -> list[Any]:
    """Runs the tool in a process of its own, with these lines as its input, and returns the JSON that it prints.

    What it reports without failing becomes a warning.
    """
    # Not at the top: the tool itself is started through this file, and does not need it.
    import subprocess

    command = [sys.executable, "-m", "bloomgrove", *[os.fspath(argument) for argument in arguments]]
    text = "".join(f"{line}\n" for line in lines or [])
    done = subprocess.run(command, input=text.encode("utf-8", "surrogateescape"), capture_output=True)
    return _answers(done.returncode, done.stdout, done.stderr)


def ask(arguments: Sequence[StrPath]) -> list[Any]:
    """Same as `run` for a command that takes no input and ends soon: in this process, which is faster by the start of
    another.
    """
    return _answers(*ask_tool(["bloomgrove", *[os.fspath(argument) for argument in arguments]]))


def _answers(code: int, out: bytes, err: bytes) -> list[Any]:
    import json

    report = err.decode("utf-8", "replace").strip().removeprefix("bloomgrove: ")
    if code not in (0, 1):
        raise ToolError(report or f"the tool ended with exit code {code}")
    if report:
        warnings.warn(report.replace("\nbloomgrove: ", "\n"), RuntimeWarning, stacklevel=4)
    decoder, answers = json.JSONDecoder(), []
    rest = out.decode("utf-8", "surrogateescape").strip()
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
