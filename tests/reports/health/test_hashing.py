"""What check says of the metadata of consistent hashing."""

from pathlib import Path

import pytest

from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import WARNING
from hudictl.table.timeline.archive import archived_after
from tests import support
from tests.helpers import ENGINE, Copy, drop, first_command, put, restore, roll_back
from tests.ops.undo.hashing_support import METADATA, TO_INSTANT, before, hashing, resize_of, table

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def found(copy: Copy) -> list[tuple[str, str, str]]:
    return [(one.finding, one.severity, one.subject) for one in check_table(copy.table, ENGINE, 600_000).findings]


@VERSIONS
def test_a_resize_that_was_taken_back(version: str, tmp_path: Path) -> None:
    """As Hudi's own restore leaves it, and an older hudictl's."""
    copy = table(version, tmp_path)
    resize = resize_of(copy)
    bodies = {path: (copy.path / path).read_bytes() for path in hashing(copy, resize)}
    assert found(copy) == []
    restore(copy, before(copy), options=TO_INSTANT)
    assert found(copy) == []
    for path, body in bodies.items():
        put(copy.path / path, body)
    assert found(copy) == [("hashing-metadata-left", WARNING, resize)]
    (one,) = check_table(copy.table, ENGINE, 600_000).findings
    assert (f"{METADATA}/a/{resize}.hashing_meta" in one.meaning or "more" in one.meaning, first_command(one)) == (
        True,
        "hudictl orphans delete",
    )


@VERSIONS
@pytest.mark.parametrize("counts", [True, False])
def test_a_resize_that_was_taken_back_and_is_pending(version: str, counts: bool, tmp_path: Path) -> None:
    """As the restores of 1.0.2 and 1.2.0 leave it; without a .commit nobody takes it for valid."""
    copy = table(version, tmp_path)
    resize = resize_of(copy)
    roll_back(copy, copy.commits[-1])
    drop(copy.file(resize, "replacecommit"))
    for path in hashing(copy, resize):
        drop(copy.path / path) if path.endswith(".commit") else None
    if counts:
        put(copy.path / METADATA / "a" / f"{resize}.commit")
    left = [one for one in check_table(copy.table, ENGINE, 0).findings if one.finding == "hashing-metadata-left"]
    assert [(one.subject, first_command(one)) for one in left] == [(resize, f"hudictl rollback {resize}")] * counts
    roll_back(copy, resize, options=RollbackOptions(idle_ms=0))
    assert hashing(copy, resize) == set()


@VERSIONS
def test_one_that_is_archived_is_in_order(version: str, tmp_path: Path) -> None:
    copy = Copy(version, "cow_cleaned", support.unpack(version, "cow_cleaned", tmp_path))
    put(copy.path / METADATA / "a/20250101000000000.hashing_meta")
    assert found(copy) == []


@pytest.mark.slow
def test_one_that_is_archived_behind_an_older_commit_is_in_order(tmp_path: Path) -> None:
    """A writer that archives beyond a savepoint leaves the savepoint's commit."""
    copy = Copy("v9", "cow_cleaned", support.unpack("v9", "cow_cleaned", tmp_path))
    old, body = "20250101000000000", copy.file(copy.commits[0], "commit").read_bytes()
    for name in (f"{old}.commit.requested", f"{old}.inflight", f"{old}_{old}.commit"):
        copy.write(name, body if name.endswith(".commit") else b"{}")
    archived = max(entry.time for entry in archived_after(copy.table, old) if entry.action == "commit")
    put(copy.path / METADATA / f"a/{archived}.hashing_meta")
    assert "hashing-metadata-left" not in [finding for finding, _, _ in found(copy)]
    put(copy.path / METADATA / f"a/{archived[:-3]}000.hashing_meta")
    assert ("hashing-metadata-left", WARNING, f"{archived[:-3]}000") in found(copy)
