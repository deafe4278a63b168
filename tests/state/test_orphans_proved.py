"""What proves that a file is an orphan beside its missing instant, and what keeps it all the same."""

import shutil

import pytest

from hudictl.formats.instants import time_plus_ms
from hudictl.state.ownership import ON_NO_TIMELINE
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, put
from tests.state.test_orphans import (
    LATER,
    LONG_AGO,
    UNPROVED,
    between_commits,
    found,
    lose,
    mark,
    orphan,
    orphans,
    rolled_back,
    stray,
    taken_back,
    written_by,
)

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_part"])
def test_what_may_have_run_again_is_not_proved_by_its_rollback(unpack: Unpack, version: str, name: str) -> None:
    """A table service keeps its plan when it is taken back, and completes under the same instant."""
    copy = unpack(version, name)
    time = between_commits(copy)
    path = stray(copy, time)
    action = "replacecommit" if name == "cow_part" else "commit"
    rolled_back(copy, time, action)
    why = f"{taken_back()}, but it may have run again under the same instant"
    assert found(copy) == {path: (why, False)}


@VERSIONS
def test_nor_is_a_write_of_the_metadata_table(unpack: Unpack, version: str) -> None:
    """It is taken back, and made again, where the data table's comes a second time."""
    copy = unpack(version, "cow_part")
    inner = Copy(version, "metadata", copy.meta / "metadata")
    time = between_commits(copy)
    put(inner.path / f"files/files-0000-0_1-0-1_{time}.hfile", b"rows")
    rolled_back(inner, time)
    assert [(why.rpartition(", ")[2], sure) for why, sure in found(inner).values()] == [
        ("but it may have run again under the same instant", False)
    ]


@VERSIONS
def test_a_copy_of_a_partition_is_in_no_record(unpack: Unpack, version: str) -> None:
    """Unless a write or the very rollback names its folder."""
    copy = unpack(version, "cow_part")
    time = between_commits(copy)
    path = orphan(copy, time)
    partition, name = path.rsplit("/", 1)
    shutil.copytree(copy.path / partition, copy.path / f"{partition}.bak")
    other = f"{partition}.bak/{name}"
    unnamed = f"{taken_back()}, but no write and no rollback names its partition"
    assert {file: why for file, why in found(copy).items() if why[1]} == {path: (taken_back(), True)}
    assert found(copy)[other] == (unnamed, False)
    again = rolled_back(copy, time, partitions=(f"{partition}.bak",))
    assert found(copy)[other] == (taken_back(again), True)


@VERSIONS
@pytest.mark.parametrize("archived", [False, True], ids=["active", "archived"])
def test_what_a_clean_has_deleted_is_sure(unpack: Unpack, version: str, archived: bool) -> None:
    """Its own word, of this very file; and a newer base file of the group is there."""
    copy = unpack(version, "cow_part")
    path, other = stray(copy, LONG_AGO), stray(copy, time_plus_ms(LONG_AGO, 1))
    lone = f"{path.rsplit('/', 1)[0]}/11111111-1111-1111-1111-111111111111-0_0-1-1_{LONG_AGO}.parquet"
    put(copy.path / lone, b"rows")
    body = records.clean_metadata([path, lone])
    if archived:
        records.archive(copy, LATER, "clean", body)
    else:
        copy.write(f"{LATER}.clean" if version == "v6" else f"{LATER}_{LATER}.clean", body)
    said = f"{ON_NO_TIMELINE}, and the clean {LATER} has deleted it"
    assert found(copy) == {
        path: (said, True),
        other: (UNPROVED, False),
        lone: (f"{said}, but its file group has no newer base file", False),
    }


MARKED = f"{ON_NO_TIMELINE}, and its writer's markers are left"
PASSED_OVER = f"{MARKED}, and the metadata table knows later writes and does not list it"
IN_DOUBT = f"{MARKED}, but no metadata table proves that it was not completed"


