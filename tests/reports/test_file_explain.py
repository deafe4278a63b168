"""What is said of each file agrees with what the lists say; what anything needs is never called deletable."""

from collections.abc import Iterator

import pytest

from hudictl.errors import NotFound, Refused, Unreadable, UsageError
from hudictl.formats import clean
from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.formats.instants import COMMIT_ACTIONS, REPLACECOMMIT, State
from hudictl.reports.file_explain import CLEAN, ORPHANS, FileExplained, explain_file
from hudictl.reports.file_history import Wanted, wanted_file
from hudictl.reports.logs.slices import files_of_table, slice_rows
from hudictl.state.facts import Facts, read_facts, read_signs
from hudictl.state.files.needed import read_case
from hudictl.state.files.savepoint_files import ways_back
from hudictl.state.files.savepoints import find_saved, savepointed_files
from hudictl.state.orphans.find import find_orphans
from hudictl.state.timeline.service_plans import planned_files
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.state.writers.failed_writes import pending_writes
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.files.slices import StoredFile
from hudictl.table.timeline.active import load_timeline, read_instant
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, drop, put, required, roll_back
from tests.state.orphans.find_support import LATER, LONG_AGO


def explain(copy: Copy, said: str, partition: str | None = None) -> FileExplained:
    table = copy.table
    return explain_file(table, ENGINE, wanted_file(table, said, partition))


def explained(copy: Copy, files: list[StoredFile]) -> dict[str, FileExplained]:
    table = copy.table
    found = {}
    for file in files:
        wanted = Wanted(file.partition, file.data.file_id, file.data.name)
        found[file.path] = explain_file(table, ENGINE, wanted)
    return found


def needed(facts: Facts) -> Iterator[str]:
    """What queries read; what a restore to any savepoint needs, with all that it names; what pending services read."""
    table, timeline = facts.table, facts.timeline
    yield from required(table, read_case(facts, (), NOTHING_SAVED))
    yield from savepointed_files(table, timeline)
    for instant in timeline.savepoints():
        target = timeline.find(instant.time, *COMMIT_ACTIONS)
        assert target is not None
        for way in ways_back(facts, target, find_saved(table, timeline, ENGINE, instant.time).files):
            yield from required(table, way.case)
    for partition, names in planned_files(table, timeline, ()).items():
        yield from (data_path(partition, name) for name in names)


