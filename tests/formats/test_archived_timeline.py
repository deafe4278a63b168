"""Archived timelines of both layouts."""

import io
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from hudictl.errors import StorageFailed, Unreadable
from hudictl.formats import archived_timeline as fmt
from hudictl.formats import avro, clean, commit_metadata, log_blocks
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.instants import State
from tests import support
from tests.formats import real_files
from tests.records import ARCHIVED

ARCHIVE = {"v6": ".hoodie/archived/", "v8": ".hoodie/timeline/history/", "v9": ".hoodie/timeline/history/"}


def reader(body: bytes) -> log_blocks.ReadAt:
    """A file in memory."""
    return lambda offset, length: body[offset : offset + length]


def lsm(body: bytes, name: str) -> list[ArchivedInstant]:
    return list(fmt.lsm_instants(reader(body), len(body), name))


def archive(version: str) -> dict[str, bytes]:
    """The archive folder's files by name."""
    folder = ARCHIVE[version]
    found = real_files.files(version, "cow_cleaned")
    return {path.removeprefix(folder): body for path, body in found.items() if path.startswith(folder)}


def test_real_archive_logs() -> None:
    """Every archived instant in its three states, in three files, two of them with as many blocks as records."""
    names = sorted(name for name in archive("v6") if fmt.is_archive_log(name))
    assert names == [f".commits_.archive.{number}_1-0-1" for number in (1, 2, 3)]
    files = [list(fmt.decode_log(archive("v6")[name], name)) for name in names]
    assert [len(entries) for entries in files] == [12, 12, 6]
    entries = [entry for file in files for entry in file]
    states = Counter((entry.time, entry.action) for entry in entries)
    assert set(states.values()) == {3}
    assert Counter(action for _, action in states) == {"commit": 7, "clean": 3}
    assert {entry.state for entry in entries} == set(State)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_real_lsm_archive(version: str) -> None:
    """The live files of the manifest hold what pyarrow reads in them, within the range in their names."""
    files = archive(version)
    names = fmt.decode_manifest(files["manifest_4"], "manifest_4")
    assert sorted(names) == sorted(name for name in files if name.endswith(".parquet"))
    instants = []
    for name in names:
        found = lsm(files[name], name)
        rows = parquet.read_table(io.BytesIO(files[name])).to_pylist()
        assert found == [
            ArchivedInstant(row["instantTime"], row["action"], State.COMPLETED, name, row["completionTime"])
            for row in rows
        ]
        assert fmt.lsm_range(name) == (found[0].time, found[-1].time)
        instants += found
    assert Counter(entry.action for entry in instants) == {"commit": 8, "clean": 3}


def test_all_archived_commits_are_accounted_for() -> None:
    """Archive and active timeline together are the commits that were made, in each version."""
    for version, folder in ARCHIVE.items():
        found = {entry.time for name, body in archive(version).items() for entry in decode(name, body)}
        timeline = folder.removesuffix("archived/").removesuffix("history/")
        active = {
            path.removeprefix(timeline).partition(".")[0].partition("_")[0]
            for path in real_files.files(version, "cow_cleaned")
            if path.startswith(timeline) and path.count("/") == timeline.count("/") and path.endswith(".commit")
        }
        assert found.isdisjoint(active)
        assert found | active == set(support.facts(version, "cow_cleaned")["rows"]), version


def decode(name: str, body: bytes) -> list[ArchivedInstant]:
    if fmt.is_archive_log(name):
        found = list(fmt.decode_log(body, name))
    else:
        found = lsm(body, name) if name.endswith(".parquet") else []
    return [entry for entry in found if entry.action == "commit"]


