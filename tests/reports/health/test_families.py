"""Which findings there are, and how some of them are asked for."""

import ast
import inspect
import sys

import pytest

from hudictl.errors import UsageError
from hudictl.reports.health.families import FAMILIES, NAMES, Family, FindingSelection
from hudictl.reports.health.files import ROLLBACK_BLOCK_AHEAD
from hudictl.reports.health.finding import UNREADABLE
from hudictl.state.files.bootstrap import INDEX_LOST, SOURCE_ELSEWHERE, SOURCE_LOST
from hudictl.state.services.stalled import CLEAN_WITHOUT_PLAN, PENDING_INDEXING
from hudictl.state.timeline.unfinished import (
    ARMED_ROLLBACK,
    PENDING_RESTORE,
    PENDING_ROLLBACK,
    RESTORE_WITHOUT_PLAN,
    ROLLBACK_REMNANT,
    UNDO_BEGUN,
)
from hudictl.state.writers.failed_writes import FAILED_WRITE


def test_every_family_has_a_name_of_its_own() -> None:
    assert len({(family.__module__, family.__name__) for family in FAMILIES}) == len(FAMILIES)


def test_findings_that_are_named_elsewhere_are_known() -> None:
    kinds = (ARMED_ROLLBACK, PENDING_RESTORE, PENDING_ROLLBACK, RESTORE_WITHOUT_PLAN, ROLLBACK_REMNANT, UNDO_BEGUN)
    others = (CLEAN_WITHOUT_PLAN, PENDING_INDEXING, FAILED_WRITE, INDEX_LOST, SOURCE_LOST, SOURCE_ELSEWHERE)
    assert {UNREADABLE, ROLLBACK_BLOCK_AHEAD, *kinds, *others} <= NAMES


def literals(family: Family) -> set[str]:
    """Names that stand where a finding is made, in a family's module."""
    tree = ast.parse(inspect.getsource(sys.modules[family.__module__]))
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding"
    ]
    return {arg.value for call in calls for arg in call.args[:1] if isinstance(arg, ast.Constant)}


@pytest.mark.parametrize("module", sorted({family.__module__ for family in FAMILIES}))
def test_no_finding_is_made_that_has_no_family(module: str) -> None:
    """It could not be asked for, nor left out."""
    families = [family for family in FAMILIES if family.__module__ == module]
    assert literals(families[0]) <= {name for family in families for name in FAMILIES[family]}


def test_only_takes_what_is_named_and_what_cannot_be_read() -> None:
    """With a damaged file, what is asked for may be missing: no answer would be a wrong one."""
    chosen = FindingSelection(only=frozenset({"orphans"}))
    assert {name for name in NAMES if chosen.takes(name)} == {"orphans", "unreadable"}
    assert [family.__name__ for family in chosen.families()] == ["orphans"]
    assert not FindingSelection(skip=frozenset({"unreadable"})).takes("unreadable")
    both = FindingSelection(only=frozenset({"orphans", "missing-file"}), skip=frozenset({"orphans"}))
    assert [family.__name__ for family in both.families()] == ["missing"]


def test_what_cannot_be_read_may_be_met_by_all() -> None:
    chosen = FindingSelection(only=frozenset({"unreadable"}))
    assert list(chosen.families()) == list(FAMILIES)
    assert {name for name in NAMES if chosen.takes(name)} == {"unreadable"}


def test_all_are_asked_for_by_default() -> None:
    assert list(FindingSelection().families()) == list(FAMILIES)


def test_a_family_is_asked_as_long_as_one_of_its_findings_is() -> None:
    chosen = FindingSelection(skip=frozenset({"second-base-file", "wrong-size"}))
    assert "base_files" in {family.__name__ for family in chosen.families()}
    assert not chosen.takes("wrong-size")


@pytest.mark.parametrize("option", ["only", "skip"])
def test_a_name_that_is_none_is_refused(option: str) -> None:
    with pytest.raises(UsageError, match=f"--{option} orphan: ") as error:
        FindingSelection(**{option: frozenset({"orphan"})})
    assert error.value.hint == "known findings: orphans"
