"""What check finds on data files, and on the metadata table that lists them."""

import re
import shutil
from pathlib import Path

import pytest

from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import AVRO_DATA, INSTANT_TIME, encode_block, encode_rollback_block
from hudictl.formats.restore import StoredRestorePlan, encode_metadata, encode_plan
from hudictl.formats.rollback import InstantInfo
from hudictl.ops.copy.plan import CopyOptions
from hudictl.reports.health.finding import ERROR, INFO, WARNING
from hudictl.table.operations import SERVICE_REMOVE, Operation, recorded
from hudictl.table.timeline.active import load_timeline
from tests import records
from tests.copy_support import made
from tests.fixtures import Unpack
from tests.helpers import (
    Copy,
    drop,
    first_command,
    only_listed,
    put,
    straddle,
    unlisted,
)
from tests.metadata_edits import newest_log
from tests.reports.health.check_support import VERSIONS, brief, check, one, while_it_lists
from tests.reports.health.files_support import without_end
from tests.state.orphans.find_support import LATER, between, lose, mark, orphan, rolled_back, stray


@pytest.mark.slow
@VERSIONS
def test_orphans_are_an_error_once_readers_see_them(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    archived = between(copy)
    orphan(copy, archived)
    active = time_plus_ms(copy.commits[0], 1)
    orphan(copy, active)
    unknown = "20200101000000000"
    stray(copy, unknown)
    found = {brief(entry): first_command(entry) for entry in check(copy)}
    assert found == {
        ("unowned-files", WARNING, unknown): "hudictl orphans list",
        ("orphans", ERROR, archived): "hudictl orphans delete",
        ("orphans", WARNING, active): "hudictl orphans delete",
    }


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "cow_flat_nomdt", "mor_part", "cow_cleaned"])
def test_a_timeline_that_has_lost_its_end(unpack: Unpack, version: str, name: str) -> None:
    """Put back from an older copy, or copied before the data: nothing deletes the files of the lost commits."""
    copy = unpack(version, name)
    *_, last, compaction, newest = copy.commits
    for time in (compaction, newest):
        lose(copy, time)
    (found,) = without_end(copy)
    assert (found.severity, found.subject, first_command(found)) == (ERROR, last, "")
    assert "Perhaps .hoodie is an older copy" in found.meaning
    assert compaction in found.meaning
    known = "The metadata table lists" in found.meaning
    assert known == (name != "cow_flat_nomdt")
    assert not [entry for entry in check(copy) if entry.finding == "orphans"]


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_part"])
def test_a_timeline_that_has_lost_a_commit_in_its_middle(unpack: Unpack, version: str, name: str) -> None:
    """The metadata table still knows it. On version 6, logs do not have the names of their instants."""
    copy = unpack(version, name)
    lost = copy.commits[1]
    named = bool(lose(copy, lost))
    (found,) = [entry for entry in check(copy) if entry.finding in ("instant-lost", "unowned-files")]
    assert brief(found) == ("instant-lost", ERROR if named else WARNING, lost)
    assert first_command(found) == (f"hudictl restore --to-instant={copy.commits[0]}" if named else "")
    rolled_back(copy, lost)
    assert "instant-lost" not in {entry.finding for entry in check(copy)}


@VERSIONS
@pytest.mark.parametrize("explained", [False, True])
def test_what_a_restore_took_away_is_not_lost(unpack: Unpack, version: str, explained: bool) -> None:
    """Also a rollback; and Hudi 1.x writes to the metadata table at other times than the restore's."""
    copy = unpack(version, "cow_part")
    first, lost, after = copy.commits[:3]
    for path in lose(copy, lost):
        drop(copy.path / path)
    time = time_plus_ms(after, -1)
    plan = StoredRestorePlan((InstantInfo(after, "commit"),), first if explained else lost)
    copy.write(f"{time}.restore.requested", encode_plan(plan))
    copy.write(f"{time}.restore.inflight")
    copy.write(f"{time}{'' if version == 'v6' else f'_{time}'}.restore", encode_metadata(time, 0, []))
    assert ("instant-lost" in {entry.finding for entry in check(copy)}) != explained


