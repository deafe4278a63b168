"""Azure Blob Storage, by adlfs (2026.8)."""

import importlib
import logging
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hudictl.errors import StorageFailed
from hudictl.storage.base import Credentials, FileStatus, refuse_larger
from hudictl.storage.batches import in_batches
from hudictl.storage.patience import LATER
from hudictl.storage.remote import AS_VERSIONS, FOR_DAYS, RemoteStorage, at_once, errors, status
from hudictl.storage.swap import LOCK_BYTES, Versioned

_ONCE: Mapping[str, int] = {"retry_total": 0}
"""How deletions are sent: the client itself would wait half a minute, and send them again without a look."""
_WHOLE = (None, "success")
"""What a blob says of the copy that has made it, if one has."""
_COPY_SECONDS = 120
_POLL_SECONDS = 0.5
_OPTIONS = ("connection_string", "account_key", "sas_token", "client_secret", "credential")
_VARIABLES = (
    *("AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN"),
    *("AZURE_STORAGE_CLIENT_SECRET", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE"),
)

_log = logging.getLogger(__name__)
# It logs each answer that is no XML, as a gateway's, which Python prints unless there is a handler.
logging.getLogger("azure").addHandler(logging.NullHandler())


@dataclass(frozen=True)
class AzureStorage(RemoteStorage):
    """A folder of a container."""

    delete_batch = 256
    _creates_exclusively = True

    @staticmethod
    def _driver(base: str) -> Any:
        RemoteStorage._driver(base)  # says how to install adlfs
        return importlib.import_module("hudictl.storage.azure_names").ExactNames

    @staticmethod
    def _connected(base: str, driver: Any, settings: dict[str, Any]) -> tuple[Any, str]:
        named = {key: value for key, value in driver._get_kwargs_from_urls(base).items() if value != settings.get(key)}
        # An account in the URI and another in the options: Python refuses to take both.
        return driver(**named, **settings), driver._strip_protocol(base)

    @staticmethod
    def credentials(options: Mapping[str, str]) -> Credentials:
        """As adlfs finds them."""
        account = options.get("account_name") or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME")
        facts = (f"account {account}",) if account else ()
        for name in _OPTIONS:
            if name in options:
                return Credentials(f"storage option {name}", facts)
        if options.get("anon", "").lower() == "true":
            return Credentials("none: anonymous (storage option anon)", facts)
        for name in _VARIABLES:
            if os.environ.get(name):
                return Credentials(f"the variable {name}", facts)
        if options.get("anon", "").lower() == "false":
            return Credentials("Azure's default: a managed identity, or the login of az", facts)
        advice = "set AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_KEY, or the storage option anon=false"
        return Credentials("", facts, f"{advice} for a managed identity")

    def list(self, folder: str) -> list[FileStatus]:
        # Not through adlfs' own ``ls``: it lists what is in each folder whose name begins as this one's (2026.8).
        _log.debug("list %s", folder)
        container, _, key = self._path(folder).partition("/")
        prefix = f"{key}/" if key else ""

        async def listed() -> list[FileStatus]:
            async with self.filesystem.service_client.get_container_client(container=container) as client:
                blobs = client.walk_blobs(name_starts_with=prefix, include=["metadata"], delimiter="/")
                return [_entry(blob, prefix) async for blob in blobs if blob["name"] != prefix]

        with errors("list", folder):
            # Where folders are objects, too, one of them may be told twice.
            found = {entry.name: entry for entry in self._run(listed())}
        if prefix and not found and not self.has_folder(folder):
            raise FileNotFoundError(folder)
        return sorted(found.values())

    def read_version(self, path: str) -> Versioned:
        async def read() -> Versioned:
            async with self._blob(path) as client:
                answer = await client.download_blob()
                refuse_larger(path, answer.size, LOCK_BYTES)
                return Versioned(await answer.readall(), answer.properties.etag)

        return self._run(read())

    def put_version(self, path: str, body: bytes, version: str | None) -> str:
        from azure.core import MatchConditions

        condition: dict[str, Any] = {"overwrite": False}
        if version is not None:
            condition = {"overwrite": True, "etag": version, "match_condition": MatchConditions.IfNotModified}

        async def put() -> str:
            async with self._blob(path) as client:
                return str((await client.upload_blob(body, **condition))["etag"])

        return self._run(put())

    def unfinished(self, paths: Sequence[str]) -> frozenset[str]:
        def is_whole(path: str) -> bool:
            with errors("get the status of", path):
                found = self._copy_of(path)
                return found is None or found.status in _WHOLE

        return frozenset(path for path, whole in zip(paths, at_once(is_whole, paths), strict=True) if not whole)

    def _copy_object(self, source: str, target: str) -> None:
        from azure.core.exceptions import HttpResponseError

        try:
            super()._copy_object(source, target)
        except HttpResponseError as error:
            # Of an earlier try, which has died.
            if getattr(error, "error_code", None) != "PendingCopyOperation":
                raise
        until_s = time.monotonic() + _COPY_SECONDS
        # The service may go on after its answer; meanwhile there is an empty blob.
        while (found := self._copy_of(target)) is not None and found.status not in _WHOLE:
            if found.status != "pending":
                raise StorageFailed(f"the copy of {source} has {found.status}: {found.status_description}", path=source)
            if time.monotonic() > until_s:
                raise StorageFailed(f"the copy of {source} goes on for more than {_COPY_SECONDS} s", path=source)
            time.sleep(_POLL_SECONDS)

    def _copy_of(self, path: str) -> Any:
        """The copy that has made a blob, with its ``status``; None where there is no blob. Raises what the driver
        raises."""
        from azure.core.exceptions import ResourceNotFoundError

        async def asked() -> Any:
            async with self._blob(path) as client:
                return (await client.get_blob_properties()).copy

        try:
            return self._run(asked())
        except ResourceNotFoundError:
            return None

    def _delete(self, names: Sequence[str]) -> dict[str, str]:
        refused, guard = self._refused, self.guard
        return in_batches(names, self.delete_batch, self._send, self._delete_singly, self._passes, refused, guard)

    def _passes(self, error: Exception) -> bool | None:
        from azure.core.exceptions import AzureError

        if isinstance(error, AzureError):
            code = getattr(error, "status_code", None)
            return code is None or code in LATER
        return super()._passes(error)

    def _delete_one(self, name: str) -> None:
        from azure.core.exceptions import ResourceNotFoundError

        async def delete() -> None:
            async with self._blob_named(name) as client:
                await client.delete_blob(**_ONCE)

        try:
            self._run(delete())
        except ResourceNotFoundError as error:
            raise FileNotFoundError(name) from error

    def _send(self, names: Sequence[str]) -> tuple[str, bytes]:
        """One request of several deletions, as ``in_batches`` wants it."""
        container, answer = names[0].partition("/")[0], dict[str, tuple[str, bytes]]()

        def hear(heard: Any) -> None:
            # The client's own reading takes the answers to be in the order of the requests, which is promised nowhere.
            answer["content"] = heard.http_response.headers["Content-Type"], heard.http_response.body()

        def name_boundary(asked: Any) -> None:
            # The client's own begins with equals signs, at which Azurite cuts it.
            request, named = asked.http_request, f"hudictl-{uuid.uuid4()}"
            kind, boundary = request.headers["Content-Type"].split("boundary=")
            request.headers["Content-Type"] = f"{kind}boundary={named}"
            request.set_bytes_body(request.body.replace(boundary.encode(), named.encode()))

        async def send() -> None:
            hooks = {"raw_request_hook": name_boundary, "raw_response_hook": hear}
            async with self.filesystem.service_client.get_container_client(container=container) as client:
                blobs = (name.partition("/")[2] for name in names)
                await client.delete_blobs(*blobs, raise_on_any_failure=False, **hooks, **_ONCE)

        self._run(send())
        return answer["content"]

    def _kept(self) -> str | None:
        async def asked() -> tuple[Any, Any]:
            # Only a blob shows whether there are versions.
            async with self._blob(".hoodie/hoodie.properties") as client:
                version = (await client.get_blob_properties()).get("version_id")
            return version, (await self.filesystem.service_client.get_service_properties())["delete_retention_policy"]

        version, policy = self._run(asked())
        if version:
            return AS_VERSIONS.format(f"The container {self._bucket_and_key('')[0]}")
        return FOR_DAYS.format("The storage account", policy.days) if policy.enabled else None

    def _objects_below(self, folder: str) -> Sequence[str]:
        # adlfs leaves out those that represent folders, and would lose a question mark at the end.
        path = self._path(folder)
        container, _, key = path.partition("/")

        async def listed() -> list[str]:
            async with self.filesystem.service_client.get_container_client(container=container) as client:
                return [blob.name async for blob in client.list_blobs(name_starts_with=f"{key}/")]

        return [path, *(f"{container}/{name}" for name in self._run(listed()))]

    def _blob(self, path: str) -> Any:
        return self._blob_named(self._path(path))

    def _blob_named(self, name: str) -> Any:
        container, _, blob = name.partition("/")
        return self.filesystem.service_client.get_blob_client(container=container, blob=blob)


def _entry(blob: Any, prefix: str) -> FileStatus:
    """What a listing tells of a blob, or of the beginning of names. Of a folder that is an object it tells both."""
    name = blob["name"].removeprefix(prefix)
    if name.endswith("/") or (blob.get("metadata") or {}).get("hdi_isfolder") == "true":
        return FileStatus(name.rstrip("/"), True, 0, 0)
    return status({"name": name, "type": "file", "size": blob["size"], "mtime": blob["last_modified"]})
