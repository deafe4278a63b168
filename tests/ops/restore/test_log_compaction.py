"""Log compactions: Hudi's restore of merge on read ends at that action, so none is left pending under it."""

import pytest

from hudictl.formats.restore import decode_plan
from hudictl.formats.rollback import decode_plan as decode_rollback
from hudictl.table.timeline.active import load_timeline
from tests.fixtures import Unpack
from tests.helpers import At, Copy, die, drop, plan, restore, savepoint

VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])
STATES = pytest.mark.parametrize("state", ["completed", "inflight", "requested"])


def log_compaction(copy: Copy, state: str) -> tuple[str, str]:
    """Makes a log compaction of the newest delta commit: its pending files have that action's name.

    Returns:
        The newest commit before it, with a savepoint, and its own time.
    """
    *_, before, time = copy.commits
    savepoint(copy, before)
    plan_of_it = copy.file_of("compaction.requested")
    copy.write(f"{time}.logcompaction.requested", plan_of_it)
    if state != "requested":
        copy.write(f"{time}.logcompaction.inflight")
    if state != "completed":
        drop(copy.file(time, "deltacommit"))
    drop(copy.timeline / f"{time}.deltacommit.requested")
    drop(copy.timeline / f"{time}.deltacommit.inflight")
    return before, time


@pytest.mark.slow
@VERSIONS
@STATES
def test_it_is_taken_back(unpack: Unpack, version: str, state: str) -> None:
    copy = unpack(version, "mor_savepoints")
    before, time = log_compaction(copy, state)
    made = plan(copy, before)
    (removal,) = made.undo.removals
    assert (removal.time, removal.action) == (time, "deltacommit")
    files = {file.path for file in removal.files}
    # Below version 8 rows are taken back by blocks where the logs stay; version 8 on deletes the logs.
    assert files or removal.blocks or state != "completed"
    restore(copy, before)
    assert not [name for name in copy.instants() if name.startswith(time)]
    assert not files & copy.data()
    assert copy.commits[-1] == before
    assert copy.having("rollback") == []
    assert plan(copy, before).nothing_to_do


@VERSIONS
@STATES
def test_it_is_pending_as_a_delta_commit_until_it_goes(unpack: Unpack, version: str, state: str) -> None:
    copy = unpack(version, "mor_savepoints")
    before, time = log_compaction(copy, state)
    seen: list[set[str]] = []
    restore(copy, before, At("delete files", lambda: seen.append({n for n in copy.instants() if n.startswith(time)})))
    assert seen == [{f"{time}.deltacommit.requested", f"{time}.deltacommit.inflight"}]


@pytest.mark.slow
@VERSIONS
@STATES
def test_no_plan_names_the_action(unpack: Unpack, version: str, state: str) -> None:
    """Hudi's restore calls it an invalid action name."""
    copy = unpack(version, "mor_savepoints")
    before, time = log_compaction(copy, state)
    die(copy, before, "delete files")
    (requested,) = copy.having("restore.requested")
    infos = decode_plan((copy.timeline / requested).read_bytes(), requested).instants
    assert [(info.time, info.action) for info in infos] == [(time, "deltacommit")]
    (armed,) = copy.having("rollback.requested")
    stored = decode_rollback((copy.timeline / armed).read_bytes(), armed)
    assert (stored.target.time, stored.target.action) == (time, "deltacommit")
    restore(copy, before)
    assert plan(copy, before).nothing_to_do


@pytest.mark.slow
@VERSIONS
@STATES
@pytest.mark.parametrize("left", ["nothing", "requested"])
def test_a_death_while_it_is_un_published(unpack: Unpack, version: str, state: str, left: str) -> None:
    """Its pending files went, and those of the delta commit are not there yet."""
    copy = unpack(version, "mor_savepoints")
    before, time = log_compaction(copy, state)
    files = {file.path for file in plan(copy, before).undo.removals[0].files}
    die(copy, before, "un-publish instants")
    for name in copy.having("logcompaction"):
        drop(copy.timeline / name)
    if left == "requested":
        copy.write(f"{time}.deltacommit.requested")
    restore(copy, before)
    assert not [name for name in copy.instants() if name.startswith(time)]
    assert not files & copy.data()
    assert plan(copy, before).nothing_to_do


@VERSIONS
def test_one_before_the_target_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_savepoints")
    before, time = log_compaction(copy, "completed")
    savepoint(copy, time)
    assert plan(copy, time).nothing_to_do
    assert [str(entry) for entry in load_timeline(copy.table).writes() if entry.time == time] == [
        f"{time} deltacommit COMPLETED"
    ]
    assert before < time
