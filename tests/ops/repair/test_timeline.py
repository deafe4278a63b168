"""``timeline quarantine``: which file makes room for what, what is refused, and the way back."""

from pathlib import Path

import pytest

from hudictl.errors import Conflict, NotFound, Refused
from hudictl.formats import clean, plans, rollback, savepoint
from hudictl.formats.rollback import InstantInfo, RollbackRequest, StoredRollbackPlan
from hudictl.ops.repair.plan import execute_repair
from hudictl.state.pending import find_restores
from hudictl.state.timeline.damaged import Way
from hudictl.table.operations import Operation, recorded
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import OWN, Copy, drop, put, session, tree
from tests.ops.repair.quarantine_support import completed, damage, plan, quarantine, undo

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def saved(body: bytes) -> dict[str, set[str]]:
    return {path: {*names} for path, names in savepoint.decode(body, "it").files.items() if names}


def other(copy: Copy, action: str) -> Path:
    """The newest file of an action and state."""
    return max(copy.timeline.glob(f"[0-9]*.{action}"))


def time_of(file: Path) -> str:
    return file.name[:17]


@VERSIONS
@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("cow_cleaned", "clean"),
        ("cow_cleaned", "clean.requested"),
        ("mor_part", "deltacommit"),
        ("cow_part", "inflight"),
    ],
)
def test_of_a_doubled_file_the_first_half_stays(unpack: Unpack, version: str, name: str, end: str) -> None:
    copy = unpack(version, name)
    file = other(copy, end)
    sound = damage(file, file.read_bytes() * 2)
    made = plan(copy, time_of(file))
    assert [(entry.body, entry.reasons[-1]) for entry in made.files] == [(sound, Way.DOUBLED.value)]
    assert (made.lost, made.guessed) == ((), ())
    quarantine(copy, time_of(file))
    assert file.read_bytes() == sound
    assert plan(copy, time_of(file)).files == ()


