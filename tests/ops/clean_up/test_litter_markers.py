"""Marker folders: listed with their instants, and deleted where no file could become an orphan."""

import shutil
from typing import Any

import pytest

from hudictl.errors import Conflict, Refused
from hudictl.ops.clean_up import litter as markers
from hudictl.ops.clean_up.litter import MarkerDeletion, delete_markers, plan_marker_deletion
from hudictl.reports.markers import marker_rows
from hudictl.state.writers.markers import MarkerFolderRow, marker_folder_rows
from hudictl.table.locks.claim import claim
from hudictl.table.operations import operation_instants, read_operation
from hudictl.table.writers.markers import read_markers
from tests.fixtures import Unpack
from tests.helpers import OWN, Copy, drop, put, rollback_plan, session, tree

VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])
FAILED = pytest.mark.parametrize("name", ["cow_failed_direct", "cow_failed_tls", "mor_failed_direct"])
GONE = "20201121000000000"
NEW = "20271121000000000"


def only(copy: Copy) -> MarkerFolderRow:
    (found,) = marker_folder_rows(copy.table)
    return found


def leave(copy: Copy, instant: str) -> None:
    """Markers of an instant, as a crash right after its completion leaves them."""
    put(copy.meta / ".temp" / instant / "part-0" / "f.parquet.marker.CREATE")


@VERSIONS
@FAILED
def test_folders(unpack: Unpack, version: str, name: str) -> None:
    found = only(unpack(version, name))
    server = name.endswith("tls")
    assert (found.type, found.state, found.partial) == (
        "TIMELINE_SERVER_BASED" if server else "DIRECT", "pending", "",
    )  # fmt: skip
    kinds = (found.creates, found.merges, found.appends)
    if name.startswith("cow"):
        assert kinds == (0, found.markers, 0)
    else:
        assert kinds == ((0, 0, found.markers) if version == "v6" else (found.markers, 0, 0))
    assert found.changed_utc is not None
    assert found.changed_utc >= f"{found.instant[:4]}-{found.instant[4:6]}-{found.instant[6:8]}T"


