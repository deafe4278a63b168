"""Which files a table requires, loses and keeps when instants are removed: all partitions' records and verdicts."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from hudictl.engine.base import Gathered, picked
from hudictl.errors import Unreadable
from hudictl.formats import clean
from hudictl.formats.commit_metadata import COMPACT
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import CLEAN, COMMIT, COMPACTION, DELTACOMMIT, REPLACECOMMIT, Instant, State
from hudictl.formats.plans import decode_compaction_files
from hudictl.state.facts import Facts
from hudictl.state.files.borrowed import Borrowed
from hudictl.state.files.changes import Future, Judged, Needed, Weighed, unseen_in, weigh
from hudictl.state.files.partition import NO_RECORDS, Contradiction, PackedRecords, Records, View, judge
from hudictl.state.timeline.clean_plans import files_to_clean, read_plan
from hudictl.state.timeline.service_plans import planned_files
from hudictl.table.files.saved import SavedFiles, SavedNames
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.sweep import Sweep
from hudictl.table.files.view import committed_on_cow, committed_without, list_partition, pending_compactions
from hudictl.table.files.written import Written, by_partition
from hudictl.table.metadata.place import NOT_ASKED, Known
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, read_instant, taken_back
from hudictl.table.timeline.archive import archived_cleans, archived_completions
from hudictl.table.timeline.commits import replaced_groups

UPGRADE_FIRST = "upgrade the table with Hudi 1.x: `CALL upgrade_table(table => 'name', to_version => 'NINE')`"
"""The way out for a table whose logs are misnamed."""

Names = Mapping[str, Collection[str]]
"""File names by partition path."""


@dataclass(frozen=True)
class Case:
    """The input of the decision without the listing: it is the same before and after. ``written`` is what completed
    writes name, ``saved`` what the savepoint names: the ``files`` of WrittenFiles and SavedFiles. ``named`` and
    ``within`` as in ``Sweep``."""

    view: View
    records: Mapping[str, PackedRecords]
    written: Gathered[Written]
    saved: Gathered[SavedNames]
    named: frozenset[str]
    within: frozenset[str] | None = None


@dataclass(frozen=True)
class Outcome:
    """What happens to the files of a table.

    ``needed`` is what readers require without the removed instants, by partition. ``missing`` are those files that
    are missing on storage, empty, or of another size than recorded: see ``Weighed.sizes``. ``bare`` are required
    partitions without their metafile. ``removed`` are the files to delete, by their instant. ``unproved`` carry the
    name of a removed instant, but are kept; see ``Verdict``, also for ``hiding``. ``misnamed`` as in ``misnamed_logs``.
    ``unlisted`` are required files that the metadata table does not list. ``cleans`` are pending cleans that would
    delete required files, with the number of these. ``forms`` are the formats of required base files.
    """

    needed: Mapping[str, Needed] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    bare: tuple[str, ...] = ()
    removed: Mapping[str, tuple[StoredFile, ...]] = field(default_factory=dict)
    unproved: tuple[StoredFile, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    misnamed: tuple[StoredFile, ...] = ()
    hiding: tuple[StoredFile, ...] = ()
    unlisted: tuple[StoredFile, ...] = ()
    cleans: Mapping[str, int] = field(default_factory=dict)
    forms: frozenset[str] = frozenset()

    @property
    def files_needed(self) -> int:
        return sum(entry.count for entry in self.needed.values())

    @property
    def bytes_needed(self) -> int:
        return sum(entry.size for entry in self.needed.values())


def needed_files(
    facts: Facts, removed: Collection[str], savepointed: SavedFiles, cleans: Iterable[Instant] = ()
) -> Outcome:
    """What readers require without the removed instants. Arguments and errors as in ``read_case``."""
    return judged(facts, removed, savepointed, cleans=cleans)[1]


def judged(
    facts: Facts,
    removed: Collection[str],
    savepointed: SavedFiles,
    owners: Names | None = None,
    borrowed: Borrowed | None = None,
    bases_only: Collection[str] = (),
    cleans: Iterable[Instant] | None = (),
) -> tuple[Case, Outcome]:
    """The case, and what happens to the table's files. Arguments and errors as in ``read_case``."""
    case = read_case(facts, removed, savepointed, owners, borrowed, bases_only, cleans)
    weighed = weigh_table(case, facts.sweep, facts.known)
    undated = frozenset().union(*(entry.undated for entry in weighed))
    if undated:
        case = with_completions(facts, case, undated)
        weighed = weigh_table(case, facts.sweep, facts.known)
    if any(entry.missing for entry in weighed):
        # Rarely needed, and slow: the files that compactions have read.
        case = with_compacted(facts, case)
        weighed = weigh_table(case, facts.sweep, facts.known)
    return case, outcome_of(weighed)


