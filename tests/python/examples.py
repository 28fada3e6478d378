"""Runs the examples in the docstrings of the package and in a page of the guide.

    examples.py PAGE EXAMPLES

The page is like a notebook: its Python blocks run one after another, in a directory with a copy of EXAMPLES, and what a
block prints must be the text block after it, where `[..]` stands for anything. Blocks marked with more than `python`
are for others to run.
"""
import contextlib
import doctest
import io
import os
import re
import shutil
import sys
import tempfile

import bloomgrove
import bloomgrove._bloomgrove


def docstrings():
    failed = tried = 0
    for module in (bloomgrove, bloomgrove.codec, bloomgrove.tune, bloomgrove._bloomgrove):
        for test in doctest.DocTestFinder(exclude_empty=True).find(module, module.__name__):
            result = doctest.DocTestRunner().run(test)
            failed, tried = failed + result.failed, tried + result.attempted
    # The finder passes over what is compiled.
    compiled = [*vars(bloomgrove._bloomgrove).values(), *vars(bloomgrove.buffered).values()]
    for thing in compiled:
        if ">>>" in (getattr(thing, "__doc__", None) or ""):
            test = doctest.DocTestParser().get_doctest(thing.__doc__, {}, thing.__name__, None, 0)
            result = doctest.DocTestRunner().run(test)
            failed, tried = failed + result.failed, tried + result.attempted
    assert not failed and tried > 50, f"{failed} of {tried} examples failed"


def page(path, marked="python", names=None):
    text = open(path, encoding="utf-8").read()
    blocks = re.findall(r"^```(\S[^\n]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    names = {} if names is None else names
    names["__name__"] = "__main__"
    ran = 0
    for (kind, code), (after, expected) in zip(blocks, [*blocks[1:], ("", "")]):
        if kind != marked:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, path, "exec"), names)
        wanted = expected if after == "text" else ""
        pattern = re.escape(wanted.strip()).replace(re.escape("[..]"), ".*")
        assert re.fullmatch(pattern, printed.getvalue().strip()), (
            f"the block\n{code}\nprints\n{printed.getvalue()}\nnot\n{wanted}")
        ran += 1
    assert ran, f"{path}: no blocks marked {marked}"


if __name__ == "__main__":
    docstrings()
    with tempfile.TemporaryDirectory() as work:
        shutil.copytree(sys.argv[2], os.path.join(work, "examples"))
        os.chdir(work)
        page(sys.argv[1])
        os.chdir("/")
