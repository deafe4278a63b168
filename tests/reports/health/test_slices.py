"""What check says of files that readers need or must not see: beside a timeline that moves, and of each savepoint."""

import re
import shutil
from pathlib import Path

import pytest

from hudictl.formats import savepoint as savepoint_format
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import AVRO_DATA, INSTANT_TIME, encode_block, encode_rollback_block
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.reports.health.finding import ERROR, INFO
from tests import records
from tests.fixtures import Unpack
from tests.helpers import Copy, die, drop, plan, put, required
from tests.reports.health.check_support import VERSIONS, brief, check, one, while_it_lists
from tests.reports.health.files_support import without_end
from tests.state.orphans.find_support import LATER, lose, orphan, rolled_back

# Orphans, and a timeline that has lost its end.


@pytest.mark.slow
@VERSIONS
def test_orphans_are_told_with_all_their_bytes_and_who_sees_them(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    active = time_plus_ms(copy.commits[0], 1)
    first = orphan(copy, active)
    like = next(path for path in sorted(copy.data()) if path.endswith(".parquet") and path[:14] != first[:14])
    second = f"{like.rpartition('_')[0]}_{active}.parquet"
    put(copy.path / second, (copy.path / like).read_bytes())
    size = sum((copy.path / path).stat().st_size for path in (first, second))
    found = one(copy)
    assert found.meaning.startswith(f"2 files ({size:,} bytes): ")
    assert found.meaning.endswith("as committed once the active timeline begins after their instant")


@VERSIONS
def test_the_last_commit_of_a_timeline_without_end_is_a_completed_one(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    *_, last, newest = copy.commits
    lose(copy, newest)
    copy.write(f"{time_plus_ms(last, 1)}.commit.requested")
    copy.write(f"{time_plus_ms(last, 1)}.inflight")
    (found,) = without_end(copy)
    assert (found.subject, f"after {last} (" in found.meaning) == (last, True)


@VERSIONS
@pytest.mark.parametrize("pending", [False, True])
def test_the_metadata_table_is_asked_for_completed_commits_that_are_lost(
    unpack: Unpack, version: str, pending: bool
) -> None:
    copy = unpack(version, "cow_part")
    *_, last, newest = copy.commits
    lose(copy, last)
    lose(copy, newest)
    if pending:
        (done,) = (copy.meta / "metadata/.hoodie").glob(f"**/{newest}*.deltacommit")
        drop(done)
    known = last if pending else f"{last}, {newest}"
    (found,) = without_end(copy)
    assert f"The metadata table lists {known} as completed. " in found.meaning


@VERSIONS
def test_a_lost_end_is_told_beside_a_metadata_table_that_cannot_be_read(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    lose(copy, copy.commits[-1])
    properties = copy.meta / "metadata/.hoodie/hoodie.properties"
    put(properties, re.sub(r"(hoodie.table.version)=\d+", r"\1=many", properties.read_text()))
    (found,) = without_end(copy)
    assert "The metadata table lists" not in found.meaning


def test_a_lost_end_is_told_beside_a_metadata_table_without_timeline(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    lose(copy, copy.commits[-1])
    shutil.rmtree(copy.meta / "metadata/.hoodie/timeline")
    (found,) = without_end(copy)
    assert "The metadata table lists" not in found.meaning


def lost_end(unpack: Unpack) -> tuple[Copy, str, Path]:
    """Version 6 without its last delta commit, which has only appended to logs; and one of these."""
    copy = unpack("v6", "mor_part")
    newest = copy.commits[-1]
    lose(copy, newest)
    (found,) = without_end(copy)
    assert f"({newest})" in found.meaning
    (log,) = re.findall(r"for example (\S+)\. ", found.meaning)
    return copy, newest, copy.path / log


def test_version_6_logs_with_rows_of_lost_instants_are_counted(unpack: Unpack) -> None:
    copy, newest, log = lost_end(unpack)
    (found,) = without_end(copy)
    logs = [path for path in copy.data() if ".log." in path and newest.encode() in (copy.path / path).read_bytes()]
    assert f"{len(logs):,} log" in found.meaning
    assert log.relative_to(copy.path).as_posix() in logs


@pytest.mark.parametrize("explained", ["pending", "rolled back", "marked", "rollback block"])
def test_version_6_rows_in_logs_that_a_record_explains_are_no_lost_end(unpack: Unpack, explained: str) -> None:
    copy, newest, _ = lost_end(unpack)
    if explained == "pending":
        copy.write(f"{newest}.deltacommit.requested", old=False)
    elif explained == "rolled back":
        rolled_back(copy, newest, "deltacommit")
    elif explained == "marked":
        (copy.meta / ".temp" / newest).mkdir(parents=True)
    else:
        for path in [path for path in copy.data() if ".log." in path]:
            put(copy.path / path, (copy.path / path).read_bytes() + encode_rollback_block(newest, newest))
    assert without_end(copy) == []


def test_version_6_a_log_that_grows_beside_the_check_is_no_lost_end(unpack: Unpack) -> None:
    copy, newest, _ = lost_end(unpack)
    found = while_it_lists(copy, lambda: copy.write(f"{newest}.deltacommit.requested", old=False))
    assert "timeline-without-end" not in found


# Files that are missing.


@VERSIONS
def test_a_file_that_is_missing_is_told_once(unpack: Unpack, version: str) -> None:
    """The metadata table lists it, too."""
    copy = unpack(version, "cow_part")
    lost = max(copy.data(), key=lambda path: (copy.commits[-1] in path, path))
    drop(copy.path / lost)
    assert brief(one(copy)) == ("missing-file", ERROR, lost)


@VERSIONS
def test_files_behind_another_hoodie_are_not_told_as_missing(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    (copy.path / "part-1" / ".hoodie").mkdir()
    assert {entry.finding for entry in check(copy)} == {"other-table"}


def test_a_timeline_that_moves_hides_nothing_but_missing_files(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    drop(sorted(copy.path.glob("*/.hoodie_partition_metadata"))[0])
    assert while_it_lists(copy, lambda: copy.write(f"{LATER}_{LATER}.commit")) == ["partition-without-metafile"]


@pytest.mark.parametrize("kept", [False, True])
def test_what_goes_while_it_is_listed_is_not_missing(unpack: Unpack, kept: bool) -> None:
    """With an instant file, and none comes. A file that only the metadata table lists is none either."""
    copy = unpack("v9", "cow_part")
    newest = copy.commits[-1]
    files = [path for path in copy.data() if (copy.commits[0] if kept else newest) in path]
    begun = copy.write(f"{copy.commits[1]}.savepoint.inflight", old=False)

    def take() -> None:
        for path in files:
            drop(copy.path / path)
        drop(begun)

    found = while_it_lists(copy, take)
    assert "missing-file" not in found
    assert "listed-files-missing" not in found
    assert ("moved" in found) is (not kept)


# Savepoints.


@VERSIONS
def test_hudictls_own_savepoint_is_wanted_while_its_restore_is_pending(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    die(copy, copy.commits[1], "un-publish instants", RestoreOptions(to_instant=True))
    assert copy.savepoints == [copy.commits[1]]
    assert "savepoint-remnant" not in {entry.finding for entry in check(copy)}


@VERSIONS
def test_a_savepoint_whose_commit_was_taken_back(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    saved = copy.savepoints[-1]
    drop(copy.file(saved, "commit"))
    assert ("savepoint-without-commit", ERROR, f"{saved} savepoint COMPLETED") in map(brief, check(copy))


@VERSIONS
@pytest.mark.parametrize("first", ["damaged", "interrupted"])
def test_a_savepoint_that_is_no_good_hides_nothing_of_the_next(unpack: Unpack, version: str, first: str) -> None:
    copy = unpack(version, "cow_savepoints")
    before, saved = copy.savepoints
    done = copy.file(before, "savepoint")
    put(done, b"garbage") if first == "damaged" else drop(done)
    lost = next(path for path in sorted(copy.data()) if f"_{saved}." in path)
    drop(copy.path / lost)
    assert ("savepoint-broken", ERROR, saved) in map(brief, check(copy))


@VERSIONS
def test_a_savepoint_whose_partition_has_lost_its_metafile(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    drop(copy.path / "part-1/.hoodie_partition_metadata")
    broken = {entry.subject: entry.meaning for entry in check(copy) if entry.finding == "savepoint-broken"}
    assert broken.keys() == {*copy.savepoints}
    assert all("the metafile of 'part-1'" in meaning for meaning in broken.values())


@VERSIONS
def test_a_broken_savepoint_is_not_told_to_be_made_again(version: str, overlap: Unpack) -> None:
    """What it does not name is told where adding it makes it whole."""
    copy = overlap(version, "mor_compaction_pending")
    (saved,) = copy.savepoints
    metadata = savepoint_format.decode(copy.file(saved, "savepoint").read_bytes(), saved)
    assert "savepoint-protects-too-little" in {entry.finding for entry in check(copy)}
    drop(copy.path / min(metadata.files) / ".hoodie_partition_metadata")
    found = {entry.finding for entry in check(copy)}
    assert ("savepoint-broken" in found, "savepoint-protects-too-little" in found) == (True, False)


@VERSIONS
def test_a_pending_clean_that_takes_what_a_savepoint_alone_needs(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    saved = copy.savepoints[0]
    newest = required(copy.table, plan(copy, copy.commits[-1], RestoreOptions(to_instant=True)).undo.case)
    old = sorted(
        set(required(copy.table, plan(copy, saved, RestoreOptions(delete_later_savepoints=True)).undo.case))
        - set(newest)
    )
    copy.write(f"{LATER}.clean.requested", records.clean_plan(old[:1]))
    found = one(copy)
    assert brief(found) == ("clean-in-the-way", ERROR, f"{LATER} clean")
    assert "1 file required by the savepoint " in found.meaning


# Rollback blocks, sidecars.


def test_a_rollback_block_is_judged_by_its_own_slice(unpack: Unpack) -> None:
    """Rows of the next slice are read; and a pending write is no commit that the block could be compared with."""
    copy = unpack("v6", "mor_part")
    logs = sorted((path.rpartition(".log.")[0], path) for path in copy.data() if ".log." in path)
    older = min(logs, key=lambda entry: entry[0].rpartition("_")[2])[1]
    group = older.rpartition("/")[2].partition("_")[0]
    assert len({slice_ for slice_, _ in logs if group in slice_}) > 1
    last = max(path for slice_, path in logs if slice_ == older.rpartition(".log.")[0])
    body = (copy.path / last).read_bytes() + encode_rollback_block(LATER, copy.commits[0])
    put(copy.path / last, body, old=False)
    copy.write(f"{time_plus_ms(LATER, 10)}.deltacommit.requested", old=False)
    assert check(copy) == []
    rows = encode_block(AVRO_DATA, {INSTANT_TIME: copy.commits[-1]}, b"rows")
    put(copy.path / last, body + rows, old=False)
    assert brief(one(copy)) == ("rollback-block-ahead", ERROR, last)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_from_table_version_8_on_no_reader_stops_at_a_rollback_block(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    path = copy.path / max(path for path in copy.data() if ".log." in path)
    put(path, path.read_bytes() + encode_rollback_block(LATER, copy.commits[0]), old=False)
    assert "rollback-block-ahead" not in {entry.finding for entry in check(copy)}


@VERSIONS
def test_sidecars_of_a_table_without_partitions(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    put(copy.path / ".gone.parquet.crc", b"crc\0\0\0\2\0")
    assert brief(one(copy)) == ("lone-sidecars", INFO, ".")
