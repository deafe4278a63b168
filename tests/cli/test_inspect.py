"""``timeline inspect``: what an operator reads, and what a script gets."""

import re
from typing import Any

import pytest

from hudictl.formats import avro, restore, rollback
from hudictl.formats.rollback import InstantInfo, RollbackMetadata, RollbackPartition
from tests import records, support
from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, put, tree

TIME = "20261121050000000"
# What a summary that gave up would print: a fact under the name of a field.
FIELD = re.compile(r"^  (?!extra )[a-z]+[A-Z]\w*  ", re.MULTILINE)


def table(lines: str) -> list[dict[str, str]]:
    """The table below the facts of one file: rows of cells by column."""
    head, *rows = [line for line in lines.splitlines()[1:] if not line.startswith("  ")]
    columns = re.split(r"  +", head.strip())
    return [dict(zip(columns, re.split(r"  +", row.strip()), strict=True)) for row in rows]


def sections(tell: Tell, copy: Copy, time: str) -> dict[str, str]:
    """The text of each file by its action and state."""
    said = tell("timeline", "inspect", time, "-t", copy.path)
    assert (said.code, said.err) == (0, "")
    return {" ".join(re.split("[ :]", part)[:2]): part for part in said.out.rstrip("\n").split("\n\n")}


def total(rows: list[dict[str, str]], column: str) -> int:
    return sum(int(row[column].replace(",", "")) for row in rows)


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_every_instant_as_text(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    """Each file under its name, each record summed up."""
    copy = unpack(version, name)
    before = tree(copy.path)
    for time in sorted({file[:17] for file in copy.instants()}):
        said = tell("timeline", "inspect", time, "-t", copy.path)
        assert (said.code, said.err) == (0, "")
        assert not FIELD.search(said.out)
        assert "unreadable" not in said.out
        document = tell("timeline", "inspect", time, "-t", copy.path, "-o", "json").json
        assert document["command"] == "timeline inspect"
        titles = [line for line in said.out.splitlines() if " (active" in line]
        assert len(titles) == len(document["result"]["files"])
        assert all(file["name"] in title for file, title in zip(document["result"]["files"], titles, strict=True))
    assert tree(copy.path) == before


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_commit_by_partition(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    time = copy.commits[1]
    (row,) = tell("timeline", "show", "--since", time, "--until", time, "-t", copy.path, "-o", "json").json["rows"]
    said = sections(tell, copy, time)
    assert said["commit REQUESTED"].endswith("empty")
    shown = table(said["commit COMPLETED"])
    assert [entry["partition"] for entry in shown] == ["part-0", "part-1", "part-2"]
    assert (total(shown, "files"), total(shown, "written")) == (row["files"], row["records"])
    assert total(shown, "bytes") == row["bytes"]
    assert total(shown, "updated") + total(shown, "inserted") > 0
    assert (total(shown, "deleted"), total(shown, "errors")) == (0, 0)
    assert "  operation     UPSERT\n" in said["commit COMPLETED"]


def test_a_schema_is_shortened_for_eyes_alone(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    arguments = ("timeline", "inspect", copy.commits[0], "-t", copy.path)
    (line,) = [line for line in tell(*arguments).out.splitlines() if line.startswith("  extra schema")]
    whole = tell(*arguments, "-o", "json").json["result"]["files"][-1]["record"]["extraMetadata"]["schema"]
    assert line.endswith(f"... ({len(whole):,} characters)")
    assert len(line) < 160


@pytest.mark.parametrize("version", support.VERSIONS)
def test_plans_and_results_of_services(unpack: Unpack, tell: Tell, version: str) -> None:
    cleaned = unpack(version, "cow_cleaned")
    time = cleaned.having("clean.requested")[0][:17]
    said = sections(tell, cleaned, time)
    assert total(table(said["clean REQUESTED"]), "files to delete") == 3
    assert total(table(said["clean COMPLETED"]), "deleted") == 3
    assert "  policy                      KEEP_LATEST_COMMITS\n" in said["clean REQUESTED"]
    clustered = unpack(version, "cow_cluster")
    action = "replacecommit" if version == "v6" else "clustering"
    time = clustered.having(f"{action}.requested")[0][:17]
    said = sections(tell, clustered, time)
    groups = table(said[f"{action} REQUESTED"])
    assert "  operation  CLUSTER\n" in said[f"{action} REQUESTED"]
    assert total(groups, "file slices") == total(table(said["replacecommit COMPLETED"]), "replaced file groups") > 0
    compacted = unpack(version, "mor_part")
    time = compacted.having("compaction.requested")[0][:17]
    said = sections(tell, compacted, time)
    plan = table(said["compaction REQUESTED"])
    assert total(plan, "file groups") == total(table(said["commit COMPLETED"]), "files") == 3
    assert total(plan, "log files") >= 3
    assert total(plan, "log bytes") > 1000
    saved = unpack(version, "cow_savepoints")
    said = sections(tell, saved, saved.savepoints[0])
    assert total(table(said["savepoint COMPLETED"]), "files") == 3


@pytest.mark.parametrize("version", support.VERSIONS)
def test_plans_of_rollbacks_and_restores(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "mor_restore_interrupted")
    restores, rollbacks = (copy.having(f"{action}.requested")[0][:17] for action in ("restore", "rollback"))
    plan = sections(tell, copy, restores)["restore REQUESTED"]
    assert f"  restores to  {copy.savepoints[0]}\n" in plan
    assert all(row["action"] == "deltacommit" for row in table(plan))
    taken = sections(tell, copy, rollbacks)["rollback REQUESTED"]
    assert f"  rolls back  {table(plan)[0]['rolls back']} deltacommit\n" in taken
    column = "logs to roll back" if version == "v6" else "files to delete"
    assert total(table(taken), column) > 0


def test_results_of_rollbacks_and_restores(unpack: Unpack, tell: Tell) -> None:
    done = RollbackMetadata(
        TIME,
        17,
        InstantInfo("1", "commit"),
        {"p": RollbackPartition(("/a", "/b"), {"/l": 3}), "q": RollbackPartition()},
    )
    copy = unpack("v9", "cow_flat_nomdt")
    schema = avro.record(rollback.METADATA, *rollback.METADATA_FIELDS, top=True)
    copy.write(f"{TIME}_{TIME}.rollback", avro.encode(rollback.metadata_to_avro(done), schema))
    copy.write(f"{TIME}_{TIME}.restore", restore.encode_metadata(TIME, 99, [done]))
    said = sections(tell, copy, TIME)
    rows = table(said["rollback COMPLETED"])
    assert [(row["partition"], row["deleted"], row["rollback logs"]) for row in rows] == [
        ("p", "2", "1"),
        ("q", "0", "0"),
    ]
    assert "  rolled back    1 commit\n" in said["rollback COMPLETED"]
    (row,) = table(said["restore COMPLETED"])
    assert (row["rolled back"], row["action"], row["partitions"], row["deleted"]) == ("1", "commit", "2", "2")
    assert "  duration ms  99\n" in said["restore COMPLETED"]


def index_record(name: str, *more: dict[str, Any]) -> dict[str, Any]:
    """The schema of a record of Hudi's indexing (0.15.0 to 1.2.0)."""
    info = avro.record(
        "HoodieIndexPartitionInfo",
        {"name": "version", "type": ["int", "null"], "default": 1},
        {"name": "metadataPartitionPath", "type": ["null", avro.STRING], "default": None},
        {"name": "indexUptoInstant", "type": ["null", avro.STRING], "default": None},
    )
    infos = {"name": "indexPartitionInfos", "type": ["null", {"type": "array", "items": info}], "default": None}
    return avro.record(name, {"name": "version", "type": ["int", "null"], "default": 1}, *more, infos, top=True)


def test_indexing(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    value = {
        "version": 1,
        "operationType": None,
        "indexPartitionInfos": [{"version": 1, "metadataPartitionPath": "column_stats", "indexUptoInstant": "7"}],
    }
    operation = {"name": "operationType", "type": ["null", avro.STRING], "default": None}
    copy.write(f"{TIME}.indexing.requested", avro.encode(value, index_record("HoodieIndexPlan")))
    done = avro.encode(value, index_record("HoodieIndexCommitMetadata", operation))
    copy.write(f"{TIME}_{TIME}.indexing", done)
    said = sections(tell, copy, TIME)
    for state in ("REQUESTED", "COMPLETED"):
        assert table(said[f"indexing {state}"]) == [{"metadata partition": "column_stats", "up to instant": "7"}]


@pytest.mark.parametrize(
    ("suffix", "body", "shown"),
    [
        ("clean.requested", records.nameless("HoodieCleanerPlan"), "  odd  1"),
        ("clean.requested", records.stranger(), "  a  1"),
        ("commit", b'{"partitionToWriteStats": 5, "more": [1]}', "  partitionToWriteStats  5"),
        ("commit", b'{"partitionToWriteStats": {"p": [{"numWrites": "x"}]}}', "numWrites"),
    ],
)
def test_what_is_not_as_hudi_writes_it_is_shown_field_by_field(
    unpack: Unpack, tell: Tell, suffix: str, body: bytes, shown: str
) -> None:
    copy = unpack("v6", "cow_flat_nomdt")
    copy.write(f"{TIME}.{suffix}", body)
    said = tell("timeline", "inspect", TIME, "-t", copy.path)
    assert said.code == 0
    assert shown in said.out


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_damaged_file_among_others_ends_with_14(unpack: Unpack, tell: Tell, form: str) -> None:
    """What can be read is on stdout, what cannot is named on stderr."""
    copy = unpack("v9", "cow_savepoints")
    time = copy.savepoints[0]
    damaged = put(copy.file(time, "savepoint"), b"garbage")
    said = tell("timeline", "inspect", time, "-t", copy.path, "-o", form)
    assert said.code == 14
    if form == "json":
        assert damaged.name in said.error["message"]
        assert [file["problem"] is None for file in said.json["result"]["files"]] == [True] * 4 + [False]
    else:
        assert damaged.name in said.line
        assert "  operation     UPSERT" in said.out
        assert "  unreadable: " in said.out


def test_no_such_instant(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    said = tell("timeline", "inspect", f"{copy.commits[0]}9", "-t", copy.path)
    assert (said.code, said.out) == (13, "")
    assert copy.commits[0] in said.line
    assert copy.commits[1] in said.line


def test_the_history_is_shown_on_request(unpack: Unpack, tell: Tell) -> None:
    """The column that tells the timelines apart is there for eyes with --archived only, for scripts always."""
    copy = unpack("v9", "cow_cleaned")
    plain, whole = (tell("timeline", "show", *more, "-t", copy.path) for more in ((), ("--archived",)))
    assert "timeline" not in plain.out.splitlines()[0]
    assert " timeline " in whole.out.splitlines()[0]
    assert len(whole.out.splitlines()) > len(plain.out.splitlines())
    rows = tell("timeline", "show", "-t", copy.path, "-o", "json").json["rows"]
    every = tell("timeline", "show", "--archived", "-t", copy.path, "-o", "json").json["rows"]
    assert [list(row) for row in every] == [list(rows[0])] * len(every)
    assert every[: len(rows)] == rows
    first = tell("timeline", "show", "--archived", "--limit", "4", "-t", copy.path, "-o", "json").json["rows"]
    assert first == every[:4]
