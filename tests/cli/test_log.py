"""`hudictl log inspect` and `hudictl log slices`, as they are typed."""

import json
import os
import random
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from hudictl.cli import show
from hudictl.engine.spark import SparkEngine
from hudictl.formats.log_blocks import AVRO_DATA, encode_block, encode_rollback_block
from hudictl.formats.log_contents import encode_avro
from hudictl.table.logs.reader import LogFile
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, put, tree
from tests.s3 import S3

RELEASES = {"v6": "0.15.0", "v8": "1.0.2", "v9": "1.2.0"}
LOCAL = ("--engine", "local")
KEYS = [
    *("table", "file", "index", "offset", "block_type", "format_version", "instant", "target_instant"),
    *("record_count", "content_offset", "content_bytes", "block_bytes", "fate", "fate_by", "header", "footer"),
    "damage",
]


def logs_of(copy: Copy, partition: str) -> list[Path]:
    return sorted(path for path in (copy.path / partition).iterdir() if ".log." in path.name and path.suffix != ".crc")


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at logs that are named, or at one partition's, starts none."""
    for method in ("start", "ready", "map"):
        monkeypatch.delattr(SparkEngine, method)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_inspect_in_each_form(unpack: Unpack, tell: Tell, version: str) -> None:
    """The same rows as JSON and NDJSON; text leaves the schema out. Nothing is written."""
    copy = unpack(version, "mor_failed_lazy")
    before = tree(copy.path)
    pattern = copy.path / "part-4" / ".*"
    rows = tell("log", "inspect", pattern, "-o", "json").json["rows"]
    assert [row["fate"] for row in rows] == ["valid", "uncommitted"]
    assert list(rows[0]) == KEYS
    assert rows[0]["table"] == f"file://{copy.path}"
    assert (rows[0]["block_type"], rows[0]["record_count"], rows[0]["footer"]) == ("AVRO_DATA_BLOCK", 7, {})
    assert json.loads(rows[0]["header"]["SCHEMA"])["name"] == "mor_failed_lazy_record"
    assert [row["file"] for row in rows] == [f"part-4/{path.name}" for path in logs_of(copy, "part-4")]
    said = tell("log", "inspect", pattern, "-o", "ndjson")
    assert [json.loads(line) for line in said.out.splitlines()] == rows
    note = f"fates of blocks are shown as Hudi {RELEASES[version]}"
    assert said.err.startswith(f"hudictl: {note} reads file://")
    said = tell("log", "inspect", pattern)
    assert (said.code, said.err) == (0, "")
    assert "SCHEMA mor_failed_lazy_record, 9 fields" in said.out
    assert '"type"' not in said.out
    assert "2 logs: 2 blocks (1 uncommitted); 14 records, 7 of them in valid blocks; no corrupt bytes.\n" in said.out
    assert note in said.out
    assert tree(copy.path) == before


@pytest.mark.parametrize("version", support.VERSIONS)
def test_inspect_by_what_a_table_holds(unpack: Unpack, tell: Tell, version: str) -> None:
    """By partition, file group and instant, each by itself and together; below version 8 headers tell the instant."""
    copy = unpack(version, "mor_failed_lazy")
    first, failed = logs_of(copy, "part-4")

    def files(*arguments: str) -> list[str]:
        said = tell("log", "inspect", "-t", copy.path, *LOCAL, *arguments, "-o", "json")
        assert said.code == 0, said.err
        return [row["file"] for row in said.json["rows"]]

    both = [f"part-4/{path.name}" for path in (first, failed)]
    file_id = first.name[1:].partition("_")[0]
    assert files("--partition", "part-4") == files("--file-id", file_id) == both
    rows = tell("log", "inspect", failed, "-o", "json").json["rows"]
    instant = rows[0]["instant"]
    assert files("--instant", instant) == [both[1], *(f"part-5/{path.name}" for path in logs_of(copy, "part-5")[1:])]
    assert files("--instant", instant, "--partition", "part-4", "--file-id", file_id) == both[1:]
    (before,) = {json.loads(line)["instant"] for line in tell("log", "inspect", first, "-o", "ndjson").out.splitlines()}
    assert len(files("--instant", before)) == 8
    metadata = ("-t", copy.path / ".hoodie/metadata", "--partition", "files", "-o", "json")
    assert {row["file"].partition("/")[0] for row in tell("log", "inspect", *metadata).json["rows"]} == {"files"}
    for absent in (("--partition", "p"), ("--partition", ".hoodie"), ("--file-id", "f"), ("--instant", "2026")):
        said = tell("log", "inspect", "-t", copy.path, *LOCAL, *absent)
        assert (said.code, absent[1] in said.line) == (10, True)


