"""What a store keeps of deleted objects, as a sentence: versions, or objects that can be restored for some days.

Raises what the driver raises, also where the account may not ask.
"""

import asyncio
from typing import Any

_AS_VERSIONS = "{} keeps deleted objects as versions, and their space. They can be copied from there."
_FOR_DAYS = "{} keeps deleted objects for {:g} days (soft delete), and their space. They can be restored until then."


def kept_by_s3(driver: Any, bucket: str) -> str | None:
    """By s3fs. While versions are suspended, a deleted object is gone."""
    found = driver.call_s3("get_bucket_versioning", Bucket=bucket)
    return _AS_VERSIONS.format(f"The bucket {bucket}") if found.get("Status") == "Enabled" else None


def kept_by_gcs(driver: Any, bucket: str) -> str | None:
    """By gcsfs."""
    found = driver.call("GET", "b/{}", bucket, json_out=True, fields="versioning,softDeletePolicy")
    kept_s = int(found.get("softDeletePolicy", {}).get("retentionDurationSeconds", 0))
    if found.get("versioning", {}).get("enabled"):
        return _AS_VERSIONS.format(f"The bucket {bucket}")
    return _FOR_DAYS.format(f"The bucket {bucket}", kept_s / 86400) if kept_s else None


def kept_by_azure(driver: Any, container: str, blob: str) -> str | None:
    """By adlfs. Only a blob shows whether there are versions."""

    async def asked() -> tuple[Any, Any]:
        async with driver.service_client.get_blob_client(container, blob) as client:
            version = (await client.get_blob_properties()).get("version_id")
        return version, (await driver.service_client.get_service_properties())["delete_retention_policy"]

    version, policy = asyncio.run_coroutine_threadsafe(asked(), driver.loop).result()
    if version:
        return _AS_VERSIONS.format(f"The container {container}")
    return _FOR_DAYS.format("The storage account", policy.days) if policy.enabled else None
