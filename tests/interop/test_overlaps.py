"""A savepoint's commit S beside an instant T that was requested before it and is completed after it, or not yet."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.cli.main import run
from tests import support
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.make_overlaps import BY_HAND, COMPACT, MOR, ONE_VERSION, rows
from tests.interop.overlaps_support import upsert_all
from tests.interop.savepoint_support import files

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
# 1.2.0 with eager cleaning dies at T in the midst of a restore, by its own guard: S is a later commit.
LAZY = {"hoodie.cleaner.policy.failed.writes": "LAZY"}
# What a reader has after a restore to S, by the rule: the rows that T wrote stay, or go.
LEFT = {"requested": "T", "completion": "S"}
DEFAULT = {"v6": "requested", "v8": "requested", "v9": "completion"}


def sample(version: str, name: str, folder: Path) -> tuple[Path, dict[str, str], dict[str, object]]:
    """A table of tests/overlaps, its instants and what a reader saw after each, by their names."""
    facts = support.overlap_facts(version, name)
    seen = {which: facts["rows"][instant] for which, instant in facts["instants"].items() if instant in facts["rows"]}
    return support.unpack(version, name, folder), facts["instants"], seen


def restore(base: Path, target: str, rule: str | None = None) -> int:
    return product.command(base, "restore", target, *(["--rule", rule] if rule else []), idle="0s")


@pytest.mark.full
@pytest.mark.short("v6-cow_writer")
@VERSIONS
@pytest.mark.parametrize("name", ["cow_clustering", "mor_clustering", "cow_writer", "mor_writer"])
def test_without_a_rule_a_restore_does_what_the_release_does(
    judge: Judges, version: str, name: str, tmp_path: Path
) -> None:
    hudi = judge(version)
    hudis, instants, seen = sample(version, name, tmp_path / "hudis")
    hudi.savepoint(hudis, instants["S"])
    hudi.restore(hudis, instants["S"], LAZY)
    assert hudi.both_rows(hudis) == seen[LEFT[DEFAULT[version]]]
    base, _, _ = sample(version, name, tmp_path)
    product.savepoint(base, instants["S"])
    assert restore(base, instants["S"]) == 0
    assert hudi.both_rows(base) == seen[LEFT[DEFAULT[version]]]
    upsert_all(hudi, base)


@pytest.mark.full
@pytest.mark.short("v6-mor_writer-completion", "v9-cow_writer-requested")
@VERSIONS
@pytest.mark.parametrize("name", ["cow_clustering", "mor_clustering", "cow_writer", "mor_writer"])
@pytest.mark.parametrize("rule", LEFT)
def test_a_savepoint_protects_what_either_rule_needs(
    judge: Judges, version: str, name: str, rule: str, tmp_path: Path
) -> None:
    """Also what T has replaced, or has written anew: the next clean takes all else."""
    hudi = judge(version)
    base, instants, seen = sample(version, name, tmp_path)
    product.savepoint(base, instants["S"])
    hudi.clean(base, {**ONE_VERSION, **BY_HAND})
    assert restore(base, instants["S"], rule) == 0
    assert hudi.both_rows(base) == seen[LEFT[rule]]
    upsert_all(hudi, base)


@pytest.mark.full
@pytest.mark.short("v6")
@VERSIONS
def test_a_rule_that_loses_rows_is_refused_and_the_other_restores(judge: Judges, version: str, tmp_path: Path) -> None:
    """Hudi's savepoint was made before the clustering T was completed, and a clean took T's files: the restores of
    0.15.0 and 1.0.2 keep T, and its rows are lost."""
    hudi = judge(version)
    hudis, instants, seen = sample(version, "cow_clustering_cleaned", tmp_path / "hudis")
    hudi.restore(hudis, instants["S"], LAZY)
    assert (hudi.both_rows(hudis) == seen["S"]) is (DEFAULT[version] == "completion")
    base, _, _ = sample(version, "cow_clustering_cleaned", tmp_path)
    assert restore(base, instants["S"]) == (0 if DEFAULT[version] == "completion" else 13)
    assert restore(base, instants["S"], "completion") == 0
    assert hudi.both_rows(base) == seen["S"]
    upsert_all(hudi, base)


@pytest.mark.full
@pytest.mark.short("v9-mor_compaction_cleaned")
@VERSIONS
@pytest.mark.parametrize(
    "name", ["mor_compaction", "mor_compaction_cleaned", "mor_compaction_after", "mor_compaction_superseded"]
)
def test_a_savepoint_beside_a_compaction(judge: Judges, version: str, name: str, tmp_path: Path) -> None:
    """What its slices hold is restored, wherever T's own files are; what Hudi itself loses is refused."""
    hudi = judge(version)
    base, instants, seen = sample(version, name, tmp_path)
    hudis, _, _ = sample(version, name, tmp_path / "hudis")
    if not list((base / ".hoodie").rglob("*.savepoint")):
        product.savepoint(base, instants["S"])
        hudi.savepoint(hudis, instants["S"])
    before = hudi.both_rows(base)
    hudi.restore(hudis, instants["S"], LAZY)
    if hudi.both_rows(hudis) != seen["S"]:
        assert restore(base, instants["S"]) == 13
        assert hudi.both_rows(base) == before
        return
    assert restore(base, instants["S"]) == 0
    assert hudi.both_rows(base) == seen["S"]
    upsert_all(hudi, base)


