"""A restore, a rollback, a deletion of orphans and a withdrawal keep the metadata table, and die at any change to the
file system: while readers use it, it is right; and in the end it is the same as without the crash."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.clean_up.orphans import OrphanOptions, delete_orphans, plan_orphan_deletion
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.state.metadata.undo import MetadataPlan, Mode
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.listing import merged_slices
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.table import Table, open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.crash import reader, test_restore, test_rollback, test_withdraw
from tests.crash.inject import Crash, copy, dying
from tests.crash.kept import Content, assert_nothing_left, assert_right_if_listed, content, end_leftovers
from tests.helpers import Copy, drop, rollback_of, session, step_of
from tests.state.orphans.test_find import listed, orphan

pytestmark = pytest.mark.crash

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
HOW_MANY = pytest.mark.parametrize("every", [1, 5], ids=["all", "some"])
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


# A restore


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
    options: RestoreOptions = test_restore.OPTIONS


WAYS = {
    "back": Way(Mode.UNDO),
    "forward": Way(Mode.FORWARD, partial(_old_slice_gone, "files"), frozenset({"partition_stats"})),
    "lossy": Way(Mode.UNDO, partial(_first_slice_gone, "record_index"), frozenset({"record_index"})),
    "without_column_stats": Way(
        Mode.UNDO, partial(_old_slice_gone, "column_stats"), frozenset({"column_stats", "partition_stats"})
    ),
    "deleted": Way(Mode.DELETE, options=test_restore.DELETING),
}


def _way(version: str, name: str, way: Way, folder: Path) -> test_restore.Case:
    case = test_restore._case(version, name, 0, folder, way.options, way.prepare)
    before = open_table(str(case.base)).metadata_partitions
    plan = _planned(case)
    kept = set(before) - way.lost if way.mode is not Mode.DELETE else set()
    assert (plan.mode, plan.kept, open_table(str(folder / "done")).metadata_partitions) == (
        way.mode,
        kept,
        tuple(sorted(kept)),
    )
    return case


def _planned(case: test_restore.Case) -> MetadataPlan:
    return plan_restore(session(open_table(str(case.base))), case.target, case.options).undo.metadata_table


def _end_restore(case: test_restore.Case, base: Path) -> None:
    """As the same command if nothing has begun, else as `resume`, which does not know the options."""
    plan = plan_restore(session(open_table(str(base))), case.target, test_restore.OPTIONS)
    if plan.resumes:
        execute_restore(session(open_table(str(base))), plan)
    else:
        test_restore._restore(base, case.target, case.options)
    end_leftovers(base)


def _restores_everywhere(case: test_restore.Case, folder: Path, every: int) -> None:
    wanted = content(folder / "done")
    assert_nothing_left(folder / "done")
    for at, torn in _points(case.mutations, every):
        base = copy(case.base, folder / f"crash-{at}-{torn}")
        with dying(at, torn), pytest.raises(Crash):
            test_restore._restore(base, case.target, case.options)
        test_restore._check_promise(case, base)
        _end_restore(case, base)
        assert test_restore._state(base) == case.after, (at, torn)
        assert reader.snapshot(base).digest == reader.as_of(base, case.target).digest
        _assert_as(wanted, base, (at, torn))


def _points(mutations: int, every: int) -> Iterator[tuple[int, bool]]:
    for at in range(0, mutations, every):
        yield at, False
        # In the middle of a write, too: every body goes through a file that has no name of Hudi's yet.
        if at // every % 5 == 0:
            yield at, True


def _assert_as(wanted: Content, base: Path, point: object, *, folders: bool = False) -> None:
    """The metadata table is as without the crash, it lists what readers by listing see, and nothing else is left."""
    assert content(base) == wanted, point
    assert_right_if_listed(base)
    assert_nothing_left(base, folders=folders)


CASES = [
    *((version, "cow_record_index", way) for version in support.VERSIONS for way in ("back", "lossy", "deleted")),
    # Its metadata table was compacted, and that compaction is undone, too, if it goes back.
    *((version, "mor_part", way) for version in support.VERSIONS for way in ("back", "forward", "deleted")),
    *((version, "mor_part", "without_column_stats") for version in ("v8", "v9")),
]
MORE_CASES = [(version, name, "back") for version in support.VERSIONS for name in ("cow_cluster", "mor_savepoints")]


@pytest.mark.short(
    *("v6-cow_record_index-back", "v9-mor_part-back-moves", "v6-mor_part-forward-moves", "v9-mor_part-forward-store"),
    *("v6-cow_record_index-lossy-store", "v9-mor_part-without_column_stats-moves", "v9-cow_record_index-deleted"),
)
@pytest.mark.parametrize(("version", "name", "way"), CASES)
def test_a_restore_that_dies_keeps_the_same_of_the_metadata_table(
    version: str, name: str, way: str, store: str, tmp_path: Path
) -> None:
    _restores_everywhere(_way(version, name, WAYS[way], tmp_path), tmp_path, 13)


@pytest.mark.full
@pytest.mark.parametrize(("version", "name", "way"), [*CASES, *MORE_CASES])
def test_a_restore_that_dies_at_every_mutation_keeps_the_same_of_the_metadata_table(
    version: str, name: str, way: str, tmp_path: Path
) -> None:
    _restores_everywhere(_way(version, name, WAYS[way], tmp_path), tmp_path, 1)


# A rollback


def _compacted(base: Path) -> str:
    """The newest instant, after rollbacks of later ones, that a compaction of the metadata table has taken up."""
    (compaction,) = load_timeline(_metadata(base)).having("commit")
    while True:
        newest = test_rollback._newest(base)
        own = load_timeline(_metadata(base)).find(newest, "deltacommit")
        if own is not None and (own.completion_time or newest) <= (compaction.completion_time or compaction.time):
            return newest
        test_rollback._roll_back(base, newest, test_rollback.OPTIONS)


ROLLBACKS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "completed": ("cow_part", test_rollback._newest),
    "blocks": ("mor_failed_direct", test_rollback._newest),
    "compacted": ("mor_part", _compacted),
    "record_index": ("cow_record_index", test_rollback._newest),
}
IN_PLACE = {(version, kind) for version in ("v8", "v9") for kind in ("completed", "blocks", "record_index")}


def _rolls_back_everywhere(version: str, kind: str, every: int, folder: Path) -> None:
    name, find = ROLLBACKS[kind]
    base = support.unpack(version, name, folder)
    case = test_rollback._case(base, find(base))
    step = step_of(rollback_of(Copy(version, name, base), case.target))
    assert (step != "set aside") is ((version, kind) in IN_PLACE)
    wanted = content(base.parent / "done")
    assert wanted.partitions == content(base).partitions != ""

    def ended(done: Path) -> None:
        end_leftovers(done)
        _assert_as(wanted, done, done.name)

    test_rollback._crash_everywhere(case, every, ended=ended)


@pytest.mark.short("v6-completed-store", "v6-blocks-moves", "v9-compacted-moves", "v9-compacted-store")
@VERSIONS
@pytest.mark.parametrize("kind", list(ROLLBACKS))
def test_a_rollback_that_dies_keeps_the_same_of_the_metadata_table(
    version: str, kind: str, store: str, tmp_path: Path
) -> None:
    _rolls_back_everywhere(version, kind, 13, tmp_path)


@pytest.mark.full
@VERSIONS
@pytest.mark.parametrize("kind", list(ROLLBACKS))
def test_a_rollback_that_dies_at_every_mutation_keeps_the_same_of_the_metadata_table(
    version: str, kind: str, tmp_path: Path
) -> None:
    _rolls_back_everywhere(version, kind, 1, tmp_path)


# A deletion of orphans


def _delete_orphans(base: Path) -> None:
    plan = plan_orphan_deletion(session(open_table(str(base))), OrphanOptions(idle_ms=0))
    delete_orphans(session(open_table(str(base))), plan)


def _everywhere(base: Path, act: Base, check: Base, every: int, *, folders: bool = False) -> None:
    """Dies, checks what it leaves, and does the same again."""
    trial = copy(base, base.parent / "trial")
    with dying(None) as system:
        act(trial)
    assert_nothing_left(trial)
    for at, torn in _points(system.count, every):
        died = copy(base, base.parent / f"crash-{at}-{torn}")
        with dying(at, torn), pytest.raises(Crash):
            act(died)
        check(died)
        assert_right_if_listed(died)
        act(died)
        assert reader.files(died) == reader.files(trial), (at, torn)
        assert reader.snapshot(died) == reader.snapshot(trial)
        _assert_as(content(trial), died, (at, torn), folders=folders)


@pytest.mark.short("v6-cow_record_index-some", "v9-mor_part-some")
@VERSIONS
@pytest.mark.parametrize("name", ["cow_record_index", "mor_part"])
@HOW_MANY
def test_a_deletion_of_orphans_that_dies_keeps_the_listing(
    version: str, name: str, every: int, store: str, tmp_path: Path
) -> None:
    """Without its indexes of keys; no orphan is gone before it is taken out."""
    made = Copy(version, name, support.unpack(version, name, tmp_path))
    rows = reader.snapshot(made.path).digest
    orphans = {orphan(made, time_plus_ms(made.commits[0], number)) for number in (1, 2, 3)}
    first = sorted(orphans)[:2]
    for path in first:
        listed(made, path)
    before = content(made.path)
    assert before.listing is not None

    def check(died: Path) -> None:
        assert reader.snapshot(died).digest == rows

    _everywhere(made.path, _delete_orphans, check, every, folders=True)
    done = content(made.path.parent / "trial")
    by_keys = {"record_index", "partition_stats"}
    assert done.partitions.split(",") == [name for name in before.partitions.split(",") if name not in by_keys]
    assert done.listing == {
        partition: {file: size for file, size in files.items() if f"{partition}/{file}" not in orphans}
        for partition, files in before.listing.items()
    }


# A withdrawal


@pytest.mark.short("v6-mor_part-some", "v9-cow_record_index-some")
@VERSIONS
@pytest.mark.parametrize("name", ["mor_part", "cow_record_index"])
@HOW_MANY
def test_a_withdrawal_that_dies_puts_the_metadata_table_back(
    version: str, name: str, every: int, store: str, tmp_path: Path
) -> None:
    base = test_withdraw.begun(version, name, tmp_path)
    assert content(base).listing is None
    fresh = support.unpack(version, name, tmp_path / "fresh")
    rows = reader.snapshot(fresh)

    def withdraw(died: Path) -> None:
        test_withdraw.withdraw(died)
        end_leftovers(died)

    def check(died: Path) -> None:
        if not any(action == "restore" for _, action, _ in reader.instants(died)):
            assert reader.snapshot(died) == rows

    _everywhere(base, withdraw, check, every)
    done, before = content(base.parent / "trial"), content(fresh)
    # Without the sidecar, if the properties were written again.
    assert {*before.files} - {*done.files} <= {".hoodie/.hoodie.properties.crc"}
    assert replace(done, files=()) == replace(before, files=())