@pytest.mark.parametrize("version", ["v8", "v9"])
@pytest.mark.parametrize("name", ["cow_part", "mor_part"])
def test_what_an_indexing_wrote_to_the_metadata_table_is_not_lost(unpack: Unpack, version: str, name: str) -> None:
    """As Hudi's indexer does behind a restore (1.0.2). Whatever has a data file was a write."""
    copy = unpack(version, name)
    lost = copy.commits[1]
    paths = lose(copy, lost)
    begun, ended = time_plus_ms(lost, -1), time_plus_ms(lost, 1)
    for file in (f"{begun}.indexing.requested", f"{begun}.indexing.inflight", f"{begun}_{ended}.indexing"):
        copy.write(file)
    assert "instant-lost" in {entry.finding for entry in check(copy)}
    for path in paths:
        drop(copy.path / path)
    assert "instant-lost" not in {entry.finding for entry in check(copy)}


@pytest.mark.parametrize("action", ["indexing", "clean"])
def test_nor_what_an_indexing_wrote_that_hudictl_has_removed(unpack: Unpack, action: str) -> None:
    """It died behind its build, and was rolled back (1.2.0). Of a clean nothing is in the metadata table before it
    completes."""
    copy = unpack("v9", "cow_part")
    lost = copy.commits[1]
    for path in lose(copy, lost):
        drop(copy.path / path)
    assert "instant-lost" in {entry.finding for entry in check(copy)}
    removal = Operation(LATER, SERVICE_REMOVE, lost, {"action": action})
    recorded(copy.table.storage, removal, "", lambda: InstantInfo(lost, action))
    assert ("instant-lost" in {entry.finding for entry in check(copy)}) == (action == "clean")


@pytest.mark.parametrize("name", ["downgraded_cow", "downgraded_mor"])
def test_what_a_downgrade_wrote_to_the_metadata_table_is_not_lost(unpack: Unpack, name: str) -> None:
    """An instant that is in its timeline alone (1.2.0), and names no partition and no file."""
    assert "instant-lost" not in {entry.finding for entry in check(unpack("v6", name))}


@VERSIONS
def test_a_lost_clean_is_said(unpack: Unpack, version: str) -> None:
    """Its metadata is gone: it cannot be told from a delta commit without files of its name."""
    copy = unpack(version, "cow_cleaned")
    clean = max(name[:17] for name in copy.having("clean") if name[:17] < copy.commits[-1])
    lose(copy, clean)
    assert [brief(entry) for entry in check(copy) if entry.finding == "instant-lost"] == [
        ("instant-lost", WARNING, clean)
    ]


