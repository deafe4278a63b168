"""Savepoints: what they hold, and what keeps one from being a lie."""

import json
import os
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import HudictlError, StorageFailed, Unreadable
from hudictl.formats import rollback
from hudictl.formats import savepoint as fmt
from hudictl.formats.instants import State
from hudictl.formats.restore import StoredRestorePlan, encode_plan
from hudictl.formats.rollback import InstantInfo, StoredRollbackPlan
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.savepoint.deletion import delete_savepoint, plan_deletion
from hudictl.ops.savepoint.execute import create_savepoint
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.ops.savepoint.verify import verify_savepoint
from hudictl.table.timeline.active import create_instant_file, load_timeline
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import (
    OWN,
    At,
    Copy,
    cases,
    drop,
    pending_restore,
    plan,
    put,
    required,
    restore,
    savepoint,
    session,
    tree,
)

LATER = "20261121040000000"
ACCEPTED = SavepointOptions("ann", "before the load", idle_ms=0)
TRIED = [case for case in cases("savepoint") if case[1] not in ("mor_restore_interrupted", "cow_rollback_interrupted")]


def refused(copy: Copy, instant: str | None, code: int, named: str) -> HudictlError:
    before = tree(copy.path)
    with pytest.raises(HudictlError) as caught:
        plan_savepoint(session(copy.table), instant, SavepointOptions())
    assert caught.value.exit_code == code
    assert named in caught.value.message
    assert tree(copy.path) == before
    return caught.value


@pytest.mark.short(
    "v6-cow_part",
    "v6-mor_pending_compaction",
    "v9-cow_cluster",
    "v9-cow_flat_nomdt",
    "v9-mor_part",
    "v9-mor_savepoints",
)
@pytest.mark.parametrize(("version", "name", "instant"), TRIED)
def test_it_is_made_where_hudi_makes_it(unpack: Unpack, version: str, name: str, instant: str) -> None:
    copy = unpack(version, name)
    hudi = next(entry for entry in support.outcomes(version, name, "savepoint") if entry["instant"] == instant)
    if not hudi.get("ok"):
        refused(copy, instant, 13, instant)
        return
    before = copy.instants()
    savepoint(copy, instant, ACCEPTED)
    assert copy.instants() - before == {f"{instant}.savepoint.inflight", f"{instant}.savepoint"}
    done = copy.file(instant, "savepoint")
    assert (copy.timeline / f"{instant}.savepoint.inflight").read_bytes() == b""
    found = fmt.decode(done.read_bytes(), done.name)
    assert (found.saved_by, found.comment) == ("ann", "before the load")
    named = {f"{path}/{file}".lstrip("/") for path, files in found.files.items() for file in files}
    assert named
    assert named <= copy.data()
    assert not tree(copy.path / OWN / "tmp") if (copy.path / OWN / "tmp").exists() else True


@pytest.mark.parametrize(
    ("version", "name"),
    [(v, n) for v in support.VERSIONS for n in ("cow_savepoints", "mor_savepoints", "mor_restore_interrupted")],
)
def test_it_holds_the_files_that_hudis_own_holds(unpack: Unpack, version: str, name: str) -> None:
    """Made where Hudi had made one, on the table as it was then: later instants are taken off first."""
    copy = unpack(version, name)
    target = copy.savepoints[-1]
    restore(copy, target)
    done = copy.file(target, "savepoint")
    hudi = fmt.decode(done.read_bytes(), done.name)
    drop(done)
    drop(copy.timeline / f"{target}.savepoint.inflight")
    made = plan_savepoint(session(copy.table), target, ACCEPTED)
    kept = {f"{path}/{file}" for path, names in hudi.files.items() for file in names} & copy.data()
    found = {f"{path}/{file}" for path, names in made.file_names.items() for file in names}
    assert kept <= found
    # Later instants have written into the same slices of a version 6 table: blocks take that back, the logs stay.
    assert found == kept if version != "v6" else all("/." in path for path in found - kept)