def weigh_table(
    case: Case,
    found: Sweep,
    known: Known = NOT_ASKED,
    futures: Mapping[str, Future] | None = None,
    *,
    only_futures: bool = False,
) -> list[Weighed]:
    """Judges every partition that the listing or a record has. Raises StorageFailed, EngineFailed.

    Args:
        known: what the metadata table lists.
        futures: by partition, what is to change in it.
        only_futures: judges only the partitions with a future.
    """
    listed = known.listing.files if known.listing is not None else None
    function = partial(weigh, case.view, listed is not None, only_futures)
    futures = futures or {}
    paths = futures if only_futures else dict.fromkeys((*case.records, *futures))
    given = ((path, Judged(case.records.get(path, NO_RECORDS), futures.get(path))) for path in paths)
    return found.over("judge partitions", function, written=case.written, saved=case.saved, listed=listed, given=given)


def outcome_of(weighed: Iterable[Weighed]) -> Outcome:
    """The outcome of all partitions."""
    entries = sorted(weighed, key=lambda entry: entry.path)
    removed: dict[str, list[StoredFile]] = defaultdict(list)
    cleans: Counter[str] = Counter()
    for entry in entries:
        for time, file in entry.removed:
            removed[time].append(file)
        cleans.update(entry.cleans)
    return Outcome(
        {entry.path: entry.needed for entry in entries if entry.needed is not None},
        tuple(sorted(path for entry in entries for path in entry.missing)),
        {path: sizes for entry in entries for path, sizes in entry.sizes.items()},
        tuple(entry.path for entry in entries if entry.bare),
        {time: tuple(files) for time, files in removed.items()},
        tuple(file for entry in entries for file in entry.unproved),
        tuple(found for entry in entries for found in entry.contradictions),
        tuple(file for entry in entries for file in entry.misnamed),
        tuple(file for entry in entries for file in entry.hiding),
        tuple(file for entry in entries for file in entry.unlisted),
        dict(cleans),
        frozenset().union(*(entry.forms for entry in entries)),
    )


def unseen_files(facts: Facts, case: Case) -> frozenset[str]:
    """The files with rows of a merge-on-read table that readers do not see if it is copy on write: they read no logs,
    and no base files of delta commits after the first commit (0.15.0, 1.0.2, 1.2.0). Raises StorageFailed,
    EngineFailed."""
    view = case.view
    today = replace(view, committed=committed_on_cow(facts.timeline, view.removed), logs=False)
    look = partial(unseen_in, view, today)
    found = facts.sweep.over("look as readers do", look, written=case.written, given=case.records.items())
    return frozenset(chain.from_iterable(found))


def last_of_merge_on_read(facts: Facts, removed: Collection[str]) -> Instant | None:
    """The newest write without some instants, if it is one that only merge on read has: a delta commit or a compaction.
    Both types have replacements. Raises Unreadable."""
    kept = [entry for entry in facts.timeline.having(COMMIT, DELTACOMMIT) if entry.completed]
    last = max((entry for entry in kept if entry.time not in removed), key=lambda entry: entry.time, default=None)
    if last is None or last.action == DELTACOMMIT:
        return last
    return last if facts.commits[last.time].operation == COMPACT else None


