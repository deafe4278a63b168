"""What must be true on storage before each work of a restore begins: docs/restore-order.md says why."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hudictl.errors import Incomplete, Interrupted, Refused
from hudictl.formats import restore as fmt
from hudictl.formats.instants import ROLLBACK, State, time_plus_ms
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.withdraw import plan_withdrawal
from hudictl.ops.session import Silent
from hudictl.state.files.savepoints import find_savepoint
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.timeline.active import load_timeline, pending_rollbacks
from tests import support
from tests.crash import reader
from tests.fixtures import Unpack
from tests.helpers import At, Copy, plan, replace_function, required, restore, session
from tests.ops.undo.hashing_support import before, commit_all, hashing, resize_of

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
EXECUTE = "hudictl.ops.restore.execute"
TO_INSTANT = RestoreOptions(to_instant=True, grace_s=0.01)
Looks = Mapping[str, Callable[[], object]]


def run(copy: Copy, target: str, looks: Looks, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore that is looked at when each of some functions is first called."""
    seen: list[str] = []

    def first(name: str, look: Callable[[], object]) -> None:
        def call(real: Callable[..., object], *given: object, **named: object) -> object:
            if name not in seen:
                seen.append(name)
                look()
            return real(*given, **named)

        replace_function(monkeypatch, name if "." in name else f"{EXECUTE}.{name}", call)

    for name, look in looks.items():
        first(name, look)
    restore(copy, target, Silent(), TO_INSTANT)
    assert set(seen) == set(looks)


