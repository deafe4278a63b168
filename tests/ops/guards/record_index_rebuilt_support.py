"""What the tests of record index rebuilt share with others."""

from hudictl.formats.instants import time_plus_ms
from tests.fixtures import Unpack
from tests.helpers import Copy


def compacting(unpack: Unpack, copy: Copy) -> str:
    """A compaction is pending that was planned before the newest commits; returns its instant."""
    planned = unpack(copy.version, "mor_pending_compaction").file_of("compaction.requested")
    time = time_plus_ms(copy.commits[0], 2)
    copy.write(f"{time}.compaction.requested", planned)
    return time
