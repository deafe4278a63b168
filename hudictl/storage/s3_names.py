"""s3fs with names as they are: it would read, write and delete ``a`` for ``a?versionId=1``. And without late tries."""

import weakref
from datetime import datetime
from functools import partial
from typing import Any

from botocore.utils import parse_timestamp
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
            # The client outlives what asks it: s3fs closes it by a finalizer, which would hold a method's object.
            client.meta.events.register("before-send.s3", partial(_refuse_late, weakref.ref(self)))
            self.session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_moment)
            self._asking = client
        return client

    def split_path(self, path: str) -> tuple[str, str, None]:
        """Bucket, key, and no version."""
        end = path[len(path.rstrip("/")) :]
        bucket, key = self._find_bucket_key(self._strip_protocol(path).lstrip("/"))
        return bucket, key + end if key else "", None


def _refuse_late(asking: "weakref.ref[ExactNames]", request: Any, **_: Any) -> None:
    driver = asking()
    if driver is not None and request.method not in ("GET", "HEAD"):
        driver.guard.refuse_late()


def _moment(text: Any) -> datetime:
    """A time in an answer of S3. botocore takes 70 us for each, four fifths of its time for a listing (1.43)."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except (ValueError, AttributeError):
        # Of a header, in words.
        return parse_timestamp(text)  # type: ignore[no-any-return]  # it has no types
