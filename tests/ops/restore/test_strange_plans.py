"""A pending restore whose plan lists what must stay; and honest plans of each rule, which are finished."""

from collections.abc import Collection

import pytest

from hudictl.errors import Refused
from hudictl.formats.restore import StoredRestorePlan, encode_plan
from hudictl.formats.rollback import InstantInfo
from hudictl.ops.restore import scope
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.state.timeline.removed import RULES, instants_after
from hudictl.state.timeline.targets import find_commit
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, plan, required, restore, savepoint, straddle, tree

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
RESTORE = "20261124040000000"
BESIDE = ("cow_writer", "mor_writer", "cow_clustering", "mor_clustering", "mor_compaction", "mor_compaction_after")
# On version 6 a log has the name of a slice: another guard finds that later commits have written into it.
NAMED = [*((version, "cow_cluster", 0) for version in support.VERSIONS), ("v8", "mor_part", 1), ("v9", "mor_part", 1)]
LOSS = RestoreOptions(accept_loss=True, delete_later_savepoints=True)


def pending(copy: Copy, target: str, times: Collection[str] = (), rule: str = "requested") -> None:
    """Hudi's restore: what the rule says, and some times that it has no business to list."""
    timeline = load_timeline(copy.table)
    after = instants_after(copy.table, timeline, find_commit(copy.table, timeline, target), rule)
    entries = [*after, *(entry for entry in timeline.writes() if entry.time in times)]
    infos = [InstantInfo(entry.time, entry.action) for entry in entries]
    infos += [InstantInfo(time, "commit") for time in times if time not in {info.time for info in infos}]
    copy.write(f"{RESTORE}.restore.requested", encode_plan(StoredRestorePlan(tuple(infos), target)))
    copy.write(f"{RESTORE}.restore.inflight")


def refused(copy: Copy, target: str, named: str, options: RestoreOptions | None = None) -> None:
    before = tree(copy.path)
    with pytest.raises(Refused, match=named):
        restore(copy, target, options=options)
    assert tree(copy.path) == before


@VERSIONS
@pytest.mark.parametrize("name", ["mor_part", "cow_part"])
@pytest.mark.parametrize("listed", [(0,), (2,), (0, 2)], ids=["older", "target", "both"])
@pytest.mark.parametrize("options", [None, LOSS], ids=["", "loss"])
def test_a_plan_that_lists_what_readers_of_its_target_saw_is_refused(
    unpack: Unpack, version: str, name: str, listed: tuple[int, ...], options: RestoreOptions | None
) -> None:
    """Also with every option: to go on would delete the savepoint's files, or the savepoint itself."""
    copy = unpack(version, name)
    target, times = copy.commits[2], [copy.commits[at] for at in listed]
    savepoint(copy, target)
    pending(copy, target, times)
    refused(copy, target, f"the pending restore {RESTORE} lists {', '.join(times)}: readers of its target", options)


@VERSIONS
def test_a_plan_that_lists_an_archived_commit_is_refused(unpack: Unpack, version: str) -> None:
    """It is not on the timeline, as one that the restore has removed already."""
    copy = unpack(version, "archived_beyond_savepoint")
    facts = support.history_facts(version, "archived_beyond_savepoint")["instants"]
    pending(copy, facts["L4"], [facts["L1"]])
    refused(copy, facts["L4"], f"lists {facts['L1']}")


@VERSIONS
@pytest.mark.parametrize("rule", RULES)
def test_a_plan_of_either_rule_is_finished(unpack: Unpack, version: str, rule: str) -> None:
    """A commit was requested before the target and completed after it: one rule lists it. The savepoint may name it."""
    copy = unpack(version, "cow_savepoints")
    earlier, target = straddle(copy)
    for file in copy.timeline.glob(f"{target}*.savepoint*"):
        drop(file)
    savepoint(copy, target)
    pending(copy, target, rule=rule)
    restore(copy, target)
    assert (earlier in copy.commits) is (rule == "requested")
    assert copy.commits[-1] == target


@VERSIONS
@pytest.mark.parametrize(
    "name", ["cow_writer", "mor_writer", "mor_clustering", "mor_compaction", "mor_compaction_after"]
)
@pytest.mark.parametrize("rule", RULES)
def test_hudis_plan_beside_another_write_is_finished(overlap: Unpack, version: str, name: str, rule: str) -> None:
    copy = overlap(version, name)
    target = support.overlap_facts(version, name)["instants"]["S"]
    savepoint(copy, target)
    pending(copy, target, rule=rule)
    made = plan(copy, target)
    restore(copy, target)
    assert set(required(copy.table, made.undo.case)) <= copy.data()
    assert [entry for entry in load_timeline(copy.table).having("restore") if entry.pending] == []


@VERSIONS
def test_a_compaction_on_whose_slice_the_target_is_stays(overlap: Unpack, version: str) -> None:
    """It was requested before the target and completed after it: on merge on read no rule lists it."""
    copy = overlap(version, "mor_compaction")
    instants = support.overlap_facts(version, "mor_compaction")["instants"]
    savepoint(copy, instants["S"])
    pending(copy, instants["S"], [instants["T"]])
    refused(copy, instants["S"], f"lists {instants['T']}")


def test_where_times_are_not_kept_the_savepoint_decides(unpack: Unpack) -> None:
    """A copy of version 6 does not know which commit completed first. What the savepoint names stays, unless the
    operator says that it may go."""
    copy = unpack("v6", "cow_cluster")
    for file in copy.timeline.glob("[0-9]*"):
        file.touch()
    earlier, target = copy.commits[:2]
    savepoint(copy, target)
    pending(copy, target, [earlier])
    refused(copy, target, f"the savepoint {target} names it")
    restore(copy, target, options=RestoreOptions(accept_loss=True))
    assert copy.commits == [target]


@pytest.mark.parametrize(("version", "name", "at"), NAMED)
def test_what_the_savepoint_names_stays_whatever_the_plan_says(
    unpack: Unpack, version: str, name: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files to delete are compared with the savepoint's own record, logs too."""
    copy = unpack(version, name)
    target = copy.commits[at + 1]
    savepoint(copy, target)
    pending(copy, target, [copy.commits[at]])
    monkeypatch.setattr(scope.guards, "later_only", lambda *_: None)
    refused(copy, target, f"the savepoint {target} names it")
