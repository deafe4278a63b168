"""What check says of the ends of base files, where it is asked for them."""

import pytest

from hudictl.cli.main import run
from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import ERROR, Finding
from tests import support
from tests.damage import newest_base, not_parquet
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, drop, in_the_middle, put
from tests.reports.health.check_support import VERSIONS, check
from tests.state.orphans.find_support import LATER


def damaged(copy: Copy, *, footers: bool = True) -> list[Finding]:
    found = check_table(copy.table, ENGINE, 0, footers=footers).findings
    return [finding for finding in found if finding.finding in ("not-parquet", "log-zeros")]


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_every_table_is_sound(unpack: Unpack, version: str, name: str) -> None:
    assert damaged(unpack(version, name)) == []


@VERSIONS
def test_a_file_of_the_same_size_that_is_no_parquet(unpack: Unpack, version: str) -> None:
    """As a copy that was allocated, and not written; the size alone says nothing."""
    copy = unpack(version, "cow_part")
    path = not_parquet(copy.path)
    assert check(copy) == []
    (found,) = damaged(copy)
    assert (found.severity, found.subject) == (ERROR, path)
    assert "not a Parquet file (its end is missing)" in found.meaning
    assert damaged(copy, footers=False) == []


@VERSIONS
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "its end"])
def test_a_log_of_zeros(unpack: Unpack, version: str, whole: bool) -> None:
    """As a host leaves it that lost its power before the file's data was on the disk; Hudi's readers fail at it."""
    copy = unpack(version, "mor_part")
    path = max(path for path in copy.data() if ".log." in path)
    body = (copy.path / path).read_bytes()
    put(copy.path / path, bytes(len(body)) if whole else body[:-100] + bytes(100))
    (found,) = damaged(copy)
    assert (found.finding, found.severity, found.subject) == ("log-zeros", ERROR, path)
    assert damaged(copy, footers=False) == []


@VERSIONS
def test_the_command_asks_only_with_its_option(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    not_parquet(copy.path)
    line = ["check", "--table", str(copy.path), "--engine", "local"]
    assert (run(line), run([*line, "--footers"])) == (0, 3)


@VERSIONS
def test_a_file_without_content(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = newest_base(copy.path)
    put(copy.path / path)
    assert [found.subject for found in damaged(copy)] == [path]


@VERSIONS
def test_files_of_a_pending_write_may_be_half_written(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.commit.requested")
    like = newest_base(copy.path)
    put(copy.path / f"{like.rpartition('_')[0]}_{LATER}.parquet", b"PAR1")
    assert damaged(copy) == []


@VERSIONS
def test_a_file_that_a_clean_takes_meanwhile_is_nobodys_fault(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "cow_part")
    path = copy.path / newest_base(copy.path)
    in_the_middle(monkeypatch, "hudictl.state.facts.sweep", lambda: drop(path))
    assert damaged(copy) == []
