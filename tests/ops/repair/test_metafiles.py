"""Partition metafiles that are written again: which, and what comes in between."""

from pathlib import Path

import pytest

from hudictl.errors import Conflict, NotFound, Refused
from hudictl.formats.properties import decode
from hudictl.library import changes
from hudictl.ops.repair.metafiles import MISSING
from hudictl.ops.repair.plan import RepairPlan
from tests import support
from tests.fixtures import Unpack
from tests.helpers import OWN, Copy, drop, put, session, tree
from tests.ops.repair.services_support import back

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
NAME = ".hoodie_partition_metadata"


def plan(copy: Copy, *partitions: str) -> RepairPlan:
    return changes.metafile_repair(partitions).plan(session(copy.table))


def execute(copy: Copy, made: RepairPlan, *partitions: str) -> str:
    return changes.metafile_repair(partitions).execute(session(copy.table), made).undo


def repair(copy: Copy, *partitions: str) -> RepairPlan:
    made = plan(copy, *partitions)
    execute(copy, made, *partitions)
    return made


def parts(made: RepairPlan) -> list[str]:
    return [file.path.rpartition("/")[0] for file in made.files]


def metafile(copy: Copy, partition: str = "part-1") -> Path:
    return copy.path / partition / NAME


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_part", "nested_partitions"])
def test_it_has_the_values_of_before(unpack: Unpack, version: str, name: str) -> None:
    """Of a missing and of a damaged one; nothing else changes."""
    copy = unpack(version, name)
    files = sorted(file for file in copy.path.rglob(NAME) if copy.meta not in file.parents)
    before = {file: decode(file.read_bytes()) for file in files}
    whole = tree(copy.path, OWN)
    drop(files[0])
    put(files[1], files[1].read_bytes()[:30])
    damaged = tree(copy.path, OWN)
    made = plan(copy)
    number = execute(copy, made)
    assert [(file.path, file.reasons[0] == MISSING) for file in made.files] == [
        (str(file.relative_to(copy.path)), file == files[0]) for file in files[:2]
    ]
    assert made.guessed == ()
    assert {file: decode(file.read_bytes()) for file in files} == before
    after = tree(copy.path, OWN)
    changed = {path for path in {*whole, *after} if whole.get(path) != after.get(path)}
    assert {Path(path).name for path in changed if not (copy.path / path).is_dir()} <= {NAME, f".{NAME}.crc"}
    assert plan(copy).files == ()
    back(copy, number)
    assert tree(copy.path, OWN) == damaged


@VERSIONS
def test_only_what_is_asked_for(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    for partition in ("part-0", "part-1"):
        drop(metafile(copy, partition))
    assert parts(repair(copy, "part-1/")) == ["part-1"]
    assert parts(plan(copy)) == ["part-0"]
    with pytest.raises(NotFound, match="part-9"):
        plan(copy, "part-9")


def test_a_folder_that_nobody_needs_gets_none(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    put(copy.path / "other/file.txt", "")
    assert plan(copy).files == ()


def test_the_base_file_format_is_refused(unpack: Unpack) -> None:
    copy = unpack("v9", "orc_cow")
    file = copy.path / "b/.hoodie_partition_metadata.orc"
    put(file, file.read_bytes()[:-1])
    with pytest.raises(Refused, match="does not write this format"):
        plan(copy)


@VERSIONS
def test_another_that_is_lost_meanwhile(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    drop(metafile(copy))
    made = plan(copy)
    drop(metafile(copy, "part-0"))
    with pytest.raises(Conflict, match="changed since planning"):
        execute(copy, made)
    assert not metafile(copy).exists()


@VERSIONS
def test_a_restore_that_begins_meanwhile(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    drop(metafile(copy))
    made = plan(copy)
    copy.write("20271121000000000.restore.requested", b"")
    with pytest.raises(Refused, match="pending"):
        execute(copy, made)
    assert not metafile(copy).exists()


def test_one_that_hudi_has_made_meanwhile(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    body = metafile(copy).read_bytes()
    drop(metafile(copy))
    made = plan(copy)
    put(metafile(copy), body)
    with pytest.raises(Conflict, match="changed since planning"):
        execute(copy, made)
    assert metafile(copy).read_bytes() == body


def test_a_partition_that_no_known_commit_made(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    put(copy.path / "other" / NAME, b"")
    made = repair(copy)
    newest = max(path.name[:17] for path in copy.timeline.iterdir() if path.name[0].isdigit())
    assert decode((copy.path / "other" / NAME).read_bytes())["commitTime"] == newest
    assert "have made other: its" in made.guessed[0]
    assert newest in made.guessed[0]


def test_of_a_table_without_instants(unpack: Unpack) -> None:
    """What is written is no damaged one again."""
    copy = unpack("v9", "cow_part")
    for file in [file for file in copy.timeline.iterdir() if file.name[0].isdigit()]:
        file.unlink()
    put(metafile(copy), b"")
    repair(copy)
    assert decode(metafile(copy).read_bytes())["commitTime"].isdigit()
    assert plan(copy).files == ()
