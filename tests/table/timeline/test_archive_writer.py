"""Taking writes out of the archive."""

from pathlib import Path

import pytest

from hudictl.table.open import open_table
from hudictl.table.timeline import archive_writer
from hudictl.table.timeline.archive import archived_after, archived_files
from hudictl.table.timeline.archive_writer import take_out_of_archive
from tests import support
from tests.helpers import tree


@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_writes_are_gone_and_all_else_is_there(version: str, tmp_path: Path) -> None:
    """Also the cleans between them, and older writes; a second time nothing changes."""
    facts = support.history_facts(version, "archived_beyond_savepoint")
    table = open_table(str(support.unpack(version, "archived_beyond_savepoint", tmp_path)), zone="UTC")
    later = {facts["instants"][name] for name in ("L1", "L2", "L3", "L4")}
    before = archived_after(table, "")
    known = {entry.time: list(archived_files(table, entry.time)) for entry in before}
    take_out_of_archive(table, later)
    after = archived_after(table, "")
    kept = [entry for entry in before if entry.time not in later]
    assert kept
    assert [(entry.time, entry.action, entry.state) for entry in after] == [
        (entry.time, entry.action, entry.state) for entry in kept
    ]
    for entry in kept:
        again = archived_files(table, entry.time)
        assert [bodies for _, *bodies in again] == [bodies for _, *bodies in known[entry.time]]
    seen = tree(table.storage.absolute(""))
    take_out_of_archive(table, later)
    take_out_of_archive(table, set())
    assert tree(table.storage.absolute("")) == seen


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_file_without_instants_is_read(version: str, tmp_path: Path) -> None:
    """A log of which nothing is left is deleted; a Parquet file stays, as its manifest names it."""
    table = open_table(str(support.unpack(version, "cow_cleaned", tmp_path)), zone="UTC")
    entries = archived_after(table, "")
    writes = {entry.time for entry in entries if entry.action != "clean"}
    names = {entry.file for entry in entries}
    take_out_of_archive(table, writes)
    left = archived_after(table, "")
    assert {entry.time for entry in left} == {entry.time for entry in entries} - writes
    there = {entry.name for entry in table.storage.list(table.layout.archive)}
    assert (names <= there) is (version != "v6")


def test_a_file_that_has_none_of_the_writes_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = open_table(str(support.unpack("v6", "cow_cleaned", tmp_path)), zone="UTC")
    read: list[str] = []
    whole = archive_writer.read_whole
    monkeypatch.setattr(
        archive_writer, "read_whole", lambda storage, path, most: (read.append(path), whole(storage, path, most))[1]
    )
    entries = archived_after(table, "")
    last = max(entries, key=lambda entry: entry.file)
    take_out_of_archive(table, {last.time})
    assert read == [f"{table.layout.archive}/{last.file}"]
