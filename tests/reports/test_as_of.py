"""A look at a table as of an instant whose files are gone says so: "no" alone would be taken for an answer."""

from pathlib import Path

import pytest

from hudictl.reports.as_of import tell_what_is_gone
from hudictl.table.copied import RECORD, CopyRecord
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import drop, put


def told(path: Path, as_of: str | None) -> list[str]:
    table, notes = open_table(str(path), zone="UTC"), list[str]()
    tell_what_is_gone(table, load_timeline(table), as_of, notes)
    return notes


def cleans(path: Path) -> list[Path]:
    return [file for file in path.rglob("[0-9]*.clean*") if file.parent.name in ("timeline", ".hoodie")]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_files_that_cleans_have_taken(unpack: Unpack, version: str) -> None:
    """All that is kept is told of no instant from the first one on that the cleans have kept."""
    copy = unpack(version, "cow_cleaned")
    first, *_, last = sorted(support.facts(version, "cow_cleaned")["rows"])
    (note,) = told(copy.path, first)
    assert note.startswith(f"As of {first}, rows may be missing: cleans have kept all files from ")
    kept = note.split(" all files from ")[1].split()[0]
    assert first < kept <= last
    assert told(copy.path, kept) == told(copy.path, last) == told(copy.path, None) == []
    # A savepoint keeps its files from all cleans.
    before = max(time for time in copy.commits if time < kept)
    assert told(copy.path, before) != []
    copy.write(f"{before}.savepoint.inflight")
    copy.write(f"{before}.savepoint" if version == "v6" else f"{before}_{before}.savepoint", b"no Avro")
    assert told(copy.path, before) == []


def test_a_clean_that_names_no_commit(unpack: Unpack) -> None:
    """Of the last commit before it all files are there; also where its result cannot be read."""
    copy = unpack("v9", "cow_cleaned")
    for file in cleans(copy.path):
        if file.suffix == ".clean":
            put(file, b"no Avro")
    newest = max(file.name[:17] for file in cleans(copy.path))
    sure = max(time for time in copy.commits if time <= newest)
    assert told(copy.path, sure) == []
    assert f"from {sure} on" in told(copy.path, str(int(sure) - 1))[0]


def test_a_timeline_that_has_no_cleans_any_more(unpack: Unpack) -> None:
    """They can be archived with the commits before the first one."""
    copy = unpack("v9", "cow_cleaned")
    for file in cleans(copy.path):
        drop(file)
    assert told(copy.path, copy.commits[0]) == []
    assert f"the timeline begins at {copy.commits[0]}" in told(copy.path, "2000")[0]
    assert told(unpack("v9", "cow_part").path, "2000") == []


def test_a_copy(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    first, *_, last = copy.commits
    put(copy.path / RECORD, CopyRecord("file:///lake/t", last, (), "", ended=True).encode())
    assert f"the table is a copy as of {last}" in told(copy.path, first)[0]
    assert told(copy.path, last) == []
