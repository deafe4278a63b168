"""Versity's S3 gateway over a folder of this host."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.stores.build import VERSITYGW, go_program
from tests.stores.server import Server, free_port, running

BUCKET = "lake"
OWNER, OWNERS_SECRET = "owner", "the-owners-secret"
USER, SECRET = "operator", "the-secret-of-these-tests"


@dataclass(frozen=True)
class Folder:
    """The objects are files, whose times are theirs."""

    top: Path

    def put(self, key: str, body: bytes, moment: float | None = None) -> None:
        path = self.top / key
        path.parent.mkdir(parents=True, exist_ok=True)
        # As a put of the gateway: a new file, visible as a whole.
        new = self.top.parent / "new"
        new.write_bytes(body)
        if moment is not None:
            os.utime(new, (moment, moment))
        new.replace(path)

    def read(self, key: str) -> bytes:
        return (self.top / key).read_bytes()

    def times(self, prefix: str) -> Mapping[str, float]:
        below = self.top / prefix.rpartition("/")[0]
        files = (path for path in below.rglob("*") if path.is_file())
        found = {path.relative_to(self.top).as_posix(): float(int(path.stat().st_mtime)) for path in files}
        return {key: moment for key, moment in found.items() if key.startswith(prefix)}

    def delete(self, key: str) -> None:
        (self.top / key).unlink()


@contextmanager
def start(folder: Path) -> Iterator[Server]:
    """A gateway with a user who may do all in the bucket, but is not its owner."""
    program, port = go_program(VERSITYGW), free_port()
    data, versions, users = folder / "data", folder / "versions", folder / "users"
    for made in (data, versions, users):
        made.mkdir(parents=True)
    command = [str(program), "--access", OWNER, "--secret", OWNERS_SECRET, "--port", f"127.0.0.1:{port}", "--quiet"]
    command += ["--keep-alive", "--iam-dir", str(users), "--iam-cache-disable"]
    command += ["posix", "--versioning-dir", str(versions), str(data)]
    endpoint = f"http://127.0.0.1:{port}"
    with running(command, port, folder / "log"):
        admin = [str(program), "admin", "-a", OWNER, "-s", OWNERS_SECRET, "-er", endpoint]
        created = [*admin, "create-user", "-a", USER, "-s", SECRET, "-r", "user"]
        subprocess.run(created, check=True, capture_output=True)
        owner(endpoint).create_bucket(Bucket=BUCKET)
        allow(endpoint)
        yield Server(f"s3a://{BUCKET}", endpoint, options(endpoint), Folder(data / BUCKET))
    shutil.rmtree(folder)


def options(endpoint: str) -> dict[str, str]:
    return {
        "key": USER,
        "secret": SECRET,
        "endpoint_url": endpoint,
        "client_kwargs": '{"region_name": "us-east-1"}',
    }


def owner(endpoint: str) -> Any:
    """A client of the bucket's owner."""
    import boto3

    keys = {"aws_access_key_id": OWNER, "aws_secret_access_key": OWNERS_SECRET}
    return boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys)


def allow(endpoint: str, **denied: str) -> None:
    """Allows the user all, but for one action on one resource: ``DeleteObject="key"``."""
    everything = [f"arn:aws:s3:::{BUCKET}", f"arn:aws:s3:::{BUCKET}/*"]
    statements = [{"Effect": "Allow", "Principal": {"AWS": [USER]}, "Action": "s3:*", "Resource": everything}]
    for action, key in denied.items():
        resource = f"arn:aws:s3:::{BUCKET}/{key}".rstrip("/")
        refusal = {"Effect": "Deny", "Principal": {"AWS": [USER]}, "Action": f"s3:{action}", "Resource": resource}
        statements.append(refusal)
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    owner(endpoint).put_bucket_policy(Bucket=BUCKET, Policy=policy)
