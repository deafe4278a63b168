"""Which instants a restore removes, and in which order."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.instants import COMMIT, COMPACTION, SAVEPOINT, Instant
from hudictl.state.facts import Signs
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline

REQUESTED = "requested"
COMPLETION = "completion"
RULES = (REQUESTED, COMPLETION)


@dataclass(frozen=True)
class RestoreWay:
    """A way to restore a table to a target: the rule, and the instants to remove, newest first."""

    rule: str
    removed: tuple[Instant, ...]

    @property
    def times(self) -> frozenset[str]:
        return frozenset(entry.time for entry in self.removed)


def ways_to(table: Table, timeline: Timeline, target: Instant, rule: str | None) -> Iterator[RestoreWay]:
    """The ways to a target; the first possible one is used. The rule of the table version's release comes first.

    Args:
        rule: the only one of RULES to use, if specified.
    """
    seen = set()
    for name in (rule,) if rule else sorted(RULES, key=lambda entry: entry != own_rule(table)):
        way = RestoreWay(name, instants_after(table, timeline, target, name))
        if way.times not in seen:
            seen.add(way.times)
            yield way


def instants_after(table: Table, timeline: Timeline, target: Instant, rule: str) -> tuple[Instant, ...]:
    """The write instants that a restore to the target removes, newest first.

    Hudi 0.15 and 1.0 remove the instants requested after the target. 1.1 and 1.2 remove those completed after it, and
    all pending ones; on merge on read they compare a compaction by its requested time.

    Args:
        rule: one of RULES.
    """
    writes = timeline.writes()
    if rule == REQUESTED:
        times = {entry.time for entry in writes if entry.time > target.time}
    else:
        times = {entry.time for entry in writes if _completed_after(table, entry, target)}
    # By time: the files of two writes with the same time cannot be distinguished.
    removed = [entry for entry in writes if entry.time in times]
    return tuple(sorted(removed, key=_by_requested if rule == REQUESTED else _by_completion, reverse=True))


def archived_before(table: Table, target: Instant, archived: Iterable[ArchivedInstant]) -> list[str]:
    """Of archived writes that were requested after a target, those that completed before it, sorted: by completion,
    readers of the target saw them."""
    compared = (entry for entry in archived if table.is_cow or not {entry.action, target.action} & {COMMIT, COMPACTION})
    before = target.completion_time or ""
    return sorted(entry.time for entry in compared if entry.completion_time and entry.completion_time <= before)


def own_rule(table: Table) -> str:
    """The rule of the release that writes the table's version (0.15.0, 1.0.2: requested; 1.2.0: completion)."""
    return COMPLETION if table.rules.restores_by_completion else REQUESTED


def overlapping(table: Table, timeline: Timeline, target: Instant) -> tuple[Instant, ...]:
    """The writes that only one of the rules removes, newest first: requested before the target and completed after it,
    or the other way round, or pending since before it. Also those that both rules place by their requested time, as the
    target is a compaction."""
    by_requested, by_completion = (set(instants_after(table, timeline, target, rule)) for rule in RULES)
    hidden = set(unseen(timeline, target))
    placed = (entry for entry in timeline.writes() if entry.completed and entry.action not in (COMMIT, COMPACTION))
    crossing = {entry for entry in placed if (entry.time > target.time) is not (entry in hidden)} - {target}
    return tuple(sorted(by_requested ^ by_completion | crossing, key=_by_requested, reverse=True))


def unseen(timeline: Timeline, target: Instant) -> tuple[Instant, ...]:
    """The writes that readers of the target did not see: completed after it, or pending."""
    return tuple(entry for entry in timeline.writes() if _by_completion(entry) > _by_completion(target))


def seen_by(table: Table, timeline: Timeline, target: Instant, times: Collection[str], *, unknown: bool) -> list[str]:
    """Of some instants the target, and those that its readers saw: neither rule removes them, in any release.

    Args:
        unknown: whether one requested before the target counts where completion times were not kept.
    """
    lost = frozenset[str]() if unknown or timeline.not_kept is None else timeline.not_kept.times
    found = []
    for entry in timeline.writes():
        if entry.time not in times or entry.time > target.time:
            continue
        is_compaction = not table.is_cow and entry.action in (COMMIT, COMPACTION)
        dated = entry.completed and lost.isdisjoint((entry.time, target.time))
        before = dated and (entry.completion_time or "") < (target.completion_time or "")
        if entry.time == target.time or is_compaction or before:
            found.append(entry.time)
    return found


def _completed_after(table: Table, instant: Instant, target: Instant) -> bool:
    if instant.time == target.time:
        return False
    if not table.is_cow and {instant.action, target.action} & {COMMIT, COMPACTION}:
        # A compaction requested before the target created the slice that contains the target's logs.
        return instant.time > target.time
    return _by_completion(instant) > _by_completion(target)


def _by_requested(instant: Instant) -> tuple[str, str]:
    return instant.time, instant.action


def _by_completion(instant: Instant) -> tuple[bool, str, str]:
    # A pending instant counts as newer than all completed ones.
    return instant.completion_time is None, instant.completion_time or "", instant.time


def later_savepoints(signs: Signs, removed: Collection[str]) -> list[Instant]:
    """The savepoints of removed instants, including one whose deletion was interrupted."""
    return [entry for entry in signs.timeline.having(SAVEPOINT) if entry.time in removed]
