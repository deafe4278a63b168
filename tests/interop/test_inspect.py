"""``timeline inspect`` on files that Hudi writes while the tests run: nothing is lost of what Hudi reads in them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.formats import avro
from hudictl.reports.instant import inspect_instant
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.interop.judge import RELEASES, Judge
from tests.interop.scenarios import NO_METADATA

pytestmark = pytest.mark.hudi


def same_as_hudis(judge: Judge, base: Path) -> set[str]:
    """Compares every Avro file of the timeline with what Hudi reads in it; returns the names of the records."""
    table = open_table(str(base))
    checked = set()
    for instant in load_timeline(table).instants:
        found = inspect_instant(table, instant.time)
        assert found.problems == ()
        for file in found.files:
            path = base / table.layout.timeline / file.name
            if file.record_type is not None and path.read_bytes().startswith(avro.MAGIC):
                assert judge.decode(path, file.record_type) == file.record, file.name
                checked.add(file.record_type)
    return checked


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", RELEASES)
def test_hudis_own_rollbacks_and_restores(judge: Callable[[str], Judge], tmp_path: Path, version: str) -> None:
    hudi, base = judge(version), support.unpack(version, "mor_savepoints", tmp_path)
    timeline = load_timeline(open_table(str(base)))
    hudi.rollback(base, max(entry.time for entry in timeline.completed_writes()), NO_METADATA)
    assert same_as_hudis(hudi, base) >= {"HoodieRollbackPlan", "HoodieRollbackMetadata", "HoodieCompactionPlan"}
    hudi.restore(base, timeline.savepoints()[0].time, NO_METADATA)
    assert same_as_hudis(hudi, base) >= {"HoodieRestorePlan", "HoodieRestoreMetadata", "HoodieSavepointMetadata"}


@pytest.mark.parametrize("version", RELEASES)
def test_the_fields_that_are_shown_are_hudis(judge: Callable[[str], Judge], version: str) -> None:
    """Of records that no table here holds: the names of their fields in the classes of each release."""
    for name in ("HoodieIndexPlan", "HoodieIndexCommitMetadata"):
        schema = judge(version).avro_schema(name)
        fields = {field["name"]: field["type"] for field in schema["fields"]}
        assert "indexPartitionInfos" in fields
        assert "metadataPartitionPath" in str(schema)
        assert "indexUptoInstant" in str(schema)
    schema = str(judge(version).avro_schema("HoodieRollbackMetadata"))
    for field in ("instantsRollback", "commitsRollback", "totalFilesDeleted", "startRollbackTime", "rollbackLogFiles"):
        assert f"'{field}'" in schema
