"""Restores where the table lies: odd paths, an operator's umask and copies."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from tests import support
from tests.interop import product


def data(base: Path) -> set[str]:
    return {path.relative_to(base).as_posix() for path in base.glob("part-*/*.parquet")}


@pytest.mark.parametrize("name", ["table#copy", "table?x=1", "table%20b", "a table"])
def test_a_path_is_taken_to_the_letter(name: str, tmp_path: Path) -> None:
    """The restore of a copy touches the copy alone, whatever its name means in a URI."""
    original = support.unpack("v9", "cow_savepoints", tmp_path)
    copy = shutil.copytree(original, original.with_name(name), symlinks=True)
    before = data(original)
    target = max(path.name.split("_")[0] for path in copy.glob(".hoodie/timeline/*.savepoint"))
    product.restore(copy, target)
    assert data(original) == before
    assert data(copy) < before


def test_a_tight_umask_locks_nobody_out(tmp_path: Path) -> None:
    """Files keep the access that they had, new ones get what their folder gives."""
    base = support.unpack("v9", "cow_savepoints", tmp_path)
    target = max(path.name.split("_")[0] for path in base.glob(".hoodie/timeline/*.savepoint"))
    saved = os.umask(0o077)
    try:
        product.restore(base, target)
    finally:
        os.umask(saved)
    made = [base / ".hoodie/hoodie.properties", *base.glob(".hoodie/timeline/*.restore*")]
    assert len(made) == 4
    for path in made:
        assert stat.S_IMODE(path.stat().st_mode) == 0o644, path


def test_an_operators_copies_are_left_alone(tmp_path: Path) -> None:
    """A folder without a metafile that no commit names is no partition, and does not become one."""
    base = support.unpack("v9", "cow_savepoints", tmp_path)
    (base / "keep").mkdir()
    for path in base.glob("part-0/*.parquet"):
        shutil.copy2(path, base / "keep")
    kept = sorted(path.name for path in (base / "keep").iterdir())
    target = max(path.name.split("_")[0] for path in base.glob(".hoodie/timeline/*.savepoint"))
    product.restore(base, target)
    assert sorted(path.name for path in (base / "keep").iterdir()) == kept
