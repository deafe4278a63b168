"""Google Cloud Storage, by gcsfs (2026.10)."""

import importlib
import json
import logging
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from hudictl.storage.base import Credentials, refuse_larger
from hudictl.storage.batches import in_batches
from hudictl.storage.remote import AS_VERSIONS, FOR_DAYS, RemoteStorage
from hudictl.storage.swap import LOCK_BYTES, Versioned

# It logs each refused request with a traceback, which Python prints unless there is a handler.
logging.getLogger("gcsfs").addHandler(logging.NullHandler())


@dataclass(frozen=True)
class GcsStorage(RemoteStorage):
    """A folder of a bucket."""

    _creates_exclusively = True

    @staticmethod
    def _driver(base: str) -> Any:
        # The one that fsspec knows asks for the bucket's kind over gRPC, before each request: where that fails, as
        # behind many a firewall, for a minute or more each time (seen with gcsfs 2026.10.1).
        return importlib.import_module("hudictl.storage.gcs_driver").GuardedTries

    @staticmethod
    def _connected(base: str, driver: Any, settings: dict[str, Any]) -> tuple[Any, str]:
        return driver(**settings), driver._strip_protocol(base)

    @staticmethod
    def credentials(options: Mapping[str, str]) -> Credentials:
        """As Google's library finds them. Raises ImportError, and what that library raises."""
        emulator = options.get("endpoint_url") or os.environ.get("STORAGE_EMULATOR_HOST")
        facts = (f"endpoint {emulator}",) if emulator else ()
        token = options.get("token", "")
        if token == "anon":
            return Credentials("none: anonymous (storage option token)", facts)
        if token not in ("", "google_default"):
            return Credentials("storage option token", facts)
        import google.auth
        import google.auth.exceptions

        try:
            found, project = google.auth.default()
        except google.auth.exceptions.DefaultCredentialsError:
            return Credentials(
                "", facts, "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
            )
        file = "GOOGLE_APPLICATION_CREDENTIALS"
        place = f" ({file})" if os.environ.get(file) else ""
        kind = f"{type(found).__module__.rpartition('.')[2]}.{type(found).__name__}"
        return Credentials(f"Google's default: {kind}{place}", (*facts, f"project {project or 'not set'}"))

    def read_version(self, path: str) -> Versioned:
        bucket, key = self._bucket_and_key(path)
        url = f"b/{quote(bucket)}/o/{quote(key, safe='')}"
        found = self.filesystem.call("GET", url, json_out=True, fields="size")
        refuse_larger(path, int(found["size"]), LOCK_BYTES)
        headers, body = self.filesystem.call("GET", url, alt="media")
        return Versioned(bytes(body), headers["X-Goog-Generation"])

    def put_version(self, path: str, body: bytes, version: str | None) -> str:
        bucket, key = self._bucket_and_key(path)
        url = f"{self.filesystem._location}/upload/storage/v1/b/{quote(bucket)}/o"
        condition = {"uploadType": "media", "name": key, "ifGenerationMatch": version or "0"}
        kind = {"Content-Type": "application/json"}
        _, answer = self.filesystem.call("POST", url, data=body, headers=kind, **condition)
        return str(json.loads(answer)["generation"])

    def _delete(self, names: Sequence[str]) -> dict[str, str]:
        refused, guard = self._refused, self.guard
        return in_batches(names, self.delete_batch, self._send, self._delete_singly, self._passes, refused, guard)

    def _passes(self, error: Exception) -> bool | None:
        # Of many a status code gcsfs makes an exception without it. These it has met in several tries.
        is_repeated = importlib.import_module("gcsfs.retry").is_retriable(error)
        return False if is_repeated else super()._passes(error)

    def _send(self, names: Sequence[str]) -> tuple[str, bytes]:
        """One request of several deletions, as ``in_batches`` wants it."""
        # Not through gcsfs' own ``rm``: it forgets which of the keys an error is about, and how slashes are written.
        boundary, parts = f"hudictl-{uuid.uuid4()}", []
        for number, name in enumerate(names):
            bucket, _, key = name.partition("/")
            url = f"/storage/v1/b/{quote(bucket)}/o/{quote(key, safe='')}"
            about = f"Content-Type: application/http\r\nContent-ID: <hudictl+{number}>"
            parts.append(f"--{boundary}\r\n{about}\r\n\r\nDELETE {url} HTTP/1.1\r\nContent-Length: 0\r\n\r\n\r\n")
        body = f"{''.join(parts)}--{boundary}--\r\n".encode()
        kind = {"Content-Type": f"multipart/mixed; boundary={boundary}"}
        headers, answer = self.filesystem.call("POST", self.filesystem.batch_url_base, headers=kind, data=body)
        return headers["Content-Type"], bytes(answer)

    def _kept(self) -> str | None:
        bucket, _ = self._bucket_and_key("")
        found = self.filesystem.call("GET", "b/{}", bucket, json_out=True, fields="versioning,softDeletePolicy")
        kept_s = int(found.get("softDeletePolicy", {}).get("retentionDurationSeconds", 0))
        if found.get("versioning", {}).get("enabled"):
            return AS_VERSIONS.format(f"The bucket {bucket}")
        return FOR_DAYS.format(f"The bucket {bucket}", kept_s / 86400) if kept_s else None

    def _objects_below(self, folder: str) -> Sequence[str]:
        # gcsfs leaves out those that represent folders.
        bucket, _, key = self._path(folder).partition("/")
        return [f"{bucket}/{name}" for name in self._names(bucket, f"{key}/")]

    def _names(self, bucket: str, prefix: str) -> Iterator[str]:
        """The names of all objects that begin so."""
        asked = {"prefix": prefix, "fields": "items/name,nextPageToken"}
        while True:
            page = self.filesystem.call("GET", "b/{}/o", bucket, json_out=True, **asked)
            yield from (entry["name"] for entry in page.get("items", ()))
            if not page.get("nextPageToken"):
                return
            asked["pageToken"] = page["nextPageToken"]
