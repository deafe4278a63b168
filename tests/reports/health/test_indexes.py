"""What check says of indexes that were built beside an instant which was rolled back since: only what is proved."""

import shutil
from pathlib import Path

import pytest

from hudictl.errors import UsageError
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.rollback import execute
from hudictl.reports.health import indexes
from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import ERROR
from hudictl.reports.health.indexes import record_index_groups
from hudictl.state.metadata.indexes import built_by_indexing
from hudictl.table.settings import (
    RECORD_INDEX_BYTES,
    RECORD_INDEX_GROWTH,
    RECORD_INDEX_LEAST,
    RECORD_INDEX_MOST,
    Settings,
)
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, drop, put, restore, roll_back, savepoint
from tests.ops.rollback.execute_support import newest
from tests.ops.rollback.indexes_support import LATER, VERSIONS, holding
from tests.reports.health.check_support import TEN_MINUTES, brief, one
from tests.reports.indexes.compared import compare

HELD = {f".hoodie/metadata/{name}" for name in LATER}
SECONDARY = LATER[1]


@pytest.fixture
def kept(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Copy, str]:
    """A table whose newest instant was rolled back and whose later indexes were not; with that instant."""
    copy = Copy(version, "later", support.unpack(version, "later", tmp_path))
    target = newest(copy)
    bodies = {path.name: path.read_bytes() for path in copy.timeline.glob(f"{target}[._]*")}
    with monkeypatch.context() as patch:
        patch.setattr(execute, "drop_indexes", lambda *_: False)
        roll_back(copy, target)
    assert holding(copy) == HELD
    for name, body in bodies.items():
        put(copy.path.parent / "spare" / name, body)
    return copy, target


def again(copy: Copy, target: str, *, completed: bool) -> None:
    """The instant is on the timeline once more, as a compaction is that was rolled back."""
    for path in (copy.path.parent / "spare").iterdir():
        if completed or not path.name.startswith(f"{target}_"):
            copy.write(path.name, path.read_bytes())


def without_record(copy: Copy) -> None:
    """As Hudi's own rollback leaves it."""
    shutil.rmtree(copy.meta / ".hudictl")


def without_indexing(copy: Copy) -> None:
    """As where a writer has built the indexes."""
    for path in copy.timeline.glob("*.indexing*"):
        path.unlink()


def add_file(copy: Copy, time: str) -> None:
    """A file of the secondary index, of an instant of the metadata table."""
    put(copy.meta / "metadata" / SECONDARY / f"secondary-index-9999-0_0-1-1_{time}.hfile")


@VERSIONS
@pytest.mark.parametrize("completed", [False, True])
def test_an_instant_that_has_completed_again_is_in_all_indexes(kept: tuple[Copy, str], completed: bool) -> None:
    """One that is pending again may complete with other rows."""
    copy, target = kept
    again(copy, target, completed=completed)
    assert holding(copy) == (set() if completed else HELD)


@VERSIONS
def test_an_index_of_whose_files_one_may_be_older_is_none(kept: tuple[Copy, str]) -> None:
    copy, _ = kept
    add_file(copy, "20200101000000000")
    assert holding(copy) == HELD - {f".hoodie/metadata/{SECONDARY}"}


def write_later(copy: Copy) -> None:
    """A file of the secondary index that came after the rollback."""
    time = time_plus_ms(load_timeline(copy.table).last_time(), 1)
    put(copy.meta / f"metadata/.hoodie/timeline/{time}_{time}.deltacommit", b"{}")
    add_file(copy, time)


@VERSIONS
def test_what_was_written_into_an_index_later_says_nothing_of_its_age(kept: tuple[Copy, str]) -> None:
    copy, _ = kept
    write_later(copy)
    assert holding(copy) == HELD


@VERSIONS
def test_an_index_that_was_built_after_the_rollback_holds_nothing_of_it(kept: tuple[Copy, str]) -> None:
    copy, _ = kept
    for path in (copy.meta / "metadata" / SECONDARY).iterdir():
        path.unlink()
    write_later(copy)
    assert holding(copy) == HELD - {f".hoodie/metadata/{SECONDARY}"}


