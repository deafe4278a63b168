"""A restore to a savepoint behind which writes are archived."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from hudictl.errors import Conflict, HudictlError, Refused, StorageFailed, Unreadable
from hudictl.formats.archived_timeline import LOST
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.guards import files as file_guards
from hudictl.ops.restore import execute
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.withdraw import plan_withdrawal, withdraw_restore
from hudictl.reports.health.finding import ERROR
from hudictl.state.timeline.targets import find_commit
from hudictl.table.timeline.active import load_timeline
from hudictl.table.timeline.archive import archived_after, archived_writes_after
from hudictl.table.timeline.commits import read_commit
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import At, Copy, drop, plan, put, restore, session, tree
from tests.ops.restore.strangers_support import without_metadata_table
from tests.reports.health.check_support import check
from tests.state.orphans.find_support import lose, rolled_back

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LATE = "20261122235959000"


@pytest.fixture
def archived(unpack: Unpack) -> Callable[[str], Copy]:
    """A table of which the archive has L1 to L3, and the timeline S and L4."""
    return lambda version: unpack(version, "archived_beyond_savepoint")


def named(copy: Copy, *names: str) -> list[str]:
    facts = support.history_facts(copy.version, "archived_beyond_savepoint")["instants"]
    return [facts[name] for name in names]


def attempt(work: Callable[[], object]) -> HudictlError:
    with pytest.raises(HudictlError) as caught:
        work()
    return caught.value


def file_of(copy: Copy, time: str) -> str:
    """A base file of a write; returns its path."""
    path = f"a/0b6f1c9e-5a5e-4c41-9d5e-3f1a2b3c4d5e-0_0-1-1_{time}.parquet"
    like = next(copy.path / path for path in sorted(copy.data()) if path.endswith(".parquet"))
    put(copy.path / path, like.read_bytes())
    return path


def dies() -> None:
    raise StorageFailed("the process dies here")


def with_a_column(path: Path) -> bytes:
    """A Parquet file as of a later release."""
    table, out = parquet.read_table(path), io.BytesIO()
    parquet.write_table(table.append_column("more", pa.array([1] * len(table))), out)
    return out.getvalue()


@VERSIONS
def test_what_goes_and_what_stays(archived: Callable[[str], Copy], version: str) -> None:
    """All files of later writes, and these writes from the archive; the savepoint's files, cleans and what was before
    stay. A second restore finds nothing to do."""
    copy = archived(version)
    (target,) = named(copy, "S")
    made = plan(copy, target)
    assert [(entry.time, entry.state) for entry in made.undo.instants] == [
        (time, state)
        for time, state in zip(
            named(copy, "L4", "L3", "L2", "L1"), ["COMPLETED", "ARCHIVED", "ARCHIVED", "ARCHIVED"], strict=True
        )
    ]
    assert made.undo.metadata_table.reason == f"3 writes after {target} are archived"
    going = {path for path in copy.data() if path.rpartition("_")[2].partition(".")[0] > target}
    assert {entry.path for entry in made.undo.files} == going != set()
    before = {entry.time for entry in archived_after(copy.table, "")}
    kept = copy.data() - going
    restore(copy, target)
    assert copy.data() == kept
    assert {entry.time for entry in archived_after(copy.table, "")} == before - set(named(copy, "L1", "L2", "L3"))
    assert plan(copy, target).nothing_to_do
    (record,) = sorted(copy.meta.glob(".hudictl/operations/*.json"))
    assert all(time in record.read_text() for time in named(copy, "L1", "L2", "L3", "L4"))


@VERSIONS
def test_without_a_savepoint(archived: Callable[[str], Copy], version: str) -> None:
    """Its commit is on the timeline still, and all of its files are there."""
    copy = archived(version)
    (target,) = named(copy, "S")
    expected = {entry.path for entry in plan(copy, target).undo.files}
    for file in copy.timeline.glob(f"{target}*.savepoint*"):
        drop(file)
    assert {entry.path for entry in plan(copy, target, RestoreOptions(to_instant=True)).undo.files} == expected


@VERSIONS
def test_a_file_that_it_needs_is_gone(archived: Callable[[str], Copy], version: str) -> None:
    copy = archived(version)
    (target,) = named(copy, "S")
    lost = next(path for path in sorted(copy.data()) if target in path)
    (copy.path / lost).unlink()
    error = attempt(lambda: plan(copy, target))
    assert isinstance(error, Refused)
    assert lost in error.message


@VERSIONS
@pytest.mark.parametrize("alone", [False, True])
def test_the_archive_is_cut(archived: Callable[[str], Copy], version: str, alone: bool) -> None:
    """Nothing is left of it: the commits on which later ones are based go all the same, and so do their files; and as
    these prove the cut, files of a write on which none is based (``alone``). No metadata table has to know it."""
    copy = archived(version)
    target, first = named(copy, "S", "L1")
    going = {entry.path for entry in plan(copy, target).undo.files}
    for entry in copy.table.storage.list(copy.table.layout.archive):
        (copy.path / copy.table.layout.archive / entry.name).unlink()
    lost = [*named(copy, "L3"), *([time_plus_ms(first, 1)] if alone else [])]
    if alone:
        without_metadata_table(copy)
        going.add(file_of(copy, lost[-1]))
    made = plan(copy, target)
    assert [(entry.time, entry.state) for entry in made.undo.instants] == [
        (*named(copy, "L4"), "COMPLETED"),
        *((time, "LOST") for time in lost),
    ]
    assert all(entry.archived and entry.archived.file == LOST for entry in made.undo.removals[1:])
    assert {entry.path for entry in made.undo.files} == going
    restore(copy, target)
    assert not any(path in copy.data() for path in going)


@VERSIONS
@pytest.mark.parametrize("explained", [False, True])
def test_files_of_a_write_that_the_archive_has_lost(
    archived: Callable[[str], Copy], version: str, explained: bool
) -> None:
    """No later write is based on it. Its rows would come back once the timeline begins after it. What a rollback
    explains stays for ``orphans delete``."""
    copy = archived(version)
    target, first = named(copy, "S", "L1")
    lost = time_plus_ms(first, 1)
    file_of(copy, lost)
    if explained:
        rolled_back(copy, lost)
    made = plan(copy, target)
    assert ((lost, "LOST") in [(entry.time, entry.state) for entry in made.undo.instants]) != explained
    restore(copy, target)
    assert any(lost in path for path in copy.data()) == explained
    assert [entry.finding for entry in check(copy) if entry.severity == ERROR] == []


@VERSIONS
def test_a_resume_takes_the_lost_write_of_its_plan(archived: Callable[[str], Copy], version: str) -> None:
    """Hudi's plan does not name it; hudictl's record does."""
    copy = archived(version)
    target, first = named(copy, "S", "L1")
    lost = time_plus_ms(first, 1)
    file_of(copy, lost)
    with pytest.raises(StorageFailed, match="dies here"):
        execute.execute_restore(session(copy.table, At("delete files", dies)), plan(copy, target))
    assert any(lost in path for path in copy.data())
    restore(copy, target)
    assert not any(lost in path for path in copy.data())
    assert [entry.finding for entry in check(copy) if entry.severity == ERROR] == []


@pytest.mark.parametrize("death", [False, True])
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_delta_commit_that_is_lost_in_the_middle(unpack: Unpack, version: str, death: bool) -> None:
    """Nothing is archived, and no later write is based on its logs: the metadata table knows it."""
    copy = unpack(version, "mor_part")
    target, lost = copy.commits[:2]
    assert lose(copy, lost)
    options = RestoreOptions(to_instant=True)
    if death:
        with pytest.raises(StorageFailed, match="dies here"):
            execute.execute_restore(session(copy.table, At("delete files", dies)), plan(copy, target, options))
    restore(copy, target, options=options)
    assert not any(lost in path for path in copy.data())
    assert [entry.finding for entry in check(copy) if entry.severity == ERROR] == []


def test_a_commit_that_the_savepoint_names_is_not_lost(archived: Callable[[str], Copy]) -> None:
    """Its readers saw it, whatever has become of its record: see test_overlaps."""
    copy = archived("v9")
    (target,) = named(copy, "S")
    assert not [entry for entry in plan(copy, target).undo.instants if entry.state == "LOST"]


@VERSIONS
def test_a_write_comes_into_the_archive_meanwhile(archived: Callable[[str], Copy], version: str) -> None:
    """After planning: its files were not judged."""
    copy = archived(version)
    (target,) = named(copy, "S")
    made = plan(copy, target)
    records.archive(copy, LATE, number=10)
    before = tree(copy.path, ".hoodie/.hudictl")
    error = attempt(lambda: execute.execute_restore(session(copy.table), made))
    assert isinstance(error, Conflict)
    assert LATE in error.message
    assert tree(copy.path, ".hoodie/.hudictl") == before


def test_a_write_that_readers_of_the_target_saw_is_archived(archived: Callable[[str], Copy]) -> None:
    """By completion it would stay, and nobody would read it; the other rule takes it away."""
    copy = archived("v9")
    (target,) = named(copy, "S")
    commit = find_commit(copy.table, load_timeline(copy.table), target)
    assert commit.completion_time is not None
    records.archive(copy, LATE, end=commit.completion_time)
    error = attempt(lambda: plan(copy, target))
    assert isinstance(error, Refused)
    assert LATE in error.message
    assert "--rule requested" in error.hint
    made = plan(copy, target, RestoreOptions(rule="requested"))
    assert (LATE, "ARCHIVED") in [(entry.time, entry.state) for entry in made.undo.instants]


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_an_archive_that_cannot_be_written_is_found_before_anything_changes(
    archived: Callable[[str], Copy], version: str
) -> None:
    copy = archived(version)
    (target,) = named(copy, "S")
    made = records.archive(copy, LATE)
    put(made, with_a_column(made))
    error = attempt(lambda: plan(copy, target))
    assert isinstance(error, Unreadable)
    assert made.name in error.message


@VERSIONS
def test_a_group_that_an_archived_write_has_replaced_is_gone(
    archived: Callable[[str], Copy], version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a savepoint only this shows it. A group that began after the target is not missed."""
    copy = archived(version)
    (target,) = named(copy, "S")
    for file in copy.timeline.glob(f"{target}*.savepoint*"):
        drop(file)
    options = RestoreOptions(to_instant=True)
    commit = read_commit(copy.table, find_commit(copy.table, load_timeline(copy.table), target))
    known = commit.stats["a"][0].file_id
    guard = file_guards.replaced_are_there

    def replacing(file_id: str) -> None:
        def look(facts: Any, commits: dict[str, Any], refusal: str) -> None:
            time, one = next(iter(commits.items()))
            guard(facts, {time: replace(one, replaced={"a": (file_id,)})}, refusal)

        monkeypatch.setattr(file_guards, "replaced_are_there", look)

    replacing(known)
    plan(copy, target, options)
    replacing("another-0")
    error = attempt(lambda: plan(copy, target, options))
    assert isinstance(error, Refused)
    assert "a/another-0" in error.message


