"""A restore, a rollback, a deletion of orphans and a withdrawal keep the metadata table, and die at any change to the
file system: while readers use it, it is right; and in the end it is the same as without the crash."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.formats.instants import time_plus_ms
from hudictl.ops.clean_up.orphans import OrphanOptions, delete_orphans, plan_orphan_deletion
from hudictl.table.open import open_table
from tests import support
from tests.crash import reader, restore_support, rollback_support, withdraw_support
from tests.crash.inject import Crash, copy, deaths, dying
from tests.crash.kept import Content, assert_nothing_left, assert_right_if_listed, content, end_leftovers
from tests.crash.metadata_kept_support import WAYS, Base, _compacted, _end_restore, _way, store
from tests.helpers import Copy, rollback_of, session, step_of
from tests.state.orphans.find_support import listed, orphan

__all__ = ["store"]

pytestmark = pytest.mark.crash

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
HOW_MANY = pytest.mark.parametrize("every", [1, 5], ids=["all", "some"])


# A restore


def _restores_everywhere(case: restore_support.Case, folder: Path, every: int) -> None:
    wanted = content(folder / "done")
    assert_nothing_left(folder / "done")
    for at, torn in _points(case.mutations, every):
        base = copy(case.base, folder / f"crash-{at}-{torn}")
        with dying(at, torn), pytest.raises(Crash):
            restore_support._restore(base, case.target, case.options)
        restore_support._check_promise(case, base)
        _end_restore(case, base)
        assert restore_support._state(base) == case.after, (at, torn)
        assert reader.snapshot(base).digest == reader.as_of(base, case.target).digest
        _assert_as(wanted, base, (at, torn))


def _points(mutations: int, every: int) -> Iterator[tuple[int, bool]]:
    for at in deaths(mutations, every):
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
    *("v6-cow_record_index-back-store", "v9-mor_part-back-moves", "v6-mor_part-forward-moves"),
    *("v9-mor_part-forward-store", "v6-cow_record_index-lossy-store", "v9-cow_record_index-deleted-moves"),
    "v9-mor_part-without_column_stats-moves",
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


ROLLBACKS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "completed": ("cow_part", rollback_support._newest),
    "blocks": ("mor_failed_direct", rollback_support._newest),
    "compacted": ("mor_part", _compacted),
    "record_index": ("cow_record_index", rollback_support._newest),
}
IN_PLACE = {(version, kind) for version in ("v8", "v9") for kind in ("completed", "blocks", "record_index")}


def _rolls_back_everywhere(version: str, kind: str, every: int, folder: Path) -> None:
    name, find = ROLLBACKS[kind]
    base = support.unpack(version, name, folder)
    case = rollback_support._case(base, find(base))
    step = step_of(rollback_of(Copy(version, name, base), case.target))
    assert (step != "set aside") is ((version, kind) in IN_PLACE)
    wanted = content(base.parent / "done")
    assert wanted.partitions == content(base).partitions != ""

    def ended(done: Path) -> None:
        end_leftovers(done)
        _assert_as(wanted, done, done.name)

    rollback_support._crash_everywhere(case, every, ended=ended)


@pytest.mark.short("v6-completed-store", "v6-blocks-moves", "v9-compacted-moves")
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


@pytest.mark.short("v6-cow_record_index-some-moves", "v9-mor_part-some-store")
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


@pytest.mark.short("v6-mor_part-some-store", "v9-cow_record_index-some-moves")
@VERSIONS
@pytest.mark.parametrize("name", ["mor_part", "cow_record_index"])
@HOW_MANY
def test_a_withdrawal_that_dies_puts_the_metadata_table_back(
    version: str, name: str, every: int, store: str, tmp_path: Path
) -> None:
    base = withdraw_support.begun(version, name, tmp_path)
    assert content(base).listing is None
    fresh = support.unpack(version, name, tmp_path / "fresh")
    rows = reader.snapshot(fresh)

    def withdraw(died: Path) -> None:
        withdraw_support.withdraw(died)
        end_leftovers(died)

    def check(died: Path) -> None:
        if not any(action == "restore" for _, action, _ in reader.instants(died)):
            assert reader.snapshot(died) == rows

    _everywhere(base, withdraw, check, every)
    done, before = content(base.parent / "trial"), content(fresh)
    # Without the sidecar, if the properties were written again.
    assert {*before.files} - {*done.files} <= {".hoodie/.hoodie.properties.crc"}
    assert replace(done, files=()) == replace(before, files=())
