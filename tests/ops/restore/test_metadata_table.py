"""The metadata table through a restore: rolled back with the table, brought forward, or deleted; and the way back."""

import json
import shutil

import pytest

from hudictl.cli.main import run
from hudictl.errors import Conflict, Refused
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.withdraw import plan_withdrawal, withdraw_restore
from hudictl.state.metadata_record import read_kept
from hudictl.storage.local import LocalStorage
from hudictl.table.timeline import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    OWN,
    Copy,
    assert_kept,
    assert_listed,
    attempt,
    die,
    drop,
    metadata_instants,
    plan,
    put,
    restore,
    savepoint,
    session,
    tree,
)
from tests.ops.restore.test_execute import STEPS

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
TO_INSTANT = RestoreOptions(to_instant=True)
LISTED = "hoodie.table.metadata.partitions"


def indexes_agree(copy: Copy) -> bool:
    return run(["metadata", "verify", "--indexes", "-t", str(copy.path), "--engine", "local", "-q"]) == 0


def inner(copy: Copy) -> dict[str, tuple[str, int]]:
    """All files of the metadata table, with content and time."""
    return tree(copy.meta / "metadata")


def without_first_slice(copy: Copy, partition: str) -> None:
    """Its newest slice cannot be read without what is gone: the partition cannot go back."""
    folder = copy.meta / "metadata" / partition
    for file in [*folder.glob("[!.]*.hfile"), *folder.glob(".[!.]*.log.1_0-0-0")]:
        drop(file)


CASES = [
    ("v6", "cow_record_index"),
    ("v6", "mor_savepoints"),
    ("v8", "cow_cluster"),
    ("v8", "mor_part"),
    ("v9", "cow_record_index"),
    ("v9", "cow_cleaned"),
    ("v9", "mor_savepoints"),
]


@pytest.mark.parametrize(("version", "name"), CASES)
def test_it_goes_back_with_the_table_to_each_commit(unpack: Unpack, version: str, name: str) -> None:
    whole = unpack(version, name)
    options = RestoreOptions(to_instant=True, delete_later_savepoints=True)
    for number, target in enumerate(whole.commits[:-1]):
        copy = Copy(version, name, whole.path.parent / f"to-{number}")
        shutil.copytree(whole.path, copy.path)
        first, listed = metadata_instants(copy)[0], copy.table.metadata_partitions
        if isinstance(attempt(lambda copy=copy, target=target: plan(copy, target, options)), Refused):
            continue
        done = restore(copy, target, options=options)
        assert (done.metadata_table, done.metadata_table_given_up) == ("rolled back", None)
        assert copy.table.metadata_partitions == listed
        assert done.indexes_kept == tuple(sorted({*listed} - {"files"}))
        assert_kept(copy, first, done.instants)
        assert indexes_agree(copy)


