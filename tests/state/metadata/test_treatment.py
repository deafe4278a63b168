"""What becomes of the metadata table: kept as far as possible; where not, each reason is told."""

import shutil
from collections.abc import Callable
from dataclasses import replace

import pytest

from hudictl.errors import Conflict, HudictlError, Unreadable, Unsupported
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import HFILE_DATA, encode_block, encode_rollback_block
from hudictl.ops.metadata.drop import DropOptions, plan_metadata_drop
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.state.files.needed import judged, needed_files
from hudictl.state.metadata import treatment as module
from hudictl.state.metadata.treatment import metadata_fate
from hudictl.state.metadata.undo import MetadataPlan, Mode
from hudictl.table.files.saved import NOTHING_SAVED, kept_saved
from hudictl.table.properties import update_properties
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    Copy,
    assert_kept,
    files_of,
    metadata_timeline,
    plan,
    put,
    required,
    restore,
    savepoint,
    session,
    unlisted,
)
from tests.metadata_edits import hfile_block, newest_log, say, write
from tests.state.metadata.treatment_support import facts_of
from tests.state.metadata.undo_support import first_logs

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def fate(copy: Copy, removed: tuple[str, ...] = (), **more: object) -> MetadataPlan:
    """Of the table without its newest commit."""
    facts = facts_of(copy)
    gone = removed or tuple(copy.commits[-1:])
    return metadata_fate(facts, gone, needed_files(facts, gone, NOTHING_SAVED), NOTHING_SAVED, **more)  # type: ignore[arg-type]


