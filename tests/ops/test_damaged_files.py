"""A file that readers require afterwards, with another size than its commit has recorded: nothing builds on it."""

import os
from pathlib import Path

import pytest

from hudictl.errors import Refused
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.savepoint.verify import verify_savepoint
from hudictl.reports.health.check import check_table
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, restore, roll_back, savepoint, session, tree

VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])
DAMAGED = r"damaged: part-\S+ \([\d,]+ bytes, of [\d,]+ recorded\)"


def cut(file: Path) -> str:
    """Its second half is lost; all that a listing shows is its size."""
    times = os.stat(file)
    os.truncate(file, file.stat().st_size // 2)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    return f"{file.parent.name}/{file.name}"


def base_of(copy: Copy, time: str) -> Path:
    return min(copy.path.rglob(f"*_{time}.parquet"))


def logs_of(copy: Copy) -> list[Path]:
    return [file for file in copy.path.glob("part-*/.*.log.*") if not file.name.endswith(".crc")]


@VERSIONS
def test_a_savepoint_with_a_damaged_file_is_neither_proved_nor_restored(unpack: Unpack, version: str) -> None:
    """The later base file of its group, which still has the rows, stays, and is named."""
    copy = unpack(version, "cow_part")
    target = savepoint(copy, copy.commits[1])
    path = cut(base_of(copy, target))
    before = tree(copy.path)
    found = verify_savepoint(session(copy.table), target, RestoreOptions(idle_ms=0))
    assert not found.restorable
    assert path in found.reason
    with pytest.raises(Refused, match=DAMAGED) as refusal:
        restore(copy, target)
    group = path.rpartition("/")[2].partition("_")[0]
    assert (
        max(copy.path.rglob(f"{group}*.parquet"), key=lambda file: file.name.split("_")[2]).name in refusal.value.hint
    )
    assert tree(copy.path) == before


@VERSIONS
def test_no_savepoint_is_created_on_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    cut(base_of(copy, copy.commits[-1]))
    with pytest.raises(Refused, match=DAMAGED):
        savepoint(copy, copy.commits[-1])
    assert copy.savepoints == []


@VERSIONS
def test_the_newest_commit_is_not_rolled_back_to_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    cut(base_of(copy, copy.commits[-2]))
    with pytest.raises(Refused, match=DAMAGED):
        roll_back(copy, copy.commits[-1])


@VERSIONS
def test_check_names_it_once(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = cut(base_of(copy, copy.commits[-1]))
    found = [entry.finding for entry in check_table(copy.table, ENGINE, 0).findings if entry.subject == path]
    assert "wrong-size" in found
    assert "missing-file" not in found


@VERSIONS
def test_a_log_that_is_too_short(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    for log in logs_of(copy):
        cut(log)
    with pytest.raises(Refused, match=r"damaged: part-\S+log"):
        savepoint(copy, copy.commits[-1])


def test_a_log_that_a_later_write_has_appended_to_is_whole(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_part")
    for log in logs_of(copy):
        with log.open("ab") as file:
            file.write(b"#HUDI#")
    assert savepoint(copy, copy.commits[-1]) in copy.savepoints
