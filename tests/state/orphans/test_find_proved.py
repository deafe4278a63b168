"""What proves that a file is an orphan beside its missing instant, and what keeps it all the same."""

import shutil

import pytest

from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import HFILE_DATA, encode_block
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.orphans.find import find_orphans
from hudictl.state.orphans.ownership import ON_NO_TIMELINE
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, drop, put, restore
from tests.metadata_edits import block_saying, hfile_block, newest_log, write
from tests.state.orphans.find_support import (
    LATER,
    LONG_AGO,
    UNPROVED,
    between_commits,
    found,
    lose,
    mark,
    orphan,
    orphans,
    rollback_result,
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
    said = f"{ON_NO_TIMELINE}, and the clean {LATER} reported the file as deleted"
    assert found(copy) == {
        path: (said, True),
        other: (UNPROVED, False),
        lone: (f"{said}, but its file group has no newer base file", False),
    }


MARKED = f"{ON_NO_TIMELINE}, and its writer's markers still exist"
PASSED_OVER = f"{MARKED}, and the metadata table contains later writes, but not this file"
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
    assert found(copy) == {path: (f"{taken_back(by)}; {plan} names the file", False)}


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
    assert f"the commit {copy.commits[-1]} names the file" in found(copy)[other][0]


# Each condition by itself, where others would hide that it is left out.


TWO = pytest.mark.parametrize("version", ["v6", "v9"])


def test_an_instant_that_appears_while_partitions_are_listed_owns_its_files(unpack: Unpack) -> None:
    """The timeline is read after the listing: a writer requests its instant before it writes."""
    copy = unpack("v9", "cow_part")
    time = between_commits(copy)
    stray(copy, time)
    table = copy.table
    facts = read_facts(table, ENGINE, read_signs(table))
    assert find_orphans(facts, ENGINE)
    copy.write(f"{time}.commit.requested")
    assert find_orphans(facts, ENGINE) == []


def test_a_write_that_was_archived_unfinished_owns_nothing(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    path = stray(copy, LONG_AGO)
    records.archive(copy, LONG_AGO, state="REQUESTED")
    assert found(copy) == {path: (UNPROVED, False)}
    records.archive(copy, LONG_AGO)
    assert found(copy) == {}


@TWO
def test_what_is_younger_than_a_pending_first_write_is_not_visible(unpack: Unpack, version: str) -> None:
    """For readers the timeline begins with its first write, completed or not."""
    copy = unpack(version, "cow_part")
    first = copy.commits[0]
    stray(copy, time_plus_ms(first, 1))
    stray(copy, LONG_AGO)
    drop(copy.file(first, "commit"))
    assert {entry.file.data.instant: entry.visible for entry in orphans(copy)} == {
        time_plus_ms(first, 1): False,
        LONG_AGO: True,
    }


@TWO
def test_of_a_timeline_without_writes_nothing_is_visible(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    for time in copy.commits:
        lose(copy, time)
    assert {entry.visible for entry in orphans(copy)} == {False}


@TWO
def test_a_savepoint_alone_owns_nothing(unpack: Unpack, version: str) -> None:
    """Its files are spared by their names; a file that it does not name is another one's."""
    copy = unpack(version, "cow_savepoints")
    time = copy.savepoints[0]
    for path in copy.timeline.glob(f"{time}[._]*"):
        if "savepoint" not in path.name:
            drop(path)
    assert time in {entry.file.data.instant for entry in orphans(copy)}


@TWO
def test_an_action_of_a_newer_hudi_owns_its_files(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    time = between_commits(copy)
    stray(copy, time)
    copy.write(f"{time}.rewrite.requested")
    assert found(copy) == {}


@TWO
def test_an_archived_rollback_proves_it_also_beside_a_younger_orphan(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path, younger = stray(copy, LONG_AGO), stray(copy, between_commits(copy))
    by = time_plus_ms(LONG_AGO, 5)
    records.archive(copy, by, "rollback", rollback_result(LONG_AGO))
    assert found(copy) == {path: (taken_back(by), True), younger: (UNPROVED, False)}


@TWO
def test_markers_do_not_prove_what_may_have_run_again(unpack: Unpack, version: str) -> None:
    """They are of the first run, perhaps; its rollback has the last word."""
    copy = unpack(version, "cow_part")
    time = between_commits(copy)
    path = stray(copy, time)
    mark(copy, path)
    assert found(copy) == {path: (PASSED_OVER, True)}
    rolled_back(copy, time, "replacecommit")
    assert found(copy) == {path: (f"{taken_back()}, but it may have run again under the same instant", False)}


@TWO
@pytest.mark.parametrize("body", [b"garbage", records.stranger()], ids=["garbage", "another record"])
def test_a_rollback_that_cannot_be_read_proves_nothing_and_ends_nothing(
    unpack: Unpack, version: str, body: bytes
) -> None:
    copy = unpack(version, "cow_part")
    path = orphan(copy, between_commits(copy))
    later = time_plus_ms(LATER, 9)
    copy.write(f"{later}.rollback" if version == "v6" else f"{later}_{later}.rollback", body)
    assert found(copy) == {path: (taken_back(), True)}


@TWO
def test_each_rollback_of_an_instant_says_where_and_whether_it_may_have_run_again(unpack: Unpack, version: str) -> None:
    """Whatever the last one says."""
    copy = unpack(version, "cow_part")
    time = between_commits(copy)
    path = stray(copy, time)
    other = path.replace(path.split("/")[0], "elsewhere")
    put(copy.path / other, (copy.path / path).read_bytes())
    put(copy.path / "elsewhere/.hoodie_partition_metadata", b"commitTime=1\n")
    rolled_back(copy, time, partitions=("elsewhere",))
    last = rolled_back(copy, time)
    assert found(copy) == dict.fromkeys((path, other), (taken_back(last), True))
    again = rolled_back(copy, time, "replacecommit")
    last = rolled_back(copy, time)
    assert again != last
    assert {sure for _, sure in found(copy).values()} == {False}


@TWO
def test_a_restore_says_in_which_partitions_it_was(unpack: Unpack, version: str) -> None:
    """A late executor's file in a partition that no write names any more."""
    copy = unpack(version, "cow_part")
    *_, kept, gone = copy.commits
    path = next(path for path in sorted(written_by(copy, gone)) if path.startswith("part-3/"))
    body = (copy.path / path).read_bytes()
    metafile = copy.path / "part-3/.hoodie_partition_metadata"
    kept_metafile = metafile.read_bytes()
    done = restore(copy, kept, options=RestoreOptions(to_instant=True))
    assert not any(name.startswith("part-3/") for name in copy.data())
    put(copy.path / path, body)
    put(metafile, kept_metafile)
    assert found(copy) == {path: (f"{ON_NO_TIMELINE}, and the restore {done.restore} rolled it back", True)}


def marked(copy: Copy) -> str:
    """An orphan that its markers and the metadata table prove."""
    path = stray(copy, between_commits(copy))
    mark(copy, path)
    assert found(copy) == {path: (PASSED_OVER, True)}
    return path


@TWO
@pytest.mark.parametrize("damage", ["a torn block", "no listing"])
def test_a_damaged_metadata_table_proves_nothing_and_ends_nothing(unpack: Unpack, version: str, damage: str) -> None:
    """What readers pass over may have listed the file; what they cannot read ends them, and not the look at orphans."""
    copy = unpack(version, "cow_part")
    path = marked(copy)
    log = newest_log(copy.path)
    header = hfile_block(log).header
    torn = block_saying(header, {"part-1": {"x": 1}})[:-9]
    write(log, log.read_bytes() + (torn if damage == "a torn block" else encode_block(HFILE_DATA, header, b"garbage")))
    assert found(copy) == {path: (IN_DOUBT, False)}


@TWO
def test_a_metadata_table_that_has_only_begun_a_write_has_missed_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = marked(copy)
    folder = copy.meta / "metadata/.hoodie" / ("" if version == "v6" else "timeline")
    (done,) = folder.glob(f"{copy.commits[-1]}*.deltacommit")
    drop(done)
    put(folder / f"{copy.commits[-1]}.deltacommit.requested")
    assert found(copy) == {path: (IN_DOUBT, False)}


@TWO
def test_a_pending_write_is_none_that_the_metadata_table_has_missed(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = marked(copy)
    copy.write(f"{LATER}.commit.requested")
    assert found(copy) == {path: (PASSED_OVER, True)}


def test_a_write_that_the_metadata_table_has_archived_unfinished_is_none_that_it_knows(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    path = marked(copy)
    inner = Copy("v6", "metadata", copy.meta / "metadata")
    records.archive(inner, between_commits(copy), "deltacommit", state="INFLIGHT")
    assert found(copy) == {path: (PASSED_OVER, True)}
    records.archive(inner, between_commits(copy), "deltacommit", number=10)
    assert found(copy) == {path: (IN_DOUBT, False)}
