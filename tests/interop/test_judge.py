"""The judge itself: it sees what the makers of the tables saw, and it is not fooled by what it saw before."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import support
from tests.interop.judge import Judge, JudgeDied, JudgeError

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]


def last_rows(version: str, name: str) -> dict[str, Any]:
    """What a reader saw after a table's last instant."""
    rows = support.facts(version, name)["rows"]
    return dict(rows[max(rows)])


@pytest.mark.short("v6-cow_part", "v9-mor_flat_nomdt")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_part", "mor_flat_nomdt"])
def test_rows_are_those_of_the_facts(judge: Judges, version: str, name: str, tmp_path: Path) -> None:
    path = support.unpack(version, name, tmp_path)
    facts = support.facts(version, name)["rows"]
    assert judge(version).both_rows(path) == last_rows(version, name)
    assert judge(version).rows(path, as_of=min(facts)) == facts[min(facts)]


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_another_table_at_the_same_path_is_read_afresh(judge: Judges, version: str, tmp_path: Path) -> None:
    path = tmp_path / "table"
    for name in ("cow_part", "mor_part", "cow_part"):
        shutil.rmtree(path, ignore_errors=True)
        support.unpack(version, name, tmp_path / name).rename(path)
        assert judge(version).both_rows(path) == last_rows(version, name)
        shutil.rmtree(tmp_path / name)


@pytest.mark.full
@pytest.mark.short("v9-cow_part")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_part", "mor_part"])
def test_a_write_is_read_back(judge: Judges, version: str, name: str, tmp_path: Path) -> None:
    path = support.unpack(version, name, tmp_path)
    # Never the id of a deleted record: 1.0.2 can't compare the ordering values of the delete and of the new record.
    before = judge(version).read(path, columns=["id", "p"])
    known, partition = before[-1]
    instant = judge(version).upsert(path, [[known, 10**15, "nouvelle é", partition], [9000, 1, "x", partition]])
    after = judge(version).read(path)
    assert [9000, 1, "x"] in after
    assert [known, 10**15, "nouvelle é"] in after
    assert len(after) == len(before) + 1
    assert [instant, "COMPLETED"] in [[entry[0], entry[2]] for entry in judge(version).timeline(path)]
    judge(version).delete(path, [known, 9000])
    assert not {known, 9000} & {row[0] for row in judge(version).read(path, metadata=False)}
    judge(version).both_rows(path)


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_savepoint_and_restore(judge: Judges, version: str, tmp_path: Path) -> None:
    path = support.unpack(version, "cow_part", tmp_path)
    facts = support.facts(version, "cow_part")["rows"]
    target = sorted(facts)[-2]
    judge(version).savepoint(path, target)
    judge(version).restore(path, target)
    assert judge(version).both_rows(path) == facts[target]
    restores = sorted(path.glob(".hoodie/*.restore")) + sorted(path.glob(".hoodie/timeline/*.restore"))
    metadata = [judge(version).decode(file, "HoodieRestoreMetadata") for file in restores]
    assert [max(facts)] in [one["instantsToRollback"] for one in metadata]


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_files_of_the_snapshot(judge: Judges, version: str, tmp_path: Path) -> None:
    path = support.unpack(version, "mor_part", tmp_path)
    found = judge(version).files(path)
    assert found == judge(version).files(path, metadata=False)
    assert {Path(file).parent.name for file in found} == {"part-0", "part-1", "part-2"}
    assert all((path / file).is_file() for file in found)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_properties(judge: Judges, version: str, tmp_path: Path) -> None:
    path = support.unpack(version, "mor_part", tmp_path)
    assert judge(version).properties(path)["hoodie.table.version"] == version.removeprefix("v")


@pytest.mark.parametrize("version", support.VERSIONS)
def test_compiled_schema(judge: Judges, version: str) -> None:
    schema = judge(version).avro_schema("HoodieRestorePlan")
    assert schema["name"] == "HoodieRestorePlan"
    assert "instantsToRollback" in {field["name"] for field in schema["fields"]}


def test_log_blocks(judge: Judges, tmp_path: Path) -> None:
    path = support.unpack("v6", "mor_part", tmp_path)
    log = min(file for file in path.glob("part-0/.*.log.*") if file.suffix != ".crc")
    (block,) = judge("v6").log_blocks(log)
    assert block["type"] == "AVRO_DATA_BLOCK"
    assert block["header"]["INSTANT_TIME"] in support.facts("v6", "mor_part")["rows"]
    assert 0 < block["content_offset"] < log.stat().st_size


def test_a_refusal_is_an_answer(judge: Judges, tmp_path: Path) -> None:
    path = support.unpack("v6", "cow_savepoints", tmp_path)
    savepointed = support.outcomes("v6", "cow_savepoints", "restore")[0]["instant"]
    with pytest.raises(JudgeError) as refusal:
        judge("v6").rollback(path, savepointed)
    assert refusal.value.errors[0].startswith("HoodieRollbackException: ")
    with pytest.raises(JudgeError, match="KeyError"):
        judge("v6").call("no such operation")


def test_a_death_shows_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as stderr:
        command = ["sh", "-c", "read line; echo out of memory >&2; exit 3"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
    with pytest.raises(JudgeDied, match=r"(?s)during timeline, exit code 3.*out of memory"):
        Judge("v6", process, log).timeline(tmp_path)


def test_a_late_answer_ends_the_judge(tmp_path: Path) -> None:
    command = ["sleep", "60"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    with pytest.raises(JudgeDied, match="no answer to timeline"):
        Judge("v6", process, tmp_path / "log").call("timeline", timeout=0.1, path=tmp_path)
    assert process.poll() is not None