@VERSIONS
def test_an_index_that_must_be_kept_and_cannot_refuses_the_restore(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    target = copy.commits[0]
    for required in ("record_index", "all"):
        assert plan(copy, target, RestoreOptions(to_instant=True, require_index=(required,))).metadata_table.keeps
    without_first_slice(copy, "record_index")
    before = tree(copy.path)
    for required in ("record_index", "all"):
        with pytest.raises(Refused, match="record_index cannot be kept: "):
            plan(copy, target, RestoreOptions(to_instant=True, require_index=(required,)))
    with pytest.raises(Refused, match="'bloom', which must be kept, is no partition"):
        plan(copy, target, RestoreOptions(to_instant=True, require_index=("bloom",)))
    # Deleting it all is no way to keep one.
    with pytest.raises(Refused, match="cannot be kept: this was requested"):
        plan(copy, target, RestoreOptions(to_instant=True, metadata="delete", require_index=("files",)))
    assert tree(copy.path) == before


@VERSIONS
def test_a_partition_that_cannot_go_back_is_given_up_alone(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    listed = copy.table.metadata_partitions
    without_first_slice(copy, "record_index")
    made = plan(copy, copy.commits[1], TO_INSTANT)
    assert (made.metadata_table.fate, made.indexes_lost) == ("rolled back", ("record_index",))
    first = metadata_instants(copy)[0]
    done = restore(copy, copy.commits[1], options=TO_INSTANT)
    assert copy.table.metadata_partitions == tuple(name for name in listed if name != "record_index")
    assert not (copy.meta / "metadata/record_index").exists()
    assert_kept(copy, first, done.instants)


@VERSIONS
def test_a_listing_that_cannot_go_back_is_brought_forward(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    target, first = copy.commits[1], metadata_instants(copy)[0]
    without_first_slice(copy, "files")
    made = plan(copy, target, TO_INSTANT)
    assert made.metadata_table.fate == "brought forward"
    assert "cannot be rolled back" in str(made.metadata_table.reason)
    assert made.metadata_table.kept == {"files", "column_stats"} & set(copy.table.metadata_partitions)
    done = restore(copy, target, options=TO_INSTANT)
    assert (done.metadata_table, done.metadata_table_given_up) == ("brought forward", None)
    assert set(copy.table.metadata_partitions) == made.metadata_table.kept
    assert metadata_instants(copy)[0] == first
    assert_listed(copy.path)
    assert leftovers(copy) == []


@VERSIONS
def test_one_that_is_wrong_in_the_end_is_deleted_and_the_restore_published(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "cow_savepoints")
    monkeypatch.setattr("hudictl.ops.undo.metadata._changes", lambda *_: {"part-0": {"x": 1}})
    done = restore(copy, copy.savepoints[-1])
    assert (done.metadata_table, done.indexes_kept) == ("deleted", ())
    assert "differs from storage: part-0/x" in str(done.metadata_table_given_up)
    assert not (copy.meta / "metadata").exists()
    assert copy.table.metadata_partitions == ()
    assert copy.having("restore")
    assert leftovers(copy) == []


def leftovers(copy: Copy) -> list[str]:
    return [path.name for path in (copy.path / OWN).glob("*metadata-*")]


@VERSIONS
@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("step", STEPS[2:])
def test_a_restore_that_died_goes_by_its_record(
    unpack: Unpack, version: str, step: str, moves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the store cannot move a folder."""
    if not moves:
        monkeypatch.setattr(LocalStorage, "move", lambda *_: False)
    copy = unpack(version, "cow_savepoints")
    target, first, listed = copy.savepoints[-1], metadata_instants(copy)[0], copy.table.metadata_partitions
    before = plan(copy, target).metadata_table
    die(copy, target, step)
    since = STEPS.index(step) - STEPS.index("take the metadata table out of use")
    assert (read_kept(copy.table, pending(copy)) is not None) is (since >= 0)
    assert copy.table.metadata_partitions == (() if since > 0 else listed)
    again = plan(copy, target).metadata_table
    assert (again.fate, again.kept, again.instants_undone) == (before.fate, before.kept, before.instants_undone)
    assert {fate.partition: fate.files_to_delete for fate in again.partitions} == {
        fate.partition: fate.files_to_delete for fate in before.partitions
    }
    done = restore(copy, target)
    assert done.metadata_table == "rolled back"
    assert copy.table.metadata_partitions == listed
    assert_kept(copy, first, done.instants)


def pending(copy: Copy) -> str:
    return next(entry.time for entry in load_timeline(copy.table).having("restore") if entry.pending)


@VERSIONS
@pytest.mark.parametrize("complete", [True, False])
def test_another_one_that_was_built_meanwhile_is_not_trusted(unpack: Unpack, version: str, complete: bool) -> None:
    copy = unpack(version, "cow_savepoints")
    target, first = copy.savepoints[-1], metadata_instants(copy)[0]
    other = shutil.copytree(copy.meta / "metadata", copy.path.parent / "other")
    properties = other / ".hoodie/hoodie.properties"
    put(properties, f"#another one\n{properties.read_text()}")
    die(copy, target, "delete files")
    shutil.copytree(other, copy.meta / "metadata")
    if not complete:
        drop(copy.meta / "metadata/.hoodie/hoodie.properties")
        with pytest.raises(Conflict, match="is building a new metadata table"):
            restore(copy, target)
        shutil.rmtree(copy.meta / "metadata")
    done = restore(copy, target)
    assert done.metadata_table == "rolled back"
    assert_kept(copy, first, done.instants)
    assert "another one" not in (copy.meta / "metadata/.hoodie/hoodie.properties").read_text()


@VERSIONS
@pytest.mark.parametrize("moves", [True, False])
def test_a_withdrawn_restore_puts_it_back_as_it_was(
    unpack: Unpack, version: str, moves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not moves:
        monkeypatch.setattr(LocalStorage, "move", lambda *_: False)
    copy = unpack(version, "cow_savepoints")
    before, listed = inner(copy), copy.table.metadata_partitions
    die(copy, copy.savepoints[-1], "delete files")
    assert copy.table.metadata_partitions == ()
    opened = session(copy.table)
    withdrawal = plan_withdrawal(opened, 0)
    assert not [name for name in withdrawal.not_brought_back if "index" in name]
    assert withdraw_restore(opened, withdrawal, 0).metadata_table_put_back
    names = set(inner(copy)) | set(before)
    changed = {name for name in names if inner(copy).get(name, ("",))[0] != before.get(name, ("",))[0]}
    assert {name for name in changed if not name.endswith(".crc")} == set()
    assert copy.table.metadata_partitions == listed
    assert leftovers(copy) == []
    assert_listed(copy.path)


@VERSIONS
def test_what_a_restore_has_set_aside_is_found_and_removed_if_hudi_has_finished_it(
    unpack: Unpack, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = unpack(version, "cow_savepoints")
    die(copy, copy.savepoints[-1], "delete files")
    time = pending(copy)
    (copy.path / OWN).rename(copy.path.parent / "aside")
    restored = restore(copy, copy.savepoints[-1], options=RestoreOptions(idle_ms=0))
    assert restored.restore == time
    for path in (copy.path.parent / "aside").glob("metadata-*"):
        shutil.move(path, copy.path / OWN / path.name)
    assert len(leftovers(copy)) == 2
    arguments = ["-t", str(copy.path), "--engine", "local", "-o", "json"]
    assert run(["check", "--only", "metadata-table-leftover", *arguments]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["severity"], [way["command"] for way in row["remedy"]]) == ("info", ["hudictl resume"])
    assert run(["resume", "--yes", *arguments]) == 0
    assert leftovers(copy) == []
    assert run(["check", "--only", "metadata-table-leftover", *arguments]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["rows"] == []


@VERSIONS
def test_one_that_changed_since_planning_stops_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    made = plan(copy, copy.savepoints[-1])
    folder = copy.meta / ("metadata/.hoodie" if version == "v6" else "metadata/.hoodie/timeline")
    put(folder / "20261121050000000.deltacommit.requested")
    before = tree(copy.path, OWN)
    with pytest.raises(Conflict, match="the metadata table is in use"):
        execute_restore(session(copy.table), made)
    assert tree(copy.path, OWN) == before


@VERSIONS
def test_a_second_restore_undoes_what_the_first_has_added(unpack: Unpack, version: str) -> None:
    """Its delta commit belongs to no write of the table."""
    copy = unpack(version, "cow_cleaned")
    first = metadata_instants(copy)[0]
    for target in copy.commits[-4:-1][::-1]:
        if attempt(lambda target=target: plan(copy, target, TO_INSTANT)) is not None:
            break
        done = restore(copy, target, options=TO_INSTANT)
        assert done.metadata_table == "rolled back"
        assert_kept(copy, first, done.instants)


@VERSIONS
def test_a_restore_with_nothing_to_do_says_that_it_is_kept(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    savepoint(copy)
    made = plan(copy, copy.commits[-1], RestoreOptions(metadata="delete"))
    assert (made.nothing_to_do, made.metadata_table.fate) == (True, "kept")
