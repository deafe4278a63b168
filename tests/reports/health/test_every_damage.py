"""What check says of damaged tables, against what the real Hudi did with them: tests/damage/outcomes-*.json."""

from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import HudictlError
from hudictl.reports.health.finding import ERROR, WARNING
from hudictl.reports.table import describe_table
from hudictl.table.open import open_table
from tests import support
from tests.damage.cases import outcomes
from tests.damage.harms import do_harm
from tests.helpers import Copy
from tests.reports.health.check_support import check

pytestmark = pytest.mark.slow

NOT_SEEN = {
    ("base", "flipped"): "no column is decoded",
    ("cdc-log", "flipped"): "no block is decoded",
    ("cdc-log", "version"): "no block is decoded",
    ("log", "flipped"): "no block is decoded: `log verify` does",
    ("log", "version"): "no block is decoded: `log verify` does",
    ("metadata-index-base", "flipped"): "no index is decoded",
    ("metadata-index-log", "flipped"): "no index is decoded",
    ("metadata-index-log", "version"): "no index is decoded: `log verify` does",
}
"""Damages by kind and harm that Hudi fails at, or may, and check does not find, with the reason."""

SOMETIMES = {
    ("properties", "flipped"): "its checksum is over the table's name alone: the line that is hit decides",
    ("clean", "missing"): "it is pending then: the next clean finishes it, unless it has files and the table was moved",
}
"""The same, of which check finds some."""

KNOWN = {("v8", "properties", "version"): "it is 9 then, which only this release does not know"}
OTHERS_START = ("HoodieClusteringUpdateException", "Unknown table versionCode")
"""Why the write of the test alone fails: a pending clustering forbids it to its own file groups; the release that is
asked does not know the version that a later one does."""


def tables() -> list[tuple[str, str]]:
    """Those of which the real Hudi was asked."""
    asked = {(version, case["table"]) for version in support.VERSIONS for case in outcomes(version)["cases"]}
    return sorted(asked)


def fails_at(version: str, case: Any) -> list[str]:
    """The steps at which Hudi fails, or reads other rows, with the damaged table alone."""
    sound = outcomes(version)["sound"][case["table"]]["hudi"]
    return [step for step in case["hudi"] if not sound[step].startswith("fails")]


def wrong_to(version: str, case: Any) -> list[str]:
    """Those, and which of Hudi's validators find fault with the damaged table alone."""
    if (version, case["kind"], case["harm"]) in KNOWN:
        return []
    return [*fails_at(version, case), *(f"{name} validator" for name in case.get("validators", ()))]


@pytest.mark.parametrize(("version", "name"), tables())
def test_what_hudi_fails_at_is_found(version: str, name: str, tmp_path: Path) -> None:
    before = seen(Copy(version, name, support.unpack(version, name, tmp_path / "sound")))
    wrong = []
    for number, case in enumerate(case for case in outcomes(version)["cases"] if case["table"] == name):
        told = wrong_to(version, case)
        if told:
            copy = Copy(version, name, support.unpack(version, name, tmp_path / str(number)))
            do_harm(copy.path, case["path"], case["harm"])
            found = seen(copy) - before
            harm = (case["kind"], case["harm"])
            if harm not in SOMETIMES and bool(found) is (harm in NOT_SEEN):
                wrong.append(f"{case['kind']} {case['harm']}: Hudi's {told}: {sorted(found)}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("version", "name"), tables())
def test_where_hudi_cannot_write_no_writer_is_said_to_start(version: str, name: str, tmp_path: Path) -> None:
    wrong = []
    for number, case in enumerate(case for case in outcomes(version)["cases"] if case["table"] == name):
        why = case["hudi"].get("write", "") if "write" in fails_at(version, case) else ""
        seen_by_nobody = (case["kind"], case["harm"]) in NOT_SEEN | SOMETIMES
        if why.startswith("fails") and not any(other in why for other in OTHERS_START) and not seen_by_nobody:
            base = support.unpack(version, name, tmp_path / str(number))
            do_harm(base, case["path"], case["harm"])
            if opens(base):
                wrong.append(f"{case['kind']} {case['harm']}: {why}")
    assert not wrong, "\n".join(wrong)


def opens(base: Path) -> bool:
    """Whether `table show` says that a writer can start."""
    try:
        return describe_table(open_table(str(base))).writers_can_start
    except HudictlError:
        return False


def seen(copy: Copy) -> set[str]:
    """The findings; of a table that cannot even be opened why."""
    try:
        return {f"{entry.finding} {entry.subject}" for entry in check(copy) if entry.severity in (ERROR, WARNING)}
    except HudictlError as error:
        return {f"{error.slug} {error.message}"}
