"""Which files a table requires, loses and keeps when instants are removed: all partitions' records and verdicts."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from hudictl.errors import Unreadable
from hudictl.formats import clean
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import CLEAN, COMMIT, COMPACTION, REPLACECOMMIT, Instant, State
from hudictl.formats.plans import decode_compaction_files
from hudictl.state.borrowed import Borrowed
from hudictl.state.cleans import read_plan
from hudictl.state.facts import Facts
from hudictl.state.partition import Contradiction, Records, View, judge
from hudictl.state.services import planned_files
from hudictl.table.archive import archived_cleans
from hudictl.table.commits import replaced_groups
from hudictl.table.file_view import (
    Committed,
    Group,
    StoredFile,
    Sweep,
    committed_without,
    group_files,
    pending_compactions,
    with_archived,
)
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, read_instant, taken_back

Names = Mapping[str, Collection[str]]
"""File names by partition path."""


@dataclass(frozen=True)
class Case:
    """The input of the decision without the listing: it is the same before and after. ``named`` as in ``Sweep``."""

    view: View
    records: Mapping[str, Records]
    named: frozenset[str]


@dataclass(frozen=True)
class Outcome:
    """What happens to the files of a table.

    ``files`` are required without the removed instants, by path. ``missing`` are those of them that are missing on
    storage, or empty. ``bare`` are required partitions without their metafile. ``removed`` are the files to delete, by
    their instant. ``unproved`` carry the name of a removed instant, but are kept; see ``Verdict``.
    """

    files: Mapping[str, StoredFile]
    missing: tuple[str, ...]
    bare: tuple[str, ...]
    removed: Mapping[str, tuple[StoredFile, ...]] = field(default_factory=dict)
    unproved: tuple[StoredFile, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()

    @property
    def size(self) -> int:
        return sum(file.size or 0 for file in self.files.values())


def needed_files(facts: Facts, removed: Collection[str], savepointed: Names) -> Outcome:
    """The files that readers require without the removed instants. Arguments and errors as in ``read_case``."""
    return judged(facts, removed, savepointed)[1]


def judged(
    facts: Facts,
    removed: Collection[str],
    savepointed: Names,
    owners: Names | None = None,
    borrowed: Borrowed | None = None,
    bases_only: Collection[str] = (),
) -> tuple[Case, Outcome]:
    """The case, and what happens to the table's files. Arguments and errors as in ``read_case``."""
    case = read_case(facts, removed, savepointed, owners, borrowed, bases_only)
    outcome = judge_table(case, facts.sweep)
    if outcome.missing:
        # Rarely needed, and slow: the files that compactions have read.
        case = _with_compacted(facts, case)
        outcome = judge_table(case, facts.sweep)
    return case, outcome


def _with_compacted(facts: Facts, case: Case) -> Case:
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
        records[path] = replace(records.get(path, Records()), compacted=groups)
    return replace(case, records=records)


def judge_table(case: Case, found: Sweep) -> Outcome:
    """Judges every partition that the listing or a record has."""
    by_partition: dict[str, list[StoredFile]] = {path: [] for path in case.records}
    for file in found.files:
        by_partition.setdefault(file.partition, []).append(file)

    needed: dict[str, StoredFile] = {}
    removed: dict[str, list[StoredFile]] = defaultdict(list)
    missing: list[str] = []
    unproved: list[StoredFile] = []
    contradictions: list[Contradiction] = []
    nothing = Records()
    for path, files in by_partition.items():
        records = case.records.get(path, nothing)
        verdict = judge(path, files, records, case.view)
        needed |= {file.path: file for file in verdict.needed}
        for file in verdict.removed:
            removed[records.writer(file)].append(file)
        missing += verdict.missing
        unproved += verdict.unproved
        contradictions += verdict.contradictions
        if path in found.linked:
            linked = "its folder (behind a symbolic link)"
            contradictions += [Contradiction(file.path, file.data.instant, linked) for file in verdict.removed]

    partitions = {file.partition for file in needed.values() if file.size is not None}
    return Outcome(
        needed,
        tuple(sorted(missing)),
        tuple(sorted(partitions - found.partitions)),
        {time: tuple(files) for time, files in removed.items()},
        tuple(unproved),
        tuple(contradictions),
    )


