"""Tables with a history: a restore by hudictl ends as the real Hudi's does, or better, or is refused."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.helpers import tree
from tests.interop import product
from tests.interop.check_support import slugs
from tests.interop.judge import Judge
from tests.interop.make_history import ARCHIVED
from tests.interop.make_overlaps import rows
from tests.interop.overlaps_support import upsert_all
from tests.interop.scenarios import NO_METADATA, digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]

# What was read after the compaction T has the write beside it, which goes or stays by the rule: see test_overlaps.
TARGETS = [
    pytest.param(version, name, which, id=f"{version}-{name}-{which}")
    for version in support.VERSIONS
    for name in support.history_names(version)
    for which, instant in support.history_facts(version, name)["instants"].items()
    if instant in support.history_facts(version, name)["restores"] and which != "T"
]
REFUSED = {
    # Its rows would come back once the timeline begins later: Hudi leaves the log, and no rollback block in it.
    ("upgraded_mor", "v6 first"): "it can neither be deleted nor be marked",
}
"""What hudictl refuses although Hudi's readers see the right rows after Hudi's own restore."""


@pytest.mark.short("v6-two_compactions-beside T", "v9-upgraded_cow-v9 first")
@pytest.mark.parametrize(("version", "name", "which"), TARGETS)
def test_a_restore(
    judge: Judges, version: str, name: str, which: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its rows are those that were read after the instant, by listing and through the metadata table, and writers go
    on. What Hudi restores rightly is not refused."""
    hudi, facts = judge(version), support.history_facts(version, name)
    base, target = support.unpack(version, name, tmp_path), facts["instants"][which]
    before = tree(base, ".hoodie/.hudictl")
    how = [target] if target in facts["savepoints"] else ["--to-instant", target]
    code = product.command(base, "restore", *how, idle="0s")
    if code:
        assert tree(base, ".hoodie/.hudictl") == before
        if facts["restores"][target] == "right":
            assert re.search(REFUSED[name, which], capsys.readouterr().err)
    elif tree(base, ".hoodie/.hudictl") != before:  # else it is there already
        assert hudi.both_rows(base) == facts["rows"][target]
        upsert_all(hudi, base)


@pytest.mark.short("v6")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_first_write_that_failed(judge: Judges, version: str, tmp_path: Path) -> None:
    """Readers that list folders see its rows until it is rolled back."""
    hudi, facts = judge(version), support.history_facts(version, "first_write_failed")
    base, last = support.unpack(version, "first_write_failed", tmp_path), facts["instants"]["second"]
    assert slugs(base) == ["failed-write"]
    assert hudi.rows(base, metadata=True) == facts["rows"][last]
    assert hudi.rows(base, metadata=False) == facts["listing"][last]
    assert product.clean_failed(base, policy="lazy", interval="1s") == 0
    assert slugs(base) == []
    assert hudi.both_rows(base) == facts["rows"][last]
    upsert_all(hudi, base)


@pytest.mark.full
@pytest.mark.short("v6")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_rollback_would_show_rows_from_before_archived_commits(
    judge: Judges, version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused: Hudi's own takes away the rows of five commits, without an error."""
    hudi, base = judge(version), tmp_path / "archived" / "table"
    hudi.create(base, rows("abc", 1), ARCHIVED)
    hudi.savepoint(base, hudi.timeline(base)[0][0])
    for ts in range(2, 6):
        hudi.upsert(base, rows("abc", ts), options=ARCHIVED)
    last = hudi.upsert(base, rows("abc", 6), options=ARCHIVED)
    hudi.archive(base, ARCHIVED)
    assert hudi.both_rows(base) == digest(rows("abc", 6))
    assert product.rollback(base, last) == 13
    assert "archived commits after" in capsys.readouterr().err
    assert hudi.both_rows(base) == digest(rows("abc", 6))
    # With its metadata table 1.0.2 refuses: that was compacted since.
    hudi.rollback(base, last, NO_METADATA)
    assert hudi.rows(base, metadata=False) == digest(rows("abc", 1))


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_was_archived_beyond_a_savepoint_is_read_again(judge: Judges, version: str, tmp_path: Path) -> None:
    """Once the savepoint is deleted, and its commit archived, too."""
    hudi, facts = judge(version), support.history_facts(version, "archived_rows_lost")
    base = support.unpack(version, "archived_rows_lost", tmp_path)
    assert slugs(base) == ["archived-rows-unread", "savepoint-behind-archive"]
    assert hudi.both_rows(base) == facts["rows"][facts["instants"]["L4"]] != digest([*rows("ab", 4), *rows("c", 6)])
    hudi.delete_savepoint(base, facts["instants"]["S"])
    for ts in (7, 8):
        hudi.upsert(base, rows("c", ts), options=ARCHIVED)
    hudi.archive(base, ARCHIVED)
    assert hudi.both_rows(base) == digest([*rows("ab", 4), *rows("c", 8)])
    assert slugs(base) == []