def test_a_damaged_archive_log_is_unreadable() -> None:
    """What stood in the damaged part may be younger than the savepoint: no quiet skipping."""
    name = ".commits_.archive.3_1-0-1"
    body = archive("v6")[name]
    blocks = list(log_blocks.read_blocks(lambda offset, length: body[offset : offset + length], len(body)))
    for cut in [block.end - delta for block in blocks for delta in (1, 9, 100, 5000)]:
        with pytest.raises(Unreadable):
            list(fmt.decode_log(body[:cut], name))
    for block in blocks:
        damaged = bytearray(body)
        damaged[block.offset + 8] ^= 1
        with pytest.raises(Unreadable):
            list(fmt.decode_log(bytes(damaged), name))


@pytest.mark.slow
def test_flipped_bits_in_an_archive_log() -> None:
    """A value or Unreadable, for damage in headers, schemas and records."""
    body = archive("v6")[".commits_.archive.3_1-0-1"][:15488]
    for position in range(0, len(body), 53):
        damaged = bytearray(body)
        damaged[position] ^= 1 << position % 8
        try:
            list(fmt.decode_log(bytes(damaged), "it"))
        except Unreadable:
            continue


def test_a_record_without_state_was_completed() -> None:
    """Very old releases wrote none."""
    fields = [{"name": name, "type": ["null", "string"]} for name in ("commitTime", "actionType", "actionState")]
    schema = json.dumps({"type": "record", "name": "HoodieArchivedMetaEntry", "fields": fields})
    record = b"\x02\x06001" + b"\x02\x0ccommit" + b"\x00"
    content = b"\0\0\0\1" + b"\0\0\0\1" + len(record).to_bytes(4, "big") + record
    body = log_blocks.encode_block(log_blocks.AVRO_DATA, {log_blocks.SCHEMA: schema}, content)
    (found,) = fmt.decode_log(body, "it")
    assert (found.time, found.action, found.state, found.completion_time) == ("001", "commit", State.COMPLETED, None)


def written(columns: dict[str, list[str | None]]) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("decoder", "body"),
    [
        *((lsm, body) for body in (b"", b"PAR1", b"no parquet at all", archive("v9")["manifest_4"])),
        (lsm, archive("v9")[next(name for name in archive("v9") if name.endswith(".parquet"))][:-100]),
        (lsm, written({"other": ["x"]})),
        (lsm, written({"instantTime": ["1"]})),
        (lsm, written({"instantTime": ["1", None], "completionTime": ["1", "1"], "action": ["commit", "commit"]})),
        (lsm, written({"instantTime": ["1"], "completionTime": ["1"], "action": [None]})),
        *((fmt.decode_manifest, body) for body in (b"", b"{", b"[]", b'{"files": [{}]}', b'{"files": [1]}', b"\xff")),
        (fmt.decode_manifest, b'{"files": null}'),
    ],
)
def test_damaged_lsm_files(decoder: Callable[[bytes, str], object], body: bytes) -> None:
    """Cut, of another kind, or without the columns: unreadable, for the archive must be known whole."""
    with pytest.raises(Unreadable):
        decoder(body, "it")


def test_a_damaged_lsm_file_is_told_in_one_line() -> None:
    """pyarrow ends its message with a line break where a byte of the footer is another."""
    body = next(body for name, body in sorted(archive("v9").items()) if name.endswith(".parquet"))
    told = []
    for at in range(len(body) - 1000, len(body) - 8, 7):
        try:
            lsm(body[:at] + bytes([body[at] ^ 0xFF]) + body[at + 1 :], "it")
        except Unreadable as error:
            told.append((error.message, str(error.__cause__)))
    assert any("\n" in cause for _, cause in told)
    assert not [message for message, _ in told if "\n" in message]


def test_why_an_lsm_file_cannot_be_read_is_more_than_a_number() -> None:
    body = next(body for name, body in sorted(archive("v9").items()) if name.endswith(".parquet"))
    with pytest.raises(Unreadable) as caught:
        lsm(body[:100] + bytes(300) + body[400:], "it")
    assert re.search("[A-Za-z]{4}", caught.value.message.removeprefix("it cannot be read as Parquet"))


