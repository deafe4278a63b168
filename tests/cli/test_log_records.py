"""`hudictl log records`, as it is typed."""

import json
from pathlib import Path

import pytest

from hudictl.formats.log_blocks import AVRO_DATA, encode_block
from hudictl.formats.log_contents import encode_avro
from tests import support
from tests.cli.conftest import Tell

KEYS = ["file", "index", "block_type", "instant", "fate", "record_key", "record"]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_records_in_each_form(tell: Tell, tmp_path: Path, version: str) -> None:
    """The same rows as JSON and NDJSON; text has a table for each log, without Hudi's own columns."""
    base = support.unpack_logs(version, "failed", tmp_path)
    document = tell("log", "records", base, "-o", "json").json
    rows = document["rows"]
    assert (document["command"], document["table"]) == ("log records", f"file://{base}")
    assert [list(row) for row in rows] == [KEYS] * 9
    assert [row["fate"] for row in rows] == ["valid"] * 5 + ["uncommitted"] * 4
    first = rows[0]
    assert (first["block_type"], first["index"]) == ("AVRO_DATA_BLOCK", 0)
    assert first["record_key"] == first["record"]["_hoodie_record_key"] == str(first["record"]["id"])
    said = tell("log", "records", base, "-o", "ndjson")
    assert [json.loads(line) for line in said.out.splitlines()] == rows
    assert "fates of blocks are shown as Hudi" in said.err
    said = tell("log", "records", base)
    assert said.out.count("index  block type       instant            fate") == 2
    assert '{"id": 2, "ts": 2, "val": "v2-2"}' in said.out
    assert "_hoodie" not in said.out
    assert "_hoodie_commit_time" in tell("log", "records", base, "--columns", "_hoodie_commit_time").out


def test_text_shows_ten_and_says_so(tell: Tell, tmp_path: Path) -> None:
    """As hudi-cli; scripts get all. --limit changes both, and 0 stands for all."""
    base = support.unpack_logs("v9", "log_compacted", tmp_path)
    total = len(tell("log", "records", base, "-o", "json").json["rows"])
    assert total > 10
    more = "shown: the first {} records; --limit 0 shows all"
    assert tell("log", "records", base).out.splitlines()[-1] == more.format(10)
    assert "shown: the first" not in tell("log", "records", base, "--limit", "0").out
    assert "shown: the first" not in tell("log", "records", base, "--limit", total, "-o", "ndjson").err
    limited = tell("log", "records", base, "--limit", "2", "-o", "json").json
    assert len(limited["rows"]) == 2
    assert limited["notes"][-1] == more.format(2)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_merged_is_the_state_of_the_slice(tell: Tell, tmp_path: Path, version: str) -> None:
    """By any of its files, and as of an earlier instant; each record with the file and block that had the last word."""
    base = support.unpack_logs(version, "plain_deletes", tmp_path)
    logs = sorted(path for path in base.iterdir() if ".log." in path.name)
    file = next(base.glob("*.parquet"))
    document = tell("log", "records", "--merged", file, "-o", "json").json
    rows = {row["record_key"]: row for row in document["rows"]}
    assert sorted(rows) == ["0", "1", "4", "5", "6", "7"]
    assert (rows["0"]["file"], rows["0"]["index"], rows["0"]["block_type"]) == (file.name, None, None)
    assert (rows["4"]["file"], rows["4"]["index"], rows["4"]["fate"]) == (logs[1].name, 0, "valid")
    assert rows["4"]["record"]["val"] == "v1-4"
    assert document["notes"][0].startswith("merged as Hudi ")
    assert tell("log", "records", "--merged", logs[0], "-o", "json").json == document
    said = tell("log", "records", "--merged", logs[1], "--key", "4", "--columns", "val,id")
    assert '{"val": "v1-4", "id": 4}' in said.out
    deleted_at = support.log_facts(version)["plain_deletes"]["logs"][logs[0].name][0]["header"]["INSTANT_TIME"]
    earlier = tell("log", "records", "--merged", "--as-of", deleted_at, file, "-o", "json").json
    assert {row["record_key"]: row["record"]["val"] for row in earlier["rows"]}["5"] == "v5-5"
    assert "4" not in {row["record_key"] for row in earlier["rows"]}


def test_an_empty_slice_or_log_is_no_error(tell: Tell, tmp_path: Path) -> None:
    log = tmp_path / ".f-0_20260101000000000.log.1_0-0-0"
    log.write_bytes(b"")
    said = tell("log", "records", log)
    assert (said.code, said.out.splitlines()[0]) == (0, "no records")
    assert tell("log", "records", log, "-o", "json").json["rows"] == []
    base = support.unpack_logs("v9", "failed", tmp_path)
    said = tell("log", "records", "--merged", next(base.glob("*.parquet")), "--key", "none")
    assert (said.code, said.out.splitlines()[0]) == (0, "no records")