@VERSIONS
def test_it_is_withdrawn_only_while_the_files_of_archived_writes_are_there(
    archived: Callable[[str], Copy], version: str
) -> None:
    """An executor of a dead process may have deleted those, and none of the writes on the timeline."""
    copy = archived(version)
    (target,) = named(copy, "S")
    before = copy.data(), {entry.time for entry in archived_after(copy.table, "")}

    with pytest.raises(StorageFailed, match="dies here"):
        execute.execute_restore(session(copy.table, At("delete files", dies)), plan(copy, target))
    gone = next(path for path in sorted(copy.data()) if named(copy, "L3")[0] in path)
    body = (copy.path / gone).read_bytes()
    (copy.path / gone).unlink()
    error = attempt(lambda: plan_withdrawal(session(copy.table), 0))
    assert isinstance(error, Refused)
    assert named(copy, "L3")[0] in error.message
    put(copy.path / gone, body)
    withdraw_restore(session(copy.table), plan_withdrawal(session(copy.table), 0), 0)
    assert (copy.data(), {entry.time for entry in archived_after(copy.table, "")}) == before


@pytest.mark.slow
@VERSIONS
def test_a_resume_goes_on_past_the_archive(archived: Callable[[str], Copy], version: str) -> None:
    """Also where the timeline and the files are done, and the archive is not."""
    copy = archived(version)
    (target,) = named(copy, "S")

    with pytest.raises(StorageFailed, match="dies here"):
        execute.execute_restore(session(copy.table, At("remove instants", dies)), plan(copy, target))
    assert [(entry.time, entry.state) for entry in plan(copy, target).undo.instants][1:] == [
        (time, "ARCHIVED") for time in named(copy, "L3", "L2", "L1")
    ]
    restore(copy, target)
    assert plan(copy, target).nothing_to_do
    assert not archived_writes_after(copy.table, target)


@VERSIONS
def test_all_later_writes_are_archived(archived: Callable[[str], Copy], version: str) -> None:
    """The request then names no instant."""
    copy = archived(version)
    target, last = named(copy, "S", "L4")
    for path in [*copy.timeline.glob(f"{last}*"), *copy.path.glob(f"*/*_{last}.parquet")]:
        drop(path)
    assert {entry.state for entry in plan(copy, target).undo.instants} == {"ARCHIVED"}
    restore(copy, target)
    assert not archived_writes_after(copy.table, target)
    assert plan(copy, target).nothing_to_do


@VERSIONS
def test_a_compaction_may_be_among_the_archived_writes(unpack: Unpack, version: str) -> None:
    """Without it, readers go by the logs of kept archived writes, which are uncommitted to them."""
    copy = unpack(version, "mor_part")
    first, target = copy.commits[0], copy.commits[-2]
    between = time_plus_ms(first, 1)
    records.archive(copy, between, "deltacommit")
    options = RestoreOptions(to_instant=True)
    plan(copy, target, options)
    records.archive(copy, LATE, number=10)
    error = attempt(lambda: plan(copy, target, options))
    assert isinstance(error, Refused)
    assert error.fields["archived"] == [between]