def cleans_in_the_way(table: Table, timeline: Timeline, case: Case, cleans: Iterable[Instant]) -> dict[str, int]:
    """The pending ones of some new cleans that would delete required files, or may have deleted such, each with the
    number of these. Only the partitions in their plans are listed.

    Raises Unreadable: a clean without a readable plan; StorageFailed.
    """
    found: Counter[str] = Counter()
    going = files_to_clean(table, timeline, cleans)
    written, saved = picked(case.written, going), picked(case.saved, going)
    for path, plans in going.items():
        files = list_partition(table, path) or []
        records = case.records.get(path, NO_RECORDS).unpack(case.view, written.get(path, ()), saved.get(path, ()))
        needed = {file.data.name for file in judge(path, files, records, case.view).needed}
        listed = {file.data.name for file in files}
        for time, names in plans.items():
            found[time] += len(needed if names is None else names & needed)
            found[time] += sum(_was_kept(name, case.view) for name in (names or frozenset()) - listed - needed)
    return {time: count for time, count in found.items() if count}


def _was_kept(name: str, view: View) -> bool:
    data = parse_data_file(name)
    return data is not None and data.instant not in view.removed


def with_completions(facts: Facts, case: Case, undated: Collection[str]) -> Case:
    """Adds the completion times of archived writes, where they decide which slice a log belongs to. One that is not in
    the archive counts as completed at its requested time. Raises Unreadable: the archive."""
    committed = case.view.committed
    completion = {**archived_completions(facts.table, undated), **committed.completion}
    return replace(case, view=replace(case.view, committed=replace(committed, completion=completion)))


def with_compacted(facts: Facts, case: Case) -> Case:
    """Adds what completed compactions have read. Raises Unreadable: the plan of one."""
    found: dict[str, dict[str, dict[str, set[str]]]] = {}
    for instant in facts.timeline.having(COMMIT):
        plan = instant.file(State.REQUESTED)
        if instant.completed and instant.time not in case.view.removed and plan and plan.action == COMPACTION:
            for path, name in decode_compaction_files(read_instant(facts.table, plan), plan.name):
                data = parse_data_file(name)
                if data is not None:
                    group = found.setdefault(path, {}).setdefault(data.file_id, {})
                    group.setdefault(instant.time, set()).add(name)
    records = dict(case.records)
    for path, groups in found.items():
        told = records.get(path, PackedRecords(Records()))
        records[path] = replace(told, others=replace(told.others, compacted=groups))
    return replace(case, records=records)


def read_case(
    facts: Facts,
    removed: Collection[str],
    savepointed: SavedFiles,
    owners: Names | None = None,
    borrowed: Borrowed | None = None,
    bases_only: Collection[str] = (),
    cleans: Iterable[Instant] | None = (),
) -> Case:
    """The table's records, by partition.

    Args:
        removed: requested times of the instants to remove.
        savepointed: what the savepoint names.
        owners: the partitions in the removed instants' own records, by instant.
        borrowed: logs that removed instants have created under another instant's name.
        bases_only: removed instants of which only the base files are deleted.
        cleans: pending cleans, of which to count the needed files that they would delete. None: no plan of a pending
            clean is read. It can have deleted no required file, where readers have seen none of the removed instants.

    Raises:
        Unreadable: the metadata of a clean, the plan of a table service, a savepoint, or the archive.
    """
    table, timeline = facts.table, facts.timeline
    committed = committed_without(timeline, removed)
    kept = {entry.time for entry in timeline.having(REPLACECOMMIT)} - set(removed)
    if savepointed.odd is not None:
        raise Unreadable(
            f"the savepoint lists {savepointed.odd!r}: this is not the name of a data file", file=savepointed.odd
        )
    owners_of = turned((path, time) for time, paths in (owners or {}).items() for path in paths)
    replaced = turned(replaced_groups(timeline, facts.commits, kept - facts.written.times))
    revived = turned(replaced_groups(timeline, facts.commits, {*removed} - facts.written.times))
    after = _newest(table, timeline, removed)
    planned, cleaned = planned_files(table, timeline, removed), _cleaned(facts, after, pending=cleans is not None)
    compactions, cleaning = compactions_by_partition(facts, removed), files_to_clean(table, timeline, cleans or ())
    written, borrowed = _written(facts, removed), borrowed or {}
    paths = {*written}.union(owners_of, planned, cleaned, replaced, revived, compactions, cleaning, borrowed)
    records = {
        path: PackedRecords(
            Records(
                owners=owners_of.get(path, frozenset()),
                planned=planned.get(path, {}),
                cleaned=cleaned.get(path, frozenset()),
                replaced=replaced.get(path, frozenset()),
                revived=revived.get(path, frozenset()),
                compactions=compactions.get(path, {}),
                cleans=cleaning.get(path, {}),
                borrowed=borrowed.get(path, {}),
            ),
            tuple(written.get(path, ())),
        )
        for path in paths
    }
    unbound = savepointed.instants.intersection(removed) | _taken_back(facts, savepointed)
    view = View(table.rules, committed, frozenset(removed), frozenset(bases_only), unbound)
    return Case(view, records, facts.written.files, savepointed.files, facts.sweep.named, facts.sweep.within)


