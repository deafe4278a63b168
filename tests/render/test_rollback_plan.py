"""How the plan of a rollback looks."""

import json
from pathlib import Path

import pytest

from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
from hudictl.render.json import envelope
from hudictl.render.plans import rollback_lines
from tests import records, support
from tests.helpers import Copy, drop, required, rollback_of
from tests.ops.rollback.execute_support import died, newest

LATER = "20261121040000000"


def view(copy: Copy, options: RollbackOptions | None = None, target: str = "") -> RollbackPlan:
    return rollback_of(copy, target or newest(copy), options)


def unpack(folder: Path, version: str, name: str) -> Copy:
    return Copy(version, name, support.unpack(version, name, folder))


def test_a_completed_commit(tmp_path: Path) -> None:
    copy = unpack(tmp_path, "v9", "cow_part")
    shown = view(copy)
    assert (shown.timezone, shown.resumes, shown.nothing_to_do, shown.undo.indexes_lost) == ("UTC", None, False, ())
    assert (shown.instant.action, shown.target) == ("commit", newest(copy))
    lines = rollback_lines(shown)
    assert lines[0].startswith(f"Files to delete: {shown.undo.files_to_delete} (")
    paths = [file.path for file in shown.undo.files]
    told = [line.split(":")[0] for line in lines if line.startswith("  part-")]
    assert told == [f"  {path}" for path in sorted({path.partition("/")[0] for path in paths})]
    lines = [line for line in lines if not line.startswith("  part-")]
    assert lines[1] == f"Listed partitions: 4, those in the records of {shown.target}."
    assert lines[2].startswith(f"Files required there by readers after the rollback: {shown.undo.files_needed} (")
    assert any(line.startswith("The metadata table is rolled back, too: 1 instant, ") for line in lines)
    assert "Metadata partitions that are kept: column_stats, files, partition_stats." in lines
    assert lines[-2:] == ["No lock is taken: none is configured.", "All writers and table services must be stopped."]
    assert lines[5] == "Partitions without data afterwards: 1 (part-3)."
    assert lines[-3] == "  ALTER TABLE `cow_part` DROP IF EXISTS PARTITION (`p`='part-3');"
    assert len(lines) == 11


def test_a_pending_write_of_version_6(tmp_path: Path) -> None:
    """Rollback blocks, and the metadata table; nothing of what readers need."""
    shown = view(unpack(tmp_path, "v6", "mor_failed_direct"))
    lines = rollback_lines(shown)
    assert len(shown.undo.rollback_blocks) > 0
    assert any(line.endswith(f"in file slices that are kept: {len(shown.undo.rollback_blocks)}.") for line in lines)
    assert any(line.startswith("The metadata table is rolled back, too: ") for line in lines)
    assert not any("required by readers" in line for line in lines)


def test_indexes_clean_and_metafile(tmp_path: Path) -> None:
    copy = unpack(tmp_path, "v6", "cow_record_index")
    needed = sorted(required(copy.table, rollback_of(copy, newest(copy)).undo.case))
    copy.write(f"{LATER}.clean.requested", records.clean_plan(needed[:2]))
    partition = needed[0].partition("/")[0]
    drop(copy.path / partition / ".hoodie_partition_metadata")
    lines = "\n".join(rollback_lines(view(copy)))
    assert "Metadata partitions that are kept: files, record_index." in lines
    deleting = "\n".join(rollback_lines(view(copy, RollbackOptions(metadata="delete"))))
    assert "The metadata table is deleted with its indexes record_index: this was requested (--metadata d" in deleting
    assert f"The pending clean {LATER} is removed: it would delete 2 required files." in lines
    assert f"Partition metafiles to create: {partition}." in lines


def test_one_that_goes_on(tmp_path: Path) -> None:
    copy = unpack(tmp_path, "v9", "cow_rollback_interrupted")
    (hudis,) = [name.partition(".")[0] for name in copy.having("rollback.requested")]
    assert f"The pending rollback {hudis} is removed: this one covers it." in rollback_lines(view(copy))
    died(copy, newest(copy), "delete files")
    shown = view(copy)
    assert (shown.resumes not in (None, hudis), shown.rollbacks_superseded) == (True, (hudis,))
    assert f"The pending rollback {shown.resumes} is continued." in rollback_lines(shown)


@pytest.mark.parametrize("begun", [False, True])
def test_a_plan_that_stays(tmp_path: Path, begun: bool) -> None:
    copy = unpack(tmp_path, "v8", "mor_pending_compaction")
    (compaction,) = [name.partition(".")[0] for name in copy.having("compaction.requested")]
    if begun:
        copy.write(f"{compaction}.compaction.inflight")
    shown = view(copy, RollbackOptions(keep_plan=True), compaction)
    assert (shown.plan_kept, shown.nothing_to_do) == (True, not begun)
    assert any("becomes requested again" in line for line in rollback_lines(shown))


def test_json_has_all_keys_in_words(tmp_path: Path) -> None:
    body = json.loads("".join(envelope("rollback", "file:///lake/t", result=view(unpack(tmp_path, "v6", "mor_part")))))
    assert set(body["result"]) == {name.rpartition(".")[2] for name in RollbackPlan.shown}
    assert body["result"]["metadata_table"]["fate"] == "rolled back"
    rows = body["result"]["metadata_table"]["partitions"]
    assert [(row["partition"], row["fate"]) for row in rows] == [("files", "kept")]
    assert isinstance(body["result"]["options"]["idle_ms"], int)