@VERSIONS
def test_it_is_rolled_back_with_all_its_partitions(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    found = fate(copy)
    assert (found.mode, found.reason, found.fate) == (Mode.UNDO, None, "rolled back")
    assert found.kept == set(copy.table.metadata_partitions)
    assert found.timeline == {path.name for path in metadata_timeline(copy).iterdir() if path.name[0].isdigit()}


@VERSIONS
def test_a_table_without_one(unpack: Unpack, version: str) -> None:
    assert fate(unpack(version, "cow_flat_nomdt")).mode is Mode.NONE


def not_listed(copy: Copy) -> str:
    update_properties(copy.table.storage, {"hoodie.table.metadata.partitions": ""})
    return "readers do not use it"


def without_folder(copy: Copy) -> str:
    shutil.rmtree(copy.meta / "metadata")
    return ""


def damaged_log(copy: Copy) -> str:
    log = newest_log(copy.path)
    write(log, log.read_bytes() + encode_block(HFILE_DATA, hfile_block(log).header, b"garbage"))
    return ""


def damaged_commit(copy: Copy) -> str:
    """One of an earlier commit, which stays."""
    (done,) = [path for path in metadata_timeline(copy).glob(f"{copy.commits[0]}*.deltacommit") if path.stat().st_size]
    put(done, b"damaged")
    return done.name


def interrupted_update(copy: Copy) -> str:
    put(copy.meta / "metadata/.hoodie/hoodie.properties.backup", b"x")
    return "an update of its properties was interrupted"


def behind_storage(copy: Copy) -> str:
    """It has lost a file that a commit names, and that readers require."""
    path = min(required(copy.table, judged(facts_of(copy), copy.commits[-1:], NOTHING_SAVED)[0]))
    partition, _, name = path.rpartition("/")
    say(copy.path, {partition: {name: None}})
    return f"it does not list 1 required file: {path}"


def pending_restore(copy: Copy) -> str:
    put(metadata_timeline(copy) / "20261121050000001.restore.requested")
    return "its restore 20261121050000001 is pending"


@VERSIONS
@pytest.mark.parametrize(
    "act",
    [
        *(not_listed, without_folder, damaged_log, damaged_commit, interrupted_update, behind_storage),
        pending_restore,
    ],
)
def test_it_is_deleted_where_nothing_of_it_can_be_trusted(
    unpack: Unpack, version: str, act: Callable[[Copy], str]
) -> None:
    """Damage of it is no error: it can be built again. Each partition has the reason."""
    copy = unpack(version, "cow_savepoints")
    reason = act(copy)
    found = fate(copy)
    assert found.mode is Mode.DELETE
    assert reason in str(found.reason)
    assert found.kept == frozenset()
    assert {entry.reason for entry in found.partitions} <= {found.reason}
    # A restore with this plan ends well.
    target = copy.commits[-2]
    done = restore(copy, target, options=RestoreOptions(to_instant=True))
    assert (done.metadata_table, (copy.meta / "metadata").exists()) == ("deleted", False)


@VERSIONS
def test_it_is_deleted_where_this_is_asked_for(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    found = fate(copy, delete="it was asked for")
    assert (found.mode, found.reason) == (Mode.DELETE, "it was asked for")
    assert {entry.partition for entry in found.partitions} == set(copy.table.metadata_partitions)
    # With all of its files, for the size of what goes.
    folders = copy.meta / "metadata"
    stored = [path for name in copy.table.metadata_partitions for path in (folders / name).glob("*.hfile")]
    assert found.files_to_delete >= len(stored) > 0


@VERSIONS
def test_without_a_delta_commit_to_follow_it_is_deleted(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is added has the form of another."""
    copy = unpack(version, "cow_savepoints")
    monkeypatch.setattr(module, "find_template", lambda metadata, timeline: None)
    assert "no delta commit of the listing" in str(fate(copy).reason)


@VERSIONS
def test_the_delta_commit_to_follow_is_none_of_those_that_are_undone(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "cow_savepoints")
    seen: list[set[str]] = []
    monkeypatch.setattr(
        module, "find_template", lambda metadata, timeline: seen.append({e.time for e in timeline.instants})
    )
    fate(copy)
    assert seen
    assert copy.commits[-1] not in seen[0]
    assert copy.commits[-2] in seen[0]


@pytest.mark.parametrize("error", [Unreadable, Unsupported])
def test_what_cannot_be_read_is_a_reason_and_what_disappears_is_an_error(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, error: type[HudictlError]
) -> None:
    """A file that disappears shows a writer at work."""
    copy = unpack("v9", "cow_savepoints")

    def fails(kind: type[HudictlError]) -> None:
        def plan(*_: object) -> None:
            raise kind("a log is not as it was")

        monkeypatch.setattr(module, "plan_metadata", plan)

    fails(error)
    assert (fate(copy).mode, fate(copy).reason) == (Mode.DELETE, "a log is not as it was")
    fails(Conflict)
    with pytest.raises(Conflict):
        fate(copy)


@VERSIONS
def test_what_it_does_not_list_stays_hidden(unpack: Unpack, version: str) -> None:
    """But not the files that go, nor the logs that get rollback blocks."""
    copy = unpack(version, "cow_savepoints")
    earlier, removed = unlisted(copy, copy.commits[0]), unlisted(copy, copy.commits[-1], "part-2")
    facts = facts_of(copy)
    gone = tuple(copy.commits[-1:])
    outcome = needed_files(facts, gone, NOTHING_SAVED)
    assert metadata_fate(facts, gone, outcome, NOTHING_SAVED).hidden == {earlier, removed} - {
        file.path for files in outcome.removed.values() for file in files
    }
    assert earlier not in metadata_fate(facts, gone, outcome, NOTHING_SAVED, marked=[earlier]).hidden


@VERSIONS
def test_what_the_savepoint_names_must_be_listed(unpack: Unpack, version: str) -> None:
    """As what a commit names: the metadata table is behind, or has lost something."""
    copy = unpack(version, "cow_savepoints")
    path = unlisted(copy, copy.commits[0])
    partition, _, name = path.rpartition("/")
    facts, gone = facts_of(copy), tuple(copy.commits[-1:])
    outcome = needed_files(facts, gone, NOTHING_SAVED)
    named = kept_saved({partition: (name,)})
    outcome = replace(outcome, unlisted=tuple(file for file in files_of(facts.sweep) if file.path == path))
    assert metadata_fate(facts, gone, outcome, NOTHING_SAVED).mode is Mode.UNDO
    assert f"it does not list 1 required file: {path}" in str(metadata_fate(facts, gone, outcome, named).reason)
    # Of a log that gets a rollback block the savepoint proves nothing.
    assert metadata_fate(facts, gone, outcome, named, marked=[path]).mode is Mode.UNDO


def test_a_log_of_a_failed_write_that_a_savepoint_names_is_listed_from_then_on(unpack: Unpack) -> None:
    """Below version 8 it is in a slice of the savepointed commit; it gets a rollback block."""
    copy = unpack("v6", "mor_failed_lazy")
    target = copy.commits[0]
    savepoint(copy, target)
    made = plan(copy, target)
    assert (made.undo.metadata_table.fate, bool(made.undo.rollback_blocks)) == ("rolled back", True)
    done = restore(copy, target)
    assert_kept(copy, "0" * 14, done.instants)


@VERSIONS
def test_a_log_of_a_later_commit_than_its_slice_is_missed_in_it(unpack: Unpack, version: str) -> None:
    """Below version 8 its name does not say which commit wrote it."""
    copy = unpack(version, "mor_part")
    files = required(copy.table, judged(facts_of(copy), copy.commits[-1:], NOTHING_SAVED)[0]).values()
    last = max((file for file in files if ".log.1_" in file.path), key=lambda file: file.data.log_order)
    say(copy.path, {last.partition: {last.data.name: None}})
    assert f"it does not list 1 required file: {last.path}" in str(fate(copy).reason)
    assert plan_metadata_drop(session(copy.table), DropOptions((), 0)).whole


@VERSIONS
@pytest.mark.parametrize("action", ["", "commit", "indexing", "rollback"])
def test_no_index_alone_is_deleted_that_hudi_does_not_build_beside_what_is_pending(
    unpack: Unpack, version: str, action: str
) -> None:
    """Hudi 0.15.0 would leave the next write out of the listing: all of it goes."""
    copy = unpack(version, "cow_record_index")
    time, newest = time_plus_ms(copy.commits[0], 2), copy.commits[-1]
    for file in (copy.meta / "metadata/record_index").glob("*record-index-*"):
        file.unlink()
    if action:
        copy.write(f"{time}.{action}.requested")
    alone = version == "v6" and action == "commit"
    found = fate(copy)
    assert (found.mode, "files" in found.kept) == ((Mode.DELETE, False) if alone else (Mode.UNDO, True))
    assert "record_index" in found.lost_in_use
    assert (f"cannot build it again beside {time}" in str(found.reason)) is alone
    # What goes with the commits is not in the way.
    assert fate(copy, (time, newest)).mode is not Mode.DELETE


@VERSIONS
def test_the_listing_goes_forward_where_it_cannot_go_back(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    for file in [*(copy.meta / "metadata/files").glob("[!.]*.hfile"), *first_logs(copy, "files")]:
        file.unlink()
    found = fate(copy)
    assert (found.mode, found.undone) == (Mode.FORWARD, ())
    assert "cannot be rolled back" in str(found.reason)
    assert "record_index" in found.lost


@pytest.mark.parametrize("damaged", [False, True])
def test_version_6_a_rollback_block_that_a_dead_rollback_has_left_is_listed(unpack: Unpack, damaged: bool) -> None:
    """Without it readers would take the rolled back rows, once their instant is archived."""
    copy = unpack("v6", "mor_part")
    facts, last = facts_of(copy), copy.commits[-1]
    listing = facts.known.names_in(facts.known.partitions)
    log = next(
        file for file in files_of(facts.sweep) if not file.data.is_base and file.data.name in listing[file.partition]
    )
    data = copy.path / log.path
    stem, _, version = log.data.name.rpartition(".log.")
    assert version
    left, other = (data.with_name(f"{stem}.log.{number}_1-0-1") for number in (98, 99))
    put(left, b"#HUDI#garbage" if damaged else encode_rollback_block(last, last))
    put(other, data.read_bytes())
    hidden = {path.rpartition("/")[2] for path in fate(copy).hidden}
    assert (left.name in hidden, other.name in hidden) == (damaged, True)
