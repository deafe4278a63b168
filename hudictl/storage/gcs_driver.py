"""gcsfs without late tries."""

from typing import Any

from gcsfs.core import GCSFileSystem
from gcsfs.retry import retry_request

from hudictl.storage.guard import Guard


class GuardedTries(GCSFileSystem):  # type: ignore[misc]  # it has no types
    """The driver that asks the ``guard`` each time before it sends a request, also one that has no answer."""

    guard = Guard()

    def __reduce__(self) -> Any:
        return *super().__reduce__(), {"guard": self.guard}

    @retry_request(retries=GCSFileSystem.retries)  # type: ignore[untyped-decorator]
    async def _request(self, method: str, *args: Any, **kwargs: Any) -> Any:
        if method.upper() != "GET":
            self.guard.refuse_late()
        return await GCSFileSystem._request.__wrapped__(self, method, *args, **kwargs)
