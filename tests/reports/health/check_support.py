"""What the tests of check share with others."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.formats.file_names import parse_data_file
from hudictl.reports.health.check import check_table
from hudictl.reports.health.families import FindingSelection
from hudictl.reports.health.finding import Finding
from hudictl.table.files.sweep import sweep
from tests import support
from tests.helpers import (
    ENGINE,
    Copy,
    put,
    tree,
)

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


TEN_MINUTES = 600_000


def check(copy: Copy, idle_ms: int = TEN_MINUTES) -> list[Finding]:
    """What is found, by name as well; nothing is changed."""
    before = tree(copy.path)
    found = list(check_table(copy.table, ENGINE, idle_ms).findings)
    for name in {entry.finding for entry in found}:
        alone = check_table(copy.table, ENGINE, idle_ms, selection=FindingSelection(only=frozenset({name}))).findings
        assert [brief(entry) for entry in alone if entry.finding == name] == [
            brief(entry) for entry in found if entry.finding == name
        ]
    assert tree(copy.path) == before
    return found


def while_it_lists(copy: Copy, act: Callable[[], object]) -> list[str]:
    """The findings, where somebody else acts between the timeline and the listing."""

    def listing(*arguments: object, **within: object) -> object:
        act()
        return sweep(*arguments, **within)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hudictl.state.facts.sweep", listing)
        return [entry.finding for entry in check_table(copy.table, ENGINE, TEN_MINUTES).findings]


def one(copy: Copy, idle_ms: int = TEN_MINUTES) -> Finding:
    (found,) = check(copy, idle_ms)
    return found


def brief(found: Finding) -> tuple[str, str, str]:
    return found.finding, found.severity, found.subject


def begun_beside(table: Path) -> tuple[str, str]:
    """An uncommitted base file of a writer that began before a log's writer completed; its path, and the log's."""
    log = max(path for path in table.glob("part-*/.*.log.*") if not path.name.endswith(".crc"))
    data = parse_data_file(log.name)
    assert data is not None
    base = max(log.parent.glob(f"{data.file_id}_*.parquet"))
    time = str(int(data.instant) - 1)
    mine = put(base.with_name(base.name.rpartition("_")[0] + f"_{time}.parquet"), base.read_bytes())
    return str(mine.relative_to(table)), str(log.relative_to(table))
