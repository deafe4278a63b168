"""The files that a savepoint must name, so that a restore to it finds them."""

from collections.abc import Collection, Iterable, Sequence

from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import REPLACECOMMIT, Instant
from hudictl.state.facts import Facts
from hudictl.state.later import ways_to
from hudictl.state.needed import Names, Outcome, needed_files
from hudictl.table.commits import replaced_groups
from hudictl.table.file_view import StoredFile, committed_without, pending_compactions, visible_slices
from hudictl.table.rules import Rules


def outcomes_at(facts: Facts, target: Instant, savepointed: Names) -> list[Outcome]:
    """The files required after a restore to a commit, for each way to it. Raises Unreadable."""
    ways = ways_to(facts.table, facts.timeline, target, None)
    return [needed_files(facts, way.times, savepointed) for way in ways]


def savepoint_map(facts: Facts, target: Instant, outcomes: Iterable[Outcome]) -> dict[str, tuple[str, ...]]:
    """The file names for a savepoint: those that Hudi itself would name, and those required by the target for any way
    to it, as far as they exist. Every partition has an entry.

    Empty logs are left out. They are from writers that died, and a restore does not delete files of a savepoint. Hudi
    0.15.0 can never again build a metadata table for a table with an empty log.
    """
    files: dict[str, set[str]] = {partition: set() for partition in facts.sweep.partitions}
    needed = (file for outcome in outcomes for file in outcome.files.values() if file.size is not None)
    for file in (*needed, *_named_by_hudi(facts, target)):
        if file.size or file.data.is_base:
            files.setdefault(file.partition, set()).add(file.data.name)
    return {partition: tuple(sorted(files[partition])) for partition in sorted(files)}


def unprotected(rules: Rules, outcomes: Sequence[Outcome], named: Names) -> list[str]:
    """The paths of files that a savepoint's commit requires, but the savepoint does not protect, so that a clean may
    delete them. Of all ways to the commit, the one with the fewest such files counts."""
    protected = {(partition, *_slice_of(rules, name)) for partition, names in named.items() for name in names}
    found = (_outside(rules, outcome, protected) for outcome in outcomes if not outcome.missing)
    return min(found, key=len, default=[])


def _outside(rules: Rules, outcome: Outcome, protected: Collection[tuple[str, ...]]) -> list[str]:
    return sorted(
        path
        for path, file in outcome.files.items()
        if file.size is not None and (file.partition, *_slice_of(rules, file.data.name)) not in protected
    )


def _slice_of(rules: Rules, name: str) -> tuple[str, ...]:
    """The unit that a clean keeps: below table version 8 the whole slice of a protected file (0.15.0), by the names."""
    data = None if rules.logs_named_by_writer else parse_data_file(name)
    return (data.file_id, data.instant) if data else (name,)


def _named_by_hudi(facts: Facts, target: Instant) -> Iterable[StoredFile]:
    """All files of the newest visible slice at or before the target, for each file group that is not replaced at the
    target (Hudi 0.15.0 to 1.2.0)."""
    table, timeline = facts.table, facts.timeline
    compactions = pending_compactions(table, timeline, ())
    committed = committed_without(timeline, ())
    replaced = replaced_groups(
        timeline, facts.commits, {entry.time for entry in timeline.having(REPLACECOMMIT) if entry.time <= target.time}
    )
    for _, slices in visible_slices(table, facts.sweep.groups(), committed, compactions, replaced):
        newest = next((entry for entry in slices if entry.key <= target.time), None)
        if newest is not None:
            yield from newest.files