def test_contents_cannot_command_a_terminal(tell: Tell, tmp_path: Path) -> None:
    schema = json.dumps({"type": "record", "name": "r", "fields": [{"name": "_hoodie_record_key", "type": "string"}]})
    header = {"INSTANT_TIME": "2026\x1b[31m", "SCHEMA": schema}
    log = tmp_path / ".f-0_20260101000000000.log.1_0-0-0"
    log.write_bytes(encode_block(AVRO_DATA, header, encode_avro([{"_hoodie_record_key": "\x1b[2J\x9b"}], schema)))
    for output in ("text", "json", "ndjson"):
        said = tell("log", "records", log, "-o", output, "--columns", "_hoodie_record_key")
        assert said.code == 0
        assert not set("\x1b\x9b") & set(said.out + said.err)
    assert json.loads(tell("log", "records", log, "-o", "ndjson").out)["record_key"] == "\x1b[2J\x9b"


@pytest.mark.parametrize("output", ["text", "json", "ndjson"])
def test_records_are_shown_as_they_are(tell: Tell, tmp_path: Path, output: str) -> None:
    """Also where they have what would be masked in an error."""
    schema = json.dumps({"type": "record", "name": "r", "fields": [{"name": "id", "type": "string"}]})
    header = {"INSTANT_TIME": "20260101000000000", "SCHEMA": schema}
    log = tmp_path / ".f-0_20260101000000000.log.1_0-0-0"
    log.write_bytes(encode_block(AVRO_DATA, header, encode_avro([{"id": "http://u:p@h/"}], schema)))
    assert "http://u:p@h/" in tell("log", "records", log, "-o", output).out


def test_a_block_that_cannot_be_decoded_is_an_error_behind_the_records(tell: Tell, tmp_path: Path) -> None:
    schema = json.dumps({"type": "record", "name": "r", "fields": [{"name": "id", "type": "string"}]})
    header = {"INSTANT_TIME": "20260101000000000", "SCHEMA": schema}
    content = encode_avro([{"id": "a"}, {"id": "b"}], schema)
    log = tmp_path / ".f-0_20260101000000000.log.1_0-0-0"
    log.write_bytes(encode_block(AVRO_DATA, header, content + b"x") + encode_block(AVRO_DATA, header, content))
    for output in ("json", "ndjson"):
        said = tell("log", "records", log, "-o", output)
        assert said.code == 14
        rows = said.json["rows"] if output == "json" else [json.loads(line) for line in said.out.splitlines()]
        assert [row["record"]["id"] for row in rows] == ["a", "b", "a", "b"]
    assert "block 0: the AVRO_DATA_BLOCK at byte 0 cannot be decoded" in tell("log", "records", log).line


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--as-of", "20260101000000000"), 2, "--as-of can only be used with --merged"),
        (("--merged", "--as-of", "yesterday"), 2, "not an instant time"),
        (("--columns", "nr"), 2, "there is no column nr (the columns are: _hoodie_commit_time, "),
        (("--merged", "--columns", "nr"), 2, "there is no column nr (the columns are: _hoodie_commit_time, "),
        (("--merged",), 11, "org.apache.hudi.common.model.HoodieAvroPayload"),
    ],
)
def test_refusals(tell: Tell, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    name = "custom" if arguments == ("--merged",) else "failed"
    base = support.unpack_logs("v9", name, tmp_path)
    answer = tell("log", "records", next(base.glob("*.parquet" if "--merged" in arguments else ".*.log.*")), *arguments)
    assert answer.code == code
    assert said in answer.line


@pytest.mark.parametrize("name", ["mor_part", "mor_pending_compaction", "cow_part", "cow_cdc"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_merged_of_a_partition_is_its_newest_slices(tell: Tell, tmp_path: Path, version: str, name: str) -> None:
    """Nothing of superseded slices, no key twice; change logs are left out; base files without logs are in it."""
    base = support.unpack(version, name, tmp_path)
    slices = [row for row in tell("file", "slices", "-t", base, "-o", "json").json["rows"] if row["newest"]]
    for partition in sorted({row["partition"] for row in slices}):
        document = tell("log", "records", "--merged", base / partition, "-o", "json").json
        keys = [row["record_key"] for row in document["rows"]]
        assert len(keys) == len(set(keys)) > 0
        newest = [row for row in slices if row["partition"] == partition]
        names = [row["base_file"] or row["logs"][0]["name"] for row in newest]
        alone = tell("log", "records", "--merged", *(base / partition / one for one in names), "-o", "json").json
        assert sorted(keys) == sorted(row["record_key"] for row in alone["rows"])


def test_a_superseded_slice_is_not_what_a_query_reads(tell: Tell, tmp_path: Path) -> None:
    base = support.unpack("v9", "cow_part", tmp_path)
    files = sorted((base / "part-0").glob("*.parquet"), key=lambda path: path.name.rpartition("_")[2])
    old, new = files[0], files[-1]
    said = tell("log", "records", "--merged", old)
    assert said.code == 10
    assert "is in no file slice that queries read" in said.line
    assert tell("log", "records", "--merged", new).code == 0
    first = old.name.rpartition("_")[2].removesuffix(".parquet")
    assert tell("log", "records", "--merged", "--as-of", first, old).code == 0


def test_a_folder_outside_of_tables(tell: Tell, tmp_path: Path) -> None:
    said = tell("log", "records", "--merged", tmp_path)
    assert said.code == 2
    assert "is not in a table" in said.line