@pytest.mark.slow
@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_each_file_of_a_table_as_the_lists_have_it(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    table = copy.table
    facts = read_facts(table, ENGINE, read_signs(table))
    files = files_of_table(table, facts.timeline, ENGINE)
    said = explained(copy, files)
    assert said.keys() == {file.path for file in files}
    assert {path for path, one in said.items() if one.bytes is None} == set()

    orphans = {orphan.file.path: orphan.sure for orphan in find_orphans(facts, ENGINE)}
    assert {path: one.deletable for path, one in said.items() if one.fate == "orphan"} == orphans
    newest, visible = set[str](), set[str]()
    for row in slice_rows(table, files, facts.timeline, None):
        paths = {data_path(row.partition, name) for name in (row.base_file, *(log.name for log in row.logs)) if name}
        visible |= paths
        newest |= paths if row.newest else set()
    assert {said[path].fate for path in newest - orphans.keys()} <= {"read"}
    assert {path for path, one in said.items() if one.fate in ("read", "older")} <= visible
    assert not [path for path in needed(facts) if path in said and said[path].deletable and path not in orphans]

    remedies = {write.instant: bool(write.remedy) for write in pending_writes(table, DEFAULT_IDLE_MS, None)}
    pending = {path: one for path, one in said.items() if one.fate == "pending"}
    assert {path: one.deletable for path, one in pending.items()} == {
        path: remedies.get(one.instant, False) and one.written_by is None for path, one in pending.items()
    }
    unfinished = {entry.time for entry in facts.timeline.writes() if entry.pending}
    assert pending.keys() <= {path for path, one in said.items() if one.instant in unfinished}
    replaced = {
        (path, group)
        for entry in facts.timeline.having(REPLACECOMMIT)
        if entry.completed
        for path, groups in facts.commits[entry.time].replaced.items()
        for group in groups
    }
    for file in files:
        if file.group in replaced:
            assert said[file.path].fate in ("replaced", "saved", "planned", "pending")


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_parts_of_names(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    base = max(path for path in copy.data() if path.endswith(".parquet"))
    log = max((path for path in copy.data() if ".log." in path), key=lambda path: explain(copy, path).instant)
    found = explain(copy, base)
    data = parse_data_file(base.rpartition("/")[2])
    assert data is not None
    size = (copy.path / base).stat().st_size
    assert (found.path, found.kind, found.log_version) == (base, "base file", None)
    assert (found.file_id, found.instant, found.write_token) == (data.file_id, data.instant, data.write_token)
    assert (found.bytes, found.state, found.written_by) == (size, "COMPLETED", data.instant)
    found = explain(copy, log.rpartition("/")[2])
    assert (found.path, found.kind, found.fate) == (log, "log", "read")
    assert (found.log_version or 0) >= 1
    # Below table version 8 the name of a log has the instant of its file slice, and another write has written it.
    assert (found.written_by == found.instant) is (version != "v6")


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_is_not_there(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    last = copy.commits[-1]
    path = max(path for path in copy.data() if last in path)
    drop(copy.path / path)
    found = explain(copy, path)
    assert (found.fate, found.deletable, found.bytes) == ("missing", False, None)
    assert last in found.why
    roll_back(copy, last)
    # A rollback does not name what it did not find.
    with pytest.raises(NotFound):
        explain(copy, path)
    other = max(path for path in copy.data() if copy.commits[-1] in path)
    last = copy.commits[-1]
    roll_back(copy, last)
    found = explain(copy, other)
    assert (found.fate, found.state, found.deletable) == ("deleted", None, False)
    assert "the rollback " in found.why
    with pytest.raises(NotFound):
        explain(copy, f"part-0/{LONG_AGO}-0_0-1-2_{LONG_AGO}.parquet")


@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_a_clean_has_deleted_or_will(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    cleaned = next(iter(find_cleaned(copy)))
    found = explain(copy, cleaned)
    assert (found.bytes, found.fate) == (None, "deleted")
    assert "the clean " in found.why
    read = max(path for path in copy.data() if copy.commits[-1] in path)
    older = next(path for path in sorted(copy.data()) if explain(copy, path).fate == "older")
    assert (explain(copy, older).deletable, explain(copy, older).deleted_by) == (False, CLEAN)
    copy.write(f"{LATER}.clean.requested", records.clean_plan([read, older], base=str(copy.path)))
    found = explain(copy, older)
    assert (found.fate, found.deletable, found.deleted_by) == (
        "planned",
        False,
        f"the next clean, by the plan of {LATER}",
    )
    # A plan that harms: `check` says so.
    assert (explain(copy, read).fate, explain(copy, read).deletable) == ("read", False)


def find_cleaned(copy: Copy) -> Iterator[str]:
    for instant in load_timeline(copy.table).having("clean"):
        (done,) = [file for file in instant.files if file.state is State.COMPLETED]
        for partition, names in clean.decode_metadata(read_instant(copy.table, done), "").deleted.items():
            yield from (data_path(partition, name) for name in names)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_queries_read_the_slice_below_a_pending_compaction(unpack: Unpack, version: str) -> None:
    """Whether its plan names it or not."""
    copy = unpack(version, "mor_pending_compaction")
    table, timeline = copy.table, load_timeline(copy.table)
    rows = [row for row in slice_rows(table, files_of_table(table, timeline, ENGINE), timeline, None) if row.compaction]
    assert rows
    for row in rows:
        names = (row.base_file, *(log.name for log in row.logs))
        assert {explain(copy, f"{row.partition}/{name}").fate for name in names} == {"read"}


@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_a_pending_service_reads_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    older = next(path for path in sorted(copy.data()) if path.endswith("parquet") and explain(copy, path).deleted_by)
    partition, _, name = older.rpartition("/")
    plan = records.compaction_plan(
        [{"partitionPath": partition, "fileId": name.partition("_")[0], "dataFilePath": name}]
    )
    copy.write(f"{LATER}.compaction.requested", plan)
    found = explain(copy, older)
    assert (found.fate, found.deletable, LATER in found.why) == ("planned", False, True)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_rows_in_the_new_buckets_of_a_pending_resize_stay(unpack: Unpack, version: str) -> None:
    """Completed writes have put them there, under the name of the clustering, which has begun and died."""
    copy = unpack(version, "resizing")
    (clustering,) = load_timeline(copy.table).having("clustering")
    copy.write(f"{clustering.time}.clustering.inflight")
    found = [explain(copy, path) for path in sorted(copy.data()) if clustering.time in path]
    named = [one for one in found if one.written_by is not None]
    assert named
    assert {(one.fate, one.deletable) for one in named} == {("pending", False)}
    assert {one.deletable for one in found if one.written_by is None} == {True}


@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_orphan_of_which_nothing_is_known_stays(unpack: Unpack, version: str) -> None:
    """One that a rollback has left is deletable."""
    copy = unpack(version, "cow_part")
    unknown = f"part-0/{'0' * 8}-0000-0000-0000-{'0' * 12}-0_0-1-2_{LONG_AGO}.parquet"
    put(copy.path / unknown, b"x")
    found = explain(copy, unknown)
    assert (found.fate, found.deletable, found.timeline) == ("orphan", False, None)
    drop(copy.path / unknown)
    last = copy.commits[-1]
    path = max(path for path in copy.data() if last in path)
    body = (copy.path / path).read_bytes()
    roll_back(copy, last)
    put(copy.path / path, body)
    found = explain(copy, path)
    assert (found.fate, found.deletable, found.deleted_by) == ("orphan", True, ORPHANS)
    assert "rolled it back" in found.why


@pytest.mark.parametrize("version", support.VERSIONS)
def test_behind_a_link_nothing_is_deletable(unpack: Unpack, version: str) -> None:
    """Another table may have the folder, too."""
    copy = unpack(version, "cow_part")
    path = next(path for path in sorted(copy.data()) if explain(copy, path).deleted_by and path.startswith("part-0"))
    (copy.path / "part-0").rename(copy.path.parent / "elsewhere")
    (copy.path / "part-0").symlink_to(copy.path.parent / "elsewhere")
    found = explain(copy, path)
    assert (found.bytes is None, found.deletable, found.deleted_by) == (False, False, None)
    assert found.why.endswith("symbolic link")


def test_a_file_outside_of_all_partitions_is_refused(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    name = f"{LONG_AGO}-0_0-1-2_{LONG_AGO}.parquet"
    put(copy.path / "not-a-partition" / name, b"xx")
    with pytest.raises(Refused, match="in no partition of the table"):
        explain(copy, f"not-a-partition/{name}")


def test_what_cannot_be_explained(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_savepoints")
    name = next(path for path in sorted(copy.data()) if path.startswith("part-0")).rpartition("/")[2]
    for said in ("no-such-file", name.partition("_")[0], ".hoodie_partition_metadata", "part-0/"):
        with pytest.raises(UsageError, match="not the name of a data file"):
            explain(copy, said)
    put(copy.path / "part-1" / name, b"x")
    with pytest.raises(Refused, match="2 partitions have"):
        explain(copy, name)
    assert explain(copy, name, "part-1").path == f"part-1/{name}"
    # What cannot be read may name it.
    for instant in copy.savepoints:
        put(copy.file(instant, "savepoint"), b"garbage")
    with pytest.raises(Unreadable):
        explain(copy, next(path for path in sorted(copy.data()) if copy.commits[0] in path))