def compactions_by_partition(facts: Facts, removed: Collection[str]) -> dict[str, dict[str, str]]:
    """The pending compactions without removed ones, by partition and file id. Raises Unreadable."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for (path, file_id), time in pending_compactions(facts.table, facts.timeline, removed).items():
        found[path][file_id] = time
    return found


def turned(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """The second of each pair, by the first."""
    found: dict[str, set[str]] = defaultdict(set)
    for first, second in pairs:
        found[first].add(second)
    return {key: frozenset(values) for key, values in found.items()}


def _taken_back(facts: Facts, savepointed: SavedFiles) -> frozenset[str]:
    """Instants in a savepoint's map that an earlier restore to it has removed.

    An instant that ran at the same time as the savepoint's commit can be in the map. A restore removes it if its rule
    counts it as later.
    """
    unknown = savepointed.instants - {entry.time for entry in facts.timeline.instants}
    return unknown & taken_back(facts.table, facts.timeline).keys() if unknown else frozenset()


def _newest(table: Table, timeline: Timeline, removed: Collection[str]) -> str:
    """Only a clean that completed after this time can have deleted a required file: the newest kept instant's time,
    or the request time of a removed compaction, if that is earlier."""
    newest = max((entry.time for entry in timeline.completed_writes() if entry.time not in removed), default="")
    compactions = () if table.is_cow else timeline.having(COMMIT, COMPACTION)
    return min([newest, *(entry.time for entry in compactions if entry.time in removed)])


def _written(facts: Facts, removed: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """The files in the metadata of kept commits on the active timeline that are not in ``facts.written``, by partition:
    each commit with its names."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for instant in facts.timeline.completed_writes():
        if instant.time not in facts.written.times and instant.time not in removed:
            for path, entry in by_partition(instant.time, facts.commits[instant.time]):
                if entry.names:
                    found[path].append((instant.time, entry.names))
    return found


def _cleaned(facts: Facts, after: str, *, pending: bool) -> dict[str, frozenset[str]]:
    """Files that cleans have, or may have, deleted after a time. A pending clean may have deleted a part of its files.
    Without ``pending``, its plan is not read.

    A clean that completed before that time deleted no file that was the newest then. Its names must not count: the
    timeline may have passed commits that a restore removed, and their files would look committed.
    """
    taken = archived_cleans(facts.table, after)
    for instant in facts.timeline.having(CLEAN):
        if instant.pending and not pending:
            continue
        if instant.pending or max(instant.time, instant.completion_time or "") > after:
            taken.append(taken_by_clean(facts.table, facts.timeline, instant))
    found: dict[str, set[str]] = defaultdict(set)
    for partitions in taken:
        for partition, names in partitions.items():
            found[partition] |= names
    return {path: frozenset(names) for path, names in found.items()}


def taken_by_clean(table: Table, timeline: Timeline, instant: Instant) -> Mapping[str, frozenset[str]]:
    """The files by partition that a clean of the active timeline has deleted; without a result, those in its plan.
    Raises Unreadable."""
    for state in (State.COMPLETED, State.REQUESTED, State.INFLIGHT):
        file = instant.file(state)
        if file is not None and timeline.sizes[file.name]:
            if state is not State.COMPLETED:
                return read_plan(table, file).files
            return clean.decode_metadata(read_instant(table, file), file.name).deleted
    return {}
