"""Tables that are broken: what the real Hudi fails at, or reads wrongly, `check` finds."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import ERROR
from hudictl.table.open import open_table
from tests import damage, support
from tests.damage import Damage
from tests.damage.cases import outcomes
from tests.damage.harms import do_harm
from tests.interop import product
from tests.interop.judge import Judge, JudgeError, Rows
from tests.interop.make_damages import FAILED, Did, did, idle_steps
from tests.interop.scenarios import batch

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
DAMAGES: dict[str, Damage] = {
    "second-base-file": damage.second_base_file,
    "unnamed-file": damage.unnamed_file,
    "wrong-size": damage.cut_file,
    "not-parquet": damage.not_parquet,
    "empty-commit": damage.empty_commit,
    "metadata-table-version": damage.metadata_table_version,
}


# How each release takes it: "metadata" and "listing" are reads, "write" an upsert. A second base file with the same
# rows is read as the first; an empty commit is passed over; 1.2.0 reads a metadata table of another version.
FAILS: dict[str, dict[str, set[str]]] = {
    "second-base-file": {},
    "unnamed-file": {version: {"listing"} for version in support.VERSIONS},
    "wrong-size": {version: {"metadata", "listing"} for version in support.VERSIONS},
    "not-parquet": {version: {"metadata", "listing"} for version in support.VERSIONS},
    "empty-commit": {},
    "metadata-table-version": {"v6": {"write"}, "v8": {"metadata", "write"}, "v9": {"write"}},
}


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("damaged", DAMAGES)
def test_what_hudi_fails_at_is_found(judge: Judges, version: str, damaged: str, tmp_path: Path) -> None:
    base = support.unpack(version, "cow_part", tmp_path)
    rows = support.facts(version, "cow_part")["rows"]
    DAMAGES[damaged](base)
    found = check_table(open_table(str(base)), product.ENGINE, 600_000, footers=True).findings
    assert (damaged, ERROR) in {(entry.finding, entry.severity) for entry in found}
    assert failing(judge(version), base, rows[max(rows)]) == FAILS[damaged].get(version, set())


def failing(hudi: Judge, base: Path, right: Rows) -> set[str]:
    """What Hudi fails at, or does wrongly."""
    failed = set()
    for way, metadata in (("metadata", True), ("listing", False)):
        try:
            right_rows = hudi.rows(base, metadata=metadata) == right
        except JudgeError:
            right_rows = False
        failed |= set() if right_rows else {way}
    try:
        hudi.upsert(base, batch(range(5), 999))
    except JudgeError:
        failed.add("write")
    return failed


@pytest.mark.short("v6-mor_part-log-empty", "v9-mor_part-index-definitions-cut", "v9-mor_part-metadata-log-cut")
@pytest.mark.parametrize(
    ("version", "name", "kind", "harm"),
    [
        pytest.param(version, case["table"], case["kind"], case["harm"])
        for version in support.VERSIONS
        for case in outcomes(version)["cases"]
    ],
)
def test_hudi_does_with_a_damaged_table_what_is_recorded(
    judge: Judges, version: str, name: str, kind: str, harm: str, tmp_path: Path
) -> None:
    """On which the unit tests rest: they hold check against it."""
    known = outcomes(version)
    (case,) = [one for one in known["cases"] if (one["table"], one["kind"], one["harm"]) == (name, kind, harm)]
    sound = known["sound"][name]
    base = support.unpack(version, name, tmp_path)
    do_harm(base, case["path"], harm)
    found = did(lambda: judge(version), base, sound["rows"], idle_steps(kind))
    recorded = sound["hudi"] | case["hudi"]
    assert ended(found) == ended({step: recorded[step] for step in found})


def ended(steps: Did) -> dict[str, str]:
    """Why Hudi fails is in other words each time."""
    return {step: FAILED if what.startswith(FAILED) else what for step, what in steps.items()}