def test_real_records_of_archive_logs() -> None:
    """What each instant file said, as the Avro record that Hudi put in its place; b"" for an empty one."""
    kinds: Counter[tuple[str, State, str]] = Counter()
    for name in (name for name in archive("v6") if fmt.is_archive_log(name)):
        body = archive("v6")[name]
        for entry in fmt.decode_log(body, name):
            assert entry.record is not None
            start, length = entry.record.offset, entry.record.length
            found = fmt.decode_log_record(body[start : start + length], entry.record, name)
            kinds[entry.action, entry.state, found.name if isinstance(found, avro.Record) else ""] += 1
            if entry.state is State.COMPLETED and entry.action == "commit":
                done = commit_metadata.decode(found, name)
                assert done.file_count == 3
                assert all(entry.time in str(stat.path) for stats in done.stats.values() for stat in stats)
            if entry.action == "clean":
                decode = clean.decode_metadata if entry.state is State.COMPLETED else clean.decode_plan
                assert decode(found, name).earliest
            assert entry.time < (entry.completion_time or "~")
    commits = {("commit", state, "HoodieCommitMetadata"): 7 for state in State}
    plans = {("clean", state, "HoodieCleanerPlan"): 3 for state in (State.REQUESTED, State.INFLIGHT)}
    assert kinds == {**commits, **plans, ("clean", State.COMPLETED, "HoodieCleanMetadata"): 3}


def test_a_damaged_record_of_an_archive_log() -> None:
    name = ".commits_.archive.3_1-0-1"
    entry = next(fmt.decode_log(archive("v6")[name], name))
    assert entry.record is not None
    with pytest.raises(Unreadable, match="commits_"):
        fmt.decode_log_record(b"\x02" * entry.record.length, entry.record, name)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_real_bodies_of_the_lsm_archive(version: str) -> None:
    """The bytes of the instant's own files, as they stood on the active timeline."""
    files = archive(version)
    for name in (name for name in files if name.endswith(".parquet")):
        body = files[name]
        for row in parquet.read_table(io.BytesIO(body)).to_pylist():
            time, key = row["instantTime"], (row["instantTime"], row["action"])
            for plans in (False, True):
                found = list(fmt.decode_lsm_bodies(reader(body), len(body), name, {key}, plans=plans))
                assert found == [(key, row["metadata"], (row["plan"] or b"") if plans else b"")]
                with pytest.raises(Unreadable, match=rf"it lists {time} restore, but has no row of it"):
                    list(fmt.decode_lsm_bodies(reader(body), len(body), name, {key, (time, "restore")}, plans=plans))
            decode = commit_metadata.decode if row["action"] == "commit" else clean.decode_metadata
            assert decode(row["metadata"], name) is not None


@pytest.mark.slow
def test_of_a_large_archive_only_the_columns_are_read_that_matter() -> None:
    count, read = 500, 0
    texts = [f"{number:017d}" for number in range(count)]
    bodies = [random.Random(number).randbytes(20_000) for number in range(count)]
    names = {"instantTime": texts, "completionTime": texts, "action": ["commit"] * count}
    columns = {name: pa.array(values) for name, values in names.items()}
    out = io.BytesIO()
    parquet.write_table(pa.table(columns | {"metadata": bodies, "plan": bodies}), out)
    body = out.getvalue()

    def read_at(offset: int, length: int) -> bytes:
        nonlocal read
        read += length
        return body[offset : offset + length]

    assert [entry.time for entry in fmt.lsm_instants(read_at, len(body), "it")] == texts
    assert read < len(body) / 50
    read = 0
    wanted = {(text, "commit") for text in texts[3:5]}
    found = list(fmt.decode_lsm_bodies(read_at, len(body), "it", wanted, plans=False))
    assert found == [((text, "commit"), bodies[int(text)], b"") for text in texts[3:5]]
    assert read < len(body) * 0.6