@VERSIONS
def test_nothing_is_un_published_before_the_way_back_is_kept(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target is protected, the metadata table does not list what goes, each instant has a copy and a rollback."""
    copy = unpack(version, "cow_part")
    target = copy.commits[0]
    made = plan(copy, target, TO_INSTANT)
    named = {file.data.name for file in required(copy.table, made.undo.case).values()}

    def look() -> None:
        protected = find_savepoint(copy.table, load_timeline(copy.table), target)
        assert {name for names in protected.files.values() for name in names} == named
        assert not metadata_table_in_use(copy.table)
        copies = {path.name[:17] for path in (copy.meta / ".rollback_backup").glob("*.commit")}
        assert copies == made.undo.removed
        planned = pending_rollbacks(copy.table, load_timeline(copy.table))
        assert {stored.target.time for _, stored in planned if stored} == made.undo.removed

    run(copy, target, {"hudictl.ops.undo.instants.unpublish": look}, monkeypatch)


@VERSIONS
def test_no_file_goes_before_queries_have_ended_and_rows_are_hidden(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "mor_part")
    target, files = copy.commits[0], copy.data()
    marked = plan(copy, target, TO_INSTANT).undo.marked
    assert bool(marked) == (version == "v6")

    def waits() -> None:
        assert copy.data() == files

    def deletes() -> None:
        assert files <= copy.data()
        assert len(copy.data() - files) == len(marked)

    run(copy, target, {"wait_for_queries": waits, "hudictl.ops.undo.execute.delete_files": deletes}, monkeypatch)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_what_would_hide_rows_of_the_target_goes_before_queries_have_their_grace(unpack: Unpack, version: str) -> None:
    """The target has completed while a compaction ran: its logs lie behind the compaction's base files. Uncommitted,
    these take them from readers (1.0.2, 1.2.0). A rerun does the rest; the way back is gone."""
    copy = unpack(version, "mor_savepoints")
    target, compaction = copy.commits[-4:-2]
    expected = reader.as_of(copy.path, target).digest
    done = copy.file(target, "deltacommit")
    done.rename(done.with_name(f"{target}_{time_plus_ms(compaction, 1)}.deltacommit"))
    before, made = copy.data(), plan(copy, target, TO_INSTANT)
    first = {path for path in before if path.endswith(f"_{compaction}.parquet")}
    assert set(made.undo.files_deleted_first) == first

    def look() -> None:
        assert copy.data() == before - first
        assert reader.snapshot(copy.path).digest == expected
        raise Interrupted("killed")

    with pytest.raises(Interrupted):
        restore(copy, target, At("wait 0.01 s for running queries", look), TO_INSTANT)
    with pytest.raises(Refused, match="deleted"):
        plan_withdrawal(session(copy.table), 0)
    restore(copy, target, options=TO_INSTANT)
    assert reader.snapshot(copy.path).digest == expected
    assert copy.data() == before - {row.path for row in made.undo.files}


def test_what_hides_rows_and_cannot_be_deleted_is_told_as_such(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "mor_savepoints")
    target, compaction = copy.commits[-4:-2]
    done = copy.file(target, "deltacommit")
    done.rename(done.with_name(f"{target}_{time_plus_ms(compaction, 1)}.deltacommit"))
    failing = "hudictl.ops.undo.execute.delete_data_files"
    monkeypatch.setattr(failing, lambda _session, _held, files: [(file.path, "denied") for file in files])
    with pytest.raises(Incomplete) as caught:
        restore(copy, target, options=TO_INSTANT)
    assert "readers miss rows of commits that stay" in caught.value.hint


@VERSIONS
def test_no_instant_is_removed_before_its_record_is_kept(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The completed restore says what was deleted; the stored rollback plans alone know it after a death."""
    copy = unpack(version, "cow_part")
    target = copy.commits[0]
    partitions = {row.path.rpartition("/")[0] for row in plan(copy, target, TO_INSTANT).undo.files}

    def look() -> None:
        assert list((copy.meta / ".hudictl").glob("restore-*"))

    run(copy, target, {"_remove_instants": look}, monkeypatch)
    (done,) = [path for path in copy.timeline.iterdir() if path.name.endswith(".restore") and path.name[0] != "."]
    assert fmt.decode_partitions(done.read_bytes(), done.name) == partitions


@VERSIONS
def test_rollbacks_go_last_of_what_belongs_to_an_instant(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pending without its rollback, an eager writer would take the instant for failed; and nothing else tells a rerun
    which heartbeats are the restore's."""
    copy = unpack(version, "cow_part")
    target = copy.commits[0]
    removed = plan(copy, target, TO_INSTANT).undo.removed
    looked: list[bool] = []

    def delete(real: Callable[..., object], table: object, instant: object) -> object:
        if getattr(instant, "action", "") == ROLLBACK and not looked:
            looked.append(True)
            assert not removed & {entry.time for entry in load_timeline(copy.table).writes()}
            beats = {path.name for path in (copy.meta / ".heartbeat").glob("[0-9]*")}
            assert not beats & {name.partition(".")[0] for name in copy.having("rollback")}
        return real(table, instant)

    replace_function(monkeypatch, f"{EXECUTE}.delete_instant", delete)
    restore(copy, target, options=TO_INSTANT)
    assert looked


@VERSIONS
def test_nothing_is_left_of_it_when_it_is_published(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing calls for a rerun then."""
    copy = unpack(version, "cow_part")

    def look() -> None:
        assert list((copy.meta / ".heartbeat").glob("[0-9]*")) == []
        assert copy.savepoints == []
        assert not (copy.meta / ".rollback_backup").exists()
        assert not list((copy.meta / ".hudictl").glob("dropped-*"))

    run(copy, copy.commits[0], {"complete_restore": look}, monkeypatch)


@VERSIONS
def test_a_resize_counts_neither_before_nor_without_its_metadata(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What says that it counts goes before its clustering is pending, the metadata itself after."""
    copy = Copy(version, "resized", support.unpack(version, "resized", tmp_path))
    resize, target = resize_of(copy), before(copy)
    commit_all(copy, resize)

    def unpublish() -> None:
        assert {path.rpartition(".")[2] for path in hashing(copy, resize)} == {"hashing_meta"}

    def remove() -> None:
        assert hashing(copy, resize)
        assert resize not in copy.commits

    looks = {"hudictl.ops.undo.instants.unpublish": unpublish, "remove_hashing_metadata": remove}
    run(copy, target, looks, monkeypatch)
    assert not hashing(copy, resize)


def test_the_protecting_savepoint_is_begun_before_it_is_completed(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_part")
    states: list[object] = []

    def create(real: Callable[..., object], *given: object) -> object:
        states.append(given[3])
        return real(*given)

    replace_function(monkeypatch, "hudictl.ops.restore.protection.create_instant_file", create)
    restore(copy, copy.commits[0], options=TO_INSTANT)
    assert states == [State.INFLIGHT, State.COMPLETED]