def test_a_rolled_back_block_names_what_took_it_back(unpack: Unpack, tell: Tell) -> None:
    """Also where only the log that is rolled back is named; the instant finds the rollback block's log, too."""
    copy = unpack("v6", "mor_part")
    log = logs_of(copy, "part-0")[-1]
    instant = tell("log", "inspect", log, "-o", "json").json["rows"][0]["instant"]
    name = log.name.partition(".log.")
    later = put(log.with_name(f"{name[0]}.log.99_1-0-1"), encode_rollback_block(instant, instant))
    (row,) = tell("log", "inspect", log, "-o", "json").json["rows"]
    assert row["fate"] == "rolled back"
    assert row["fate_by"] == {"file": f"part-0/{later.name}", "index": 0, "instant": instant}
    said = tell("log", "inspect", "-t", copy.path, "--partition", "part-0", "--instant", instant)
    assert f"rolled back by block 0 of {later.name}" in said.out
    assert "2 logs: 2 blocks (1 rolled back); " in said.out
    (row,) = tell("log", "inspect", later, "-o", "json").json["rows"]
    assert (row["block_type"], row["target_instant"], row["record_count"]) == ("COMMAND_BLOCK", instant, 0)


def test_a_rollback_block_that_is_ahead_is_named(unpack: Unpack, tell: Tell) -> None:
    """Hudi 0.15.0 writes such blocks itself, and reads nothing behind them before a later commit."""
    copy = unpack("v6", "mor_part")
    first, second = logs_of(copy, "part-0")[-2:]
    put(first, first.read_bytes() + encode_rollback_block("29990101000000000", "20200101000000000"))
    out = tell("log", "inspect", first, second).out
    assert "ahead of the last commit: Hudi 0.15.0 stops reading here" in out
    assert f"hidden by block 1 of {first.name}" in out
    assert "2 logs: 3 blocks (1 ahead, 1 hidden); " in out
    assert tell("log", "inspect", second, "-o", "json").json["rows"][0]["fate"] == "hidden"


def test_damage_is_a_row(unpack: Unpack, tell: Tell) -> None:
    """A torn log, a text file, an empty one, contents that say nothing: exit 0, and where it is."""
    copy = unpack("v9", "mor_part")
    log = logs_of(copy, "part-0")[0]
    size = log.stat().st_size
    put(log, log.read_bytes() + encode_rollback_block("1", "1")[:50])
    rows = tell("log", "inspect", log, "-o", "json").json["rows"]
    assert [(row["fate"], row["offset"], row["block_bytes"]) for row in rows[-1:]] == [("corrupt", size, 50)]
    assert rows[-1]["damage"].startswith("cut off")
    assert "corrupt: cut off" in (out := tell("log", "inspect", log).out)
    assert f"; 50 corrupt bytes: 50 at {size:,} of part-0/{log.name}." in out
    text = put(copy.path / "notes\x1b[31m.txt", "not a log\n" * 9)
    said = tell("log", "inspect", text)
    assert (said.code, "\x1b" in said.out) == (0, False)
    assert "does not have the name of a log" in said.out
    assert "90 corrupt bytes: 90 at 0 of " in said.out
    empty = put(log.with_name(log.name.replace(".log.1_", ".log.2_")))
    said = tell("log", "inspect", empty, "-o", "json")
    assert said.json["rows"] == []
    assert any("is empty" in note for note in said.json["notes"])
    assert "1 log: 0 blocks; 0 records; no corrupt bytes." in tell("log", "inspect", empty).out
    broken = encode_block("PARQUET_DATA_BLOCK", {"INSTANT_TIME": "20260101000000000"}, b"PAR1" * 9)
    put(empty, broken)
    (row,) = tell("log", "inspect", empty, "-o", "json").json["rows"]
    assert row["fate"] == "valid"
    assert (row["record_count"], bool(row["damage"])) == (None, True)
    assert "not counting 1 block" in tell("log", "inspect", empty).out