def test_a_comment_that_cannot_be_encoded_leaves_nothing(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    before = tree(copy.path, OWN)
    with pytest.raises(Unreadable, match="is no UTF-8"):
        savepoint(copy, copy.commits[-1], replace(ACCEPTED, comment="\udcff"))
    assert tree(copy.path, OWN) == before


# Pitfalls 27: writes that are not in it.


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_an_older_write_that_is_pending_may_complete_later(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    first, second, third, *_ = copy.commits
    drop(copy.file(second, "commit"))
    refused(copy, third, 12, second)
    assert plan_savepoint(session(copy.table), None, SavepointOptions()).target == first


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_the_operator_may_accept_an_older_pending_write(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    _, second, third, *_ = copy.commits
    drop(copy.file(second, "commit"))
    assert plan_savepoint(session(copy.table), third, SavepointOptions(allow_pending=True)).target == third


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_it_names_nothing_of_a_first_write_that_failed(unpack: Unpack, version: str) -> None:
    """Older than the first completed write, and on the timeline: its files go when it is rolled back."""
    copy = unpack(version, "cow_part")
    first, second, *_ = copy.commits
    drop(copy.file(first, "commit"))
    path = f"part-1/deadbeef-0000-4000-8000-000000000000-0_0-1-2_{first}.parquet"
    put(copy.path / path, b"rows")
    made = plan_savepoint(session(copy.table), second, SavepointOptions(allow_pending=True))
    assert any(made.file_names.values())
    assert path.rpartition("/")[2] not in made.file_names["part-1"]


def test_a_compaction_that_is_only_scheduled_completes_nothing(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_pending_compaction")
    assert plan_savepoint(session(copy.table), None, SavepointOptions()).target == copy.commits[-1]
    # One that has begun may complete at any moment.
    (compaction,) = [entry.time for entry in load_timeline(copy.table).writes() if entry.pending]
    copy.write(f"{compaction}.compaction.inflight")
    before = max(time for time in copy.commits if time < compaction)
    assert plan_savepoint(session(copy.table), None, SavepointOptions()).target == before


def test_without_completed_commit_there_is_no_savepoint(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    for time in copy.commits:
        drop(copy.file(time, "commit"))
    refused(copy, None, 13, "no completed commit")
    refused(copy, "20260101000000000", 13, "20260101000000000")


# Pitfalls 1 and 28: cleans.


@pytest.mark.parametrize("whole", [False, True], ids=["files", "partition"])
@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_pending_clean_of_its_files_is_in_the_way(unpack: Unpack, version: str, whole: bool) -> None:
    copy = unpack(version, "cow_part")
    instant = copy.commits[1]
    made = plan_savepoint(session(copy.table), instant, SavepointOptions())
    partition, names = next((path, names) for path, names in made.file_names.items() if names)
    paths, partitions = ([], [partition]) if whole else ([f"{partition}/{names[0]}"], [])
    body = records.clean_plan(paths, partitions=partitions, retained=copy.commits[0])
    copy.write(f"{LATER}.clean.requested", body)
    refused(copy, instant, 13, LATER)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_what_the_last_clean_has_not_kept_whole_is_refused(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    oldest, retained, *_ = copy.commits
    copy.write(f"{LATER}.clean.requested", records.clean_plan([], retained=retained))
    refused(copy, oldest, 13, retained)
    assert plan_savepoint(session(copy.table), retained, SavepointOptions()).target == retained


@pytest.mark.parametrize("act", ["clean requested", "clean completed", "file gone"])
@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_clean_in_between_withdraws_it(unpack: Unpack, version: str, act: str) -> None:
    """Listed, cleaned, published: the savepoint would promise files that are gone."""
    copy = unpack(version, "cow_part")
    instant = copy.commits[1]
    made = plan_savepoint(session(copy.table), instant, ACCEPTED)
    partition, names = next((path, names) for path, names in made.file_names.items() if names)

    def meanwhile() -> None:
        if act == "clean requested":
            copy.write(f"{LATER}.clean.requested", records.clean_plan([]))
        elif act == "clean completed":
            copy.write(f"{LATER}.clean" if version == "v6" else f"{LATER}_{LATER}.clean")
        else:
            drop(copy.path / partition / names[0])

    with pytest.raises(HudictlError) as caught:
        create_savepoint(session(copy.table, At("write the savepoint", meanwhile)), made)
    assert caught.value.exit_code == 12
    assert copy.having("savepoint") == []


def test_the_timeline_moves_between_plan_and_claim(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    made = plan_savepoint(session(copy.table), copy.commits[1], ACCEPTED)
    copy.write(f"{LATER}.commit.requested")
    before = tree(copy.path, OWN)
    with pytest.raises(HudictlError, match=f"{LATER}.commit.requested") as caught:
        create_savepoint(session(copy.table), made)
    assert caught.value.exit_code == 12
    assert tree(copy.path, OWN) == before


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_lone_inflight_file_may_be_another_process_in_the_act(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    instant = copy.commits[1]
    lone = copy.write(f"{instant}.savepoint.inflight", old=False)
    refused(copy, instant, 12, instant)
    os.utime(lone, (1_700_000_000, 1_700_000_000))
    assert plan_savepoint(session(copy.table), instant, SavepointOptions()).completes_interrupted
    savepoint(copy, instant)
    assert copy.savepoints == [instant]


def age_record(record: Path, lone: Path) -> None:
    """The attempt and the file that it has made are 90 s older."""
    known = json.loads(record.read_text())
    (attempt,) = known["attempts"]
    begun = datetime.fromisoformat(attempt["started_at"]) - timedelta(seconds=90)
    attempt["started_at"] = begun.isoformat(timespec="milliseconds")
    put(record, json.dumps(known).encode())
    os.utime(lone, (lone.stat().st_mtime - 90,) * 2)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_what_failed_before_its_end_goes_on_at_once(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its record tells that the lone file is hudictl's own. A later one, or one beside a savepoint that was made, is
    another program's."""
    copy = unpack(version, "cow_part")
    instant, made = copy.commits[1], create_instant_file

    def fail(*given: Any) -> str:
        if given[3] is State.COMPLETED:
            raise StorageFailed("the token has expired")
        return made(*given)

    monkeypatch.setattr("hudictl.ops.savepoint.execute.create_instant_file", fail)
    with pytest.raises(StorageFailed):
        savepoint(copy, instant)
    monkeypatch.setattr("hudictl.ops.savepoint.execute.create_instant_file", made)
    (lone,) = copy.timeline.glob("*.savepoint.inflight")
    os.utime(lone, (lone.stat().st_mtime + 90,) * 2)
    refused(copy, instant, 12, instant)
    os.utime(lone)
    # Much later it fails once more: the file is still that of the first attempt.
    (record,) = sorted((copy.meta / ".hudictl/operations").glob("*.json"))
    age_record(record, lone)
    monkeypatch.setattr("hudictl.ops.savepoint.execute.create_instant_file", fail)
    with pytest.raises(StorageFailed):
        savepoint(copy, instant)
    monkeypatch.setattr("hudictl.ops.savepoint.execute.create_instant_file", made)
    savepoint(copy, instant, SavepointOptions())
    assert copy.savepoints == [instant]
    copy.file(instant, "savepoint").unlink()
    os.utime(lone)
    refused(copy, instant, 12, instant)


# Pitfalls 29: what it stands on.


def test_a_missing_file_is_named(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    instant = copy.commits[-1]
    made = plan_savepoint(session(copy.table), instant, SavepointOptions())
    lost = next(f"{path}/{names[0]}" for path, names in made.file_names.items() if names)
    drop(copy.path / lost)
    refused(copy, instant, 13, lost)


@pytest.mark.parametrize("stored", [True, False], ids=["its own", "unreadable"])
def test_a_pending_rollback_takes_the_commit_back(unpack: Unpack, stored: bool) -> None:
    copy = unpack("v9", "cow_part")
    instant = copy.commits[-1]
    body = rollback.encode_plan(StoredRollbackPlan(InstantInfo(instant, "commit"), ())) if stored else b"garbage"
    copy.write(f"{LATER}.rollback.requested", body)
    refused(copy, instant, 13, LATER)


def test_a_pending_restore_comes_first(unpack: Unpack) -> None:
    refused(unpack("v9", "mor_restore_interrupted"), None, 13, "restore is pending")


def test_a_pending_restore_comes_first_where_the_newest_commit_has_a_savepoint(unpack: Unpack) -> None:
    """The restore may remove both: a script would take it for a savepoint of now."""
    copy = unpack("v9", "cow_savepoints")
    savepoint(copy, copy.commits[-1])
    pending_restore(copy, LATER, copy.commits[0], begun=True)
    refused(copy, None, 13, "restore is pending")
    assert plan_savepoint(session(copy.table), copy.commits[-1]).exists


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_commit_in_the_archive_is_none(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    first = min(support.facts(version, "cow_cleaned")["rows"])
    assert first not in copy.commits
    refused(copy, first, 13, first)
    records.archive(copy, LATER)
    refused(copy, copy.commits[-1], 13, LATER)


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_lock_in_use(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    put(copy.meta / "lock", "{}")
    refused(copy, None, 12, "lock")


def test_one_that_exists_is_not_made_again(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = tree(copy.path)
    made = plan_savepoint(session(copy.table), copy.savepoints[-1], ACCEPTED)
    create_savepoint(session(copy.table), made)
    assert made.exists
    assert made.files
    assert tree(copy.path) == before


# Deleting.


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_deleting_takes_its_two_files_and_nothing_else(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    before = tree(copy.path, OWN)
    names = {path.name for path in copy.timeline.glob(f"*{target}*.savepoint*")}
    delete_savepoint(session(copy.table), plan_deletion(session(copy.table), target))
    gone = {path.rpartition("/")[2] for path in before.keys() - tree(copy.path, OWN).keys()}
    assert gone == names
    assert target not in copy.savepoints
    assert not plan_deletion(session(copy.table), target).exists


@pytest.mark.parametrize("kind", ["restore", "rollback"])
def test_a_savepoint_that_something_waits_for_is_not_deleted(unpack: Unpack, kind: str) -> None:
    """A rollback that Hudi refused stays armed: the next writer takes the commit back when the savepoint is gone."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    bodies = {
        "restore": encode_plan(StoredRestorePlan((InstantInfo(copy.commits[-1], "commit"),), target)),
        "rollback": rollback.encode_plan(StoredRollbackPlan(InstantInfo(target, "commit"), ())),
    }
    copy.write(f"{LATER}.{kind}.requested", bodies[kind])
    before = tree(copy.path)
    with pytest.raises(HudictlError, match=LATER) as caught:
        plan_deletion(session(copy.table), target)
    assert caught.value.exit_code == 13
    assert tree(copy.path) == before


def test_a_death_between_its_two_deletes(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    drop(copy.file(target, "savepoint"))
    delete_savepoint(session(copy.table), plan_deletion(session(copy.table), target))
    assert [name for name in copy.having("savepoint") if name.startswith(target)] == []


# Proof.


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_verify_says_what_a_restore_would_say(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_savepoints")
    target = copy.savepoints[-1]
    before = tree(copy.path)
    good = verify_savepoint(session(copy.table), target, RestoreOptions())
    assert (good.restorable, good.reason) == (True, "")
    assert good.file_count
    assert good.bytes
    assert tree(copy.path) == before
    drop(
        copy.path
        / next(
            path for path in sorted(required(copy.table, plan(copy, target).undo.case)) if path.startswith("part-0/")
        )
    )
    bad = verify_savepoint(session(copy.table), target, RestoreOptions())
    assert not bad.restorable
    assert "part-0/" in bad.reason


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_another_table_below_the_base_path_hinders_nothing(unpack: Unpack, version: str) -> None:
    """Nor for a commit with later ones, whose metadata are not read."""
    copy = unpack(version, "cow_part")
    (copy.path / "_errors" / ".hoodie").mkdir(parents=True)
    savepoint(copy, copy.commits[0])
    assert copy.savepoints == [copy.commits[0]]