@VERSIONS
def test_markers_and_the_metadata_table_prove_it_together(unpack: Unpack, version: str) -> None:
    """Somebody has deleted the files of a pending instant by hand."""
    copy = unpack(version, "cow_part")
    path = stray(copy, between_commits(copy))
    assert found(copy) == {path: (UNPROVED, False)}
    mark(copy, path)
    assert found(copy) == {path: (PASSED_OVER, True)}
    shutil.rmtree(copy.meta / "metadata")
    assert found(copy) == {path: (IN_DOUBT, False)}


@VERSIONS
def test_a_metadata_table_that_lists_it_or_knows_its_write_proves_nothing(unpack: Unpack, version: str) -> None:
    """Below table version 8 it does not list what no instant of the timeline vouches for."""
    copy = unpack(version, "cow_part")
    files = lose(copy, copy.commits[-2])
    for path in files:
        mark(copy, path)
    assert files == set(found(copy))
    assert not any(sure for _, sure in found(copy).values())


@VERSIONS
def test_a_metadata_table_that_has_missed_a_write_proves_nothing(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = stray(copy, between_commits(copy))
    mark(copy, path)
    folder = copy.meta / "metadata/.hoodie" / ("" if version == "v6" else "timeline")
    for file in folder.glob(f"{copy.commits[-1]}*"):
        drop(file)
    assert found(copy) == {path: (IN_DOUBT, False)}


@VERSIONS
def test_newer_than_all_that_the_metadata_table_knows_is_not_proved(unpack: Unpack, version: str) -> None:
    """It was put back together with the timeline."""
    copy = unpack(version, "cow_part")
    path = stray(copy, LATER)
    mark(copy, path)
    assert found(copy) == {path: (IN_DOUBT, False)}
    assert not orphans(copy)[0].beyond


def pending_plan(copy: Copy, path: str, kind: str) -> str:
    """A plan that reads a file, or is to delete it; returns what it is called."""
    partition, name = path.rsplit("/", 1)
    slice_ = {"partitionPath": partition, "fileId": name.split("_")[0], "dataFilePath": f"/lake/{path}"}
    if kind == "clean":
        body = records.clean_plan([path])
    elif kind == "compaction":
        body = records.compaction_plan([slice_ | {"dataFilePath": name}])
    else:
        body = records.clustering_plan([slice_])
        kind = "replacecommit" if copy.version == "v6" else "clustering"
    copy.write(f"{LATER}.{kind}.requested", body)
    return f"the pending {kind} {LATER}"


@VERSIONS
@pytest.mark.parametrize("kind", ["clean", "compaction", "clustering"])
def test_what_a_pending_plan_names_stays(unpack: Unpack, version: str, kind: str) -> None:
    copy = unpack(version, "cow_part")
    path = stray(copy, between_commits(copy))
    by = rolled_back(copy, between_commits(copy), time=time_plus_ms(LATER, 1))
    assert found(copy) == {path: (taken_back(by), True)}
    plan = pending_plan(copy, path, kind)
    assert found(copy) == {path: (f"{taken_back(by)}; {plan} names it", False)}


@VERSIONS
def test_what_a_kept_commit_names_stays(unpack: Unpack, version: str) -> None:
    """Two writers of one instant: the file of one that was taken back, and another's commit that names it."""
    copy = unpack(version, "cow_part")
    path = sorted(written_by(copy, copy.commits[-1]))[0]
    time, name = between_commits(copy), path.rsplit("/", 1)[1]
    other = path.replace(copy.commits[-1], time)
    (copy.path / path).rename(copy.path / other)
    commit = copy.file(copy.commits[-1], "commit")
    put(commit, commit.read_bytes().replace(name.encode(), other.rsplit("/", 1)[1].encode()), old=False)
    rolled_back(copy, time)
    assert found(copy)[other][1] is False
    assert f"the commit {copy.commits[-1]} names it" in found(copy)[other][0]