@pytest.mark.full
@pytest.mark.short("v6-own")
@VERSIONS
@pytest.mark.parametrize("whose", ["hudis", "own"])
def test_a_savepoint_beside_a_pending_compaction_holds_when_that_is_completed_and_cleaned(
    judge: Judges, version: str, whose: str, tmp_path: Path
) -> None:
    """Hudi's own names no base file of what the compaction has planned, and from 1.0 on nothing at all of a file group
    without a later log: a second ``savepoint create`` mends it."""
    hudi = judge(version)
    base, instants, seen = sample(version, "mor_compaction_pending", tmp_path)
    names = files(base, instants["S"])
    assert not any(name.endswith(".parquet") for name in names["a"])
    assert (names["b"] == set()) is (version != "v6")
    if whose == "own":
        hudi.delete_savepoint(base, instants["S"])
    assert product.command(base, "savepoint", "create", instants["S"], "--allow-pending", idle="0s") == 0

    hudi.compact(base, "run", {**MOR, **COMPACT})
    hudi.upsert(base, rows("abc", 5), options=MOR)
    assert run(["check", "--table", str(base)]) == 0
    hudi.compact(base, "scheduleAndExecute", {**MOR, **COMPACT})
    hudi.upsert(base, rows("abc", 6), options=MOR)
    hudi.clean(base, {**ONE_VERSION, **MOR})

    assert restore(base, instants["S"]) == 0
    assert hudi.both_rows(base) == seen["S"]
    upsert_all(hudi, base)


@pytest.mark.short("v6-mor_writer-T", "v9-cow_writer-S")
@VERSIONS
@pytest.mark.parametrize("name", ["cow_clustering", "mor_clustering", "cow_writer", "mor_writer"])
@pytest.mark.parametrize("which", ["S", "T"])
def test_either_of_two_side_by_side_is_rolled_back(
    judge: Judges, version: str, name: str, which: str, tmp_path: Path
) -> None:
    """They have changed different file groups: neither builds on the other, and each goes without it, as with Hudi."""
    hudi = judge(version)
    hudis, instants, seen = sample(version, name, tmp_path / "hudis")
    base, _, _ = sample(version, name, tmp_path)
    for instant in (instants["L"], instants[which]):
        assert product.rollback(base, instant) == 0
        hudi.rollback(hudis, instant, LAZY)
    assert hudi.both_rows(base) == hudi.both_rows(hudis)
    assert which == "S" or hudi.both_rows(base) == seen["S"]
    assert run(["check", "--table", str(base)]) == 0
    assert hudi.index_differences(base) == []
    upsert_all(hudi, base)