@pytest.mark.slow
def test_whatever_bytes_a_log_has(unpack: Unpack, tell: Tell) -> None:
    """Cut, or with a bit turned over: exit 0, every byte in a row or behind the last one, no earlier block lost."""
    copy = unpack("v6", "mor_part")
    log = logs_of(copy, "part-0")[0]
    whole = log.read_bytes()
    body = whole + whole
    chance = random.Random(6)
    for _ in range(60):
        place = chance.randrange(len(body))
        turned = body[:place] + bytes([body[place] ^ 1 << chance.randrange(8)]) + body[place + 1 :]
        for bytes_of, first_is_whole in ((body[:place], place >= len(whole) + 6), (turned, place > len(whole) + 6)):
            put(log, bytes_of)
            said = tell("log", "inspect", log, "-o", "json")
            assert said.code in ((0, 11) if place < len(whole) else (0,)), said.err
            rows = said.json["rows"] if said.code == 0 else []
            assert sum(row["block_bytes"] for row in rows) in range(len(bytes_of) - 5, len(bytes_of) + 1) or said.code
            assert not first_is_whole or (rows[0]["fate"], rows[0]["damage"]) == ("valid", None)


def test_what_is_no_log(unpack: Unpack, tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "mor_part")
    said = tell("log", "inspect", tmp_path / "nowhere")
    assert (said.code, "there is no file" in said.line) == (10, True)
    assert tell("log", "inspect", tmp_path / "nowhere", "-o", "ndjson").error["slug"] == "not-found"
    old = put(copy.path / "old.log", b"HUDI" + bytes(40))
    said = tell("log", "inspect", old)
    assert (said.code, "old.log" in said.line) == (11, True)
    for arguments in (
        (),
        ("-t", copy.path),
        ("-t", copy.path, old),
        ("--partition", "p", old),
        ("--partition", "p"),
    ):
        assert tell("log", "inspect", *arguments).code == 2
    assert tell("table", "show", "-t", copy.path, "-o", "ndjson").code == 2
    # The environment's table does not count where PATHs are named.
    monkeypatch.setenv("HUDICTL_TABLE", str(tmp_path))
    assert tell("log", "inspect", logs_of(copy, "part-0")[0]).code == 0


