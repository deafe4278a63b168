"""The end of a lock that is held in the table's store."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from hudictl.errors import StorageFailed


@contextmanager
def releasing(release: Callable[[], None], hint: str) -> Iterator[None]:
    """Releases a lock at the end, also after an error. ``hint``: what a failed release means for the writers.

    Raises:
        StorageFailed.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt):
        # The first error matters, not that of the release.
        with suppress(StorageFailed):
            release()
        raise
    try:
        release()
    except StorageFailed as error:
        raise StorageFailed(error.message, hint=hint, **error.fields) from error
