"""``hudictl copy``: what it says of a copy of some partitions, and of one that is there."""

from pathlib import Path

import pytest

from tests.cli.conftest import Tell, Unpack
from tests.copy_support import data_files


def test_some_partitions_are_named(unpack: Unpack, tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that was set for another command leaves none out."""
    copy = unpack("v9", "cow_part")
    asked = ("copy", "-t", copy.path, "--as-of", copy.commits[1])
    monkeypatch.setenv("HUDICTL_PARTITION", "part-0")
    said = tell(*asked, "--to", tmp_path / "whole", "--yes").out
    assert {path.split("/")[0] for path in data_files(tmp_path / "whole")} == {"part-0", "part-1", "part-2"}
    assert "only of" not in said
    some = (*asked, "--to", tmp_path / "some", "--partition", "part-0", "--partition", "part-2")
    assert ", only of part-0, part-2, as of" in tell(*some, "--plan").out
    assert tell(*some, "--plan", "-o", "json").json["result"]["only_partitions"] == ["part-0", "part-2"]
    assert ", only of part-0, part-2; verified\nQuery the copy at " in tell(*some, "--yes").out


def test_one_that_is_there(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    asked = ("copy", "-t", copy.path, "--as-of", copy.commits[1], "--to", to, "--yes")
    assert tell(*asked).code == 0
    assert f"the copy at file://{to} is done, and verified: nothing to do" in tell(*asked, "--checksum").out
    (to / max(data_files(to))).unlink()
    said = tell(*asked)
    assert said.code == 3
    assert f"the copy at file://{to} differs from the table: part-2/" in said.line


def test_the_end_of_one_that_is_there(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    """As an older release has left it."""
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    asked = ("copy", "-t", copy.path, "--as-of", copy.commits[1], "--to", to)
    tell(*asked, "--yes")
    record = to / ".hoodie/.hudictl/copy.json"
    record.write_text(record.read_text().replace("true", "false"))
    assert (
        f"would end the copy as of {copy.commits[1]} to file://{to}: its files are there" in tell(*asked, "--plan").out
    )
    assert "0 files, 0 B; verified" in tell(*asked, "--yes").out


def test_what_a_copy_has_of_earlier_commits(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    """Their times, and not all of their files: no clean of it has taken them, and Hudi's queries do not notice."""
    copy, to = unpack("v9", "cow_flat_nomdt"), tmp_path / "to"
    first, *_, last = copy.commits
    asked = ("copy", "-t", copy.path, "--as-of", last, "--to", to)
    for said in (tell(*asked, "--plan"), tell(*asked, "--yes")):
        assert f"Query the copy at {last} or later: as of an earlier commit" in said.out
    refused = tell("restore", "--to-instant", first, "-t", to, "--plan")
    assert refused.code == 13
    assert f"or the copy never had them: the table is a copy as of {last}, without the files" in refused.line
    # Of a table that is no copy, and has lost such files.
    for file in copy.path.rglob(f"*_{first}.parquet"):
        file.unlink()
    assert "a clean, or a lifecycle rule" in tell("restore", "--to-instant", first, "-t", copy.path, "--plan").line
