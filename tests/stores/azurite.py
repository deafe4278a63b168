"""Azurite, Microsoft's own emulator of Azure Blob Storage, in memory."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.stores.build import AZURITE, npm_program
from tests.stores.server import Server, free_port, running

BUCKET = "lake"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's account, which is public."""
CLOCK = Path(__file__).with_name("clock.js")


@dataclass(frozen=True)
class Container:
    """The objects, by Microsoft's own client."""

    client: Any

    def put(self, key: str, body: bytes, moment: float | None = None) -> None:
        headers = {} if moment is None else {"moment": str(int(moment * 1000))}
        self.client.upload_blob(key, body, overwrite=True, headers=headers)

    def read(self, key: str) -> bytes:
        return bytes(self.client.download_blob(key).readall())

    def times(self, prefix: str) -> Mapping[str, float]:
        found = self.client.list_blobs(name_starts_with=prefix)
        return {entry.name: entry.last_modified.timestamp() for entry in found}

    def delete(self, key: str) -> None:
        self.client.delete_blob(key)

    def protect(self, key: str) -> None:
        """Nobody may delete one object."""
        self.client.get_blob_client(key).acquire_lease()


@contextmanager
def start(folder: Path, port: int | None = None) -> Iterator[Server]:
    """A server with one account, on any port, or on the one that a client insists on."""
    from azure.storage.blob import BlobServiceClient

    program, port = npm_program(AZURITE, "azurite-blob"), port or free_port()
    folder.mkdir(parents=True, exist_ok=True)
    command = ["node", "--require", str(CLOCK), str(program), "--blobPort", str(port), "--blobHost", "127.0.0.1"]
    command += ["--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    command += ["--disableProductStyleUrl"]
    endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
    string = f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={endpoint};"
    with running(command, port, folder / "log"):
        client = BlobServiceClient.from_connection_string(string).create_container(BUCKET)
        root = f"abfs://{BUCKET}@{ACCOUNT}.dfs.core.windows.net"
        yield Server(root, endpoint, {"connection_string": string}, Container(client))
    shutil.rmtree(folder)
