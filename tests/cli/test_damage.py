"""Bad input: every kind of damaged file ends in one clear line and the right exit code, and changes nothing."""

import os
from collections.abc import Callable

import pytest

from tests import records
from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, plan, put, savepoint, tree

LATER = "20261121040000000"
LOCAL = ("--engine", "local")
READS = [("table", "show"), ("timeline", "show"), ("savepoint", "list")]
VERSIONS = ["v6", "v8", "v9"]


def truncated(body: bytes) -> bytes:
    return body[: len(body) // 2]


def empty(_: bytes) -> bytes:
    return b""


def garbage(_: bytes) -> bytes:
    return bytes(range(256)) * 3


def not_text(_: bytes) -> bytes:
    return b"\xff\xfe\x00{"


def wrong_json(_: bytes) -> bytes:
    return b'["a list"]'


def wrong_types(_: bytes) -> bytes:
    return (
        b'{"operationType": 7, "partitionToWriteStats": {"part-0": [{"fileId": 5, "path": 6, "numWrites": "many"}]},'
        b' "partitionToReplaceFileIds": {"part-0": [1]}}'
    )


def another_record(_: bytes) -> bytes:
    return records.stranger()


DAMAGE = [truncated, garbage, not_text, wrong_json, wrong_types, another_record]
Damage = Callable[[bytes], bytes]


def spoil(copy: Copy, suffix: str, damage: Damage) -> str:
    """Damages the newest instant file of a kind; returns its name."""
    file = max(copy.timeline.glob(f"[0-9]*.{suffix}"))
    modified = file.stat().st_mtime
    put(file, damage(file.read_bytes()))
    os.utime(file, (modified, modified))
    return file.name


def reads_go_on(tell: Tell, copy: Copy) -> None:
    """Commands that show never end at a damaged file: its row says so, and behind the last row the exit code."""
    for command in READS:
        said = tell(*command, "-t", copy.path, "-o", "json")
        problems = any(row.get("problem") for row in said.json.get("rows", ()))
        assert (said.code, bool(said.err)) == (14 if problems else 0, problems), said
        text = tell(*command, "-t", copy.path)
        assert (text.code, bool(text.out)) == (said.code, True), text


def refuses(tell: Tell, copy: Copy, code: int, named: str, *command: str) -> None:
    """One line, as text and as JSON, and every byte as it was."""
    before = tree(copy.path)
    for form in (("--plan",), ("--yes",), ("--yes", "-o", "json")):
        said = tell(*command, "-t", copy.path, *LOCAL, *form)
        message = said.error["message"] if "json" in form else said.line
        assert said.out == ""
        assert (said.code, named in message) == (code, True), message
    assert tree(copy.path) == before


def writes_refuse(tell: Tell, copy: Copy, code: int, named: str) -> None:
    """Both commands that read the whole table."""
    refuses(tell, copy, code, named, "restore", max(copy.savepoints, default=LATER))
    refuses(tell, copy, code, named, "savepoint", "create", copy.commits[-1])


@pytest.mark.slow
@pytest.mark.short("v6-cow_savepoints", "v6-cow_cluster", "v9-mor_savepoints")
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize(
    ("version", "name", "suffix"),
    [
        *((version, "cow_savepoints", "commit") for version in VERSIONS),
        *((version, "mor_savepoints", "deltacommit") for version in VERSIONS),
        ("v6", "cow_cluster", "replacecommit"),
        ("v9", "cow_cluster", "replacecommit"),
    ],
)
def test_a_damaged_write(unpack: Unpack, tell: Tell, version: str, name: str, suffix: str, damage: Damage) -> None:
    copy = unpack(version, name)
    target = savepoint(copy, copy.savepoints[-1] if copy.savepoints else copy.commits[-3])
    named = spoil(copy, suffix, damage)
    rows = tell("timeline", "show", "-t", copy.path, "-o", "json")
    assert rows.code == 14, rows
    assert [row["time"] for row in rows.json["rows"] if row["problem"]] == [named[:17]]
    reads_go_on(tell, copy)
    refuses(tell, copy, 14, named, "restore", target)
    refuses(tell, copy, 14, named, "savepoint", "create", copy.commits[-1])


@pytest.mark.parametrize("version", VERSIONS)
def test_where_the_newest_write_is_damaged_no_writer_can_start(unpack: Unpack, tell: Tell, version: str) -> None:
    """Hudi's readers and writers begin with it, and fail (1.2.0)."""
    copy = unpack(version, "mor_part")
    named = spoil(copy, "deltacommit", truncated)
    described = tell("table", "show", "-t", copy.path, "-o", "json").json["result"]
    assert described["writers_can_start"] is False
    assert named in described["verdict"]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_damaged_compaction_plan(unpack: Unpack, tell: Tell, version: str, damage: Damage) -> None:
    copy = unpack(version, "mor_pending_compaction")
    target = savepoint(copy, copy.commits[-2])
    named = spoil(copy, "compaction.requested", damage)
    reads_go_on(tell, copy)
    refuses(tell, copy, 14, named, "restore", target)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [*DAMAGE, empty])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_damaged_savepoint(unpack: Unpack, tell: Tell, version: str, damage: Damage) -> None:
    copy = unpack(version, "cow_savepoints")
    named = spoil(copy, "savepoint", damage)
    reads_go_on(tell, copy)
    for command in (("restore", named[:17]), ("savepoint", "create", named[:17])):
        refuses(tell, copy, 14, named, *command)
    rows = tell("savepoint", "list", "-t", copy.path, "-o", "json").json["rows"]
    assert [row["instant"] for row in rows if row["problem"]] == [named[:17]]
    assert named in tell("savepoint", "show", named[:17], "-t", copy.path).line
    assert "quarantine" in tell("check", "-t", copy.path).out
    assert "nothing that can be read" in tell("savepoint", "delete", named[:17], "-t", copy.path, "--yes").out


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_damaged_clean(unpack: Unpack, tell: Tell, version: str, damage: Damage) -> None:
    copy = unpack(version, "cow_cleaned")
    target = savepoint(copy, copy.commits[-2])
    named = spoil(copy, "clean", damage)
    reads_go_on(tell, copy)
    refuses(tell, copy, 14, named, "restore", target)
    refuses(tell, copy, 14, named, "savepoint", "create", copy.commits[-1])