def test_states(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    completed = copy.commits[-1]
    leave(copy, completed)
    leave(copy, GONE)
    found = {row.instant: (row.state, row.action) for row in marker_folder_rows(copy.table)}
    assert sorted(found.values(), key=str) == [("completed", "commit"), ("gone", None), ("pending", "commit")]
    assert (found[completed][0], found[GONE][0]) == ("completed", "gone")


def test_an_unknown_type_is_listed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_tls")
    put(copy.meta / ".temp" / only(copy).instant / "MARKERS.type", "BROADCAST")
    found = only(copy)
    assert (found.type, found.markers) == ("unknown", 0)
    assert "BROADCAST" in found.partial


@VERSIONS
@FAILED
def test_markers_know_whether_their_file_is_there(unpack: Unpack, version: str, name: str) -> None:
    """A marker precedes its file: one without is normal."""
    copy = unpack(version, name)
    folder = read_markers(copy.table, only(copy).instant)
    assert folder is not None
    rows = marker_rows(copy.table, folder)
    sizes = [(copy.path / row.partition / row.name).stat().st_size for row in rows]
    assert [(row.on_storage, row.bytes) for row in rows] == [(True, size) for size in sizes]
    drop(copy.path / rows[0].partition / rows[0].name)
    assert [(row.on_storage, row.bytes is None) for row in marker_rows(copy.table, folder)] == [
        (False, True), *[(True, False)] * (len(rows) - 1),
    ]  # fmt: skip


def test_a_marker_in_a_partition_that_is_not_there_yet(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    put(copy.meta / ".temp" / GONE / "new" / "f.parquet.marker.CREATE")
    folder = read_markers(copy.table, GONE)
    assert folder is not None
    (row,) = marker_rows(copy.table, folder)
    assert (row.partition, row.on_storage) == ("new", False)


@pytest.mark.parametrize("state", ["completed", "gone"])
@VERSIONS
def test_a_leftover_goes_whole(unpack: Unpack, version: str, state: str) -> None:
    copy = unpack(version, "cow_failed_tls")
    pending = only(copy).instant
    instant = copy.commits[-1] if state == "completed" else GONE
    leave(copy, instant)
    before = tree(copy.path, OWN, f".hoodie/.temp/{instant}")
    delete_markers(session(copy.table), plan_marker_deletion(session(copy.table), instant))
    assert tree(copy.path, OWN) == before
    assert only(copy).instant == pending
    (operation,) = operation_instants(copy.table.storage)
    record = read_operation(copy.table.storage, operation)
    assert record is not None
    assert (record.operation, record.target, record.plan) == ("marker delete", instant, {"markers": 1})


@VERSIONS
@FAILED
def test_while_the_instant_is_pending_they_stay(unpack: Unpack, version: str, name: str) -> None:
    """Without them a rollback finds nothing, and what the write left becomes orphans."""
    copy = unpack(version, name)
    before = tree(copy.path)
    instant = only(copy).instant
    with pytest.raises(Refused, match="would become orphans") as caught:
        plan_marker_deletion(session(copy.table), instant)
    assert f"`hudictl rollback {instant}`" in caught.value.hint
    assert tree(copy.path) == before
    shown = marker_folder_rows(copy.table)[0]
    with pytest.raises(Refused, match="would become orphans"):
        delete_markers(session(copy.table), MarkerDeletion(instant, shown, session(copy.table).lock))
    assert tree(copy.path, OWN) == {path: entry for path, entry in before.items() if not path.startswith(OWN)}


@pytest.mark.parametrize("readable", [True, False])
def test_while_a_rollback_takes_the_instant_back_they_stay(unpack: Unpack, readable: bool) -> None:
    """Though its own files are gone already; a plan that cannot be read may be of any instant."""
    copy = unpack("v9", "cow_part")
    leave(copy, GONE)
    assert plan_marker_deletion(session(copy.table), GONE).folder is not None
    copy.write(f"{NEW}.rollback.requested", rollback_plan(GONE) if readable else b"Obj")
    copy.write(f"{NEW}.rollback.inflight")
    with pytest.raises(Refused, match=f"{NEW} rollback INFLIGHT is pending") as caught:
        plan_marker_deletion(session(copy.table), GONE)
    way_out = "`hudictl resume --discard-rollbacks`"
    assert caught.value.hint == (f"`hudictl rollback {GONE}` ends it" if readable else way_out)
    if readable:
        copy.write(f"{NEW}.rollback.requested", rollback_plan(copy.commits[-1]))
        assert plan_marker_deletion(session(copy.table), GONE).folder is not None


@pytest.mark.parametrize("readable", [True, False])
def test_a_rollbacks_own_markers_stay_while_it_is_pending(unpack: Unpack, readable: bool) -> None:
    """Below table version 8 a rollback marks the logs that it appends to."""
    copy = unpack("v6", "mor_part")
    copy.write(f"{NEW}.rollback.requested", rollback_plan(GONE) if readable else b"Obj")
    leave(copy, NEW)
    with pytest.raises(Refused, match="is pending") as caught:
        plan_marker_deletion(session(copy.table), NEW)
    assert caught.value.hint == ("`hudictl resume`" if readable else "`hudictl resume --discard-rollbacks`")


@pytest.mark.parametrize("name", [GONE, "..", "../timeline", ""])
def test_a_folder_that_is_absent(unpack: Unpack, name: str) -> None:
    """Nothing to do; a path is no instant."""
    copy = unpack("v9", "cow_failed_direct")
    before = tree(copy.path, OWN)
    assert plan_marker_deletion(session(copy.table), name).folder is None
    delete_markers(session(copy.table), plan_marker_deletion(session(copy.table), name))
    assert tree(copy.path, OWN) == before
    assert operation_instants(copy.table.storage) == []


def test_another_hudictl_is_at_work(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    leave(copy, GONE)
    made = plan_marker_deletion(session(copy.table), GONE)
    with claim(copy.table.storage, "restore"), pytest.raises(Conflict, match="another hudictl"):
        delete_markers(session(copy.table), made)
    assert only(copy).instant == GONE


def test_a_claim_that_was_taken_over_deletes_nothing(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    leave(copy, GONE)

    made = plan_marker_deletion(session(copy.table), GONE)

    def late(*asked: Any) -> MarkerDeletion:
        put(copy.path / OWN / "claim-2", "{}")
        return plan_marker_deletion(*asked)

    monkeypatch.setattr(markers, "plan_marker_deletion", late)
    with pytest.raises(Conflict, match="taken over"):
        delete_markers(session(copy.table), made)
    assert (copy.meta / ".temp" / GONE).exists()


def test_a_folder_that_is_not_what_the_plan_has_shown_stays(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    leave(copy, GONE)
    made = plan_marker_deletion(session(copy.table), GONE)
    put(copy.meta / ".temp" / GONE / "p" / "one_more.parquet.marker.CREATE")
    with pytest.raises(Conflict, match="has changed since planning"):
        delete_markers(session(copy.table), made)
    assert (copy.meta / ".temp" / GONE).exists()


def test_one_that_is_gone_under_the_claim_is_no_operation(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    leave(copy, GONE)
    made = plan_marker_deletion(session(copy.table), GONE)
    shutil.rmtree(copy.meta / ".temp" / GONE)
    delete_markers(session(copy.table), made)
    assert operation_instants(copy.table.storage) == []
