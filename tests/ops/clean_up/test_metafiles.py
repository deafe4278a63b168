"""Partition metafiles that are written again: which, and what comes in between."""

from pathlib import Path

import pytest

from hudictl.errors import Conflict, NotFound, Refused
from hudictl.formats.properties import decode
from hudictl.ops.clean_up.metafiles import MISSING, MetafilePlan, plan_metafiles, repair_metafiles
from tests import support
from tests.fixtures import Unpack
from tests.helpers import OWN, Copy, drop, put, session, tree

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
NAME = ".hoodie_partition_metadata"


def plan(copy: Copy, *partitions: str) -> MetafilePlan:
    return plan_metafiles(session(copy.table), partitions)


def repair(copy: Copy, *partitions: str) -> MetafilePlan:
    return repair_metafiles(session(copy.table), plan(copy, *partitions), partitions)


def metafile(copy: Copy, partition: str = "part-1") -> Path:
    return copy.path / partition / NAME


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
    made = repair(copy)
    assert {row.partition: row.problem == MISSING for row in made.partitions} == {
        str(file.parent.relative_to(copy.path)): file == files[0] for file in files[:2]
    }
    assert {file: decode(file.read_bytes()) for file in files} == before
    after = tree(copy.path, OWN)
    changed = {path for path in {*whole, *after} if whole.get(path) != after.get(path)}
    assert {Path(path).name for path in changed if not (copy.path / path).is_dir()} <= {NAME, f".{NAME}.crc"}
    assert plan(copy).partitions == ()


@VERSIONS
def test_only_what_is_asked_for(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    for partition in ("part-0", "part-1"):
        drop(metafile(copy, partition))
    assert [row.partition for row in repair(copy, "part-1/").partitions] == ["part-1"]
    assert [row.partition for row in plan(copy).partitions] == ["part-0"]
    with pytest.raises(NotFound, match="part-9"):
        plan(copy, "part-9")


def test_a_folder_that_nobody_needs_gets_none(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    put(copy.path / "other/file.txt", "")
    assert plan(copy).partitions == ()


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
    with pytest.raises(Conflict, match="other metafiles"):
        repair_metafiles(session(copy.table), made)
    assert not metafile(copy).exists()


@VERSIONS
def test_a_restore_that_begins_meanwhile(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    drop(metafile(copy))
    made = plan(copy)
    copy.write("20271121000000000.restore.requested", b"")
    with pytest.raises(Refused, match="pending"):
        repair_metafiles(session(copy.table), made)
    assert not metafile(copy).exists()


def test_one_that_hudi_has_made_meanwhile(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    body = metafile(copy).read_bytes()
    drop(metafile(copy))
    made = plan(copy)
    put(metafile(copy), body)
    repair_metafiles(session(copy.table), made)
    assert metafile(copy).read_bytes() == body
