"""What the tests of metadata aside share with others."""

from tests.helpers import (
    Copy,
    drop,
    metadata_timeline,
)
from tests.metadata_edits import newest_log, write


def with_a_shared_log(copy: Copy, target: str) -> None:
    """As on a store that appends: the instant's block in the listing is in the log of the one before it."""
    own = newest_log(copy.path)
    number = int(own.name.rpartition(".log.")[2].partition("_")[0])
    (shared,) = own.parent.glob(f"{own.name.rpartition('.log.')[0]}.log.{number - 1}_*")
    write(shared, shared.read_bytes() + own.read_bytes())
    drop(own)
    (done,) = [path for path in metadata_timeline(copy).glob(f"{target}.deltacommit") if own.name in path.read_text()]
    write(done, done.read_bytes().replace(own.name.encode(), shared.name.encode()))
