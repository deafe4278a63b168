"""A metadata table that was used after its record was written, or that a rollback has set aside and left."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import Conflict, Findings, Refused
from hudictl.ops.metadata import keep as module
from hudictl.ops.restore.leftovers import plan_leftovers
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.discard import execute_discard, plan_discard
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.state.metadata.record import KeptMetadata
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    OWN,
    At,
    Copy,
    assert_ended,
    attempt,
    die,
    drop,
    plan,
    put,
    replace_function,
    restore,
    roll_back,
    rollback_of,
    session,
)
from tests.helpers import metadata_timeline as timeline_of
from tests.ops.restore.metadata_table_support import assert_indexes
from tests.ops.undo.changed_since_support import dead_rollback

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
TO_INSTANT = RestoreOptions(to_instant=True)
NAME = "cow_record_index"
AT_ONCE = RollbackOptions(idle_ms=0)


def taken_away(copy: Copy, time: str, folder: Path) -> list[tuple[Path, Path]]:
    """Moves all files of a write away; where they are, and where they were."""
    compacted = (copy.meta / "metadata").rglob(f".*_{copy.commits[-2]}001.log.*")
    moved = []
    for path in {path for path in copy.path.rglob("*") if path.is_file() and time in path.name} | {*compacted}:
        there = folder / path.relative_to(copy.path)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, there)
        moved.append((there, path))
    return moved


@pytest.mark.slow
def test_version_6_a_writer_that_has_gone_on_is_not_forgotten(tmp_path: Path) -> None:
    """It begins while the rollback waits, which stops then, with its record written; and it ends before the rerun."""
    copy = Copy("v6", "cow", support.unpack_indexed("v6", "cow", tmp_path))
    target, other = copy.commits[-2:]
    moved = taken_away(copy, other, tmp_path / "later")
    drop(copy.file(target, "commit"))
    assert rollback_of(copy, target).undo.metadata_table.fate == "rolled back"

    def begins() -> None:
        for there, path in moved:
            if path in (copy.timeline / f"{other}.commit.requested", copy.timeline / f"{other}.inflight"):
                shutil.copy(there, path)
                os.utime(path)

    assert isinstance(attempt(lambda: roll_back(copy, target, At("un-publish the instant", begins))), Conflict)
    assert list((copy.path / OWN).glob("metadata-*.json"))
    for there, path in moved:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(there, path)
    made = rollback_of(copy, target, AT_ONCE).undo.metadata_table
    assert (made.fate, made.lost) == ("brought forward", ("record_index",))
    assert roll_back(copy, target, options=AT_ONCE).metadata_table == "brought forward"
    assert_indexes(copy)


@VERSIONS
def test_what_is_written_between_record_and_setting_aside_gives_it_up(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    copy = unpack(version, NAME)
    name = "20261124050000000.deltacommit.requested"
    written = []

    def write(real: Callable[[KeptMetadata], bytes], kept: KeptMetadata) -> bytes:
        if not written:
            written.append(put(timeline_of(copy) / name))
        return real(kept)

    replace_function(monkeypatch, f"{module.__name__}.encode_record", write)
    done = restore(copy, copy.commits[-2], options=TO_INSTANT)
    assert (done.metadata_table, name in str(done.metadata_table_given_up)) == ("deleted", True)
    assert_ended(copy, copy.commits[-1])


@VERSIONS
def test_an_index_that_is_lost_before_the_record_is_told_to_who_requires_it(unpack: Unpack, version: str) -> None:
    """The first attempt has died in between: nothing can be refused any more."""
    copy = unpack(version, NAME)
    target, options = copy.commits[-2], RestoreOptions(to_instant=True, require_index=("record_index",))
    die(copy, target, "prepare", options)
    for file in (copy.meta / "metadata/record_index").glob("*record-index*"):
        file.unlink()
    for file in (copy.meta / "metadata/record_index").glob(".record-index*"):
        file.unlink()
    error = attempt(lambda: restore(copy, target, options=options))
    assert isinstance(error, Findings)
    assert (error.exit_code, error.fields["partitions"]) == (3, ["record_index"])
    assert_ended(copy, target)


# What a rollback has set aside.


def test_version_6_it_comes_back_when_the_rollback_is_discarded(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v6", NAME)
    before = copy.table.metadata_partitions
    target = dead_rollback(copy, monkeypatch, "rollback.execute.back_up_instants")
    execute_discard(session(copy.table), plan_discard(session(copy.table), 0), 0)
    assert (copy.table.metadata_partitions, target in copy.commits) == (before, True)
    assert plan_leftovers(session(copy.table), 0).nothing
    assert_indexes(copy)


@pytest.mark.parametrize("required", ["record_index", "all"])
def test_version_6_a_restore_that_ends_the_rollback_says_that_it_is_lost(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, required: str
) -> None:
    copy = unpack("v6", NAME)
    dead_rollback(copy, monkeypatch, "undo.execute.delete_files")
    options = RestoreOptions(to_instant=True, require_index=(required,))
    error = attempt(lambda: plan(copy, copy.commits[-2], options))
    assert isinstance(error, Refused)
    assert "to keep it, finish that rollback first" in error.message
    done = restore(copy, copy.commits[-2], options=TO_INSTANT)
    assert done.metadata_table == "deleted"
    assert plan_leftovers(session(copy.table), 0).nothing
    assert list((copy.path / OWN).glob("*metadata-*")) == []
