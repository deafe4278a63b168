"""What comes in while a savepoint is made or deleted, where the plan could not see it."""

import pytest

from hudictl.errors import Conflict, Incomplete
from hudictl.formats import savepoint as fmt
from hudictl.formats.instants import State
from hudictl.formats.restore import StoredRestorePlan, encode_plan
from hudictl.formats.rollback import InstantInfo
from hudictl.ops.savepoint.deletion import delete_savepoint, plan_deletion
from hudictl.ops.savepoint.execute import create_savepoint
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.ops.savepoint.planning import plan_savepoint
from tests import records
from tests.fixtures import Unpack
from tests.helpers import (
    OWN,
    At,
    Copy,
    drop,
    in_the_middle,
    put,
    replace_function,
    rollback_plan,
    session,
    take_over,
    tree,
)

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
LATER = "20991231000000000"
OPTIONS = SavepointOptions(idle_ms=0)


def take_lock(copy: Copy) -> At:
    return At("check again", lambda: put(copy.meta / "lock", "{}", old=False))


def test_none_is_made_when_the_claim_is_lost(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    made = plan_savepoint(session(copy.table), copy.commits[1], OPTIONS)
    in_the_middle(monkeypatch, "hudictl.ops.savepoint.execute.recover_properties", lambda: take_over(copy))
    with pytest.raises(Conflict, match="taken over"):
        create_savepoint(session(copy.table), made)
    assert copy.having("savepoint") == []


def test_none_goes_when_the_claim_is_lost(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = copy.savepoints
    made = plan_deletion(session(copy.table), before[-1])
    in_the_middle(monkeypatch, "hudictl.ops.session.instant_now", lambda: take_over(copy))
    with pytest.raises(Conflict, match="taken over"):
        delete_savepoint(session(copy.table), made)
    assert copy.savepoints == before


@VERSIONS
def test_none_is_made_beside_a_lock_that_was_taken_since_planning(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    made = plan_savepoint(session(copy.table), copy.commits[1], OPTIONS)
    with pytest.raises(Conflict):
        create_savepoint(session(copy.table, take_lock(copy)), made)
    assert copy.having("savepoint") == []


@VERSIONS
def test_none_goes_beside_a_lock_that_was_taken_since_planning(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    before = copy.savepoints
    made = plan_deletion(session(copy.table), before[-1])
    with pytest.raises(Conflict):
        delete_savepoint(session(copy.table, take_lock(copy)), made)
    assert copy.savepoints == before


def test_none_goes_where_the_timeline_has_moved_since_planning(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    made = plan_deletion(session(copy.table), copy.savepoints[-1])
    copy.write(f"{LATER}.commit.requested")
    before = tree(copy.path, OWN)
    with pytest.raises(Conflict, match=LATER):
        delete_savepoint(session(copy.table), made)
    assert tree(copy.path, OWN) == before


def test_an_interrupted_update_of_the_properties_is_ended_first(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    backup = put(copy.meta / "hoodie.properties.backup", (copy.meta / "hoodie.properties").read_bytes())
    create_savepoint(session(copy.table), plan_savepoint(session(copy.table), copy.commits[1], OPTIONS))
    assert not backup.exists()


@VERSIONS
def test_one_that_somebody_deletes_at_once_is_not_made(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "cow_part")
    instant = copy.commits[1]
    made = plan_savepoint(session(copy.table), instant, OPTIONS)

    def delete(real: object, *given: object, **named: object) -> object:
        name = real(*given, **named)  # type: ignore[operator]
        if given[3] is State.COMPLETED:
            drop(copy.file(instant, "savepoint"))
        return name

    replace_function(monkeypatch, "hudictl.ops.savepoint.execute.create_instant_file", delete)
    with pytest.raises(Incomplete, match=instant):
        create_savepoint(session(copy.table), made)


@VERSIONS
def test_one_that_was_there_stays_where_a_clean_comes_in(unpack: Unpack, version: str) -> None:
    """It names no less than it did."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    done = copy.file(target, "savepoint")
    metadata = fmt.decode(done.read_bytes(), done.name)
    partition = next(path for path, names in metadata.files.items() if names)
    files = {**metadata.files, partition: metadata.files[partition][1:]}
    put(done, fmt.encode(fmt.SavepointMetadata("ann", 1, "", files)))
    made = plan_savepoint(session(copy.table), target, OPTIONS)
    assert (made.exists, made.files_added) == (True, 1)
    clean = At("write the savepoint", lambda: copy.write(f"{LATER}.clean.requested", records.clean_plan([])))
    with pytest.raises(Conflict, match="may be incomplete"):
        create_savepoint(session(copy.table, clean), made)
    assert target in copy.savepoints


@VERSIONS
def test_one_that_is_completed_keeps_all_names_that_it_has(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    create_savepoint(session(copy.table), plan_savepoint(session(copy.table), target, OPTIONS))
    done = copy.file(target, "savepoint")
    metadata = fmt.decode(done.read_bytes(), done.name)
    older = next(path for path in sorted(copy.data()) if path.endswith(f"_{copy.commits[0]}.parquet"))
    partition, _, name = older.rpartition("/")
    assert name not in metadata.files[partition]
    put(done, fmt.encode(fmt.SavepointMetadata("ann", 1, "", {partition: (name, *metadata.files[partition][1:])})))
    made = plan_savepoint(session(copy.table), target, OPTIONS)
    assert made.files_added
    assert {name, *metadata.files[partition]} <= set(made.file_names[partition])


@VERSIONS
def test_the_rollbacks_of_a_pending_restore_to_an_earlier_commit_keep_none(unpack: Unpack, version: str) -> None:
    """The restore ends them itself; one that is older waits for the savepoint to go."""
    copy = unpack(version, "cow_savepoints")
    first, last = copy.savepoints[0], copy.savepoints[-1]
    assert first != last
    copy.write(f"{LATER}.restore.requested", encode_plan(StoredRestorePlan((InstantInfo(last, "commit"),), first)))
    after = f"{LATER[:-1]}1"
    copy.write(f"{after}.rollback.requested", rollback_plan(last))
    assert plan_deletion(session(copy.table), last).exists