def test_a_stream_comes_as_it_is_read(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rows are out before the last blocks are read, and who reads no more is read no more for."""
    copy = unpack("v6", "mor_part")
    base = logs_of(copy, "part-0")[0]
    schema = "x" * 2000
    body = b"".join(encode_block(AVRO_DATA, {"SCHEMA": schema, "INSTANT_TIME": "1"}, bytes(40_000)) for _ in range(40))
    path = put(base.with_name(".f_1.log.1_0-1-0"), body)
    events: list[str] = []
    real = LogFile.read_at
    monkeypatch.setattr(LogFile, "read_at", lambda log, *of: events.append("read") or real(log, *of))
    monkeypatch.setattr("hudictl.table.logs.reader._KEPT_BYTES", 0)
    monkeypatch.setattr(show, "emit", lambda text, **_: events.append("row") or True)
    assert tell("log", "inspect", path, "-o", "ndjson").code == 0
    assert events.count("row") == 40
    assert "read" in events[events.index("row") :]
    events.clear()
    monkeypatch.setattr(show, "emit", lambda text, **_: bool(events.append("row")))
    assert tell("log", "inspect", path, "-o", "ndjson").code == 0
    assert events.count("row") == 1


@pytest.mark.slow
def test_a_reader_that_has_gone(unpack: Unpack) -> None:
    """`| head -1` is no error."""
    copy = unpack("v9", "mor_part")
    command = f"{sys.executable} -m hudictl log inspect '{copy.path}/*/.*' -o ndjson | head -1; echo ${{PIPESTATUS[0]}}"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, env=environment)
    row, code = done.stdout.splitlines()
    assert (json.loads(row)["index"], code, "Broken" in done.stderr) == (0, "0", False)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_slices(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    said = tell("log", "slices", "-t", copy.path, *LOCAL)
    assert (said.code, said.err) == (0, "")
    (last,) = said.out.splitlines()[-1:]
    assert last.startswith("The pending compaction 2026")
    assert "reads 3 slices, " in last
    rows = tell("log", "slices", "-t", copy.path, *LOCAL, "-o", "json").json["rows"]
    assert [(row["newest"], row["opened_by_compaction"], row["log_files"]) for row in rows[:2]] == [
        (True, True, 4),
        (False, False, 2),
    ]
    assert {row["compaction"] for row in rows[1::2]} == {rows[0]["base_instant"]}
    assert rows[1]["compaction_bytes"] == rows[1]["base_bytes"] + rows[1]["log_bytes"]
    assert rows[1]["log_ratio"] == round(rows[1]["log_bytes"] / rows[1]["base_bytes"], 2)
    assert rows[0]["log_ratio"] is None
    assert [log["bytes"] for log in rows[1]["logs"]] == [
        (copy.path / rows[1]["partition"] / log["name"]).stat().st_size for log in rows[1]["logs"]
    ]
    for named in ("part-1", "part-1/", "./part-1"):
        one = tell("log", "slices", "-t", copy.path, "--partition", named, "-o", "json").json["rows"]
        assert one == rows[2:4]
    newest = tell("file", "slices", "-t", copy.path, *LOCAL, "--where", "newest=yes", "--sort", "file_id", "-o", "csv")
    assert [line.split(",")[1] for line in newest.out.splitlines()[1:]] == sorted(row["file_id"] for row in rows[::2])
    first = copy.commits[0]
    before = tell("log", "slices", "-t", copy.path, *LOCAL, "--as-of", first, "-o", "json").json["rows"]
    assert [(row["base_instant"], row["newest"], row["compaction"]) for row in before] == [
        (first, True, "next" if version == "v6" else None)
    ] * 3
    # The names of version 6's logs do not tell who wrote them.
    assert {row["log_files"] for row in before} == {2 if version == "v6" else 0}
    assert "A compaction started now" not in tell("log", "slices", "-t", copy.path, *LOCAL, "--as-of", "2000").out
    assert tell("log", "slices", "-t", copy.path, *LOCAL, "--as-of", "2000").out.startswith("no file slices in the")
    assert tell("log", "slices", "-t", copy.path, "--as-of", "yesterday").code == 2
    said = tell("log", "slices", "-t", copy.path, "--partition", "part-9")
    assert (said.code, "part-9" in said.line) == (10, True)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_slices_of_other_tables(unpack: Unpack, tell: Tell, version: str) -> None:
    """Replaced groups are out of sight, a copy on write table has nothing to compact, a metadata table has slices."""
    copy = unpack(version, "cow_cluster")
    rows = tell("log", "slices", "-t", copy.path, *LOCAL, "-o", "json").json["rows"]
    assert rows
    assert {row["compaction"] for row in rows} == {None}
    assert len(rows) < len([path for path in copy.path.rglob("*.parquet") if ".hoodie" not in path.parts])
    metadata = tell("log", "slices", "-t", copy.path / ".hoodie/metadata", *LOCAL, "-o", "json").json["rows"]
    assert "files" in {row["partition"] for row in metadata}
    flat = unpack(version, "mor_flat_nomdt").path
    whole = tell("log", "slices", "-t", flat, "--partition", ".", "-o", "json").json["rows"]
    assert {row["partition"] for row in whole} == {""}
    out = tell("log", "slices", "-t", unpack(version, "mor_part").path, *LOCAL).out
    assert "A compaction started now would read 3 slices, " in out


@pytest.mark.slow
def test_on_an_object_store(s3: S3, unpack: Unpack, tell: Tell) -> None:
    """The same rows, by path and by partition, and the same slices."""
    copy = unpack("v9", "mor_failed_lazy")
    uri = s3.upload(copy.path, f"log/{uuid.uuid4()}")

    def rows(place: object, *arguments: object) -> list[dict[str, object]]:
        command = [str(one).replace("TABLE", str(place)) for one in arguments]
        said = tell("log", *command, "-o", "json", *s3.arguments)
        assert (said.code, said.err) == (0, "")
        return [row | {"table": None} for row in said.json["rows"]]

    for command, count in (
        (("inspect", "TABLE/part-[45]/.*"), 4),
        (("inspect", "-t", "TABLE", "--partition", "part-4"), 2),
        (("slices", "-t", "TABLE", "--partition", "part-4"), 1),
    ):
        here = rows(copy.path, *command)
        assert (len(here), rows(uri, *command)) == (count, here)


def test_options_that_contradict_each_other_are_refused_where_no_engine_works(unpack: Unpack, tell: Tell) -> None:
    log = logs_of(unpack("v6", "mor_part"), "part-0")[0]
    for command in ("inspect", "verify"):
        said = tell("log", command, log, *LOCAL, "--master", "local[2]")
        assert (said.code, "cannot be used with --engine local" in said.line) == (2, True)


def test_logs_of_several_tables(unpack: Unpack, tell: Tell) -> None:
    """Text names the table with each log then, and the envelope none."""
    copy = unpack("v6", "mor_part")
    log, metadata = logs_of(copy, "part-0")[0], copy.path / ".hoodie/metadata"
    out = tell("log", "inspect", log, metadata / "files").out
    assert f"file://{copy.path}/part-0/{log.name}\n" in out
    assert f"file://{metadata}/files/.files-0000-0_" in out
    document = tell("log", "inspect", log, metadata / "files", "-o", "json").json
    assert document["table"] is None
    assert {row["table"] for row in document["rows"]} == {f"file://{copy.path}", f"file://{metadata}"}


@pytest.mark.parametrize("form", ["text", "json", "ndjson"])
@pytest.mark.parametrize("command", ["inspect", "records"])
def test_blocks_before_one_of_another_format_are_shown(tell: Tell, tmp_path: Path, command: str, form: str) -> None:
    """Then comes the refusal, which names the file and the place."""
    row = {"name": "id", "type": "long"}
    schema = json.dumps({"type": "record", "name": "R", "fields": [row]})
    header = {"INSTANT_TIME": "20260101000000000", "SCHEMA": schema}
    good = encode_block(AVRO_DATA, header, encode_avro([{"id": 7}], schema))
    file = tmp_path / ".x-0_20260101000000000.log.1_1-0-1"
    file.write_bytes(good + good[:17] + b"\x02" + good[18:])
    told = tell("log", command, file, "-o", form)
    assert told.code == 11
    assert "20260101000000000" in told.out
    assert f"{file}: byte {len(good)}: log format version 2" in told.err


def test_an_unknown_table_version_is_not_guessed_at(unpack: Unpack, tell: Tell) -> None:
    """The blocks are shown; which of them count is not told, and what the metadata table lists neither."""
    copy = unpack("v9", "mor_part")
    for folder in (".hoodie", ".hoodie/metadata/.hoodie"):
        properties = copy.path / folder / "hoodie.properties"
        put(properties, properties.read_text().replace("hoodie.table.version=9", "hoodie.table.version=10"))
    told = tell("log", "inspect", copy.path / "part-0", "-o", "json")
    assert told.code == 0
    document = json.loads(told.out)
    assert {row["fate"] for row in document["rows"]} == {"unknown"}
    assert any("table version 10" in note for note in document["notes"])
    for command in ("files", "verify"):
        refused = tell("metadata", command, "-t", copy.path)
        assert refused.code == 11
        assert "table version 10" in refused.err


def test_a_base_file_is_no_log(unpack: Unpack, tell: Tell) -> None:
    """A typo in a path was reported as a damaged log."""
    copy = unpack("v9", "mor_part")
    base = next(path for path in sorted(copy.data()) if path.endswith(".parquet"))
    for command in ("inspect", "verify", "records"):
        said = tell("log", command, copy.path / base)
        assert (said.code, "is a base file, not a log" in said.line) == (2, True)
