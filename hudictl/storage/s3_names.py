"""s3fs with names as they are: it would read, write and delete ``a`` for ``a?versionId=1``. And without late tries."""

from typing import Any

from s3fs import S3FileSystem

from hudictl.storage.guard import Guard


class ExactNames(S3FileSystem):  # type: ignore[misc]  # it has no types
    """The driver for names without versions: hudictl names a version beside the key.

    botocore and s3fs both send a request again that has no answer; each time, the ``guard`` is asked.
    """

    guard = Guard()
    _asking: Any = None

    def __reduce__(self) -> Any:
        return *super().__reduce__(), {"guard": self.guard}

    async def set_session(self, *args: Any, **kwargs: Any) -> Any:
        """The client of botocore, a new one if the old one is closed."""
        client = await super().set_session(*args, **kwargs)
        if client is not self._asking:
            client.meta.events.register("before-send.s3", self._refuse_late)
            self._asking = client
        return client

    def _refuse_late(self, request: Any, **_: Any) -> None:
        if request.method not in ("GET", "HEAD"):
            self.guard.refuse_late()

    def split_path(self, path: str) -> tuple[str, str, None]:
        """Bucket, key, and no version."""
        end = path[len(path.rstrip("/")) :]
        bucket, key = self._find_bucket_key(self._strip_protocol(path).lstrip("/"))
        return bucket, key + end if key else "", None