@VERSIONS
@pytest.mark.parametrize("what", ["it ended before", "it read less"])
def test_an_indexer_proves_only_what_it_has_read(
    kept: tuple[Copy, str], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing of an index that a writer has built anew since."""
    copy, _ = kept
    without_record(copy)
    assert holding(copy) == HELD

    def built(table: Table, timeline: Timeline) -> dict[str, tuple[str, str, str]]:
        found = built_by_indexing(table, timeline)
        return {
            name: (begun, begun, until) if what == "it ended before" else (begun, ended, "20200101000000000")
            for name, (begun, ended, until) in found.items()
        }

    monkeypatch.setattr(indexes, "built_by_indexing", built)
    assert holding(copy) == set()


@VERSIONS
def test_a_damaged_record_takes_nothing_from_what_the_indexer_proves(kept: tuple[Copy, str]) -> None:
    copy, _ = kept
    for path in (copy.meta / ".hudictl/operations").glob("*.json"):
        put(path, b"garbage")
    assert holding(copy) == HELD
    without_indexing(copy)
    assert holding(copy) == set()


@VERSIONS
def test_what_is_left_of_an_index_that_is_not_listed_is_not_told(kept: tuple[Copy, str]) -> None:
    """Nobody reads it."""
    copy, _ = kept
    path = copy.meta / "hoodie.properties"
    listed = f",{SECONDARY}"
    assert listed in path.read_text()
    put(path, path.read_text().replace(listed, ""))
    assert holding(copy) == HELD - {f".hoodie/metadata/{SECONDARY}"}


@VERSIONS
def test_damaged_definitions_are_found(version: str, tmp_path: Path) -> None:
    """Queries fail at them."""
    copy = Copy(version, "later", support.unpack(version, "later", tmp_path))
    put(copy.meta / ".index_defs/index.json", b"{")
    assert brief(one(copy)) == ("index-definitions-damaged", ERROR, ".hoodie/.index_defs/index.json")


@pytest.mark.slow
@VERSIONS
def test_a_record_index_that_its_table_has_outgrown(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    sizes: dict[str, int] = {}
    for path in copy.path.glob(".hoodie/metadata/record_index/*record-index-*"):
        if path.suffix != ".crc":
            group = path.name.removeprefix(".").split("_")[0]
            sizes[group] = sizes.get(group, 0) + path.stat().st_size
    largest, total = max(sizes.values()), sum(sizes.values())
    assert outgrown(copy, largest, len(sizes)) == []
    (told,) = outgrown(copy, 2 * largest // 3 - 1, 1)
    assert told.startswith(f"the index has {len(sizes)} file groups for {total:,} bytes; the largest ")
    assert outgrown(copy, 2 * largest // 3 - 1, 1, growth="0"), "one file group is too large, whatever their number"
    assert outgrown(copy, largest, 1, growth="0") == []
    # Half as many as Hudi would make are enough.
    assert outgrown(copy, 2 * largest, 2 * len(sizes)) == []
    assert outgrown(copy, 2 * largest, 2 * len(sizes) + 1)


def outgrown(copy: Copy, size: int, least: int, growth: str = "2.0") -> list[str]:
    """What is said of the record index, where its file groups may have so many bytes, and are to be so many."""
    given = {RECORD_INDEX_BYTES.key: str(size), RECORD_INDEX_LEAST.key: str(least), RECORD_INDEX_GROWTH.key: growth}
    found = check_table(copy.table, ENGINE, TEN_MINUTES, settings=Settings(given)).findings
    return [entry.meaning for entry in found if entry.finding == "record-index-small"]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_listed_index_without_a_committed_slice(indexed: Unpack, version: str) -> None:
    """As an indexing leaves it that has ended halfway: Hudi fails at it."""
    copy = indexed(version, "cow")
    folder = copy.meta / "metadata/record_index"
    bare = "record-index-0009-0"
    put(folder / f"{bare}_0-0-0_20991231000000000.hfile", b"")
    told = f"1 file group of it without committed file slice: {bare}"
    assert _without_slice(copy) == (
        [("index-without-slice", ERROR, ".hoodie/metadata/record_index")],
        [("record_index", told)],
    )
    for path in [*folder.iterdir()]:
        if path.is_file() and not path.name.startswith((bare, ".hoodie")):
            drop(path)
    assert outgrown(copy, 1, 1) == []
    assert _without_slice(copy)[1] == [("record_index", "no file group of it has a committed file slice")]


@pytest.mark.parametrize(("pending", "later"), [(True, False), (False, False), (False, True)])
def test_a_group_that_a_failed_write_has_begun_in_a_partitioned_index(
    indexed: Unpack, pending: bool, later: bool
) -> None:
    """It does no harm until the write is rolled back: Hudi's own rollback leaves the log, which hides what comes later,
    and its writers fail (1.2.0)."""
    copy = indexed("v9", "parted")
    folder, failed = copy.meta / "metadata/record_index", "20261123160933648"
    whole = max(folder.glob(".record-index-*-0000-0_20261123160941059.log.1_*"))
    bare = whole.name[1:].partition("_")[0].replace("-0000-0", "-0099-0")
    put(folder / f".{bare}_{failed}.log.1_0-0-0", b"")
    if later:
        put(folder / whole.name.replace("-0000-0", "-0099-0"), whole.read_bytes())
    if pending:
        put(copy.meta / f"metadata/.hoodie/timeline/{failed}.deltacommit.requested")
    told = f"files of a failed write hide all later logs of 1 file group: {bare}"
    found = [("index-without-slice", ERROR, ".hoodie/metadata/record_index")], [("record_index", told)]
    assert _without_slice(copy) == (([], []) if pending else found)


def _without_slice(copy: Copy) -> tuple[list[tuple[str, str, str]], list[tuple[str, str]]]:
    """What check says of indexes without slices, and what the comparison says of the record index."""
    found = check_table(copy.table, ENGINE, TEN_MINUTES).findings
    rows = [(row.index, row.difference) for row in compare(copy).rows if row.index == "record_index"]
    return [brief(entry) for entry in found if entry.finding == "index-without-slice"], rows


def test_how_many_file_groups_hudi_gives_a_record_index() -> None:
    """By Hudi's own rule: by the records that 48 bytes each make, twice as many for growth."""
    given = {RECORD_INDEX_BYTES.key: "4800", RECORD_INDEX_LEAST.key: "2", RECORD_INDEX_MOST.key: "50"}
    assert [record_index_groups(size, Settings(given)) for size in (0, 4800, 9600, 48000, 10**9)] == [2, 2, 4, 20, 50]
    assert record_index_groups(48000, Settings(given | {RECORD_INDEX_GROWTH.key: "0.5"})) == 5
    for no_number in ("many", "nan", "inf"):
        with pytest.raises(UsageError, match=f"factor={no_number}: not a number"):
            record_index_groups(1, Settings(given | {RECORD_INDEX_GROWTH.key: no_number}))


@pytest.mark.parametrize(("version", "waits"), [("v8", False), ("v9", True)])
def test_an_index_that_a_restore_has_deleted_waits_for_a_write(tmp_path: Path, version: str, waits: bool) -> None:
    """Of 1.2.0 only: CREATE INDEX of 1.0.2 builds it."""
    copy = Copy(version, "later", support.unpack(version, "later", tmp_path))

    def waiting() -> list[str]:
        found = check_table(copy.table, ENGINE, 0).findings
        return [entry.meaning for entry in found if entry.finding == "index-waits"]

    assert waiting() == []
    restored = restore(copy, savepoint(copy, copy.commits[0])).restore
    assert [all(name in text for name in LATER) for text in waiting()] == [True] * waits
    write = time_plus_ms(restored, 1)
    copy.write(f"{write}_{write}.commit", '{"partitionToWriteStats": {}}')
    assert waiting() == []