def read_case(
    facts: Facts,
    removed: Collection[str],
    savepointed: Names,
    owners: Names | None = None,
    borrowed: Borrowed | None = None,
    bases_only: Collection[str] = (),
) -> Case:
    """The table's records, by partition.

    Args:
        removed: requested times of the instants to remove.
        savepointed: the savepoint's own map of partition path to file names; empty without savepoint.
        owners: the partitions in the removed instants' own records, by instant.
        borrowed: logs that removed instants have created under another instant's name.
        bases_only: removed instants of which only the base files are deleted.

    Raises:
        Unreadable: the metadata of a clean, the plan of a table service, a savepoint, or the archive.
    """
    table, timeline = facts.table, facts.timeline
    committed = committed_without(timeline, removed)
    compactions = pending_compactions(table, timeline, removed)
    kept = {entry.time for entry in timeline.having(REPLACECOMMIT)} - set(removed)
    gone = {*removed, *_taken_back(facts, savepointed)}
    saved = {path: frozenset(_binding(table, names, gone, committed)) for path, names in savepointed.items()}
    cleaned = _cleaned(facts, _newest(table, timeline, removed))
    committed = _with_archived(facts, committed, compactions, (saved, cleaned))

    written = _written(facts, removed)
    planned = planned_files(table, timeline, removed)
    own = _turned((path, time) for time, paths in (owners or {}).items() for path in paths)
    replaced = _turned(replaced_groups(timeline, facts.commits, kept))
    revived = _turned(replaced_groups(timeline, facts.commits, removed))
    pending: dict[str, dict[str, str]] = defaultdict(dict)
    for (path, file_id), time in compactions.items():
        pending[path][file_id] = time

    others = borrowed or {}
    paths = {*written, *planned, *saved, *cleaned, *own, *replaced, *revived, *pending, *others}
    records = {
        path: Records(
            owners=own.get(path, frozenset()),
            written=written.get(path, {}),
            planned=planned.get(path, {}),
            saved=saved.get(path, frozenset()),
            cleaned=cleaned.get(path, frozenset()),
            replaced=replaced.get(path, frozenset()),
            revived=revived.get(path, frozenset()),
            compactions=pending.get(path, {}),
            borrowed=others.get(path, {}),
        )
        for path in paths
    }
    view = View(table.rules, committed, frozenset(removed), frozenset(bases_only))
    return Case(view, records, facts.sweep.named)


def _turned(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """The second of each pair, by the first."""
    found: dict[str, set[str]] = defaultdict(set)
    for first, second in pairs:
        found[first].add(second)
    return {key: frozenset(values) for key, values in found.items()}


def _taken_back(facts: Facts, savepointed: Names) -> set[str]:
    """Instants in a savepoint's map that an earlier restore to it has removed.

    An instant that ran at the same time as the savepoint's commit can be in the map. A restore removes it if its rule
    counts it as later.
    """
    named = {data.instant for names in savepointed.values() for data in map(parse_data_file, names) if data is not None}
    unknown = named - {entry.time for entry in facts.timeline.instants}
    return unknown & taken_back(facts.table, facts.timeline).keys() if unknown else set()


def _binding(table: Table, names: Iterable[str], removed: Collection[str], committed: Committed) -> Iterator[str]:
    """The names in a savepoint that count: no file of a removed instant, and from table version 8 on no log of a commit
    that does not count. Hudi's own map may contain such logs.

    Raises Unreadable.
    """
    for name in names:
        data = parse_data_file(name)
        if data is None:
            raise Unreadable(f"the savepoint lists {name!r}: this is not the name of a data file", file=name)
        counts = data.is_base or not table.rules.logs_named_by_writer or data.instant in committed
        if counts and data.instant not in removed:
            yield name


def _with_archived(
    facts: Facts, committed: Committed, compactions: Mapping[Group, str], named: Iterable[Names]
) -> Committed:
    """Adds the completion times of archived writes, where they decide which slice a log belongs to."""
    if not facts.table.rules.has_completion_times:
        return committed
    logs = [file for file in facts.sweep.files if file.data.version and file.data.instant < committed.start]
    for names in named:
        for path, entries in names.items():
            parsed = (parse_data_file(name) for name in entries if name.startswith("."))
            logs += (StoredFile(path, data, None) for data in parsed if data and data.instant < committed.start)
    if not logs:
        return committed
    groups = {file.group for file in logs}
    bases = [file for file in facts.sweep.files if not file.data.version and file.group in groups]
    return with_archived(facts.table, committed, group_files([*bases, *logs]), compactions)


def _newest(table: Table, timeline: Timeline, removed: Collection[str]) -> str:
    """Only a clean that completed after this time can have deleted a required file: the newest kept instant's time,
    or the request time of a removed compaction, if that is earlier."""
    newest = max((entry.time for entry in timeline.completed_writes() if entry.time not in removed), default="")
    compactions = () if table.is_cow else timeline.having(COMMIT, COMPACTION)
    return min([newest, *(entry.time for entry in compactions if entry.time in removed)])


def _written(facts: Facts, removed: Collection[str]) -> dict[str, dict[str, str]]:
    """The files in the metadata of kept commits on the active timeline, each with its commit."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for instant in facts.timeline.completed_writes():
        if instant.time not in removed:
            for stats in facts.commits[instant.time].stats.values():
                for stat in stats:
                    partition, _, name = (stat.path or "").rpartition("/")
                    if name:
                        found[partition][name] = instant.time
    return found


def _cleaned(facts: Facts, after: str) -> dict[str, frozenset[str]]:
    """Files that cleans have, or may have, deleted after a time. A pending clean may have deleted a part of its files.

    A clean that completed before that time deleted no file that was the newest then. Its names must not count: the
    timeline may have passed commits that a restore removed, and their files would look committed.
    """
    taken = archived_cleans(facts.table, after)
    for instant in facts.timeline.having(CLEAN):
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