def in_groups(completions: Sequence[str | None], statistics: bool = True) -> bytes:
    """A file of the instants 0 to 9, in row groups of two."""
    times = [f"{number:017d}" for number in range(10)]
    columns = {"instantTime": times, "completionTime": completions, "action": ["commit"] * 10}
    out = io.BytesIO()
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    parquet.write_table(table, out, row_group_size=2, write_statistics=statistics)
    return out.getvalue()


@pytest.mark.parametrize("name", ["", "0_9_2.parquet"])
def test_row_groups_that_ended_before_a_time_are_not_read(name: str) -> None:
    """Only if the file's name vouches for what its footer tells, and only if all their instants were completed, too."""
    times = [f"{number:017d}" for number in range(10)]
    name = name or f"{times[0]}_{times[-1]}_2.parquet"
    vouched = name[1] == "0"

    def read(body: bytes, after: str) -> list[int]:
        return [int(entry.time) for entry in fmt.lsm_instants(reader(body), len(body), name, after)]

    everything = [*range(10)]
    body = in_groups(times)
    assert read(body, "") == everything
    assert read(body, times[5]) == ([6, 7, 8, 9] if vouched else everything)
    assert read(body, times[4]) == ([4, 5, 6, 7, 8, 9] if vouched else everything)
    assert read(body, times[9]) == ([] if vouched else everything)
    late = in_groups([times[0], times[8], *times[2:]])
    assert read(late, times[7]) == ([0, 1, 8, 9] if vouched else everything)
    for unknown in (None, ""):
        body = in_groups([*times[:3], unknown, *times[4:]])
        assert read(body, times[7]) == ([2, 3, 8, 9] if vouched else everything)
    assert read(in_groups(times, statistics=False), times[7]) == everything


@pytest.mark.parametrize("error", [FileNotFoundError("gone"), StorageFailed("no route")])
def test_a_storage_that_fails_under_the_reader_is_no_damage(error: Exception) -> None:
    def read_at(offset: int, length: int) -> bytes:
        raise error

    for size in (10, 10_000_000):
        with pytest.raises(type(error)):
            list(fmt.lsm_instants(read_at, size, "it"))


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("manifest_12", 12),
        ("manifest_3.tmp", None),
        ("manifest_3.6f96", None),
        ("_version_", None),
        ("xmanifest_1", None),
    ],
)
def test_manifest_names(name: str, version: int | None) -> None:
    """Leftovers of a crash beside the manifests are no manifests (Hudi itself fails on one of them)."""
    assert fmt.manifest_version(name) == version


@pytest.mark.parametrize(
    ("name", "log"),
    [
        (".commits_.archive.1", True),
        (".commits_.archive.10_1-0-1", True),
        ("..commits_.archive.1_1-0-1.crc", False),
        ("mergeArchivePlan", False),
    ],
)
def test_archive_log_names(name: str, log: bool) -> None:
    assert fmt.is_archive_log(name) is log


@pytest.mark.parametrize("name", ["1_2_0.parquet.tmp", "1_2_10.parquet", "1_0.parquet", ".1_2_0.parquet.crc"])
def test_names_that_are_no_lsm_files(name: str) -> None:
    assert fmt.lsm_range(name) is None


def test_a_torn_archive_log_is_read_up_to_its_last_complete_record() -> None:
    """Of the whole blocks, and of the one that was being written; a byte of a record less is a record less."""
    name = ".commits_.archive.1_1-0-1"
    body = archive("v6")[name]
    entries = list(fmt.decode_log(body, name))
    assert fmt.decode_torn_log(body, name) == fmt.TornLog(tuple(entries))
    assert fmt.decode_torn_log(b"", name) == fmt.TornLog(())
    for number, entry in enumerate(entries):
        assert entry.record is not None
        for missing in (1, 0):
            torn = fmt.decode_torn_log(body[: entry.record.offset + entry.record.length - missing], name)
            assert [*torn.whole, *torn.records] == entries[: number + 1 - missing]
            assert torn.begun == (entry.time if missing else None)
    with pytest.raises(Unreadable, match="is damaged at byte"):
        fmt.decode_torn_log(body[:-1] + body, name)


