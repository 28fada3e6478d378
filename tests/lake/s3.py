"""Is a table in an object store indexed and queried like one in a directory, with few requests?

    s3.py PROGRAM DIRECTORY      of Parquet files with the column trace_id
"""
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import boto3
import pyarrow.dataset
import pyarrow.fs
from moto.server import ThreadedMotoServer
from werkzeug.serving import WSGIRequestHandler

PROGRAM, SOURCE = sys.argv[1], Path(sys.argv[2])
PRESENT, ABSENT = "157410d7cb501245", "ffffffffffffffff"
requests = []
counting = threading.Lock()


def count(handler, *_):
    with counting:
        requests.append(f"{handler.command} {handler.path}")


# The server logs every request by this.
WSGIRequestHandler.log_request = count


def run(*words, code=0):
    """What the program prints, and the requests that it made."""
    with counting:
        requests.clear()
    done = subprocess.run([PROGRAM, "lake", *words], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{words}: exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    with counting:
        return done.stdout, done.stderr, list(requests)


def expect(what, is_so):
    if not is_so:
        sys.exit(f"not so: {what}")


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "NO_PROXY": "*",
    }
    s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"], region_name="us-east-1")
    s3.create_bucket(Bucket="lake")
    files = sorted(SOURCE.rglob("*.parquet"))
    for file in files:
        s3.upload_file(str(file), "lake", f"raw/events/{file.relative_to(SOURCE)}")
    s3.put_object(Bucket="lake", Key="raw/events/_delta_log/0.parquet", Body=b"not for us")
    s3.put_object(Bucket="lake", Key="raw/events-of-others/0.parquet", Body=b"nor this")

    with tempfile.TemporaryDirectory() as directory:
        here, there = str(Path(directory) / "here.grove"), str(Path(directory) / "there.grove")
        url = "s3://lake/raw/events"
        for options in [[], ["--from-footers"]]:
            run("index", str(SOURCE), "--column", "trace_id", "--index", here, "--replace", *options)
            out, err, made = run("index", url, "--column", "trace_id", "--index", there, "--replace", *options)
            expect(f"all files are indexed: {out}", f"{len(files)} files added" in out and not err)
            # Small files come with one request each. The first and the last are looked at before.
            expect(f"few requests: {made}", len(made) <= 1 + 2 + len(files))

            for value, code in [(PRESENT, 0), (ABSENT, 1)]:
                local, _, _ = run("which", str(SOURCE), value, "--index", here, code=code)
                remote, err, made = run("which", url, value, "--index", there, code=code)
                expect(f"the same files: {local} {remote}", local.replace(str(SOURCE), url) == remote and not err)
                expect(f"a query only lists the objects: {made}", len(made) == 1 and "list-type=2" in made[0])

        # An engine without an index has to look into every object.
        store = pyarrow.fs.S3FileSystem(endpoint_override=f"{host}:{port}", scheme="http", region="us-east-1")
        with counting:
            requests.clear()
        everything = pyarrow.dataset.dataset([f"lake/raw/events/{file.relative_to(SOURCE)}" for file in files], filesystem=store)
        everything.to_table(filter=pyarrow.dataset.field("trace_id") == ABSENT)
        expect(f"a request for every object: {requests}", len(requests) >= len(files))
        print(f"an absent value in {len(files)} objects: {len(requests)} requests by pyarrow, {len(made)} by lake which")

        # Replaced by another: listed, with a warning, until it is indexed.
        key = f"raw/events/{files[0].relative_to(SOURCE)}"
        s3.upload_file(str(files[-1]), "lake", key)
        out, err, _ = run("which", url, ABSENT, "--index", there)
        expect(f"a changed object is listed: {out} {err}", out.strip() == f"s3://lake/{key}" and "has changed" in err)
        s3.delete_object(Bucket="lake", Key=f"raw/events/{files[1].relative_to(SOURCE)}")
        out, _, _ = run("sync", url, "--index", there)
        expect(f"sync follows: {out}", "0 files added, 1 updated, 1 removed, 3 unchanged" in out)
        run("which", url, ABSENT, "--index", there, code=1)

        # Clear errors.
        _, err, _ = run("which", "s3://nowhere/x", "1", "--index", there, code=2)
        expect(f"an error that names the bucket: {err}", "s3://nowhere/x" in err)
        _, err, _ = run("index", url, "--column", "trace_id", code=2)
        expect(f"an error that asks for a place: {err}", "--index" in err)
    server.stop()


main()
