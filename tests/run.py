#!/usr/bin/env python3
"""Builds every test of the workspace and runs all of them, with the linter and the documentation beside them.

    tests/run.py            prints what fails
    tests/run.py --times    also how many seconds each job took, of wall time and of processor time

`cargo test` runs one executable after another, and many tests mostly wait: for a server, a browser, a disk, a timeout.
Here jobs run in five lanes, one job at a time in each:

  waiting   the tests that wait. One at a time, at normal priority, since some of them measure time
  servers   the API and the page, against a real server; the Debian package
  packages  a table in an object store; the Python package; Spark
  computing the tests that compute
  cargo     the linter, the documentation, and the code in it. Cargo locks its directory, so they cannot run at once

The last two run at a lower priority: they use the processors while the others wait, some of which measure time. Of these
two, cargo comes first, since it has the longest chain of jobs that use only one processor. All start when everything is
compiled, since a test may be compiled before the program that it runs. Meanwhile, what the scripts need from PyPI is
installed.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALL = ["--workspace", "--all-features"]
# Those of tests/ that list packages from PyPI.
ENVIRONMENTS = ["api", "python", "spark"]
# The tests of these packages compute; those of the others wait.
COMPUTING = {"bench-compare", "bloomgrove", "bloomgrove-render", "bloomgrove-trees", "bloomgrove-units", "experiments"}


@dataclass
class Job:
    name: str
    command: list
    directory: Path = ROOT
    environment: dict = field(default_factory=dict)
    # As for the command `nice`: the higher, the later.
    nice: int = 0


class Lane(threading.Thread):
    """Runs jobs one after another, and prints the output of those that fail."""

    def __init__(self, jobs):
        super().__init__(daemon=True)
        self.jobs = jobs
        self.child = None
        self.failed = []
        self.times = []

    def run(self):
        for job in self.jobs:
            try:
                self.run_job(job)
            except OSError as error:
                say(f"FAILED  {job.name}: {error}")
                self.failed.append(job.name)

    def run_job(self, job):
        start = time.monotonic()
        with tempfile.TemporaryFile() as output:
            self.child = subprocess.Popen(
                ["nice", "-n", str(job.nice), *job.command],
                cwd=job.directory, env=os.environ | job.environment,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )
            # Not `wait`: this also returns the processor time of the child and of all its children.
            _, status, used = os.wait4(self.child.pid, 0)
            self.child.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.monotonic() - start
            self.times.append((seconds, used.ru_utime + used.ru_stime, job.name))
            if self.child.returncode == 0:
                say(f"ok      {seconds:6.1f} s  {job.name}")
                return
            output.seek(0)
            text = output.read().decode(errors="replace")
            ended = f"exit code {self.child.returncode}" if self.child.returncode > 0 else f"signal {-self.child.returncode}"
            say(f"FAILED  {seconds:6.1f} s  {job.name}: {ended}\n{text}\n^^^ the output of {job.name}")
            self.failed.append(job.name)


printing = threading.Lock()


def say(text):
    with printing:
        print(text, flush=True)


def build():
    """Compiles all tests, and returns the jobs that run them."""
    command = ["cargo", "test", *ALL, "--no-run", "--message-format=json-render-diagnostics"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as cargo:
        messages = [json.loads(line) for line in cargo.stdout]
    if cargo.returncode != 0:
        sys.exit("the tests do not compile")
    return [test(it) for it in messages if it.get("executable") and it["profile"]["test"]]


def test(message):
    """The job that runs an executable as `cargo test` would."""
    directory = Path(message["manifest_path"]).parent
    target = message["target"]
    kind = "tests/" if target["kind"] == ["test"] else "src of "
    return Job(
        name=f"{directory.name} {kind}{target['name']}",
        command=[message["executable"], "--quiet"],
        directory=directory,
        environment={"CARGO_MANIFEST_DIR": str(directory)},
        nice=10 if directory.name in COMPUTING else 0,
    )


def has(*command):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def cargo_jobs():
    jobs = []
    # A minimal toolchain may lack it; the tests do not depend on it.
    if has("cargo", "clippy", "--version"):
        jobs += [
            Job("clippy", ["cargo", "clippy", *ALL, "--all-targets", "--", "-D", "warnings"]),
            # The tool without its server; everything else is checked already.
            Job("clippy, no server", ["cargo", "clippy", "--workspace", "--bin", "bloomgrove", "--", "-D", "warnings"]),
        ]
    jobs += [
        Job("documentation", ["python3", "tests/public_items.py"], environment={"RUSTDOCFLAGS": "-D warnings"}),
        Job("doctests", ["cargo", "test", *ALL, "--doc", "--quiet"]),
    ]
    for job in jobs:
        job.nice = 5
    return jobs


def main():
    installs = Lane([Job(f"installing for {name}", ["tests/python.sh", name], nice=5) for name in ENVIRONMENTS])
    installs.start()
    tests = build()
    installs.join()
    program = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/bloomgrove"

    def script(path):
        return Job(path, [path, str(program.resolve())])

    lanes = [
        installs,
        Lane([job for job in tests if not job.nice]),
        Lane([script("tests/api/run.sh"), script("tests/browser/run.sh"), script("deploy/debian.sh")]),
        Lane([script("tests/lake/run.sh"), script("tests/python/run.sh"), script("tests/spark/run.sh")]),
        Lane([job for job in tests if job.nice]),
        Lane(cargo_jobs()),
    ]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    try:
        for lane in lanes[1:]:
            lane.start()
        for lane in lanes[1:]:
            lane.join()
    finally:
        for lane in lanes:
            if lane.child and lane.child.returncode is None:
                lane.child.terminate()

    times = sorted((time for lane in lanes for time in lane.times), reverse=True)
    if "--times" in sys.argv:
        print("  wall  processor")
        for wall, processor, name in times:
            print(f"{wall:6.1f} {processor:10.1f}  {name}")
    failed = [name for lane in lanes for name in lane.failed]
    print(f"{sum(len(lane.jobs) for lane in lanes)} jobs, {len(failed)} failed" + "".join(f"\n  {name}" for name in failed))
    sys.exit(bool(failed))


main()
