"""No instant time in another zone than the writers'."""

from collections.abc import Callable

import pytest

from hudictl.errors import HudictlError, Refused
from hudictl.ops.clean_up.litter import plan_heartbeat_deletion, plan_marker_deletion
from hudictl.ops.clean_up.orphans import OrphanOptions, plan_orphan_deletion
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.rollback.discard import plan_discard
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.planning import plan_rollback
from hudictl.ops.savepoint.deletion import plan_deletion
from hudictl.ops.savepoint.execute import create_savepoint
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.table.open import open_table
from tests.fixtures import Unpack
from tests.helpers import OWN, attempt, host_in, plan, put, rollback_of, session, tree, without_zone, written_in

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])


def refusal(act: Callable[[], object], zone: str, offset: str) -> HudictlError:
    error = attempt(act)
    assert isinstance(error, Refused), error
    assert zone in error.message
    assert (error.fields["zone"], error.fields["offset"]) == (zone, offset)
    assert f"--timezone to the zone of the table's writers ({offset})" in error.hint
    return error


@VERSIONS
@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "Asia/Kathmandu"])
def test_a_command_in_another_zone_than_the_writers_is_refused(unpack: Unpack, version: str, zone: str) -> None:
    """Every command that takes a time of now: ahead of the writers its instant would close the table to them for hours;
    behind, it would be older than what it follows."""
    copy = unpack(version, "cow_savepoints")
    target, newest = copy.savepoints[-1], copy.commits[-1]
    working = session(open_table(str(copy.path), zone=zone))
    before = tree(copy.path, OWN)
    for act in (
        lambda: plan_restore(working, target),
        lambda: plan_rollback(working, newest),
        lambda: plan_savepoint(working, newest, SavepointOptions(idle_ms=0)),
        lambda: plan_deletion(working, target),
        lambda: plan_orphan_deletion(working, OrphanOptions()),
        lambda: plan_discard(working, 0),
        lambda: plan_heartbeat_deletion(working, target),
        lambda: plan_marker_deletion(working, target),
    ):
        error = refusal(act, zone, "UTC+00:00")
        assert ("9 h ahead of" in error.message) == (zone == "Asia/Tokyo")
    # The deletion of heartbeats asks the storage for its clock.
    assert tree(copy.path, OWN) == before


@VERSIONS
def test_a_host_in_another_zone_than_the_writers_is_refused(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    with host_in("Asia/Tokyo"):
        refusal(lambda: plan(copy, copy.savepoints[-1]), "JST", "UTC+00:00")
        written_in(copy, hours=9)
        assert plan(copy, copy.savepoints[-1]).undo.removals
    refusal(lambda: plan(copy, copy.savepoints[-1]), "UTC", "UTC+09:00")


def test_a_table_that_declares_utc_is_no_exception(unpack: Unpack) -> None:
    """The property is a wish: each of Hudi's writers goes by its own setting."""
    copy = written_in(unpack("v9", "cow_savepoints"), hours=5.5)
    properties = copy.meta / "hoodie.properties"
    put(properties, properties.read_text() + "hoodie.table.timeline.timezone=UTC\n")
    refusal(lambda: plan(copy, copy.savepoints[-1]), "UTC", "UTC+05:30")
    table = open_table(str(copy.path), zone="Asia/Kolkata")
    assert plan_restore(session(table), copy.savepoints[-1]).undo.removals


@VERSIONS
def test_a_zone_that_shows_under_the_claim_is_refused_before_the_first_write(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    working, newest = session(copy.table), copy.commits[-1]
    restore, rollback = plan(copy, copy.savepoints[-1]), rollback_of(copy, newest)
    saved = plan_savepoint(working, newest, SavepointOptions(idle_ms=0))
    # Those of completed files are completion times on version 6, which are compared.
    written_in(copy, hours=8, files="*.requested" if version == "v6" else "[0-9]*")
    before = tree(copy.path, OWN)
    refusal(lambda: execute_restore(working, restore), "UTC", "UTC+08:00")
    refusal(lambda: execute_rollback(working, rollback), "UTC", "UTC+08:00")
    refusal(lambda: create_savepoint(working, saved), "UTC", "UTC+08:00")
    assert tree(copy.path, OWN) == before


@VERSIONS
def test_touched_requests_tell_no_zone(unpack: Unpack, version: str) -> None:
    """The way out of the hint, for a copy with wrong modification times."""
    copy = without_zone(written_in(unpack(version, "cow_savepoints"), hours=9))
    assert plan(copy, copy.savepoints[-1]).undo.removals
