"""What those who read and write a table are told after a restore or a rollback, also after one that died."""

import json
from functools import partial

import pytest

from hudictl.formats.commit_metadata import CHECKPOINTS
from hudictl.ops.restore.execute import RestoreResult
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.run import RollbackResult
from hudictl.ops.undo.afterwards import Afterwards, Consumers, Moment, afterwards_in, afterwards_then
from hudictl.state.timeline.checkpoints import StreamerCheckpoint
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, attempt, die, plan, put, restore, roll_back
from tests.ops.rollback.execute_support import died, newest

TO_INSTANT = RestoreOptions(to_instant=True)
STEPS = ["prepare", "un-publish instants", "delete files", "verify", "remove instants", "publish the restore"]


def told(result: RestoreResult | RollbackResult) -> Afterwards:
    return Afterwards(result.head, result.checkpoint, result.consumers, result.catalog)


def moment(copy: Copy, time: str) -> Moment:
    entry = load_timeline(copy.table).at(time)
    assert entry is not None
    return Moment(entry.time, entry.completion_time)


def expected(copy: Copy, restart: str, first: str, last: str, milliseconds: int = 0) -> Consumers:
    """By the table before; ``milliseconds`` are added to the time at which a consumer begins."""
    kept = moment(copy, restart)
    begin = restart if copy.version == "v6" else str(int(kept.completion_time or "") + milliseconds)
    return Consumers(moment(copy, first), moment(copy, last), first, kept, begin, copy.version != "v6")


@pytest.mark.short(
    "None-v8", "prepare-v6", "delete files-v9", "verify-v6", "remove instants-v6", "publish the restore-v9"
)
@pytest.mark.parametrize(("version", "added"), [("v6", 0), ("v8", 1), ("v9", 0)])
@pytest.mark.parametrize("step", [None, *STEPS])
def test_a_restore_also_one_that_died_tells_all(unpack: Unpack, version: str, added: int, step: str | None) -> None:
    copy = unpack(version, "cow_part")
    commits = copy.commits
    if version == "v6":
        for number, time in enumerate(commits[:3]):
            path = copy.meta / f"{time}.commit"
            fields = json.loads(path.read_bytes())
            fields["extraMetadata"][CHECKPOINTS[1]] = f"k{number}"
            path.write_text(json.dumps(fields))
    consumers, head = expected(copy, commits[0], commits[1], commits[-1], added), moment(copy, commits[0])
    if step is not None:
        die(copy, commits[0], step, TO_INSTANT)
    done = restore(copy, commits[0], options=TO_INSTANT)
    checkpoint = StreamerCheckpoint("k2", "k0") if version == "v6" else None
    assert told(done) == Afterwards(head, checkpoint, consumers, done.catalog)
    assert afterwards_then(copy.table, done.restore) == told(done)


@pytest.mark.parametrize(("version", "added"), [("v6", 0), ("v8", 1), ("v9", 0)])
@pytest.mark.parametrize("step", [None, "un-publish the instant", "delete files", "publish the rollback"])
def test_a_rollback_also_one_that_died_tells_all(unpack: Unpack, version: str, added: int, step: str | None) -> None:
    copy = unpack(version, "cow_part")
    before, target = copy.commits[-2:]
    consumers, head = expected(copy, before, target, target, added), moment(copy, before)
    if step is not None:
        died(copy, target, step)
    done = roll_back(copy, target)
    assert told(done) == Afterwards(head, None, consumers, done.catalog)
    assert afterwards_then(copy.table, done.rollback) == told(done)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_nothing_is_told_of_what_no_reader_saw(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_failed_direct")
    done = roll_back(copy, newest(copy))
    assert (done.head, done.checkpoint, done.consumers, done.catalog.empty) == (None, None, None, True)


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(("name", "target"), [("cow_cluster", 4), ("mor_part", 6)])
def test_table_services_have_no_rows_of_their_own(unpack: Unpack, version: str, name: str, target: int) -> None:
    """The first removed instant is one."""
    copy = unpack(version, name)
    commits = copy.commits
    consumers = restore(copy, commits[target], options=TO_INSTANT).consumers
    assert consumers is not None
    assert (consumers.first.time, consumers.last.time) == (commits[target + 2], commits[-1])
    assert consumers.restart is not None
    assert consumers.restart.time == commits[target]


def test_a_first_commit_leaves_nothing_to_start_from(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    first, *others = copy.commits
    restore(copy, first, options=TO_INSTANT)
    assert others
    done = roll_back(copy, first)
    assert done.head is None
    assert done.consumers is not None
    assert (done.consumers.restart, done.consumers.begin) == (None, None)


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("rule", ["requested", "completion"])
def test_with_overlaps_a_consumer_begins_before_all_that_is_gone(overlap: Unpack, version: str, rule: str) -> None:
    """And it is no later than the target, although commits of before are gone, or later ones are kept."""
    found = 0
    for name in support.overlap_names(version):
        copy = overlap(version, name)
        before = {entry.time: entry for entry in load_timeline(copy.table).completed_writes()}
        target = support.overlap_facts(version, name)["instants"]["S"]
        options = RestoreOptions(to_instant=True, rule=rule, delete_later_savepoints=True, idle_ms=0)
        if attempt(partial(plan, copy, target, options)):
            continue
        done = restore(copy, target, options=options)
        kept = {entry.time for entry in load_timeline(copy.table).completed_writes()}
        gone = done.consumers
        if gone is None:
            continue
        read = [entry for time, entry in before.items() if time not in kept and time >= gone.gone_from]
        assert gone.begin is not None
        assert all(gone.begin <= (entry.time if version == "v6" else str(entry.completion_time)) for entry in read)
        assert gone.restart is not None
        assert gone.restart.time in kept
        found += 1
    assert found > 1


def test_a_record_of_another_release_tells_nothing() -> None:
    assert afterwards_in({"head": {"when": "1"}, "consumers": None}) == Afterwards()
    assert afterwards_in({"restore": "1", "files_deleted": 3}) == Afterwards()
    assert afterwards_in({"head": {"time": "1", "completion_time": None}}) == Afterwards(Moment("1", None))


def test_a_damaged_record_is_no_reason_to_show_nothing(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    put(copy.meta / ".hudictl/operations/20261121040000000.json", "{")
    assert afterwards_then(copy.table, "20261121040000000") == Afterwards()
    assert afterwards_then(copy.table, "20261121050000000") == Afterwards()
