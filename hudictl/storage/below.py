"""All objects below a folder of an object store, with those that represent folders: drivers leave these out."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any


def objects_of_gcs(driver: Any, bucket: str, prefix: str) -> Iterator[str]:
    """The keys of Google Cloud Storage that begin so, by gcsfs."""
    asked = {"prefix": prefix, "fields": "items/name,nextPageToken"}
    while True:
        page = driver.call("GET", "b/{}/o", bucket, json_out=True, **asked)
        yield from (entry["name"] for entry in page.get("items", ()))
        if not page.get("nextPageToken"):
            return
        asked["pageToken"] = page["nextPageToken"]


def objects_of_azure(driver: Any, container: str, prefix: str) -> Sequence[str]:
    """The names of Azure's blobs that begin so, by adlfs."""

    async def listed() -> list[str]:
        async with driver.service_client.get_container_client(container=container) as client:
            return [blob.name async for blob in client.list_blobs(name_starts_with=prefix)]

    return asyncio.run_coroutine_threadsafe(listed(), driver.loop).result()


def in_order_of_deletion(names: Sequence[str]) -> list[list[str]]:
    """The names in parts: where folders are objects, each goes after all that is in it."""
    above = {folder for name in names for folder in _folders_above(name)}
    folders = sorted((name for name in names if name.rstrip("/") in above or name.endswith("/")), reverse=True)
    files = sorted(set(names) - set(folders))
    return [files, *([folder] for folder in folders)]


def _folders_above(name: str) -> Iterator[str]:
    name = name.rstrip("/")
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name
