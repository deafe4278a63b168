"""What the tests of hashing share with others."""

from pathlib import Path

from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.helpers import Copy, put

METADATA = ".hoodie/.bucket_index/consistent_hashing_metadata"


TO_INSTANT = RestoreOptions(to_instant=True)


def table(version: str, folder: Path) -> Copy:
    return Copy(version, "resized", support.unpack(version, "resized", folder))


def resize_of(copy: Copy) -> str:
    (found,) = load_timeline(copy.table).having("replacecommit")
    return found.time


def before(copy: Copy) -> str:
    return max(time for time in copy.commits if time < resize_of(copy))


def hashing(copy: Copy, time: str = "") -> set[str]:
    """The files of consistent hashing, those of an instant."""
    found = (path for path in (copy.path / METADATA).rglob(f"{time}*.*") if path.suffix != ".crc")
    return {path.relative_to(copy.path).as_posix() for path in found}


def commit_all(copy: Copy, time: str) -> None:
    """As a writer leaves it that has loaded the buckets; 0.15.0 puts these files elsewhere."""
    for path in hashing(copy, time):
        put((copy.path / path).with_suffix(".commit"))
