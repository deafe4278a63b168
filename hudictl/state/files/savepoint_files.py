"""The files that a savepoint must name, so that a restore to it finds them."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain

from hudictl.copy_workers import FolderFiles
from hudictl.errors import Unreadable
from hudictl.formats.instants import REPLACECOMMIT, Instant
from hudictl.formats.savepoint_names import JoinedNames
from hudictl.state.facts import Facts
from hudictl.state.files.needed import (
    Case,
    Outcome,
    compactions_by_partition,
    judged,
    turned,
    with_compacted,
    with_completions,
)
from hudictl.state.files.partition import NO_RECORDS, PackedRecords, Records, View
from hudictl.state.files.protected import Protected, RecordsOfWays, outside, protect, to_copy
from hudictl.state.timeline.removed import ways_to
from hudictl.table.files.saved import NOTHING_SAVED, SavedFiles
from hudictl.table.files.view import committed_without
from hudictl.table.timeline.commits import replaced_groups


@dataclass(frozen=True)
class WayBack:
    """A way to restore a commit: the case without the later instants, and what readers require then."""

    case: Case
    outcome: Outcome


def ways_back(facts: Facts, target: Instant, savepointed: SavedFiles, cleans: Iterable[Instant] = ()) -> list[WayBack]:
    """What readers require after a restore to a commit, for each way to it. Raises Unreadable.

    Args:
        cleans: as in ``needed_files``.
    """
    ways = ways_to(facts.table, facts.timeline, target, None)
    return [WayBack(*judged(facts, way.times, savepointed, cleans=cleans)) for way in ways]


def possible_way(ways: Sequence[WayBack]) -> WayBack:
    """The first way by which all required files exist; else the first one."""
    return next((way for way in ways if not way.outcome.missing), ways[0])


def savepoint_map(facts: Facts, target: Instant, ways: Sequence[WayBack]) -> tuple[JoinedNames, int]:
    """The file names for a savepoint, by partition path, and their bytes: those that Hudi itself would name, and those
    required by the target for any way to it, as far as they exist. Every partition has an entry.

    Raises Unreadable, StorageFailed, EngineFailed.
    """
    hudi, cases = _as_hudi(facts, target), [way.case for way in ways]
    found = _protect(facts, cases, hudi, target.time)
    undated = frozenset().union(*(entry.undated for entry in found))
    if undated:
        found = _protect(facts, cases, with_completions(facts, hudi, undated), target.time)
    names = dict.fromkeys(facts.sweep.partitions, "") | {entry.path: entry.names for entry in found if entry.names}
    return JoinedNames(dict(sorted(names.items()))), sum(entry.size for entry in found)


def needed_names(facts: Facts, case: Case) -> JoinedNames:
    """The names of the required files by partition path, as far as they exist. Raises StorageFailed, EngineFailed."""
    found = _protect(facts, [case], None, "", "name files")
    return JoinedNames({entry.path: entry.names for entry in found if entry.names})


def files_to_copy(facts: Facts, case: Case, within: Collection[str]) -> list[FolderFiles]:
    """The required files with their sizes, and the metafiles, by partition: of all partitions, or of some. Raises
    StorageFailed, EngineFailed."""
    look = partial(to_copy, case.view, frozenset(within))
    found = facts.sweep.over("name files", look, written=case.written, saved=case.saved, given=case.records.items())
    return sorted(found)


def _protect(
    facts: Facts, cases: Sequence[Case], hudi: Case | None, target: str, label: str = "choose files"
) -> list[Protected]:
    function = partial(protect, [case.view for case in cases], hudi.view if hudi else None, target)
    others = hudi.records if hudi else {}
    records = (
        (path, RecordsOfWays(tuple(case.records.get(path, NO_RECORDS) for case in cases), others.get(path, NO_RECORDS)))
        for path in dict.fromkeys(chain(others, *(case.records for case in cases)))
    )
    return facts.sweep.over(label, function, written=cases[0].written, saved=cases[0].saved, given=records)


def _as_hudi(facts: Facts, target: Instant) -> Case:
    """The view in which Hudi (0.15.0 to 1.2.0) takes, of each file group that is not replaced at the target, the newest
    visible slice at or before it."""
    timeline = facts.timeline
    then = {entry.time for entry in timeline.having(REPLACECOMMIT) if entry.time <= target.time}
    replaced = turned(replaced_groups(timeline, facts.commits, then - facts.written.times))
    opened = compactions_by_partition(facts, ())
    records = {
        path: PackedRecords(Records(replaced=replaced.get(path, frozenset()), compactions=opened.get(path, {})))
        for path in {*replaced, *opened}
    }
    view = View(facts.table.rules, committed_without(timeline, ()), frozenset())
    return Case(view, records, facts.written.files, NOTHING_SAVED.files, facts.sweep.named)


def unprotected(facts: Facts, ways: Sequence[WayBack]) -> list[str]:
    """The paths of files that a savepoint's commit requires, but the savepoint of ``ways_back`` does not protect, so
    that a clean may delete them. Of all ways to the commit, the one with the fewest such files counts.

    Raises StorageFailed, EngineFailed.
    """
    return min((_outside(facts, way.case) for way in ways if not way.outcome.missing), key=len, default=[])


def _outside(facts: Facts, case: Case) -> list[str]:
    found = _looked_outside(facts, case)
    if found:
        # Rarely needed, and slow: the files that compactions have read. Without their plans no slice is enough.
        with suppress(Unreadable):
            return _looked_outside(facts, with_compacted(facts, case))
    return found


def _looked_outside(facts: Facts, case: Case) -> list[str]:
    look, records = partial(outside, case.view), case.records.items()
    found = facts.sweep.over("look for unprotected files", look, written=case.written, saved=case.saved, given=records)
    return sorted(chain.from_iterable(found))
