"""The reader model against the real Hudi: every table, every commit, and what Hudi's own operations left behind."""

import shutil
import struct
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import support
from tests.crash import reader
from tests.crash.reader_logs import MAGIC, Block, Record, Scan, merged

pytestmark = pytest.mark.crash

TABLES = [(version, name) for version in support.VERSIONS for name in support.names(version)]
MOR_V6 = [("v6", name) for name in ("mor_part", "mor_flat_nomdt", "mor_pending_compaction", "mor_parquet_logs")]


@cache
def outcome(version: str, name: str, number: int) -> dict[str, Any]:
    return dict(support.outcome_file(version)[name]["outcomes"][number])


OPERATIONS = [
    pytest.param(version, name, number, id=f"{version}-{name}-{entry['op']}-{number}")
    for version in support.VERSIONS
    for name, table in support.outcome_file(version).items()
    for number, entry in enumerate(table["outcomes"])
    if entry.get("removed") or entry.get("timeline_removed")
]


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Unpacks each table once for all tests that do not change it."""
    folder = tmp_path_factory.mktemp("tables")

    @cache
    def get(version: str, name: str) -> Path:
        return support.unpack(version, name, folder / version)

    return get


@pytest.fixture
def fresh(intact: Any, tmp_path: Path) -> Any:
    """A copy that a test may change, with the modification times kept, so that decoded files are found again."""

    def get(version: str, name: str) -> Path:
        unread = shutil.ignore_patterns("metadata", "*.crc")
        return Path(shutil.copytree(intact(version, name), tmp_path / "table", ignore=unread))

    return get


def seen(snapshot: reader.Snapshot) -> dict[str, Any]:
    return {"count": snapshot.count, "digest": snapshot.digest}


def timeline(base: Path) -> Path:
    folder = base / ".hoodie" / "timeline"
    return folder if folder.is_dir() else base / ".hoodie"


def instant_files(base: Path, name: str) -> list[Path]:
    """The instant files of a name as the outcomes list them: without completion time, any time for ``*``."""
    time, _, extension = name.partition(".")
    parts = [(path, path.name.partition(".")) for path in timeline(base).iterdir()]
    return [
        path for path, (stem, _, rest) in parts if rest == extension and (time == "*" or stem.partition("_")[0] == time)
    ]


def completed(base: Path) -> list[str]:
    writes = ("commit", "deltacommit", "replacecommit")
    return [time for time, action, state in reader.instants(base) if state == "COMPLETED" and action in writes]


def first_kept(base: Path) -> str:
    """The oldest instant with a base file; each commit of the one table that was cleaned wrote every file group."""
    return min(path.rpartition("_")[2] for path in reader.files(base) if path.endswith(".parquet"))[:17]


@support.ONE_OF_EACH_KIND
@pytest.mark.parametrize(("version", "name"), TABLES)
def test_latest_snapshot_is_what_hudi_saw(version: str, name: str, intact: Any) -> None:
    base = intact(version, name)
    rows = support.facts(version, name)["rows"]
    last = max(time for time in rows if time in completed(base))
    found = reader.snapshot(base)
    assert seen(found) == rows[last]
    assert [seen(found)] == [entry["rows"]["listing"] for entry in support.outcomes(version, name, "rows")]
    assert sum(found.count for _ in found.groups) >= found.count > 0
    assert not reader.missing(base)


@support.ONE_OF_EACH_KIND
@pytest.mark.parametrize(("version", "name"), TABLES)
def test_time_travel_sees_each_commit(version: str, name: str, intact: Any) -> None:
    base = intact(version, name)
    rows = support.facts(version, name)["rows"]
    times = [time for time in rows if time in completed(base) and time >= first_kept(base)]
    assert {time: seen(reader.as_of(base, time)) for time in times} == {time: rows[time] for time in times}
    gone = 8 if name == "cow_cleaned" else int((version, name) == ("v6", "mor_restore_interrupted"))
    assert len(times) == len(rows) - gone


@support.ONE_OF_EACH_KIND
@pytest.mark.parametrize(("version", "name", "number"), OPERATIONS)
def test_what_hudi_left_after_an_operation(version: str, name: str, number: int, fresh: Any) -> None:
    """Hudi's own restores and rollbacks, the failed ones too: its removals replayed, the same rows seen as Hudi saw.

    The rollback blocks that 0.15 added are not in the outcomes; their targets' instants are gone, so rows don't differ.
    """
    entry = outcome(version, name, number)
    base = fresh(version, name)
    for path in entry["removed"]:
        (base / path).unlink()
    for instant in entry["timeline_removed"]:
        paths = instant_files(base, instant)
        assert paths
        for file in paths:
            file.unlink()
    found = reader.snapshot(base)
    assert seen(found) == entry["rows"]["listing"]
    assert not reader.missing(base)


@support.ONE_OF_EACH_KIND
@pytest.mark.parametrize(("version", "name"), [table for table in TABLES if table[1] != "cow_cleaned"])
def test_each_completed_file_removed_newest_first(version: str, name: str, fresh: Any) -> None:
    """With no clean in the way, every step shows exactly the commit before: compactions and clusterings included.

    A second compaction of the same file groups is the end of it: Hudi refuses to read a table with two pending ones.
    """
    base = fresh(version, name)
    rows = support.facts(version, name)["rows"]
    order = completed(base)
    pending: list[str] = []
    checked = 0
    for time, before in zip(order[:0:-1], order[-2::-1], strict=True):
        for action in ("commit", "deltacommit", "replacecommit"):
            for file in instant_files(base, f"{time}.{action}"):
                file.unlink()
        now_pending = [entry[0] for entry in reader.instants(base) if entry[1] == "compaction"]
        if len(now_pending) > 1 and name == "mor_part":
            with pytest.raises(reader.Unreadable, match="two pending compactions"):
                reader.snapshot(base)
            for file in timeline(base).glob(f"{pending[0]}.compaction.*"):
                file.unlink()
        pending = now_pending
        if before in rows:
            assert seen(reader.snapshot(base)) == rows[before], before
            checked += 1
    assert checked == sum(time in rows for time in order[:-1])


@pytest.mark.parametrize(("version", "name"), [table for table in TABLES if table[1] == "cow_cleaned"])
def test_after_a_clean_groups_fall_back_to_what_is_left(version: str, name: str, fresh: Any) -> None:
    base = fresh(version, name)
    before = reader.snapshot(base)
    for time in reversed(completed(base)[1:]):
        for file in instant_files(base, f"{time}.commit"):
            file.unlink()
    assert reader.snapshot(base).count < before.count


@pytest.mark.parametrize("version", support.VERSIONS)
def test_groups_tell_which_file_group_changed(version: str, fresh: Any) -> None:
    base = fresh(version, "mor_part")
    before = reader.snapshot(base)
    last = completed(base)[-1]
    log = last_logs(base, last)[0]
    (base / log).unlink()
    after = reader.snapshot(base)
    changed = {group for group in before.groups if before.groups[group] != after.groups[group]}
    assert [partition for partition, _ in changed] == [log.partition("/")[0]]
    assert reader.missing(base) == {log}


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_missing_base_file_is_named(version: str, fresh: Any) -> None:
    base = fresh(version, "cow_part")
    bases = sorted(path for path in reader.files(base) if path.startswith("part-0/"))
    last = max(bases, key=lambda path: path.rpartition("_")[2])
    for path in bases:
        if path != last:
            (base / path).unlink()
    assert not reader.missing(base)
    (base / last).unlink()
    assert reader.missing(base) >= {last}


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_flat_nomdt", "mor_flat_nomdt"])
def test_an_empty_base_file_is_no_rows_or_a_failure(version: str, name: str, fresh: Any) -> None:
    base = fresh(version, name)
    for path in reader.files(base):
        if path.endswith(".parquet"):
            (base / path).write_bytes(b"")
    if name == "cow_flat_nomdt" and version != "v8":
        assert reader.snapshot(base).rows == ()
    else:
        with pytest.raises(reader.Unreadable):
            reader.snapshot(base)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_leftover_of_a_removed_instant_comes_back_when_the_timeline_passes_it(version: str, fresh: Any) -> None:
    base = fresh(version, "cow_part")
    times = completed(base)
    for time in times[:-1]:
        for file in timeline(base).glob(f"{time}*"):
            file.unlink()
    assert seen(reader.snapshot(base)) == support.facts(version, "cow_part")["rows"][times[-1]]
    for path in reader.files(base):
        if path.endswith(f"_{times[-1]}.parquet"):
            (base / path).unlink()
    # the files of instants that nobody has on record any more, and that are older than the timeline, are rows
    assert seen(reader.snapshot(base)) == support.facts(version, "cow_part")["rows"][times[-2]]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_pending_compaction_without_its_plan_breaks_the_reader(version: str, fresh: Any) -> None:
    base = fresh(version, "mor_pending_compaction")
    plans = sorted(timeline(base).glob("*.compaction.requested"))
    assert plans
    plans[0].write_bytes(b"")
    with pytest.raises(reader.Unreadable):
        reader.snapshot(base)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_torn_newest_commit_breaks_the_reader(version: str, fresh: Any) -> None:
    base = fresh(version, "mor_part")
    file = instant_files(base, f"{completed(base)[-1]}.deltacommit")[0]
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(reader.Unreadable):
        reader.snapshot(base)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_properties_from_the_backup(version: str, fresh: Any) -> None:
    base = fresh(version, "cow_part")
    before = reader.snapshot(base)
    folder = base / ".hoodie"
    shutil.copy(folder / "hoodie.properties", folder / "hoodie.properties.backup")
    (folder / "hoodie.properties").write_bytes((folder / "hoodie.properties").read_bytes()[:200])
    assert reader.snapshot(base) == before
    (folder / "hoodie.properties.backup").unlink()
    with pytest.raises(reader.Unreadable):
        reader.snapshot(base)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_archived_completion_times_decide_the_slice_of_a_log(version: str, fresh: Any) -> None:
    base = fresh(version, "mor_part")
    properties = base / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text().replace("EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"))
    rows = seen(reader.snapshot(base))
    assert rows == seen(reader.snapshot(base))
    archived = {}
    for file in timeline(base).glob("*_*.deltacommit"):
        time, _, done = file.stem.partition("_")
        if time < completed(base)[3]:
            archived[time] = done
    for time in archived:
        for file in timeline(base).glob(f"{time}*"):
            file.unlink()
    # without their completion times the old logs count as written after the last compaction: old values come back
    assert len(archived) == 3
    assert seen(reader.snapshot(base)) != rows
    table = pa.table({"instantTime": list(archived), "completionTime": list(archived.values())})
    pq.write_table(table, timeline(base) / "history" / "1_2_0.parquet")
    assert seen(reader.snapshot(base)) == rows


def rollback_block(instant: str, target: str) -> bytes:
    entries = [(0, instant), (3, "0"), (1, target)]
    header = struct.pack(">i", 3) + b"".join(
        struct.pack(">ii", key, len(text)) + text.encode() for key, text in entries
    )
    body = struct.pack(">ii", 1, 0) + header + struct.pack(">qi", 0, 0)
    return MAGIC + struct.pack(">q", len(body) + 8) + body + struct.pack(">q", len(body) + 14)


def add_log(base: Path, path: str, data: bytes) -> str:
    """Adds a log file of the next version to the slice of an existing one."""
    stem, _, rest = path.rpartition(".log.")
    versions = [
        int(found.rpartition(".log.")[2].split("_")[0]) for found in reader.files(base) if f"{stem}.log." in found
    ]
    name = f"{stem}.log.{max(versions) + 1}_1-0-1"
    assert rest
    (base / name).write_bytes(data)
    return name


def last_logs(base: Path, instant: str) -> list[str]:
    """The logs that the metadata of a delta commit names."""
    metadata = instant_files(base, f"{instant}.deltacommit")[0].read_bytes()
    return sorted(path for path in reader.files(base) if path.encode() in metadata and ".log." in path)


@pytest.mark.parametrize(("version", "name"), MOR_V6)
@pytest.mark.parametrize("stamp", ["target", "ahead"])
def test_rollback_blocks_of_version_6(version: str, name: str, stamp: str, fresh: Any) -> None:
    """A block stamped with its target takes back the rows of a target that is still completed; one ahead does not."""
    base = fresh(version, name)
    rows = support.facts(version, name)["rows"]
    *_, before, last = sorted(rows)
    logs = last_logs(base, last)
    assert logs
    for path in logs:
        add_log(base, path, rollback_block(last if stamp == "target" else "20991231235959999", last))
    for path in reader.files(base):
        if path.endswith(f"_{last}.parquet"):
            (base / path).unlink()
    found = seen(reader.snapshot(base))
    assert found == rows[before] if stamp == "target" else found != rows[before]


def test_a_block_ahead_hides_later_commits_in_version_6(fresh: Any) -> None:
    base = fresh("v6", "mor_parquet_logs")
    rows = support.facts("v6", "mor_parquet_logs")["rows"]
    *_, before, last = sorted(rows)
    for path in last_logs(base, last):
        data = (base / path).read_bytes()
        (base / path).write_bytes(rollback_block("20991231235959999", "20201231235959999") + data)
    assert seen(reader.snapshot(base)) == rows[before]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_logs_of_a_pending_instant_between_completed_ones_do_not_count(version: str, fresh: Any) -> None:
    base = fresh(version, "mor_parquet_logs")
    before = reader.snapshot(base)
    time = completed(base)[-2]
    logs = last_logs(base, time)
    instant_files(base, f"{time}.deltacommit")[0].unlink()
    pending = reader.snapshot(base)
    for path in logs:
        (base / path).unlink()
    assert logs
    assert reader.snapshot(base) == pending != before


@pytest.mark.parametrize("version", support.VERSIONS)
def test_damaged_blocks_are_left_out(version: str, fresh: Any) -> None:
    base = fresh(version, "mor_part")
    before = seen(reader.snapshot(base))
    log = max(path for path in reader.files(base) if ".log." in path and path.startswith("part-1/"))
    data = (base / log).read_bytes()
    (base / log).write_bytes(rollback_block("1", "2")[:60] + data + b"12345")
    assert seen(reader.snapshot(base)) == before
    for damaged in (data[:-1], data + b"123456"):  # the bytes behind make Hudi give up the block before them
        (base / log).write_bytes(damaged)
        assert seen(reader.snapshot(base)) != before
    (base / log).write_bytes(b"#HUDI*" + data)
    with pytest.raises(reader.Unreadable):
        reader.snapshot(base)


def scan(event_time: bool, version6: bool = False) -> Scan:
    return Scan("9", lambda time: time != "5", event_time, version6)


def data(instant: str, order: int, val: str) -> Block:
    return Block(3, instant, records=(Record("k", order, (1, order, val)),))


def delete(instant: str, order: int | None, comparable: bool = True) -> Block:
    return Block(1, instant, records=(Record("k", order, None, comparable),))


BASE = (Record("k", 7, (1, 7, "base")),)


@pytest.mark.parametrize(
    ("rule", "blocks", "vals"),
    [
        (scan(event_time=True), [data("1", 6, "log")], ["base"]),
        (scan(event_time=True), [data("1", 7, "log")], ["log"]),
        (scan(event_time=False), [data("1", 6, "log")], ["log"]),
        (scan(event_time=True), [data("1", 9, "new"), data("2", 8, "late")], ["new"]),
        (scan(event_time=True), [delete("1", None)], []),
        (scan(event_time=True), [delete("1", None), data("2", 1, "again")], ["base"]),
        (scan(event_time=True), [delete("1", 6)], ["base"]),
        (scan(event_time=True), [delete("1", 6, comparable=False)], []),
        (scan(event_time=False), [delete("1", 6)], []),
        (scan(event_time=False, version6=True), [delete("1", 6)], []),
        (scan(event_time=False, version6=True), [data("1", 8, "log"), delete("2", 7)], ["log"]),
        (scan(event_time=False), [data("1", 8, "log"), delete("2", 7)], []),
        (scan(event_time=False), [data("5", 8, "uncommitted")], ["base"]),
        (scan(event_time=False), [data("99", 8, "later"), data("2", 8, "log")], ["log"]),
        (scan(event_time=False, version6=True), [data("99", 8, "later"), data("2", 8, "log")], ["base"]),
        (scan(event_time=False), [data("1", 8, "log"), Block(0, "99", "1")], ["base"]),
        (scan(event_time=False, version6=True), [data("1", 8, "log"), Block(0, "99", "1")], ["log"]),
        (scan(event_time=False), [Block(0, "2", "1"), data("1", 8, "rewritten")], ["rewritten"]),
    ],
)
def test_merge_rules(rule: Scan, blocks: list[Block], vals: list[str]) -> None:
    assert [row[2] for row in merged(BASE, blocks, rule)] == vals


def test_instants_and_files(intact: Any) -> None:
    base = intact("v6", "mor_restore_interrupted")
    states = [(action, state) for _, action, state in reader.instants(base)]
    assert states[-3:] == [("deltacommit", "INFLIGHT"), ("restore", "INFLIGHT"), ("rollback", "INFLIGHT")]
    assert ("savepoint", "COMPLETED") in states
    assert ("compaction", "REQUESTED") in [
        entry[1:] for entry in reader.instants(intact("v9", "mor_pending_compaction"))
    ]
    files = reader.files(base)
    assert len(files) == 48
    assert not [path for path in files if path.endswith(".crc") or ".hoodie" in path]
