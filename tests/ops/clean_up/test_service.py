"""Removing a pending clean without plan, or an indexing of which nothing is in the metadata table."""

import pytest

from hudictl.errors import Conflict, HudictlError, Refused, Unreadable
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.clean_up.service import (
    ServiceOptions,
    ServiceRemoval,
    execute_service_removal,
    is_service,
    plan_service_removal,
    removed_already,
)
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.session import Silent
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.table.operations import operation_instants, read_operation
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import OWN, At, Copy, attempt, drop, plan, put, session, tree
from tests.ops.clean_up.service_support import DAMAGES, broken_clean, indexing, left
from tests.ops.repair.services_support import back
from tests.state.orphans.find_support import LATER

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def remove(copy: Copy, monitor: object = None, idle_ms: int = DEFAULT_IDLE_MS) -> ServiceRemoval:
    made = plan_service_removal(session(copy.table), LATER, ServiceOptions(idle_ms))
    return execute_service_removal(session(copy.table, monitor or Silent()), made)  # type: ignore[arg-type]


def refused(copy: Copy, error: type[HudictlError], says: str, idle_ms: int = DEFAULT_IDLE_MS) -> None:
    before = tree(copy.path)
    with pytest.raises(error, match=says):
        plan_service_removal(session(copy.table), LATER, ServiceOptions(idle_ms))
    assert tree(copy.path) == before


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_clean_without_plan_is_removed_and_recorded(unpack: Unpack, version: str, damage: str) -> None:
    copy = unpack(version, "cow_cleaned")
    before = tree(copy.path)
    broken_clean(copy, damage, begun=True)
    damaged = tree(copy.path, OWN)
    done = remove(copy)
    # The inflight file first: what remains after a crash has its request.
    assert done.files == (f"{LATER}.clean.inflight", f"{LATER}.clean.requested")
    assert tree(copy.path, OWN) == {path: entry for path, entry in before.items() if not path.startswith(OWN)}
    (time,) = operation_instants(copy.table.storage)
    operation = read_operation(copy.table.storage, time)
    assert operation is not None
    assert (operation.operation, operation.target, operation.last.exit_code) == ("remove table service", LATER, 0)
    assert (is_service(copy.table, LATER), removed_already(copy.table, LATER), done.undo) == (True, time, time)
    back(copy, time)
    assert tree(copy.path, OWN) == damaged


@VERSIONS
def test_what_cannot_go_on_beside_such_a_clean_names_check(unpack: Unpack, version: str) -> None:
    """Nobody can tell what it has deleted."""
    copy = unpack(version, "cow_cleaned")
    broken_clean(copy, "garbage", begun=False)
    error = attempt(lambda: plan(copy, copy.commits[-2], RestoreOptions(to_instant=True)))
    assert isinstance(error, Unreadable)
    assert error.hint == "`hudictl check` shows what to do"
    remove(copy)
    assert not isinstance(attempt(lambda: plan(copy, copy.commits[-2], RestoreOptions(to_instant=True))), Unreadable)


@VERSIONS
def test_a_clean_with_a_plan_is_hudis_to_finish(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    copy.write(f"{LATER}.clean.requested", records.clean_plan([], base=str(copy.path)))
    refused(copy, Refused, "has a plan that deletes no required file")


@VERSIONS
def test_a_clean_with_a_plan_beside_one_without_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    whole = copy.file_of("clean.requested")
    broken_clean(copy, "garbage", begun=False)
    copy.write(f"{time_plus_ms(LATER, 5)}.clean.requested", whole)
    with pytest.raises(Unreadable, match="cannot be read as Avro"):
        plan_service_removal(session(copy.table), time_plus_ms(LATER, 5))
    remove(copy)
    assert copy.having("clean.requested")[-1] == f"{time_plus_ms(LATER, 5)}.clean.requested"


@VERSIONS
def test_one_that_was_active_just_now_may_be_running(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    copy.write(f"{LATER}.clean.requested", b"garbage", old=False)
    refused(copy, Conflict, "may be running")
    assert left(copy) == [f"{LATER}.clean.requested"]
    remove(copy, idle_ms=0)
    assert left(copy) == []


@VERSIONS
def test_an_indexing_that_began_again_since_planning_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    indexing(copy, begun=False)
    with pytest.raises(Conflict, match="changed since planning"):
        remove(copy, At("check again", lambda: copy.write(f"{LATER}.indexing.inflight")))
    assert len(left(copy)) == 2


@VERSIONS
def test_an_indexing_that_comes_to_write_since_planning_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    indexing(copy, begun=True)
    file = copy.meta / f"metadata/bloom_filters/col-stats-0000-0_0-1-2_{LATER}004.hfile"
    with pytest.raises(Refused, match="build partitions of the metadata table: bloom_filters"):
        remove(copy, At("check again", lambda: put(file)))
    assert len(left(copy)) == 2


@VERSIONS
def test_a_plan_that_cannot_be_read_means_every_partition_that_is_in_the_making(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.indexing.requested", b"garbage")
    path = copy.meta / "hoodie.properties"
    kept = [line for line in path.read_text().splitlines() if "metadata.partitions.inflight" not in line]
    put(path, "\n".join([*kept, "hoodie.table.metadata.partitions.inflight=bloom_filters", ""]))
    refused(copy, Refused, "build partitions of the metadata table: bloom_filters")


@VERSIONS
def test_what_is_neither_is_not_taken_for_one(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    clean = copy.having("clean.requested")[0][:17]
    assert not is_service(copy.table, clean)
    assert not is_service(copy.table, copy.commits[-1])
    assert not is_service(copy.table, LATER)
    indexing(copy, begun=False)
    assert is_service(copy.table, LATER)
    drop(copy.file(LATER, "indexing.requested"))
    refused(copy, Refused, f"{LATER} is no pending clean or indexing")