@pytest.mark.parametrize(
    ("name", "number"), [(".commits_.archive.1", 1), (".commits_.archive.10_1-0-1", 10), ("mergeArchivePlan", 0)]
)
def test_archive_logs_are_ordered_by_their_numbers(name: str, number: int) -> None:
    assert fmt.log_number(name) == number


def log_of(schema: object, content: bytes) -> bytes:
    return log_blocks.encode_block(log_blocks.AVRO_DATA, {log_blocks.SCHEMA: json.dumps(schema)}, content)


@pytest.mark.parametrize(
    ("count", "records", "reason"),
    [
        (2**31 - 1, b"\xff\xff\xff\xfc" * 3, "a record of -4 bytes does not fit"),
        (1, b"\x7f\xff\xff\xff", "a record of 2147483647 bytes does not fit"),
        (-1, b"", "cannot have -1 records"),
        (1, b"\0\0\0\0", "is damaged|cannot be decoded"),
    ],
)
def test_a_log_with_impossible_numbers_is_damaged(count: int, records: bytes, reason: str) -> None:
    """A length of -4 led back to the same record, for ever."""
    body = log_of(ARCHIVED, (3).to_bytes(4, "big") + count.to_bytes(4, "big", signed=True) + records)
    with pytest.raises(Unreadable, match=reason):
        list(fmt.decode_log(body, "it"))


def test_the_schema_of_a_log_is_judged() -> None:
    field = {"name": "hoodieCleanMetadata", "type": ["null", {"type": "array", "items": "null"}]}
    body = log_of(ARCHIVED | {"fields": [*ARCHIVED["fields"], field]}, b"\0\0\0\3\0\0\0\0")
    with pytest.raises(Unreadable, match="an array whose elements take 0 bytes"):
        list(fmt.decode_log(body, "it"))


@st.composite
def some_times(draw: st.DrawFn, known: list[ArchivedInstant]) -> set[str]:
    return set(draw(st.lists(st.sampled_from([*(entry.time for entry in known), "20000101000000000"]))))


@pytest.mark.slow
@settings(max_examples=40)
@given(st.data())
def test_a_log_without_some_writes_has_all_else_as_it_was(data: st.DataObject) -> None:
    """Byte for byte: other instants, and other actions with the same times."""
    name = data.draw(st.sampled_from(sorted(name for name in archive("v6") if fmt.is_archive_log(name))))
    body = archive("v6")[name]
    before = list(fmt.decode_log(body, name))
    times = data.draw(some_times(before))
    after = fmt.log_without(body, name, times)
    kept = [entry for entry in before if entry.time not in times or entry.action == "clean"]
    left = list(fmt.decode_log(after, name)) if after else []
    assert [(entry.time, entry.action, entry.state) for entry in left] == [
        (entry.time, entry.action, entry.state) for entry in kept
    ]
    for old, new in zip(kept, left, strict=True):
        assert old.record is not None
        assert new.record is not None
        assert old.record.schema == new.record.schema
        assert body[old.record.offset :][: old.record.length] == after[new.record.offset :][: new.record.length] != b""
    if len(kept) == len(before):
        assert after == body


