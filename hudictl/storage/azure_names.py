"""adlfs with names as they are: it takes a path for a URL, and would delete ``a`` for ``a?`` or ``a?versionid=1``."""

from typing import Any

from adlfs import AzureBlobFileSystem


class ExactNames(AzureBlobFileSystem):  # type: ignore[misc]  # it has no types
    """The driver for paths without a scheme: container, slash, the blob's name. Only ``open`` gives it a URI."""

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        # fsspec calls it again and again on what it has made: only a scheme at the start can be one.
        if isinstance(path, str) and not path.startswith(tuple(f"{scheme}://" for scheme in cls.protocol)):
            return path.lstrip("/")
        return super()._strip_protocol(path)

    def split_path(self, path: str, *_args: Any, **_kwargs: Any) -> tuple[str, str, str | None]:
        """Container, name, and no version: hudictl reads no old ones here."""
        container, _, name = self._strip_protocol(path).partition("/")
        return container, name, None
