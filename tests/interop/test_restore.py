"""After hudictl's restore the real Hudi reads the rows of the savepoint, writes, and reads again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.restore_support import QUICK, partition_columns, upsert_and_read
from tests.interop.scenarios import SCENARIOS, digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]

QUICK_SCENARIOS = ["delete_partition", "hive_encoded_mor", "bootstrapped_mdt", "log_compacted"]
# A restore that Hudi itself refuses is no restore to judge by: these savepoints cannot be made, or are in the way.
NOT_RESTORABLE = {"cow_cleaned", "cow_savepoints"}


def restores(*, quick: bool) -> list[tuple[str, str, str]]:
    """(version, table, instant) of the restores in outcomes-*.json; quick are those that take most back."""
    found = []
    for version in support.VERSIONS:
        for name in support.names(version):
            for number, entry in enumerate(support.outcomes(version, name, "restore")):
                refused = not entry.get("ok") and name in NOT_RESTORABLE
                if (name in QUICK and not number) is quick and not refused:
                    found.append((version, name, entry["instant"]))
    return found


def check(judge: Judge, base: Path, target: str, expected: dict[str, object]) -> None:
    """Restores, and lets Hudi read by listing and through the metadata table, upsert, and read again."""
    product.savepoint(base, target)
    product.restore(base, target)
    rows = judge.read(base, metadata=False)
    assert judge.both_rows(base) == digest(rows) == expected
    timeline = judge.timeline(base)
    (restored,) = [entry for entry in timeline if entry[1] == "restore"]
    assert restored[2] == "COMPLETED"
    assert not [entry for entry in timeline if entry[1] == "rollback" and entry[0] > target]
    assert target in [entry[0] for entry in timeline if entry[1] == "savepoint"]
    decoded = judge.decode(restore_file(base), "HoodieRestoreMetadata")
    assert sorted(decoded["instantsToRollback"]) == sorted(decoded["hoodieRestoreMetadata"])
    upsert_and_read(judge, base, rows)


def restore_file(base: Path) -> Path:
    (file,) = [path for path in base.glob(".hoodie/**/*.restore") if not path.name.startswith(".")]
    return file


@pytest.mark.short("v6-cow_part", "v6-mor_pending_compaction", "v9-cow_cluster", "v9-mor_part")
@pytest.mark.parametrize(("version", "name", "target"), restores(quick=True))
def test_outcome(judge: Judges, version: str, name: str, target: str, tmp_path: Path) -> None:
    base = support.unpack(version, name, tmp_path)
    check(judge(version), base, target, support.facts(version, name)["rows"][target])


@pytest.mark.full
@pytest.mark.parametrize(("version", "name", "target"), restores(quick=False))
def test_outcome_of_every_table(judge: Judges, version: str, name: str, target: str, tmp_path: Path) -> None:
    base = support.unpack(version, name, tmp_path)
    check(judge(version), base, target, support.facts(version, name)["rows"][target])


def check_scenario(judge: Judge, name: str, folder: Path) -> None:
    made = SCENARIOS[name](judge, folder)
    target = made.savepoint or made.instants[1]
    product.savepoint(made.path, target)
    product.restore(made.path, target)
    assert judge.both_rows(made.path) == made.rows[target]
    rows = judge.read(made.path, columns=("id", "ts", "val", *partition_columns(judge, made.path)))
    changed = [[row[0], 9_999_999, "after the restore", *row[3:]] for row in rows[:7]]
    judge.upsert(made.path, changed, options=made.options)
    assert judge.both_rows(made.path) == digest((rows_by_id(rows) | rows_by_id(changed)).values())


def rows_by_id(rows: list[list[object]]) -> dict[object, list[object]]:
    return {row[0]: row for row in rows}


@pytest.mark.short("v6-delete_partition")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", QUICK_SCENARIOS)
def test_scenario(judge: Judges, version: str, name: str, tmp_path: Path) -> None:
    check_scenario(judge(version), name, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - set(QUICK_SCENARIOS)))
def test_every_scenario(judge: Judges, version: str, name: str, tmp_path: Path) -> None:
    check_scenario(judge(version), name, tmp_path)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_schemas_are_hudis_own(judge: Judges, version: str) -> None:
    from hudictl.formats import restore, rollback, savepoint

    for schema in (savepoint.SCHEMA, rollback.PLAN_SCHEMA, restore.PLAN_SCHEMA, restore.METADATA_SCHEMA):
        assert schema == judge(version).avro_schema(schema["name"])


def test_several_rollback_blocks_in_one_file(judge: Judges, tmp_path: Path) -> None:
    """Pitfalls 33: 0.15.0 reads every command block of one file."""
    base = support.unpack("v6", "mor_parquet_logs", tmp_path)
    target = sorted(support.facts("v6", "mor_parquet_logs")["rows"])[0]
    before = set(base.rglob("*.log.*"))
    product.savepoint(base, target)
    product.restore(base, target)
    new = [path for path in set(base.rglob("*.log.*")) - before if path.parent.name.startswith("part")]
    assert new
    for file in new:
        blocks = judge("v6").log_blocks(file)
        assert {block["type"] for block in blocks} == {"COMMAND_BLOCK"}
        assert len({block["header"]["TARGET_INSTANT_TIME"] for block in blocks}) == len(blocks) > 1


@pytest.mark.full
def test_rolled_back_rows_stay_away_when_the_archive_passes(judge: Judges, tmp_path: Path) -> None:
    """Pitfalls 4 and 5: an instant older than the timeline counts as committed."""
    base = support.unpack("v6", "mor_pending_compaction", tmp_path)
    target = sorted(support.facts("v6", "mor_pending_compaction")["rows"])[0]
    hudi = judge("v6")
    product.savepoint(base, target)
    product.restore(base, target)
    rows = hudi.read(base, columns=("id", "ts", "val", "p"))
    hudi.delete_savepoint(base, target)
    # Nothing may hold the archive back: no metadata table, no compaction to wait for.
    options = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.cleaner.commits.retained": "1"}
    options |= {"hoodie.metadata.enable": "false", "hoodie.compact.inline.max.delta.commits": "1"}
    for turn in range(6):
        changed = [[*rows[0][:1], 10_000_000 + turn, "later", rows[0][3]]]
        hudi.upsert(base, changed, options=options)
    first = min(entry[0] for entry in hudi.timeline(base) if entry[1] == "deltacommit")
    removed = support.facts("v6", "mor_pending_compaction")["rows"].keys() - {target}
    assert first > max(removed)
    assert hudi.both_rows(base) == digest((rows_by_id(rows) | rows_by_id(changed)).values())
