"""A bucket of S3 in memory, by the requests that hudictl's storage makes of it: with versions, rights, and deaths.

What it answers is what servers answer: the same tests run on one of them (``tests/storage/versions_contract.py``).
"""

import hashlib
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from fsspec.asyn import get_loop

from hudictl.storage.s3 import S3Storage
from tests.crash.inject import Crash

NAME = "lake"
CHANGES = frozenset({"put_object", "copy_object", "delete_objects", "delete_object"})


@dataclass(frozen=True)
class Entry:
    """A version of an object; without a body a delete marker."""

    version: str
    body: bytes | None
    at: datetime

    @property
    def told(self) -> dict[str, Any]:
        """As a listing has it."""
        told = {"VersionId": self.version, "LastModified": self.at}
        body = self.body
        return told if body is None else told | {"Size": len(body), "ETag": tag(body), "StorageClass": "STANDARD"}


@dataclass
class Bucket:
    """The driver, and what it stores: by key, the newest version first. ``denied`` are requests that are refused;
    ``at`` is the change, counted from 0, at which the process dies. ``asked`` are the requests, by name."""

    status: str = "Enabled"
    stacks: dict[str, list[Entry]] = field(default_factory=dict)
    rules: list[dict[str, Any]] = field(default_factory=list)
    denied: frozenset[str] = frozenset()
    at: int | None = None
    changes: int = 0
    asked: list[str] = field(default_factory=list)
    written: int = 0
    page: int = 1000
    kwargs: dict[str, Any] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.RLock)

    @property
    def loop(self) -> Any:
        return get_loop()

    def split_path(self, path: str) -> tuple[str, str]:
        bucket, _, key = path.partition("/")
        return bucket, key

    def call_s3(self, name: str, _: Any = None, **asked: Any) -> dict[str, Any]:
        with self.lock:
            self.asked.append(name)
            if name in self.denied or (name + "_version" in self.denied and "VersionId" in asked):
                raise PermissionError(f"Access Denied: {name}")
            if name in CHANGES:
                self._change(name, asked)
            asked.pop("Bucket")
            answer: dict[str, Any] = getattr(self, f"_{name}")(**asked)
            return answer

    def cat_file(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        body = self._now(self.split_path(path)[1]).body
        assert body is not None
        return body[start:end]

    def info(self, path: str) -> dict[str, Any]:
        return {"size": len(self.cat_file(path))}

    def pipe_file(self, path: str, body: bytes, mode: str = "") -> None:
        condition = {"IfNoneMatch": "*"} if mode == "create" else {}
        self.call_s3("put_object", Bucket=NAME, Key=self.split_path(path)[1], Body=body, **condition)

    def cp_file(self, source: str, target: str) -> None:
        whence = {"Key": self.split_path(source)[1]}
        self.call_s3("copy_object", Bucket=NAME, Key=self.split_path(target)[1], CopySource=whence)

    def put(self, key: str, body: bytes | None, moment: float | None = None) -> str:
        """Writes an object behind everybody's back, or a delete marker; its time is whole seconds."""
        kept, self.written = self.status == "Enabled", self.written + 1
        version = f"v{self.written}" if kept else "null"
        stack = self.stacks.setdefault(key, [])
        if not kept:
            stack[:] = [entry for entry in stack if entry.version != "null"]
        if kept or body is not None or stack:
            stack.insert(0, Entry(version, body, datetime.fromtimestamp(int(moment or time.time()), timezone.utc)))
        return version

    def _change(self, name: str, asked: dict[str, Any]) -> None:
        if self.at is not None and self.changes >= self.at:
            if name == "delete_objects" and self.changes == self.at:
                # Of one call's keys, a store may have deleted some.
                half = asked["Delete"]["Objects"][: len(asked["Delete"]["Objects"]) // 2]
                self._delete_objects({"Objects": half})
            self.changes += 1
            raise Crash(name)
        self.changes += 1

    def _now(self, key: str, version: str | None = None) -> Entry:
        stack = self.stacks.get(key, [])
        found = next((entry for entry in stack if version in (None, entry.version)), None)
        if found is None or found.body is None:
            raise FileNotFoundError(key)
        return found

    def _head_object(self, Key: str, VersionId: str | None = None) -> dict[str, Any]:
        entry = self._now(Key, VersionId)
        return entry.told | {"ContentLength": entry.told["Size"]}

    def _get_object(self, Key: str, VersionId: str | None = None) -> dict[str, Any]:
        return {"Body": Body(self._now(Key, VersionId).body or b"")}

    def _put_object(self, Key: str, Body: bytes, IfNoneMatch: str = "") -> dict[str, Any]:
        if IfNoneMatch and self.stacks.get(Key) and self.stacks[Key][0].body is not None:
            raise FileExistsError(Key)
        return {"VersionId": self.put(Key, Body)}

    def _copy_object(self, Key: str, CopySource: dict[str, str]) -> dict[str, Any]:
        return {"VersionId": self.put(Key, self._now(CopySource["Key"], CopySource.get("VersionId")).body)}

    def _delete_objects(self, Delete: dict[str, Any]) -> dict[str, Any]:
        for entry in Delete["Objects"]:
            self.put(entry["Key"], None)
        return {}

    def _delete_object(self, Key: str, VersionId: str) -> dict[str, Any]:
        self.stacks[Key] = [entry for entry in self.stacks[Key] if entry.version != VersionId]
        return {}

    def _list_objects_v2(
        self, Prefix: str, Delimiter: str = "", StartAfter: str = "", MaxKeys: int = 1000
    ) -> dict[str, Any]:
        files, folders = [], set()
        for key in sorted(self.stacks):
            rest = key.removeprefix(Prefix)
            there = bool(self.stacks[key]) and self.stacks[key][0].body is not None
            if not key.startswith(Prefix) or not there or key <= StartAfter:
                continue
            if Delimiter and "/" in rest:
                folders.add(f"{Prefix}{rest.partition('/')[0]}/")
            else:
                files.append({"Key": key, **self.stacks[key][0].told})
        return {"Contents": files, "CommonPrefixes": [{"Prefix": name} for name in sorted(folders)]}

    def _list_object_versions(self, Prefix: str, KeyMarker: str = "", VersionIdMarker: str = "") -> dict[str, Any]:
        found = [
            {"Key": key, "IsLatest": number == 0, **entry.told}
            for key in sorted(self.stacks)
            if key.startswith(Prefix)
            for number, entry in enumerate(self.stacks[key])
        ]
        if KeyMarker:
            names = [(entry["Key"], entry["VersionId"]) for entry in found]
            found = found[names.index((KeyMarker, VersionIdMarker)) + 1 :]
        answer: dict[str, Any] = {"Versions": [], "DeleteMarkers": [], "IsTruncated": len(found) > self.page}
        for entry in found[: self.page]:
            answer["Versions" if "Size" in entry else "DeleteMarkers"].append(entry)
            answer |= {"NextKeyMarker": entry["Key"], "NextVersionIdMarker": entry["VersionId"]}
        return answer

    def _get_bucket_versioning(self) -> dict[str, Any]:
        return {"Status": self.status}

    def _get_bucket_lifecycle_configuration(self) -> dict[str, Any]:
        if not self.rules:
            raise FileNotFoundError("NoSuchLifecycleConfiguration")
        return {"Rules": self.rules}


@dataclass
class Body:
    """An answer's body."""

    body: bytes

    async def __aenter__(self) -> "Body":
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def read(self) -> bytes:
        return self.body


def tag(body: bytes) -> str:
    return f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def storage(bucket: Bucket, prefix: str = "t") -> S3Storage:
    """A table's folder."""
    return S3Storage(f"s3://{NAME}/{prefix}", bucket, f"{NAME}/{prefix}", False)


def upload(bucket: Bucket, folder: Path, prefix: str = "t") -> S3Storage:
    """A local table with its times, without Hadoop's sidecars."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(".crc"):
            bucket.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes(), path.stat().st_mtime)
    return storage(bucket, prefix)
