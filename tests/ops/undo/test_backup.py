"""What a restore leaves readers time for, and what it keeps of the instants that it takes back."""

import time
from dataclasses import replace

import pytest

from hudictl.errors import Interrupted, StorageFailed
from hudictl.formats.instants import State
from hudictl.ops.restore import execute
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.session import Silent
from hudictl.ops.undo import execute as undo
from hudictl.ops.undo.backup import drop_backup
from hudictl.table.timeline.active import load_timeline
from tests.fixtures import Unpack
from tests.helpers import At, Copy, FailDeletion, die, drop, plan, put, restore

KEEP = RestoreOptions(keep_backup=True)
VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])
TABLES = pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
FOREIGN = {"20200101000000000.commit": b"Hudi's", "notes.txt": b"somebody's"}


def backup(copy: Copy) -> dict[str, bytes]:
    folder = copy.meta / ".rollback_backup"
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def instant_files(copy: Copy, *states: State) -> dict[str, bytes]:
    """The files of the instants that a restore to the newest savepoint takes back."""
    removed = plan(copy, copy.savepoints[-1]).undo.removed
    writes = [entry for entry in load_timeline(copy.table).writes() if entry.time in removed]
    names = [file.name for entry in writes for file in entry.files if file.state in states]
    return {name: (copy.timeline / name).read_bytes() for name in names}


@VERSIONS
@TABLES
def test_completed_files_are_copied_before_they_go_and_dropped_at_the_end(
    unpack: Unpack, version: str, name: str
) -> None:
    copy = unpack(version, name)
    wanted = instant_files(copy, State.COMPLETED)
    seen: dict[str, dict[str, bytes]] = {}

    class Look(Silent):
        def step(self, name: str) -> None:
            seen[name] = backup(copy)

    restore(copy, copy.savepoints[-1], Look())
    assert wanted
    assert seen["write rollback plans"] == {}
    for step in ("un-publish instants", "delete files", "verify", "publish the restore"):
        assert seen[step] == wanted
    assert not (copy.meta / ".rollback_backup").exists()