def test_a_torn_log_without_some_writes() -> None:
    """Its incomplete end stays, unless it has one of them: an archiver that dies leaves all of it in the next log."""
    name = ".commits_.archive.3_1-0-1"
    body = archive("v6")[name][:-5]
    torn = fmt.decode_torn_log(body, name)
    (last,) = torn.records
    assert last.time in {entry.time for entry in torn.whole}
    assert fmt.log_without(body, name, {"20000101000000000"}) == body
    left = list(fmt.decode_log(fmt.log_without(body, name, {last.time}), name))
    kept = [entry for entry in torn.whole if entry.time != last.time]
    assert [(entry.time, entry.state) for entry in left] == [(entry.time, entry.state) for entry in kept] != []


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v8", "v9"])
@settings(max_examples=40)
@given(st.data())
def test_a_parquet_file_without_some_writes_has_all_else_as_it_was(version: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(name for name in archive(version) if name.endswith(".parquet"))))
    body = archive(version)[name]
    before = parquet.read_table(io.BytesIO(body)).to_pylist()
    times = data.draw(some_times(lsm(body, name)))
    after = fmt.lsm_without(body, name, times)
    kept = [row for row in before if row["instantTime"] not in times or row["action"] == "clean"]
    assert parquet.read_table(io.BytesIO(after)).to_pylist() == kept
    old, new = parquet.ParquetFile(io.BytesIO(body)), parquet.ParquetFile(io.BytesIO(after))
    # pyarrow gives the root a name of its own; Hudi goes by the Avro schema among the metadata.
    assert str(new.schema).splitlines()[2:] == str(old.schema).splitlines()[2:]
    assert new.metadata.metadata == old.metadata.metadata
    assert new.schema_arrow.equals(old.schema_arrow, check_metadata=True)
    assert [(entry.time, entry.action) for entry in lsm(after, name)] == [
        (row["instantTime"], row["action"]) for row in kept
    ]
    if len(kept) == len(before):
        assert after == body


def test_a_parquet_file_of_a_later_release_is_not_written() -> None:
    """What a column means that nobody knows, nobody can keep."""
    name, body = next((name, body) for name, body in archive("v9").items() if name.endswith(".parquet"))
    table = parquet.read_table(io.BytesIO(body))
    out = io.BytesIO()
    parquet.write_table(table.append_column("more", pa.array([1] * len(table))), out)
    with pytest.raises(Unreadable, match=r"its columns are .*, more"):
        fmt.lsm_without(out.getvalue(), name, {"20000101000000000"})


def test_a_name_with_its_times_the_wrong_way_round_tells_nothing() -> None:
    """As an upgrade to version 8 gives them (1.0.2): such a file is read."""
    assert fmt.lsm_range("20261129065033246_20261129065031950_0.parquet") is None
    assert fmt.lsm_range("20261129065031950_20261129065033246_0.parquet") == ("20261129065031950", "20261129065033246")


def test_the_ends_of_a_file_are_those_of_its_footer() -> None:
    """Unless it contradicts the name, whose times the file has; nor can one be believed that is cut."""
    out = io.BytesIO()
    times = ["3", "1", "4", "2"]
    table = pa.table({"instantTime": times, "completionTime": times, "action": ["commit"] * 4})
    parquet.write_table(table, out, row_group_size=2)
    body = out.getvalue()

    def ends(name: str, body: bytes = body) -> tuple[str, str] | None:
        return fmt.lsm_ends(lambda offset, length: body[offset : offset + length], len(body), name)

    assert ends("3_2_0.parquet") == ends("2_3_1.parquet") == ends("1_4_0.parquet") == ("1", "4")
    assert ends("0_2_0.parquet") is ends("5_2_0.parquet") is None
    for cut in (0, 5, 50):
        with pytest.raises(Unreadable):
            ends("1_4_0.parquet", body[:cut])


def test_an_instant_that_an_upgrade_has_written_without_its_schema() -> None:
    """The beginnings of a commit and of a clean, as 1.0.2 wrote them; its own readers fail on them."""
    entry = fmt.ArchivedInstant("1", "clean", State.COMPLETED, "1_2_0.parquet")
    for body in (b"\x02\x06\x0cpart-1\x02\x02L64bfe2c0", b'"20261121025337059\xaa\x01\x06"20261121025333843"'):
        with pytest.raises(Unreadable, match=r"1\.clean in 1_2_0\.parquet has no schema: the upgrade of Hudi 1\.0\.2"):
            fmt.check_written(entry, body)
    for body in (b"", b"{}", b"Obj\x01", b" {"):
        fmt.check_written(entry, body)
