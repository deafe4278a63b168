"""What the tests of metadata kept share with others."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from hudictl.formats.file_names import parse_data_file
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.state.metadata.undo import MetadataPlan, Mode
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.listing import merged_slices
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.open import open_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from tests.crash import restore_support, rollback_support
from tests.crash.kept import end_leftovers
from tests.helpers import drop, session

Base = Callable[[Path], object]


@pytest.fixture(params=["moves", "store"], autouse=True)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the storage renames a folder in one step; an object store cannot."""
    if request.param == "store":
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    return str(request.param)


def _metadata(base: Path) -> Table:
    found = open_metadata_table(open_table(str(base)))
    assert found is not None
    return found


def _old_slice_gone(partition: str, base: Path) -> None:
    """As a cleaner of the metadata table leaves it: readers do not use what is gone."""
    used = {file.data.name for files in merged_slices(_metadata(base), partition) for file in files}
    for path in (base / ".hoodie/metadata" / partition).iterdir():
        if parse_data_file(path.name) is not None and path.name not in used:
            drop(path)


def _first_slice_gone(partition: str, base: Path) -> None:
    """What the file groups began with is gone."""
    folder = base / ".hoodie/metadata" / partition
    for path in [*folder.glob("[!.]*.hfile"), *folder.glob(".[!.]*.log.1_0-0-0")]:
        drop(path)


@dataclass(frozen=True)
class Way:
    """What becomes of the metadata table in a restore: how the table must be for that, and what is lost of it."""

    mode: Mode
    prepare: Base = lambda base: None
    lost: frozenset[str] = frozenset()
    options: RestoreOptions = restore_support.OPTIONS


WAYS = {
    "back": Way(Mode.UNDO),
    "forward": Way(Mode.FORWARD, partial(_old_slice_gone, "files"), frozenset({"partition_stats"})),
    "lossy": Way(Mode.UNDO, partial(_first_slice_gone, "record_index"), frozenset({"record_index"})),
    "without_column_stats": Way(
        Mode.UNDO, partial(_old_slice_gone, "column_stats"), frozenset({"column_stats", "partition_stats"})
    ),
    "deleted": Way(Mode.DELETE, options=restore_support.DELETING),
}


def _way(version: str, name: str, way: Way, folder: Path) -> restore_support.Case:
    case = restore_support._case(version, name, 0, folder, way.options, way.prepare)
    before = open_table(str(case.base)).metadata_partitions
    plan = _planned(case)
    kept = set(before) - way.lost if way.mode is not Mode.DELETE else set()
    assert (plan.mode, plan.kept, open_table(str(folder / "done")).metadata_partitions) == (
        way.mode,
        kept,
        tuple(sorted(kept)),
    )
    return case


def _planned(case: restore_support.Case) -> MetadataPlan:
    return plan_restore(session(open_table(str(case.base))), case.target, case.options).undo.metadata_table


def _end_restore(case: restore_support.Case, base: Path) -> None:
    """As the same command if nothing has begun, else as `resume`, which does not know the options."""
    plan = plan_restore(session(open_table(str(base))), case.target, restore_support.OPTIONS)
    if plan.resumes:
        execute_restore(session(open_table(str(base))), plan)
    else:
        restore_support._restore(base, case.target, case.options)
    end_leftovers(base)


def _compacted(base: Path) -> str:
    """The newest instant, after rollbacks of later ones, that a compaction of the metadata table has taken up."""
    (compaction,) = load_timeline(_metadata(base)).having("commit")
    while True:
        newest = rollback_support._newest(base)
        own = load_timeline(_metadata(base)).find(newest, "deltacommit")
        if own is not None and (own.completion_time or newest) <= (compaction.completion_time or compaction.time):
            return newest
        rollback_support._roll_back(base, newest, rollback_support.OPTIONS)