@VERSIONS
@TABLES
def test_all_their_files_stay_when_asked(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    wanted = instant_files(copy, *State)
    restore(copy, copy.savepoints[-1], options=KEEP)
    assert {state for state in State if any(_state(entry) is state for entry in wanted)} == set(State)
    assert backup(copy) == wanted


def _state(name: str) -> State:
    return State.REQUESTED if "requested" in name else State.INFLIGHT if "inflight" in name else State.COMPLETED


@VERSIONS
def test_files_of_hudictls_own_are_not_copied(unpack: Unpack, version: str) -> None:
    """A restore died while it un-published a compaction: a pending commit stands for its plan already."""
    copy = unpack(version, "mor_savepoints")
    target = copy.savepoints[0]
    options = replace(KEEP, delete_later_savepoints=True)
    removed = [entry for entry in load_timeline(copy.table).writes() if entry.time > target]
    wanted = {name: (copy.timeline / name).read_bytes() for entry in removed for name in entry.names}
    die(copy, target, "un-publish instants", options)
    (plan,) = copy.timeline.glob("*.compaction.requested")
    compaction = plan.name.partition(".")[0]
    for path in copy.timeline.glob(f"{compaction}.compaction.*"):
        drop(path)
    copy.write(f"{compaction}.commit.requested")
    restore(copy, target, options=options)
    assert backup(copy) == wanted


@pytest.mark.parametrize("options", [KEEP, RestoreOptions()], ids=["kept", "dropped"])
def test_what_was_there_already_is_not_touched(unpack: Unpack, options: RestoreOptions) -> None:
    copy = unpack("v6", "cow_savepoints")
    for name, body in FOREIGN.items():
        put(copy.meta / ".rollback_backup" / name, body)
    # Hudi's own copy, of an instant that goes.
    own = instant_files(copy, State.COMPLETED)
    put(copy.meta / ".rollback_backup" / next(iter(own)), b"as Hudi has copied it")
    restore(copy, copy.savepoints[-1], options=options)
    found = backup(copy)
    assert FOREIGN.items() <= found.items()
    if options is KEEP:
        assert found[next(iter(own))] == b"as Hudi has copied it"
    else:
        assert found == FOREIGN


@VERSIONS
@TABLES
@pytest.mark.parametrize("step", ["write rollback plans", "delete files", "remove instants", "publish the restore"])
def test_they_stay_complete_whoever_finishes_the_restore(unpack: Unpack, version: str, name: str, step: str) -> None:
    copy = unpack(version, name)
    wanted = instant_files(copy, *State)
    die(copy, copy.savepoints[-1], step, KEEP)
    restore(copy, copy.savepoints[-1])
    assert backup(copy) == wanted


@pytest.mark.slow
@VERSIONS
@TABLES
@pytest.mark.parametrize("step", ["un-publish instants", "delete files", "remove instants"])
def test_the_rest_of_a_restore_tells_what_the_instants_had_written(
    unpack: Unpack, version: str, name: str, step: str
) -> None:
    """The write statistics are gone from the timeline by then."""
    copy = unpack(version, name)
    target = copy.savepoints[-1]
    told = [(removal.time, removal.operation, removal.records) for removal in plan(copy, target).undo.removals]
    assert all(operation and records for _, operation, records in told)
    die(copy, target, step)
    rest = [(removal.time, removal.operation, removal.records) for removal in plan(copy, target).undo.removals]
    assert rest == told
    restore(copy, target)
    assert not (copy.meta / ".rollback_backup").exists()


@pytest.mark.parametrize("of", ["another instant", "one that is completed"])
def test_a_torn_copy_of_hudis_does_not_stop_it(unpack: Unpack, of: str) -> None:
    """Killed while it copied: the instant is then on the timeline."""
    copy = unpack("v6", "cow_savepoints")
    time = "20200101000000000" if of == "another instant" else copy.commits[-1]
    put(copy.meta / ".rollback_backup" / f"{time}.commit", b"{")
    target = copy.savepoints[-1]
    die(copy, target, "un-publish instants")
    assert plan(copy, target).undo.removals[0].records
    restore(copy, target)
    assert plan(copy, target).nothing_to_do


@pytest.mark.slow
def test_a_torn_copy_of_another_instant_does_not_stop_it_later(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_savepoints")
    put(copy.meta / ".rollback_backup" / "20200101000000000.commit", b"{")
    target = copy.savepoints[-1]
    die(copy, target, "delete files")
    restore(copy, target)
    assert plan(copy, target).nothing_to_do


# --grace: pitfalls 22.


class Clock:
    """Stands for the clock of the wait: sleeping takes no time of the test's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic()
        self.slept: list[float] = []
        for module in (execute, undo):
            monkeypatch.setattr(module, "time", self)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        # A restore may wait for the next millisecond, too: rollbacks are numbered by it.
        if seconds > 0.001:
            self.slept.append(seconds)


@pytest.mark.slow
@VERSIONS
@TABLES
def test_files_are_there_while_it_waits_and_readers_are_back(
    unpack: Unpack, version: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, name)
    target = copy.savepoints[-1]
    before = copy.data()
    seen: list[tuple[set[str], list[str]]] = []

    class Look(Silent):
        def check(self) -> None:
            seen.append((copy.data(), copy.commits))

    clock = Clock(monkeypatch)
    result = restore(copy, target, Look(), RestoreOptions(grace_s=90.0))
    assert sum(clock.slept) == 90.0
    assert len(seen) == 90
    assert all(data == before and commits[-1] == target for data, commits in seen)
    assert copy.data() != before
    # The wait is not the readers'.
    assert result.readers_back_ms < 90_000 <= result.duration_ms


def test_a_copy_that_stays_is_told(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is published before: a rerun deletes it."""
    copy = unpack("v9", "cow_savepoints")
    file = put(copy.meta / ".rollback_backup" / f"{copy.commits[-1]}_{copy.commits[-1]}.commit")
    with monkeypatch.context() as patch:
        FailDeletion(file.name).install(patch)
        with pytest.raises(StorageFailed, match="Operation not permitted"):
            drop_backup(copy.table, {copy.commits[-1]})
    drop_backup(copy.table, {copy.commits[-1]})
    assert not file.parent.exists()


def test_without_it_nothing_waits(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    clock = Clock(monkeypatch)
    restore(copy, copy.savepoints[-1])
    assert clock.slept == []


def test_the_wait_can_be_broken_off(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    before = copy.data()
    clock = Clock(monkeypatch)

    class Stop(Silent):
        def check(self) -> None:
            if len(clock.slept) == 3:
                raise Interrupted("interrupted: wait")

    with pytest.raises(Interrupted):
        restore(copy, target, Stop(), RestoreOptions(grace_s=90.0))
    assert copy.data() == before
    assert copy.commits[-1] == target
    assert copy.having("restore.inflight")
    restore(copy, target)
    assert plan(copy, target).nothing_to_do
    assert copy.data() != before


def test_who_comes_in_during_the_wait_stops_it(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = copy.data()
    Clock(monkeypatch)
    at = At("wait 90 s for running queries", lambda: copy.write("20261121235959999.commit.requested"))
    with pytest.raises(Exception, match="20261121235959999"):
        restore(copy, copy.savepoints[-1], at, RestoreOptions(grace_s=90.0))
    assert copy.data() == before
