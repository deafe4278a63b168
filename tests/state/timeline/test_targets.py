"""What is said of a time that is not the instant that was meant."""

import pytest

from hudictl.errors import Refused
from hudictl.formats.instants import INITIAL, RESTORE, ROLLBACK
from hudictl.reports.timeline import TimelineFilter, timeline_rows
from hudictl.state.facts import read_signs
from hudictl.state.files.savepoints import find_savepoint
from hudictl.state.timeline.targets import find_commit, find_target, what_it_may_be
from hudictl.state.timeline.unfinished import find_unfinished, way_out_of_restore
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import pending_restore

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_completion_time_names_its_instant(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    timeline = load_timeline(copy.table)
    last = timeline.completed_writes()[-1]
    for find in (
        lambda time: find_target(copy.table, timeline, time, ()),
        lambda time: find_commit(copy.table, timeline, time),
    ):
        with pytest.raises(Refused) as refused:
            find(last.completion_time)
        assert f"is the completion time of {last}: give its instant time, {last.time}" in refused.value.hint


@VERSIONS
def test_a_typo_names_the_neighbours(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    before, after = copy.commits[:2]
    with pytest.raises(Refused) as refused:
        find_commit(copy.table, load_timeline(copy.table), f"{before[:-1]}x")
    assert f"nearest on the active timeline: {before} and {after}; " in refused.value.hint
    with pytest.raises(Refused) as refused:
        find_commit(copy.table, load_timeline(copy.table), "1")
    assert f"nearest on the active timeline: {before}; " in refused.value.hint


def test_a_time_written_as_a_date_names_the_instant_and_what_is_no_time_names_none(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    timeline, time = load_timeline(copy.table), copy.commits[1]
    date = f"{time[:4]}-{time[4:6]}-{time[6:8]}T{time[8:10]}:{time[10:12]}:{time[12:14]}.{time[14:]}"
    for said in (date, f"{time} ", f" {time}"):
        assert what_it_may_be(copy.table, timeline, said).startswith(f"nearest on the active timeline: {time}; ")
    assert f"{copy.commits[0]} and {time}; " in what_it_may_be(copy.table, timeline, date[:-4])
    for said in ("last", "-1", "1h", "", "latest", "٢٠٢٦", f"{date}Z", f"{date}+05:30"):
        assert "nearest" not in what_it_may_be(copy.table, timeline, said)


@VERSIONS
@pytest.mark.parametrize("name", ["cow_rollback_interrupted", "mor_restore_interrupted"])
def test_a_pending_operation_names_the_command_that_ends_it(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    timeline = load_timeline(copy.table)
    for pending in [entry for entry in timeline.having(RESTORE, ROLLBACK) if entry.pending]:
        with pytest.raises(Refused, match=f"is a {pending.action}, not a write") as refused:
            find_target(copy.table, timeline, pending.time, ())
        assert refused.value.hint.startswith("it is pending: `hudictl resume`")


@VERSIONS
def test_a_commit_without_savepoint_names_the_way_to_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    time = copy.commits[-1]
    with pytest.raises(Refused) as refused:
        find_savepoint(copy.table, load_timeline(copy.table), time)
    assert refused.value.hint.endswith(f"`hudictl restore --to-instant={time}` restores to it")


@VERSIONS
def test_an_archived_commit_is_told_as_such(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    timeline = load_timeline(copy.table)
    archived = next(row.time for row in timeline_rows(copy.table, TimelineFilter(archived=True)))
    finders = (
        lambda: find_target(copy.table, timeline, archived, ()),
        lambda: find_commit(copy.table, timeline, archived),
        lambda: find_savepoint(copy.table, timeline, archived),
    )
    for find in finders:
        with pytest.raises(Refused) as refused:
            find()
        assert refused.value.hint == f"{archived} is an archived commit: it can be neither rolled back nor restored to"


def test_an_archive_that_cannot_be_read_hides_no_refusal(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_cleaned")
    for file in (copy.path / ".hoodie/timeline/history").glob("*.parquet"):
        file.write_bytes(b"PAR1")
    with pytest.raises(Refused, match="not a commit on the active timeline"):
        find_commit(copy.table, load_timeline(copy.table), "1")


@VERSIONS
def test_a_restore_to_before_a_bootstrap_has_no_way_out_but_another_one(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    pending_restore(copy, "20991121000000000", INITIAL, begun=True)
    with pytest.raises(Refused) as refused:
        find_commit(copy.table, load_timeline(copy.table), INITIAL)
    signs = read_signs(copy.table)
    (found,) = find_unfinished(copy.table, signs, 0)
    assert found.remedy == ()
    for said in (refused.value.hint, found.meaning, way_out_of_restore(copy.table, signs.restores[0])):
        assert "bootstrap it again from the source" in said
