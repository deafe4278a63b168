"""The scenarios hold what their names say, on each Hudi release."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.interop.judge import Judge
from tests.interop.killed import timeline_files
from tests.interop.scenarios import SCENARIOS, Made

pytestmark = [pytest.mark.hudi, pytest.mark.full]


def actions(judge: Judge, made: Made) -> list[str]:
    """The completed actions of a table, oldest first."""
    return [action for _, action, state, _ in judge.timeline(made.path) if state == "COMPLETED"]


def partitions(made: Made) -> set[str]:
    """The table's partition folders, as on disk."""
    return {str(file.parent.relative_to(made.path)) for file in made.path.rglob(".hoodie_partition_metadata")}


CHECKS: dict[str, Callable[[Judge, Made], bool]] = {
    "insert_overwrite": lambda judge, made: actions(judge, made)[2] == "replacecommit",
    "insert_overwrite_table": lambda judge, made: actions(judge, made)[2] == "replacecommit",
    "delete_partition": lambda judge, made: actions(judge, made)[2] == "replacecommit",
    "three_levels": lambda judge, made: "eu/fr/2026" in partitions(made),
    "hive_encoded": lambda judge, made: {"p=k%3Dv", "p=100%25", "p=a%2Fb"} <= partitions(made),
    "hive_encoded_mor": lambda judge, made: any(".log." in file for file in judge.files(made.path)),
    "non_ascii": lambda judge, made: {"Zürich", "東京", "Ελλάδα", "дом"} <= partitions(made),
    "non_ascii_mor": lambda judge, made: any(".log." in file for file in judge.files(made.path)),
    "bucket_cow": lambda judge, made: all(Path(f).name.startswith("0000000") for f in judge.files(made.path)),
    "bucket_mor": lambda judge, made: any(".log." in file for file in judge.files(made.path)),
    "bootstrapped_mdt": lambda judge, made: "files" in judge.properties(made.path)["hoodie.table.metadata.partitions"],
    "savepoint_then_clean": lambda judge, made: "clean" in actions(judge, made),
    "clustered": lambda judge, made: "replacecommit" in actions(judge, made),
    "log_compacted": lambda judge, made: any(".logcompaction." in path.name for path in timeline_files(made.path)),
}


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(judge: Callable[[str], Judge], version: str, name: str, tmp_path: Path) -> None:
    made = SCENARIOS[name](judge(version), tmp_path)
    assert CHECKS[name](judge(version), made)
    assert judge(version).files(made.path) == judge(version).files(made.path, metadata=False)