@VERSIONS
def test_how_a_completed_instant_began_is_emptied(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cluster")
    file = max(copy.timeline.glob("[0-9]*.replacecommit.requested"), default=None) or other(
        copy, "clustering.requested"
    )
    damage(file, file.read_bytes()[:50])
    assert [entry.reasons[-1] for entry in plan(copy, time_of(file)).files] == [Way.UNUSED.value]
    quarantine(copy, time_of(file))
    assert file.read_bytes() == b""


@pytest.mark.parametrize("version", ["v8", "v9"])
@pytest.mark.parametrize(("name", "end"), [("cow_cleaned", "clean.requested"), ("mor_part", "compaction.requested")])
def test_so_it_is_of_a_service_where_hudi_archives_results(unpack: Unpack, version: str, name: str, end: str) -> None:
    copy = unpack(version, name)
    file = other(copy, end)
    damage(file, file.read_bytes()[:50])
    quarantine(copy, time_of(file))
    assert file.read_bytes() == b""


@pytest.mark.parametrize("end", ["clean.requested", "clean.inflight"])
@pytest.mark.parametrize("cut", [0, 50])
def test_a_plan_of_a_clean_says_what_its_result_says(unpack: Unpack, end: str, cut: int) -> None:
    copy = unpack("v6", "cow_cleaned")
    file = other(copy, end)
    sound = damage(file, file.read_bytes()[:cut])
    if end == "clean.inflight" and not cut:
        assert plan(copy, time_of(file)).files == ()
        return
    assert [entry.reasons[-1] for entry in plan(copy, time_of(file)).files] == [Way.FROM_RESULT.value]
    quarantine(copy, time_of(file))
    old, new = (clean.decode_plan(body, "it") for body in (sound, file.read_bytes()))
    assert (new.earliest, new.files, new.partitions) == (old.earliest, old.files, old.partitions)
    assert new.bases == {str(copy.path)}
    said = other(copy, "clean")
    before = damage(said, said.read_bytes()[:200])
    quarantine(copy, time_of(file))
    assert clean.decode_metadata(said.read_bytes(), "new") == clean.decode_metadata(before, "old")


@pytest.mark.parametrize("cut", [0, 50])
def test_a_plan_of_a_compaction_names_its_slices(unpack: Unpack, cut: int) -> None:
    copy = unpack("v6", "mor_part")
    file = other(copy, "compaction.requested")
    sound = damage(file, file.read_bytes()[:cut])
    quarantine(copy, time_of(file))
    old, new = (plans.decode_compaction_files(body, "it") for body in (sound, file.read_bytes()))
    assert new == old


@VERSIONS
@pytest.mark.parametrize("name", ["cow_cleaned", "mor_compaction_cleaned"])
def test_a_clean_says_what_its_plan_said(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    file = other(copy, "clean")
    sound = damage(file, file.read_bytes()[:200])
    quarantine(copy, time_of(file))
    assert clean.decode_metadata(file.read_bytes(), "new") == clean.decode_metadata(sound, "old")


@VERSIONS
def test_a_clean_that_has_run_is_completed(unpack: Unpack, version: str) -> None:
    """Of which the completed file alone is lost; `undo` takes it away again."""
    copy = unpack(version, "cow_cleaned")
    file = other(copy, "clean")
    said = clean.decode_metadata(file.read_bytes(), "old")
    drop(file)
    before = tree(copy.path, OWN)
    number = quarantine(copy, time_of(file)).undo
    (cleaned,) = [entry for entry in load_timeline(copy.table).having("clean") if entry.time == time_of(file)]
    assert cleaned.completed
    assert clean.decode_metadata(other(copy, "clean").read_bytes(), "new") == said
    undo(copy, number)
    assert tree(copy.path, OWN) == before


@VERSIONS
@pytest.mark.parametrize("why", ["a file is there", "it is requested", "the metadata table does not know"])
def test_a_clean_that_has_not_run_is_not_completed(unpack: Unpack, version: str, why: str) -> None:
    copy = unpack(version, "cow_cleaned")
    file = other(copy, "clean")
    said = clean.decode_metadata(file.read_bytes(), "old")
    drop(file)
    if why == "a file is there":
        partition, names = next((path, names) for path, names in said.deleted.items() if names)
        put(copy.path / partition / min(names), b"x")
    elif why == "it is requested":
        drop(copy.file(time_of(file), "clean.inflight"))
    else:
        known = [*(copy.meta / "metadata/.hoodie").rglob(f"{time_of(file)}*.deltacommit")]
        assert known
        for one in known:
            drop(one)
    assert plan(copy, time_of(file)).files == ()


@VERSIONS
def test_a_file_that_a_clean_has_left_is_not_called_deleted(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    file = other(copy, "clean")
    said = clean.decode_metadata(damage(file, file.read_bytes()[:200]), "old")
    partition, names = next((path, names) for path, names in said.deleted.items() if names)
    left = min(names)
    put(copy.path / partition / left, b"x")
    quarantine(copy, time_of(file))
    assert clean.decode_metadata(file.read_bytes(), "new").deleted[partition] == names - {left}


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_an_indexing_says_what_its_plan_said(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "later")
    file = other(copy, "indexing")
    sound = damage(file, file.read_bytes()[:100])
    quarantine(copy, time_of(file))
    from hudictl.formats.avro import read_record

    assert read_record(file.read_bytes(), "new") == read_record(sound, "old")


@VERSIONS
def test_a_rollback_says_what_its_plan_said(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    time = "20270101000000000"
    request = RollbackRequest("part-0", ("/lake/t/part-0/a", "/lake/t/part-0/b"), "", "", {})
    body = rollback.encode_plan(StoredRollbackPlan(InstantInfo(copy.commits[-1], "commit"), (request,)))
    copy.write(f"{time}.rollback.requested", body)
    copy.write(f"{time}.rollback.inflight")
    end = "" if version == "v6" else "_20270101000000001"
    file = copy.write(f"{time}{end}.rollback", b"damaged")
    quarantine(copy, time)
    assert rollback.decode_taken_back(file.read_bytes(), "new") == {copy.commits[-1]}


@VERSIONS
@pytest.mark.parametrize("harm", ["empty", "cut"])
def test_a_savepoint_names_its_files_again(unpack: Unpack, version: str, harm: str) -> None:
    copy = unpack(version, "cow_savepoints")
    time = copy.savepoints[0]
    file = copy.file(time, "savepoint")
    sound = damage(file, b"" if harm == "empty" else file.read_bytes()[:300])
    made = plan(copy, time)
    assert made.lost == ("who has made the savepoint, and its comment",)
    quarantine(copy, time)
    new, old = (savepoint.decode(body, "it").files for body in (file.read_bytes(), sound))
    assert {path: {*names} for path, names in new.items() if names} == {
        path: {*names} for path, names in old.items() if names
    }


@VERSIONS
def test_a_savepoint_whose_files_are_gone_is_refused(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    time = copy.savepoints[0]
    file = copy.file(time, "savepoint")
    said = savepoint.decode(damage(file, b""), "old").files
    partition, names = next((path, names) for path, names in said.items() if names)
    drop(copy.path / partition / sorted(names)[0])
    with pytest.raises(Refused):
        plan(copy, time)


@VERSIONS
@pytest.mark.parametrize("harm", ["missing", "empty", "cut"])
def test_a_restore_without_its_plan_goes_back_to_the_newest_savepoint(unpack: Unpack, version: str, harm: str) -> None:
    copy = unpack(version, "mor_restore_interrupted")
    file = other(copy, "restore.requested")
    (right,) = find_restores(copy.table, load_timeline(copy.table))
    if harm == "missing":
        drop(file)
    else:
        damage(file, b"" if harm == "empty" else file.read_bytes()[:100])
    assert any(f"it goes back to {right.plan.target}" in line for line in plan(copy, time_of(file)).guessed)
    quarantine(copy, time_of(file))
    (made,) = find_restores(copy.table, load_timeline(copy.table))
    there = {entry.time for entry in load_timeline(copy.table).writes()}
    assert (made.plan.target, made.instants) == (right.plan.target, right.instants & there)


@VERSIONS
def test_a_restore_of_hudictl_has_the_plan_of_its_record(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_restore_interrupted")
    file = other(copy, "restore.requested")
    drop(file)
    instants = [{"time": copy.commits[-1], "action": "deltacommit", "files": 1, "bytes": 1}]
    record = Operation(time_of(file), "restore", copy.commits[0], {"instants": instants})
    recorded(copy.table.storage, record, "hudictl restore", lambda: record)
    made = plan(copy, time_of(file))
    assert (made.guessed, len(made.files)) == ((), 1)
    quarantine(copy, time_of(file))
    (found,) = find_restores(copy.table, load_timeline(copy.table))
    assert (found.plan.target, found.instants) == (copy.commits[0], {copy.commits[-1]})


@VERSIONS
def test_a_restore_that_has_not_begun_is_set_aside(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_savepoints")
    file = copy.write("20270101000000000.restore.requested", b"damaged")
    assert [entry.change for entry in plan(copy, time_of(file)).files] == ["set aside"]
    quarantine(copy, time_of(file))
    assert not file.exists()


@VERSIONS
@pytest.mark.parametrize(
    ("name", "end"), [("cow_part", "commit"), ("mor_part", "deltacommit"), ("cow_cleaned", "clean")]
)
def test_an_undo_brings_the_damage_back(unpack: Unpack, version: str, name: str, end: str) -> None:
    copy = unpack(version, name)
    file = other(copy, end)
    damage(file, file.read_bytes()[:200])
    before = tree(copy.path, OWN)
    number = quarantine(copy, time_of(file)).undo
    assert tree(copy.path, OWN) != before
    undo(copy, number)
    assert tree(copy.path, OWN) == before


def test_the_time_of_a_request_stays(unpack: Unpack) -> None:
    """Below table version 8 one that is later than its completed file means that all times are lost."""
    copy = unpack("v6", "cow_clustering_cleaned")
    file = other(copy, "replacecommit.requested")
    damage(file, file.read_bytes()[:90])
    before = file.stat().st_mtime_ns // 1_000_000
    quarantine(copy, time_of(file))
    assert (file.read_bytes(), file.stat().st_mtime_ns // 1_000_000) == (b"", before)


def test_the_time_of_a_completed_file_stays(unpack: Unpack) -> None:
    """Readers take it for the completion time, below table version 8."""
    copy = unpack("v6", "mor_part")
    file = completed(copy, copy.commits[-2])
    damage(file, b"")
    before = int(file.stat().st_mtime * 1000)
    quarantine(copy, copy.commits[-2])
    assert int(file.stat().st_mtime * 1000) == before
    assert file.read_bytes()


@VERSIONS
def test_a_sound_instant_is_not_touched(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    for time in {entry.time for entry in load_timeline(copy.table).instants}:
        assert plan(copy, time).files == ()
    with pytest.raises(NotFound, match="no instant 20200101000000000"):
        plan(copy, "20200101000000000")


@VERSIONS
def test_what_nothing_proves_is_refused(unpack: Unpack, version: str) -> None:
    """The plan of a pending clean, for example: only it says what is to be deleted."""
    copy = unpack(version, "cow_part")
    copy.write("20270101000000000.clean.requested", b"damaged")
    with pytest.raises(Refused, match="nothing proves what it said"):
        plan(copy, "20270101000000000")


@VERSIONS
def test_a_pending_instant_that_may_be_running_is_refused(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_restore_interrupted")
    file = other(copy, "restore.requested")
    put(file, b"", old=False)
    with pytest.raises(Conflict, match="may be running"):
        plan(copy, time_of(file), 600_000)


@VERSIONS
def test_another_damage_since_planning_is_a_conflict(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    time = copy.commits[-1]
    file = completed(copy, time)
    sound = damage(file, b"")
    made = plan(copy, time)
    damage(file, sound[: len(sound) // 2])
    before = tree(copy.path, OWN)
    with pytest.raises(Conflict, match="has changed since planning"):
        execute_repair(session(copy.table), made, lambda: plan(copy, time))
    assert tree(copy.path, OWN) == before
