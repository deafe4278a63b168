"""What is refused before an undo begins: else it would end with 3 each time, or take another's work with it."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import Refused
from hudictl.ops.clean_up.orphans import OrphanOptions, delete_orphans, plan_orphan_deletion
from hudictl.ops.put_back.drop import execute_drop, plan_drop
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.savepoint.deletion import delete_savepoint, plan_deletion
from hudictl.reports.undo_list import undo_rows
from hudictl.table.kept import begun_undo, room_folder
from hudictl.table.operations import operation_path
from tests.fixtures import Unpack
from tests.helpers import Copy, metadata_timeline, put, roll_back, savepoint, session
from tests.ops.put_back.undo_support import state, undo
from tests.ops.repair.quarantine_support import completed, damage, quarantine
from tests.state.orphans.find_support import LATER, between_commits, orphan

KEEPING = RollbackOptions(keep_files=True)


def refused(copy: Copy, time: str, said: str) -> None:
    """Before its beginning, and as the list says."""
    before = state(copy)
    with pytest.raises(Refused, match=said):
        undo(copy, time)
    assert (state(copy), begun_undo(copy.table)) == (before, None)
    (row,) = [row for row in undo_rows(copy.table) if row.undo == time]
    assert (row.possible, row.problem) == (False, None)


def dirty(unpack: Unpack) -> Copy:
    copy = unpack("v9", "cow_flat_nomdt")
    orphan(copy, between_commits(copy))
    return copy


def rolled_back(copy: Copy) -> str:
    time = roll_back(copy, copy.commits[-1], options=KEEPING).undo
    assert time is not None
    return time


def orphans_deleted(copy: Copy) -> str:
    made = plan_orphan_deletion(session(copy.table), OrphanOptions(0, keep_files=True))
    time = delete_orphans(session(copy.table), made).undo
    assert time is not None
    return time


def a_link(copy: Copy, kept: Path) -> None:
    (kept / "lnk").symlink_to(copy.path.parent, target_is_directory=True)


def a_pipe(copy: Copy, kept: Path) -> None:
    os.mkfifo(kept / "pipe.parquet")


def a_linked_marker(copy: Copy, kept: Path) -> None:
    (kept / ".hoodie" / ".temp").mkdir(parents=True)
    (kept / ".hoodie" / ".temp" / copy.data().pop().rpartition("/")[2]).symlink_to(copy.path.parent / "x")


def an_instant(copy: Copy, kept: Path) -> None:
    put(kept / copy.timeline.relative_to(copy.path) / f"{LATER}.commit.requested")


def no_utf_8(copy: Copy, kept: Path) -> None:
    put(kept / "\udcff\udcfe.parquet")


@pytest.mark.parametrize(
    ("come", "said"),
    [
        (a_link, "has lnk, which is no regular file"),
        (a_pipe, "has pipe.parquet, which is no regular file"),
        (a_linked_marker, "which is no regular file"),
        (an_instant, "which was not there when it began"),
        (no_utf_8, "is no UTF-8"),
    ],
)
def test_what_a_stranger_has_put_into_the_room(unpack: Unpack, come: Callable[[Copy, Path], None], said: str) -> None:
    """It would come into the table, or stop the undo in the middle."""
    copy = unpack("v9", "cow_part")
    before = state(copy)
    time = rolled_back(copy)
    come(copy, copy.path / room_folder(time) / "kept")
    refused(copy, time, said)
    execute_drop(session(copy.table), plan_drop(session(copy.table), [time], None))
    assert state(copy) != before


def other_value(copy: Copy) -> None:
    """As long as the one before."""
    path = copy.meta / "hoodie.properties"
    put(path, path.read_text().replace(".field=ts", ".field=id").replace(".fields=ts", ".fields=id"), old=False)


def other_commit(copy: Copy) -> None:
    path = copy.file(copy.commits[0], "commit")
    put(path, path.read_bytes()[::-1], old=False)


def other_metadata(copy: Copy) -> None:
    path = min(metadata_timeline(copy).glob("*.deltacommit"))
    put(path, path.read_bytes()[::-1], old=False)


def other_backup(copy: Copy) -> None:
    put(copy.meta / "hoodie.properties.backup", (copy.meta / "hoodie.properties").read_bytes())


@pytest.mark.parametrize("version", ["v6", "v9"])
@pytest.mark.parametrize(
    ("come", "said"),
    [
        (other_value, r"the table has changed.*hoodie\.properties has changed"),
        (other_commit, "the timeline has changed"),
        (other_metadata, "the metadata table has changed"),
        (other_backup, r"the table has changed.*hoodie\.properties\.backup has come"),
    ],
)
def test_a_change_to_the_same_length(unpack: Unpack, version: str, come: Callable[[Copy], None], said: str) -> None:
    """By its time, where the store keeps it: the end of an undo compares it, too."""
    copy = unpack(version, "cow_part" if come is other_metadata else "cow_flat_nomdt")
    time = rolled_back(copy)
    come(copy)
    refused(copy, time, said)


@pytest.mark.parametrize("others", ["none", "a commit"])
def test_the_way_back_where_only_a_savepoint_came(unpack: Unpack, others: str) -> None:
    """Of two hints nobody would guess the one that brings the rows back. It is not named where it does not help."""
    copy = unpack("v9", "cow_flat_nomdt")
    before = state(copy)
    time = rolled_back(copy)
    savepoint(copy, copy.commits[-1])
    if others == "a commit":
        other_commit(copy)
    with pytest.raises(Refused, match=r"\.savepoint have come") as caught:
        undo(copy, time)
    first = f"`hudictl savepoint delete {copy.commits[-1]}` first, then `hudictl undo {time}` again; "
    assert caught.value.hint.startswith(first) == (others == "none")
    if others == "none":
        plan = plan_deletion(session(copy.table), copy.commits[-1])
        delete_savepoint(session(copy.table), plan)
        undo(copy, time)
        assert state(copy) == before


def test_an_older_one_waits_for_the_newer_one(unpack: Unpack) -> None:
    """Undone first, it would leave a timeline with which the newer one can never be undone."""
    copy = dirty(unpack)
    before = state(copy)
    older, newer = rolled_back(copy), orphans_deleted(copy)
    refused(copy, older, f"undo the orphans delete {newer} first")
    undo(copy, newer)
    undo(copy, older)
    assert state(copy) == before


def test_which_is_newer_is_a_matter_of_the_beginning(unpack: Unpack) -> None:
    """The rollback that another program had requested keeps its earlier time."""
    copy = dirty(unpack)
    first, second = orphans_deleted(copy), rolled_back(copy)
    rooms = [copy.path / f"{room_folder(time)}.json" for time in (first, second)]
    for path, begun_at in zip(rooms, ("2026-12-01T00:00:00.001+00:00", "2026-12-01T00:00:00.000+00:00"), strict=True):
        put(path, json.dumps({**json.loads(path.read_text()), "begun_at": begun_at}))
    refused(copy, second, f"undo the orphans delete {first} first")
    rooms[0].write_text("{")
    undo(copy, second)


def test_what_was_dropped_is_in_nobodys_way(unpack: Unpack) -> None:
    copy = dirty(unpack)
    older, newer = rolled_back(copy), orphans_deleted(copy)
    path = copy.path / f"{room_folder(newer)}.json"
    put(path, json.dumps({**json.loads(path.read_text()), "end": "dropped"}))
    undo(copy, older)


def mended(copy: Copy) -> tuple[Path, bytes, str]:
    """A damaged commit that was mended: its file, what it was before the damage, and what ``undo`` takes."""
    time = copy.commits[1]
    file = completed(copy, time)
    before = damage(file, file.read_bytes()[:-1000])
    number = quarantine(copy, time).undo
    return file, before, number


def back(file: Path, body: bytes) -> None:
    """A file at its time."""
    times = file.stat()
    put(file, body)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("version", ["v6", "v9"])
@pytest.mark.parametrize("recorded", [True, False])
def test_the_true_file_that_is_back_stays(unpack: Unpack, version: str, recorded: bool) -> None:
    """Also if the record of the repair is moved away, as the hint for a damaged one says."""
    copy = unpack(version, "cow_part")
    file, true, number = mended(copy)
    if not recorded:
        (copy.path / operation_path(number)).unlink()
    back(file, true)
    refused(copy, number, "has changed")
    assert file.read_bytes() == true


def test_a_repair_is_undone_without_its_record(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    file, true, number = mended(copy)
    (copy.path / operation_path(number)).unlink()
    undo(copy, number)
    assert file.read_bytes() == true[:-1000]


def test_a_repair_of_which_nobody_knows_what_it_wrote(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    _, _, number = mended(copy)
    record = copy.path / f"{room_folder(number)}.json"
    put(record, json.dumps({**json.loads(record.read_text()), "written": None}))
    refused(copy, number, "does not say what")