@VERSIONS
def test_one_that_has_lost_all(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    for time in copy.commits:
        lose(copy, time)
    (found,) = without_end(copy)
    assert found.subject == copy.table.layout.timeline


@pytest.mark.slow
@VERSIONS
def test_a_write_in_flight_or_taken_back_is_no_lost_end(unpack: Unpack, version: str) -> None:
    """Nor is one whose markers are left, nor a table service that was taken back."""
    copy = unpack(version, "cow_part")
    running, service, marked = (time_plus_ms(LATER, number) for number in (10, 20, 30))
    copy.write(f"{running}.commit.requested", old=False)
    copy.write(f"{running}.inflight", old=False)
    stray(copy, running, old=False)
    orphan(copy, LATER)
    rolled_back(copy, service, "replacecommit")
    stray(copy, service)
    mark(copy, stray(copy, marked))
    assert without_end(copy) == []
    stray(copy, time_plus_ms(LATER, 40))
    assert without_end(copy)


@VERSIONS
@pytest.mark.parametrize("kind", [".parquet", ".log."])
def test_a_file_that_readers_need_and_that_is_missing(unpack: Unpack, version: str, kind: str) -> None:
    copy = unpack(version, "mor_part")
    newest = copy.commits[-1]
    path = max((path for path in copy.data() if kind in path), key=lambda path: (newest in path, path))
    drop(copy.path / path)
    assert ("missing-file", ERROR, path) in map(brief, check(copy))


@pytest.mark.parametrize("older", [False, True])
def test_what_moves_while_it_is_listed_is_not_missing(unpack: Unpack, older: bool) -> None:
    """A clean takes a slice behind a commit that the check has not seen; an older one is only listed."""
    copy = unpack("v9", "cow_part")
    lost = max(copy.data(), key=lambda path: (copy.commits[0 if older else -1] in path, path))

    def move() -> None:
        drop(copy.path / lost)
        copy.write(f"{LATER}_{LATER}.commit")

    assert while_it_lists(copy, move) == ([] if older else ["moved"])


def about_partitions(copy: Copy) -> list[tuple[str, str, str]]:
    """The findings, but for the one that the instant of ``only_listed`` is on no timeline."""
    return [brief(entry) for entry in check(copy) if entry.finding != "unowned-files"]


@pytest.mark.slow
@VERSIONS
def test_what_readers_see_through_the_metadata_table_alone(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    only_listed(copy, "old")
    assert about_partitions(copy) == [("partition-without-metafile", ERROR, "old")]
    put(copy.path / "old/.hoodie_partition_metadata", "commitTime=1\npartitionDepth=1\n")
    assert not about_partitions(copy)
    shutil.rmtree(copy.path / "old")
    only_listed(copy, "part-1/below")
    put(copy.path / "part-1/below/.hoodie_partition_metadata", "commitTime=1\npartitionDepth=2\n")
    gone = ("listed-files-missing", ERROR, "old")
    assert about_partitions(copy) == [gone, ("nested-partition", WARNING, "part-1/below")]


@VERSIONS
def test_what_the_metadata_table_keeps_from_readers(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    unlisted(copy)
    found = {brief(entry): first_command(entry) for entry in check(copy)}
    assert found[("unlisted-files", ERROR, "part-1")] == "hudictl orphans list"
    assert {slug for slug, _, _ in found} == {"unlisted-files", "unowned-files"}


@pytest.mark.slow
@VERSIONS
def test_what_the_metadata_table_lists_and_is_not_there(unpack: Unpack, version: str) -> None:
    """Also of files that the newest slices do not need: queries of the past open them."""
    copy = unpack(version, "cow_part")
    lost = min(path for path in copy.data() if copy.commits[0] in path)
    body = (copy.path / lost).read_bytes()
    drop(copy.path / lost)
    found = {brief(entry): first_command(entry) for entry in check(copy)}
    assert found == {("listed-files-missing", WARNING, lost.rpartition("/")[0]): "hudictl metadata drop"}
    put(copy.path / lost, body)
    assert not check(copy)


@VERSIONS
def test_a_damaged_metadata_table(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    for file in (*(copy.meta / "metadata/files").glob("*.hfile"), newest_log(copy.path)):
        put(file, b"damaged")
    assert [brief(entry) for entry in check(copy)] == [
        ("metadata-table-unreadable", ERROR, ".hoodie/metadata"),
        ("metadata-files-damaged", ERROR, ".hoodie/metadata/files"),
    ]


@VERSIONS
def test_a_partition_without_metafile(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    metafile = sorted(copy.path.glob("*/.hoodie_partition_metadata"))[0]
    drop(metafile)
    assert brief(one(copy)) == ("partition-without-metafile", ERROR, metafile.parent.name)
    assert first_command(one(copy)) == f"hudictl partition repair {metafile.parent.name}"


@VERSIONS
def test_a_damaged_metafile(unpack: Unpack, version: str) -> None:
    """What is to be written in its place is told, and ends it."""
    copy = unpack(version, "cow_part")
    metafile = copy.path / "part-1/.hoodie_partition_metadata"
    whole = metafile.read_bytes()
    put(metafile, whole[: len(whole) // 2])
    found = one(copy)
    assert brief(found) == ("partition-metafile-damaged", WARNING, "part-1/.hoodie_partition_metadata")
    assert first_command(found) == "hudictl partition repair part-1"
    lines = re.findall(r"(commitTime=\d+) and (partitionDepth=\d+)$", found.meaning)
    assert all(line in whole.decode().splitlines() for line in lines[0])
    put(metafile, "\n".join(lines[0]))
    assert check(copy) == []


@VERSIONS
def test_a_damaged_metafile_in_orc(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "orc_cow")
    metafile = copy.path / "b/.hoodie_partition_metadata.orc"
    put(metafile, metafile.read_bytes()[:-1])
    found = next(entry for entry in check(copy) if entry.finding == "partition-metafile-damaged")
    assert brief(found) == ("partition-metafile-damaged", WARNING, "b/.hoodie_partition_metadata.orc")
    assert found.meaning.startswith("not an ORC file (its end is missing). ")
    assert "commitTime" not in found.meaning


@VERSIONS
def test_a_pending_clean_that_takes_what_is_needed(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    newest = max(copy.data(), key=lambda path: (copy.commits[-1] in path, path))
    copy.write(f"{LATER}.clean.requested", records.clean_plan([newest]))
    found = one(copy)
    assert brief(found) == ("clean-in-the-way", ERROR, f"{LATER} clean")
    assert "1 file required by the table" in found.meaning
    assert first_command(found) == f"hudictl clean discard {LATER}"


@pytest.mark.slow
def test_a_rollback_block_that_is_ahead(unpack: Unpack) -> None:
    """Pitfalls 8: with rows behind it they are hidden."""
    copy = unpack("v6", "mor_part")
    path = copy.path / max(path for path in copy.data() if ".log." in path)
    body = path.read_bytes()
    put(path, body + encode_rollback_block(copy.commits[-1], copy.commits[0]), old=False)
    assert check(copy) == []
    put(path, body + encode_rollback_block(LATER, copy.commits[0]), old=False)
    name = path.relative_to(copy.path).as_posix()
    # As after each rollback, Hudi's too: no rows are hidden, and the next commit ends it.
    assert name not in {entry.subject for entry in check(copy)}
    rows = encode_block(AVRO_DATA, {INSTANT_TIME: copy.commits[-1]}, b"rows")
    put(path, body + encode_rollback_block(LATER, copy.commits[0]) + rows, old=False)
    assert ("rollback-block-ahead", ERROR, name) in map(brief, check(copy))
    # Rows that a later block rolls back are in nobody's way.
    again = encode_rollback_block(time_plus_ms(LATER, 1), copy.commits[-1])
    put(path, body + encode_rollback_block(LATER, copy.commits[0]) + rows + again, old=False)
    assert name not in {entry.subject for entry in check(copy)}


@VERSIONS
def test_another_table_where_records_name_files_is_an_error(unpack: Unpack, version: str) -> None:
    """A .hoodie in a partition hides it from every listing of hudictl's; one in a folder of nobody's hides nothing."""
    copy = unpack(version, "cow_part")
    for folder in ("part-1", "aside"):
        (copy.path / folder / ".hoodie").mkdir(parents=True)
    tables = [entry for entry in check(copy) if entry.finding == "other-table"]
    found = {
        entry.subject: (entry.severity, "if it is a mistake, move this .hoodie out of the table" in entry.meaning)
        for entry in tables
    }
    assert found == {"part-1": (ERROR, True), "aside": (INFO, False)}


@VERSIONS
def test_another_table_that_listings_read_is_an_error(unpack: Unpack, version: str) -> None:
    """Its partitions are this table's for Hudi's readers that list folders, unless it lies below a partition."""
    copy, other = unpack(version, "cow_part"), unpack(version, "cow_flat_nomdt")
    for place in ("aside/other", "part-1/other"):
        shutil.copytree(other.path, copy.path / place)
    found = {entry.subject: entry.severity for entry in check(copy) if entry.finding == "other-table"}
    assert found == {"aside/other": ERROR, "part-1/other": INFO}


@VERSIONS
def test_a_copy_has_what_began_after_its_commit_and_ended_before(unpack: Unpack, version: str, tmp_path: Path) -> None:
    source, to = unpack(version, "cow_savepoints"), tmp_path / "to"
    earlier, _ = straddle(source)
    made(source, earlier, to, CopyOptions(partitions=("part-1",)))
    assert one(Copy(version, "cow_savepoints", to)).finding == "partly-copied"


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_part"])
def test_a_copy_of_one_partition_misses_nothing_of_the_others(
    unpack: Unpack, version: str, name: str, tmp_path: Path
) -> None:
    """But what is lost of its own partition, or was written since into another one, is lost."""
    source, to = unpack(version, name), tmp_path / "to"
    made(source, source.commits[-2], to, CopyOptions(partitions=("part-1",)))
    copy = Copy(version, name, to)
    found = one(copy)
    assert (found.finding, found.severity, found.remedy) == ("partly-copied", INFO, ())
    own = min(path for path in copy.data() if path.startswith("part-1/"))
    drop(copy.path / own)
    assert [entry.subject for entry in check(copy) if entry.finding == "missing-file"] == [own]
    if not copy.table.is_cow:
        # Logs of version 6 have the time of their base file.
        return
    last = next(entry for entry in load_timeline(source.table).writes() if entry.time == source.commits[-1])
    for entry in last.names:
        shutil.copy2(source.timeline / entry, copy.timeline / entry)
    lost = [entry.subject for entry in check(copy) if entry.finding == "missing-file"]
    assert any(path.startswith("part-0/") and last.time in path for path in lost)
