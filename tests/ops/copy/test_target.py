"""Where a copy may be, and what of an earlier attempt goes from there."""

from pathlib import Path

import pytest

from hudictl.errors import Refused, StorageFailed
from hudictl.formats.layouts import PROPERTIES
from hudictl.ops.copy.plan import CopyOptions
from hudictl.storage import FileStatus
from hudictl.storage.local import LocalStorage
from tests import support
from tests.copy_support import data_files, held, made, planned
from tests.fixtures import Unpack
from tests.helpers import Copy, put, tree

NO_SAVEPOINT = CopyOptions(savepoint=False)


@pytest.mark.parametrize("below", ["x", "part-0/x/y", ".hoodie/x"])
def test_in_another_table(unpack: Unpack, below: str, tmp_path: Path) -> None:
    """Its readers would see the rows of both; also behind a link."""
    copy, other, link = unpack("v9", "cow_part"), tmp_path / "other", tmp_path / "link"
    to = other / below
    put(other / PROPERTIES, b"")
    to.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(to.parent)
    before = tree(other)
    for place in (to, link / to.name):
        with pytest.raises(Refused, match=f"is in the table file://{tmp_path}/"):
            planned(copy.table, copy.commits[1], place, NO_SAVEPOINT)
    assert tree(other) == before


def test_behind_a_link_in_another_table(unpack: Unpack, tmp_path: Path) -> None:
    """Its readers follow the link."""
    copy, other, away = unpack("v9", "cow_part"), tmp_path / "other", tmp_path / "away"
    put(other / PROPERTIES, b"")
    away.mkdir()
    (other / "link").symlink_to(away)
    with pytest.raises(Refused, match=f"is in the table file://{other}:"):
        planned(copy.table, copy.commits[1], other / "link" / "to")


def test_one_that_has_begun_in_another_table(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "other" / "to"
    held(copy, to, copy.commits[1], "verify")
    put(tmp_path / "other" / PROPERTIES, b"")
    with pytest.raises(Refused, match="is in the table") as caught:
        planned(copy.table, copy.commits[1], to)
    assert "delete the target folder" in caught.value.hint


def test_below_a_folder_that_may_not_be_read(unpack: Unpack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a store, rights can begin at a prefix."""
    copy, to, real = unpack("v9", "cow_part"), tmp_path / "to", LocalStorage.stat

    def status(self: LocalStorage, path: str) -> FileStatus | None:
        if self.root == "/":
            raise StorageFailed("forbidden")
        return real(self, path)

    monkeypatch.setattr(LocalStorage, "stat", status)
    assert planned(copy.table, copy.commits[1], to).files


@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_the_table_has_archived_since_goes(unpack: Unpack, version: str, tmp_path: Path) -> None:
    """And what is no more in the plan, though the table has it. Nothing else."""
    copy, to, whole = unpack(version, "cow_cleaned"), tmp_path / "to", tmp_path / "whole"
    target = copy.commits[-2]
    made(copy, target, whole)
    held(copy, to, target, "verify")
    archived = min(support.facts(version, "cow_cleaned")["rows"])
    there = Copy(version, "to", to).timeline
    later = copy.file(copy.commits[-1], "commit.requested").name
    for name in (f"{archived}.commit.requested", f"{archived}.inflight", later):
        put(there / name)
    clean = next(copy.timeline.glob("*.clean.requested")).name
    for name in ("20200101000000000.commit.requested", clean):
        theirs = put(there / name, b"theirs")
        with pytest.raises(Refused, match=f"the copy is wrong: [^ ]*{theirs.name} differs"):
            made(copy, target, to)
        assert theirs.read_bytes() == b"theirs"
        theirs.unlink()
    assert made(copy, target, to) is not None
    assert {entry.name for entry in there.iterdir()} == {
        entry.name for entry in Copy(version, "whole", whole).timeline.iterdir()
    }
    assert data_files(to) == data_files(whole)
