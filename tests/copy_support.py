"""A copy of a table, planned and made in process, for the tests of several rooms."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from hudictl.errors import StorageFailed
from hudictl.formats.layouts import SCRATCH
from hudictl.ops.copy.execute import CopyResult, execute_copy
from hudictl.ops.copy.plan import CopyOptions, CopyPlan
from hudictl.ops.copy.planning import plan_copy
from hudictl.storage import Storage
from hudictl.storage.open import open_storage
from hudictl.table.table import Table
from tests.helpers import At, Copy, session, walk

LAST = "end the protection of the source"


def store(to: Path) -> Storage:
    return open_storage(str(to), SCRATCH)


def planned(table: Table, as_of: str, to: Path, options: CopyOptions | None = None) -> CopyPlan:
    return plan_copy(session(table), store(to), as_of, options or CopyOptions())


def made(
    copy: Copy, as_of: str, to: Path, options: CopyOptions | None = None, monitor: object = None
) -> CopyResult | None:
    """Plans and makes it; None where nothing was to do."""
    plan = planned(copy.table, as_of, to, options)
    return None if plan.done else execute_copy(session(copy.table, monitor), plan, store(to))


def held(copy: Copy, to: Path, target: str, step: str = LAST, older: Sequence[str] = ()) -> None:
    """A copy that died before it deleted its savepoint."""

    def fail() -> None:
        raise StorageFailed("the network is gone")

    with pytest.raises(StorageFailed, match="the network is gone"):
        made(copy, target, to, monitor=At(step, fail))
    assert copy.savepoints == [*older, target]


def data_files(base: Path) -> dict[str, bytes]:
    """The data files with their contents, by path."""
    found = {
        name: entry.path
        for name, entry in walk(str(base))
        if entry.is_file() and not name.startswith(".hoodie/") and not name.endswith(".crc")
    }
    return {name: Path(path).read_bytes() for name, path in found.items() if "partition_metadata" not in name}
