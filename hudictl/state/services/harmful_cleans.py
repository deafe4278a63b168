"""Pending cleans that would delete files required by the table or a savepoint: Hudi's next clean finishes them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hudictl.formats.clean import CleanPlan
from hudictl.formats.instants import COMMIT_ACTIONS, Instant, State
from hudictl.phrases import count_of, first_few
from hudictl.state.facts import Facts
from hudictl.state.files.needed import needed_files
from hudictl.state.files.savepoint_files import possible_way, ways_back
from hudictl.state.files.savepoints import is_protection, readable_savepoints
from hudictl.state.timeline.clean_plans import cleans_without_plan, pending_cleans, plan_file, read_plan
from hudictl.storage import first_elsewhere
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.metadata.listing import listing_table
from hudictl.table.timeline.active import load_timeline


@dataclass(frozen=True)
class HarmfulClean:
    """A pending clean, and what it would delete: files that are required, or files of the folder from which the table
    was moved, because its plan has whole paths. ``stays`` says why it cannot be removed before the metadata table is
    dropped; "" if it can."""

    instant: Instant
    harm: str
    stays: str


def harmful_cleans(facts: Facts) -> list[HarmfulClean]:
    """Raises Unreadable: the plan of a compaction, or a clean's metadata."""
    table, timeline = facts.table, facts.timeline
    # A clean without a readable plan deletes nothing.
    without = {entry.instant for entry in cleans_without_plan(table, timeline)}
    cleans = [instant for instant in pending_cleans(timeline) if instant not in without]
    if not cleans:
        return []
    harms: dict[str, list[str]] = {}
    for whose, harmed in _harmed(facts, cleans):
        for time, count in harmed.items():
            harms.setdefault(time, []).append(f"{count_of(count, 'file')} required by {whose}")
    for instant in cleans:
        file = plan_file(table, timeline, instant)
        there = first_elsewhere(read_plan(table, file).bases, table.uri) if file else ""
        if there:
            moved = f"files below {there}, where the table was when it was planned, and none here"
            harms.setdefault(instant.time, [moved])
    return [
        HarmfulClean(instant, f"it would delete {' and '.join(harms[instant.time])}", stays_listed(facts, instant))
        for instant in cleans
        if instant.time in harms
    ]


def _harmed(facts: Facts, cleans: Sequence[Instant]) -> Iterator[tuple[str, Mapping[str, int]]]:
    """The number of required files that each clean would delete, with the text of what requires them."""
    yield "the table", needed_files(facts, (), NOTHING_SAVED, cleans).cleans
    for instant, saved in readable_savepoints(facts.table, facts.timeline, facts.sweep.engine):
        commit = facts.timeline.find(instant.time, *COMMIT_ACTIONS)
        if commit is not None and commit.completed and not is_protection(saved.head):
            ways = ways_back(facts, commit, saved.files, cleans)
            yield f"the savepoint {commit.time}", possible_way(ways).outcome.cleans


def has_run(facts: Facts, instant: Instant) -> bool:
    """Whether a pending clean has deleted all files of its plan, and the metadata table knows it: only its completed
    file is lost. Raises Unreadable."""
    file = plan_file(facts.table, facts.timeline, instant)
    if file is None or instant.state is not State.INFLIGHT:
        return False
    planned = read_plan(facts.table, file).files
    count = sum(map(len, planned.values()))
    if not count or len(facts.sweep.absent(planned)) < count:
        return False
    metadata = listing_table(facts.table)
    told = load_timeline(metadata).at(instant.time) if metadata is not None else None
    return metadata is None or (told is not None and told.completed)


def stays_listed(facts: Facts, instant: Instant) -> str:
    """Why a pending clean cannot be removed: one that began and never ends does not report its deleted files to the
    metadata table. "" if it can."""
    if facts.known.unread is not None:
        return f"its deleted files cannot be determined: {facts.known.unread}"
    file = plan_file(facts.table, facts.timeline, instant)
    gone = _gone(facts, read_plan(facts.table, file)) if file else []
    if not gone:
        return ""
    deleted = f"{count_of(len(gone), 'file')} of its plan ({first_few(gone, most=3, rest=' and {:,} more')})"
    return f"{deleted} are deleted already, but the metadata table still lists them"


def _gone(facts: Facts, plan: CleanPlan) -> list[str]:
    """The planned files that the metadata table lists, but that are missing on storage."""
    listed = facts.known.names_in({*plan.partitions, *plan.files})
    planned = {
        partition: [name for name in names if partition in plan.partitions or name in plan.files.get(partition, ())]
        for partition, names in listed.items()
    }
    return facts.sweep.absent(planned)
