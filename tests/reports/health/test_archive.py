"""What check says of commits that were archived behind the timeline's first: readers take their files for none."""

import json

import pytest

from hudictl.reports.health.finding import Finding
from tests import records
from tests.fixtures import Unpack
from tests.helpers import Copy, first_command, savepoint
from tests.reports.health.check_support import VERSIONS, check
from tests.state.orphans.find_support import lose


def unread(copy: Copy) -> list[Finding]:
    return [entry for entry in check(copy) if entry.finding == "archived-rows-unread"]


@VERSIONS
def test_a_commit_is_unread_once_it_is_archived_and_gone(unpack: Unpack, version: str) -> None:
    """An archiver that died between the two has lost nothing."""
    copy = unpack(version, "cow_part")
    first, *_, newest = copy.commits
    records.archive(copy, newest)
    assert unread(copy) == []
    lose(copy, newest)
    assert [entry.subject for entry in unread(copy)] == [first]


def test_a_write_that_was_archived_before_it_completed_is_no_commit(unpack: Unpack) -> None:
    """Below table version 8 each state of an instant is archived by itself."""
    copy = unpack("v6", "cow_part")
    newest = copy.commits[-1]
    records.archive(copy, newest, state="INFLIGHT")
    lose(copy, newest)
    assert unread(copy) == []


@VERSIONS
def test_what_a_later_commit_has_replaced_is_not_missed(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cluster")
    (replaced, *_) = sorted(name.partition(".")[0] for name in copy.having("replacecommit") if name.endswith("commit"))
    before = [time for time in copy.commits if time < replaced]
    records.archive(copy, before[-1])
    lose(copy, before[-1])
    assert unread(copy) == []


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_an_archived_commit_between_those_of_the_timeline_counts(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    *_, last, newest = copy.commits
    for time in (last, newest):
        records.archive(copy, time, number=9 if time == last else 8)
        lose(copy, time)
    (found,) = unread(copy)
    assert first_command(found) == f"hudictl savepoint delete {copy.commits[0]}"


@pytest.mark.parametrize("later", [False, True])
def test_the_way_back_deletes_later_savepoints(unpack: Unpack, later: bool) -> None:
    copy = unpack("v9", "cow_part")
    first, *_, last, newest = copy.commits
    for time in (first, last) if later else (first,):
        savepoint(copy, time)
    records.archive(copy, newest)
    lose(copy, newest)
    (found,) = unread(copy)
    option = " --delete-later-savepoints" if later else ""
    assert found.remedy[-1].command == f"hudictl restore {first}{option}"
    assert found.remedy[-1].leaves.endswith("all later writes" + " and savepoints" * later)


def saying(copy: Copy, words: str) -> list[Finding]:
    return [entry for entry in unread(copy) if words in entry.meaning]


@pytest.mark.parametrize("version", ["v8", "v9"])
@pytest.mark.parametrize("skips", [False, True])
def test_a_write_on_older_files_has_lost_what_is_archived_between(unpack: Unpack, version: str, skips: bool) -> None:
    """As the real Hudi's compaction does, once the commit between is archived."""
    copy = unpack(version, "cow_part")
    first, *_, between, last = copy.commits
    path = min(copy.path.rglob(f"*_{between}.parquet")).relative_to(copy.path)
    name = path.name.replace(between, last)
    stat = {"path": f"{path.parent}/{name}", "prevCommit": first if skips else between}
    records.archive(copy, between)
    records.archive(copy, last, body=json.dumps({"partitionToWriteStats": {str(path.parent): [stat]}}).encode())
    for time in (between, last):
        lose(copy, time)
    found = saying(copy, "Their rows are lost")
    assert [str(path) in entry.meaning for entry in found] == [True] * skips
    assert all(entry.remedy == () for entry in found)  # no savepoint to go back to


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v8", "v9"])
@pytest.mark.parametrize("kept", [False, True])
def test_what_an_archived_commit_has_replaced_is_seen_again(unpack: Unpack, version: str, kept: bool) -> None:
    """Unless a clean has deleted it."""
    copy = unpack(version, "cow_savepoints")
    first, *_, last = copy.commits
    path = min(copy.path.rglob(f"*_{first}.parquet")).relative_to(copy.path)
    group, partition = path.name.split("_")[0], str(path.parent)
    replaced = json.dumps({"partitionToReplaceFileIds": {partition: [group]}}).encode()
    records.archive(copy, last, "replacecommit", body=replaced)
    lose(copy, last)
    if not kept:
        for file in (copy.path / partition).glob(f"{group}*"):
            file.unlink()
    assert len(saying(copy, "see them again")) == kept
