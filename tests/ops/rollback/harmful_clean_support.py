"""What the tests of harmful clean share with others."""

from tests import records
from tests.helpers import Copy
from tests.state.orphans.find_support import LATER


def newest(copy: Copy) -> str:
    """A file that the table needs."""
    return max((path for path in copy.data() if copy.commits[-1] in path), default="")


def harmful(copy: Copy, *, begun: bool = False, also: tuple[str, ...] = (), partitions: tuple[str, ...] = ()) -> None:
    """A pending clean of a file that is needed; the inflight file as the version's Hudi makes it."""
    body = records.clean_plan([newest(copy), *also], partitions=partitions, base=str(copy.path))
    copy.write(f"{LATER}.clean.requested", body)
    if begun:
        copy.write(f"{LATER}.clean.inflight", b"" if copy.version == "v9" else body)