@pytest.mark.parametrize("damage", [*DAMAGE, empty])
@pytest.mark.parametrize(
    ("name", "suffix"),
    [("mor_restore_interrupted", "restore.requested"), ("cow_rollback_interrupted", "rollback.req*")],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_damaged_plan(unpack: Unpack, tell: Tell, version: str, name: str, suffix: str, damage: Damage) -> None:
    copy = unpack(version, name)
    named = spoil(copy, suffix, damage)
    reads_go_on(tell, copy)
    verdict = tell("table", "show", "-t", copy.path, "-o", "json").json["result"]["verdict"]
    assert "nothing is pending" not in verdict
    # A pending rollback without plan may be of anything: that is a refusal which names it.
    writes_refuse(tell, copy, 14 if "restore" in suffix else 13, named[:17])
    if "restore" in suffix:
        assert named in tell("resume", "-t", copy.path, *LOCAL, "--yes").line


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("cow_savepoints", "savepoint"),
        ("mor_restore_interrupted", "restore.requested"),
        ("cow_rollback_interrupted", "rollback.requested"),
        ("cow_savepoints", "commit"),
    ],
)
def test_a_record_that_is_cut_behind_its_last_field(unpack: Unpack, tell: Tell, name: str, suffix: str) -> None:
    """Its end mark is missing: Hudi cannot read such a file, so hudictl must not call it whole."""
    copy = unpack("v9", name)
    spoil(copy, suffix, lambda body: body[:-1])
    assert tell("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, "--plan").code in (13, 14)


@pytest.mark.parametrize("record", ["HoodieSavepointMetadata", "HoodieCleanMetadata", "HoodieRollbackPlan"])
def test_a_record_without_its_fields(unpack: Unpack, tell: Tell, record: str) -> None:
    """The right name, and nothing that belongs to it."""
    copy = unpack("v9", "cow_savepoints")
    if record == "HoodieSavepointMetadata":
        spoil(copy, "savepoint", lambda _: records.nameless(record))
    else:
        clean = record == "HoodieCleanMetadata"
        copy.write(f"{LATER}_{LATER}.clean" if clean else f"{LATER}.rollback.requested", records.nameless(record))
    reads_go_on(tell, copy)
    refuses(tell, copy, 13 if "Rollback" in record else 14, "2026112", "restore", copy.savepoints[-1])


# The table itself.


def test_no_table(tell: Tell, tmp_path: object) -> None:
    for command in [*READS, ("restore", LATER, *LOCAL), ("resume", *LOCAL), ("savepoint", "create", *LOCAL)]:
        assert (tell(*command, "-t", tmp_path).code) == 10
        assert str(tmp_path) in tell(*command, "-t", tmp_path).line
        assert tell(*command, "-t", f"{tmp_path}/absent", "-o", "json").error["slug"] == "not-found"


def test_a_file_is_no_table(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    assert tell("table", "show", "-t", next(copy.path.glob("*.parquet"))).code == 10


@pytest.mark.parametrize(
    "body",
    [b"", b"\x00\xff garbage", b"hoodie.table.name=other\nhoodie.table.checksum=1\n", b"\\u12", b"#only comments\n"],
)
def test_damaged_properties(unpack: Unpack, tell: Tell, body: bytes) -> None:
    copy = unpack("v9", "cow_savepoints")
    put(copy.meta / "hoodie.properties", body)
    for command in READS:
        said = tell(*command, "-t", copy.path)
        assert said.code == 14
        assert "hoodie.properties" in said.line


@pytest.mark.parametrize("key", ["hoodie.table.version", "hoodie.timeline.layout.version"])
@pytest.mark.parametrize("value", ["nine", "", "9.5"])
def test_a_version_that_is_no_number(unpack: Unpack, tell: Tell, key: str, value: str) -> None:
    copy = unpack("v9", "cow_savepoints")
    set_property(copy, key, value)
    assert tell("table", "show", "-t", copy.path).code == 14


def set_property(copy: Copy, key: str, value: str) -> None:
    properties = copy.meta / "hoodie.properties"
    lines = [line for line in properties.read_text().splitlines() if not line.startswith(f"{key}=")]
    put(properties, "\n".join([*lines, f"{key}={value}"]) + "\n")


def test_the_timeline_folder_is_gone(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    copy.timeline.rename(copy.path / "aside")
    assert tell("timeline", "show", "-t", copy.path).code == 14
    assert "timeline" in tell("timeline", "show", "-t", copy.path).line


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodie.table.version", "7"),
        ("hoodie.table.version", "10"),
        ("hoodie.table.version", "5"),
        ("hoodie.table.format", "iceberg"),
        ("hoodie.table.type", "SHARED"),
        ("hoodie.table.base.file.format", "NEWER"),
    ],
)
def test_what_is_unknown_is_shown_and_not_written(unpack: Unpack, tell: Tell, key: str, value: str) -> None:
    copy = unpack("v9", "cow_savepoints")
    set_property(copy, key, value)
    reads_go_on(tell, copy)
    writes_refuse(tell, copy, 11, value)
    assert tell("savepoint", "delete", copy.savepoints[-1], "-t", copy.path, "--yes").code == 11
    verdict = tell("table", "show", "-t", copy.path, "-o", "json").json["result"]["verdict"]
    assert value in verdict


def test_an_upgrade_that_was_interrupted(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v6", "cow_savepoints")
    set_property(copy, "hoodie.table.version", "8")
    reads_go_on(tell, copy)
    writes_refuse(tell, copy, 11, "upgrade")


@pytest.mark.parametrize("name", ["vacuum", "vacuum.requested", "vacuum.inflight"])
@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_action(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, "cow_savepoints")
    copy.write(f"{LATER}.{name}")
    reads_go_on(tell, copy)
    writes_refuse(tell, copy, 11, "vacuum")
    assert tell("savepoint", "delete", copy.savepoints[-1], "-t", copy.path, "--yes").code == 11
    rows = tell("timeline", "show", "-t", copy.path, "-o", "json").json["rows"]
    assert "vacuum" in next(row["problem"] for row in rows if row["time"] == LATER)
    assert tell("table", "show", "-t", copy.path, "-o", "json").json["result"]["unknown_files"] == [f"{LATER}.{name}"]


@pytest.mark.parametrize("name", [".tmp", "notes.txt", "12.34.56", f"{LATER}.", f"{LATER}.commit.bak", "hoodie.lock"])
def test_names_that_are_no_instants_are_none(unpack: Unpack, tell: Tell, name: str) -> None:
    copy = unpack("v9", "cow_savepoints")
    rows = len(tell("timeline", "show", "-t", copy.path, "-o", "json").json["rows"])
    copy.write(name, b"anything")
    assert len(tell("timeline", "show", "-t", copy.path, "-o", "json").json["rows"]) == rows
    plan(copy, copy.savepoints[-1])


@pytest.mark.parametrize("uri", ["", "file://host/lake", "file:", "s4://bucket/table", "http://"])
def test_uris_that_lead_nowhere(tell: Tell, uri: str) -> None:
    said = tell("table", "show", "-t", uri)
    assert said.code in (2, 11)
    assert said.line


@pytest.mark.parametrize("output", ["text", "json", "ndjson", "csv"])
def test_what_one_damaged_file_does_not_hide_is_shown_before_it_is_named(
    unpack: Unpack, tell: Tell, output: str
) -> None:
    copy = unpack("v9", "cow_cleaned")
    name = spoil(copy, "commit", truncated)
    said = tell("file", "slices", "-o", output, "-t", copy.path, *LOCAL)
    assert (said.code, "part-0" in said.out, name in said.err) == (14, True, True)
    archived = min((copy.timeline / "history").glob("*.parquet"))
    put(archived, truncated(archived.read_bytes()))
    for command in (("timeline", "show"), ("commit", "list")):
        said = tell(*command, "--archived", "--sort", "time", "-o", output, "-t", copy.path)
        assert (said.code, copy.commits[0] in said.out, archived.name in said.err) == (14, True, True)
        assert "hudictl archive repair" in said.err
