"""Which files a savepoint must name, so that a restore to it finds them."""

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
    """What readers need once the table is brought back to a commit, by each way there. Raises Unreadable."""
    ways = ways_to(facts.table, facts.timeline, target, None)
    return [needed_files(facts, way.times, savepointed) for way in ways]


def savepoint_map(facts: Facts, target: Instant, outcomes: Iterable[Outcome]) -> dict[str, tuple[str, ...]]:
    """The names that a savepoint gets: what Hudi itself would name, and what the target needs by every way there, as
    far as it is there. Every partition has an entry.

    A log without a byte gets none: a writer that died has left it, a restore would not delete what a savepoint names,
    and Hudi (0.15.0) never again makes a metadata table of a table that has one.
    """
    files: dict[str, set[str]] = {partition: set() for partition in facts.sweep.partitions}
    needed = (file for outcome in outcomes for file in outcome.files.values() if file.size is not None)
    for file in (*needed, *_named_by_hudi(facts, target)):
        if file.size or file.data.is_base:
            files.setdefault(file.partition, set()).add(file.data.name)
    return {partition: tuple(sorted(files[partition])) for partition in sorted(files)}


def unprotected(rules: Rules, outcomes: Sequence[Outcome], named: Names) -> list[str]:
    """The paths of files that a savepoint's commit needs and that no name in it protects, so that a clean may take
    them; by the way back of which it protects the most."""
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
    """What a clean spares with a file: below table version 8, where names tell it, the whole slice (0.15.0)."""
    data = None if rules.logs_named_by_writer else parse_data_file(name)
    return (data.file_id, data.instant) if data else (name,)


def _named_by_hudi(facts: Facts, target: Instant) -> Iterable[StoredFile]:
    """Of each file group not replaced at the target, the newest visible slice whose base instant is not after it, whole
    (Hudi 0.15.0 to 1.2.0)."""
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
