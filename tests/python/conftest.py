"""What the tests share."""

import os
import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def program():
    """The command-line tool, with its server: $BLOOMGROVE, or the one in the package."""
    return [os.environ["BLOOMGROVE"]] if "BLOOMGROVE" in os.environ else [sys.executable, "-m", "bloomgrove"]


@pytest.fixture
def tool(program):
    """Runs the command-line tool, and returns what it prints."""

    def run(*arguments, status=0, **options):
        done = subprocess.run([*program, *map(str, arguments)], capture_output=True, text=True, **options)
        assert done.returncode == status, done.stderr
        return done.stdout

    return run
