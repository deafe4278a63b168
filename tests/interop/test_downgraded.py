"""Merge on read that 1.2.0 has downgraded to version 6: why a restore behind its compaction is refused; the way out."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.cli.main import run
from tests import support
from tests.helpers import tree
from tests.interop import product
from tests.interop.check_support import slugs
from tests.interop.judge import Judge
from tests.interop.make_downgraded import AS_VERSION_6, convert
from tests.interop.make_overlaps import BY_HAND, COMPACT, rows
from tests.interop.scenarios import NO_METADATA, digest

pytestmark = pytest.mark.hudi

NAME = "downgraded_mor"
FACTS = support.downgraded_facts(NAME)
TARGETS = pytest.mark.parametrize("which", ["second", "S"])


def lost_deletes(hudi: Judge, base: Path, options: dict[str, str]) -> list[int]:
    """The rows that a writer deletes after it has written all, and readers see once it has compacted."""
    hudi.upsert(base, rows("abc", 9), options={**BY_HAND, **options})
    gone = list(range(0, 30, 5))
    hudi.delete(base, gone, {**COMPACT, "hoodie.compact.inline": "true", **options})
    return sorted({row[0] for row in hudi.read(base, metadata=False)} & {*gone})


@pytest.mark.full
@pytest.mark.short("S")
@TARGETS
def test_deleted_rows_come_back_after_hudis_own_restore(
    judge: Callable[[str], Judge], which: str, tmp_path: Path
) -> None:
    """While the table stays at version 6. An upgrade, which compacts, mends it."""
    hudi, target = judge("v9"), FACTS["instants"][which]
    base = support.unpack("v6", NAME, tmp_path)
    options = {**AS_VERSION_6, **NO_METADATA}
    hudi.savepoint(base, target, options)
    hudi.restore(base, target, {**options, "hoodie.cleaner.policy.failed.writes": "LAZY"})
    assert hudi.rows(base, metadata=False) == FACTS["rows"][target]
    assert "misnamed-logs" in slugs(base)
    upgraded = shutil.copytree(base, tmp_path / "upgraded")
    assert lost_deletes(hudi, base, options)
    convert(hudi, upgraded, "upgrade", "NINE")
    assert "misnamed-logs" not in slugs(upgraded)
    assert lost_deletes(hudi, upgraded, NO_METADATA) == []


@pytest.mark.full
@pytest.mark.short("S")
@TARGETS
def test_the_way_out(judge: Callable[[str], Judge], which: str, tmp_path: Path) -> None:
    """Upgraded, restored, downgraded again: as the refusal says."""
    hudi, target = judge("v9"), FACTS["instants"][which]
    base = support.unpack("v6", NAME, tmp_path)
    before = tree(base, ".hoodie/.hudictl")
    assert product.command(base, "restore", "--to-instant", target) == 13
    assert tree(base, ".hoodie/.hudictl") == before
    convert(hudi, base, "upgrade", "NINE")
    assert product.command(base, "restore", "--to-instant", target, idle="0s") == 0
    assert hudi.both_rows(base) == FACTS["rows"][target]
    convert(hudi, base, "downgrade", "SIX")
    assert hudi.both_rows(base) == FACTS["rows"][target]
    assert "misnamed-logs" not in slugs(base)
    assert lost_deletes(hudi, base, AS_VERSION_6) == []


@pytest.mark.short("S")
@TARGETS
def test_a_metadata_table_that_was_downgraded_is_right_after_a_restore(
    judge: Callable[[str], Judge], which: str, tmp_path: Path
) -> None:
    hudi, facts = judge("v9"), support.downgraded_facts("downgraded_cow")
    base, target = support.unpack("v6", "downgraded_cow", tmp_path), facts["instants"][which]
    assert product.command(base, "restore", "--to-instant", target, idle="0s") == 0
    assert hudi.both_rows(base) == facts["rows"][target]
    hudi.upsert(base, rows("abc", 9), options={**BY_HAND, **AS_VERSION_6})
    assert hudi.both_rows(base) == digest(rows("abc", 9))
    # The instant that the downgrade has left in the metadata table's timeline alone names nothing.
    assert {*slugs(base)} <= {"times-not-kept"}


@pytest.mark.full
@pytest.mark.short("v8-True")
@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_metadata_table_that_a_later_release_writes_in_version_6(
    judge: Callable[[str], Judge], version: str, compacted: bool, tmp_path: Path
) -> None:
    """1.0.2 gives all of its logs the token of the first log of a file group: that of the instant goes all the same."""
    hudi, base = judge(version), tmp_path / "table"
    options = {**BY_HAND, **AS_VERSION_6, "hoodie.metadata.record.index.enable": "true"}
    if compacted:
        options |= {"hoodie.metadata.compact.max.delta.commits": "2"}
    hudi.create(base, rows("abc", 1), options)
    for number in (2, 3):
        hudi.upsert(base, rows("ab", number), options=options)
    kept = hudi.both_rows(base)
    last = hudi.upsert(base, [*rows("bc", 4), [900, 4, "new", "d"]], options=options)
    assert hudi.properties(base)["hoodie.table.version"] == "6"
    assert product.command(base, "rollback", last, idle="0s") == 0
    assert run(["log", "verify", "--table", str(base), "--engine", "local"]) == 0
    assert hudi.both_rows(base) == kept
    assert hudi.index_differences(base, keys=[900]) == []
    hudi.upsert(base, rows("abc", 9), options=options)
    assert hudi.both_rows(base) == digest(rows("abc", 9))
    assert hudi.index_differences(base, keys=[900]) == []
