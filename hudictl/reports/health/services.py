"""Findings of ``check`` on pending table services: the files in their plans, and services that Hudi never ends."""

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain

from hudictl.errors import Unreadable
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import CLUSTERING, COMPACTION, REPLACECOMMIT, Instant, State, instant_file_name
from hudictl.formats.layouts import HASHING_METADATA
from hudictl.formats.plans import decode_compaction_groups
from hudictl.phrases import command_of, count_of, first_few, seconds
from hudictl.reports.health.finding import ERROR, INFO, WARNING, Finding, Look, mended, named
from hudictl.state.services.stalled import find_stalled
from hudictl.state.timeline.overwritten import is_clustering, undone_by
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.timeline.service_plans import logs_of_later_writes, service_files, service_of
from hudictl.storage import entries_of, first_elsewhere
from hudictl.table.files.slices import Group, StoredFile
from hudictl.table.settings import CLUSTERING_UPDATES
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline, read_instant
from hudictl.table.timeline.commits import read_requested_replace


def plans(look: Look) -> Iterator[Finding]:
    """Pending compactions, log compactions and clusterings whose plan names a missing file: every run of them fails
    (0.15.0 to 1.2.0)."""
    lost = _lost(look)
    if not lost:
        return
    # A service that ended meanwhile does not need its files any more, and a clean deletes them.
    pending = {entry for entry in load_timeline(look.facts.table).writes() if entry.pending}
    for instant, paths in lost.items():
        if instant in pending:
            yield _names_missing(look, instant, sorted(paths))


def _names_missing(look: Look, instant: Instant, paths: list[str]) -> Finding:
    meaning = f"its plan names {named(paths)}, missing on storage: every run of it fails"
    later = logs_of_later_writes(look.facts, instant)
    if later:
        # Hudi's readers find these logs by the plan: it must not be removed.
        meaning += f"; {count_of(len(later), 'log')} of later writes belong to its slices: put the file back"
    remedy = () if later else _gentlest(look.facts.table, instant)
    return Finding("plan-names-missing-file", ERROR, str(instant), meaning, remedy)


def _gentlest(table: Table, instant: Instant) -> tuple[Remedy, ...]:
    """The command that takes what cannot be run out of a plan: of a clustering that has not begun only some input
    groups; else the whole plan goes."""
    requested = instant.state is State.REQUESTED and service_of(table, instant) == CLUSTERING
    # A run of what is left would read the folder from which the table was moved.
    moved = requested and first_elsewhere(read_requested_replace(table, instant).bases, table.uri)
    if requested and not moved and not entries_of(table.storage, HASHING_METADATA):
        return mended(command_of("clustering prune", instant.time))
    return mended(command_of("rollback", instant.time))


def _lost(look: Look) -> dict[Instant, set[str]]:
    """The missing files in the plans of pending services."""
    table = look.facts.table
    planned: dict[Instant, frozenset[tuple[str, str]]] = {}
    for instant in look.facts.timeline.writes():
        # A plan that cannot be read is a finding of its own.
        with suppress(Unreadable):
            # A completed instant is not a pending service.
            if service_of(table, instant) is not None:
                planned[instant] = service_files(table, instant)
    names: dict[str, set[str]] = defaultdict(set)
    for partition, name in chain.from_iterable(planned.values()):
        names[partition].add(name)
    # The listing is not complete: it leaves out folders of other tables.
    lost = {path for path in look.facts.sweep.absent(names) if table.storage.stat(path) is None}
    paths = {instant: [data_path(*file) for file in files] for instant, files in planned.items()}
    return {instant: found for instant, files in paths.items() if (found := lost.intersection(files))}


def outside(look: Look) -> Iterator[Finding]:
    """Below version 8: logs in slices that a compaction has opened, whose plan has lost the operation since."""
    facts, table = look.facts, look.facts.table
    planned: dict[str, frozenset[Group]] = {}
    for file in () if table.rules.logs_named_by_writer else chain(*(entry.files for entry in facts.timeline.writes())):
        if (file.action, file.state) == (COMPACTION, State.REQUESTED):
            # A plan that cannot be read is a finding of its own.
            with suppress(Unreadable):
                planned[file.time] = decode_compaction_groups(read_instant(table, file), file.name)
    logs = facts.sweep.select("look for logs", partial(_is_outside, planned), planned)
    for time in sorted({log.data.instant for log in logs}):
        lost = [log for log in logs if log.data.instant == time]
        meaning = (
            f"its plan has no operation for {count_of(len({log.group for log in lost}), 'file group')}, but later "
            f"writes have put {count_of(len(lost), 'log')} where it was: {named([log.path for log in lost])}. Readers "
            "miss rows there: they take these logs for all that the file groups have"
        )
        instant = facts.timeline.at(time)
        if instant is not None and instant.pending:
            request = f"{table.layout.timeline}/{instant_file_name(time, COMPACTION, State.REQUESTED, 1)}"
            meaning += f"; with writers stopped, and before any compaction runs, empty the file {request}: then "
            meaning += f"`{command_of('compaction rebuild-plan', time)}` finds these operations by the logs"
        else:
            meaning += "; restore the table to before it, or write these rows again"
        yield Finding("logs-outside-plan", ERROR, str(instant), meaning)


def _is_outside(planned: Mapping[str, frozenset[Group]], file: StoredFile) -> bool:
    return not file.data.is_base and file.group not in planned.get(file.data.instant, (file.group,))


def clusterings(look: Look) -> Iterator[Finding]:
    """Pending clusterings that nobody runs: Hudi refuses each update of their file groups (0.15.0 to 1.2.0). And those
    of a table that was moved: their run reads the files of the former folder."""
    table, signs = look.facts.table, look.facts.signs
    allowed = "Allow" in look.settings.text(CLUSTERING_UPDATES)
    for instant, request in look.clusterings:
        # A lost plan is a finding of its own. While a bucket is resized, updates are written to both.
        waits = request.groups and instant.state is State.REQUESTED and not allowed
        waits = waits and not entries_of(table.storage, HASHING_METADATA)
        groups, remedy = count_of(len(request.groups), "file group"), mended(command_of("rollback", instant.time))
        there = first_elsewhere(request.bases, table.uri)
        quiet_ms = signs.timeline.idle_ms(instant, signs.now_ms)
        if there:
            meaning = f"its plan names files below {there}, where the table is no longer: its run reads them there, "
            meaning += "and fails if they are gone"
            yield Finding("clustering-elsewhere", WARNING, str(instant), meaning, remedy)
        elif waits and quiet_ms >= look.idle_ms:
            meaning = f"planned {seconds(quiet_ms)} ago, and not run: until then Hudi refuses each update of its "
            meaning += f"{groups} ({CLUSTERING_UPDATES.key}). Run it, or remove it: Hudi can plan it again"
            yield Finding("clustering-waits", WARNING, str(instant), meaning, remedy)


def overwritten(look: Look) -> Iterator[Finding]:
    """Pending clusterings of file groups that a commit has changed since: see ``undone_by``. A compaction is harmless:
    it writes into the replaced group, which readers skip."""
    facts = look.facts
    for instant, _ in look.clusterings:
        undone = undone_by(facts.table, facts.commits, instant, facts.timeline.completed_writes())
        if undone:
            meaning = (
                f"its plan reads file groups that {first_few(sorted(undone))} has changed since, in {_places(undone)}: "
                "its run brings the rows of before back, without an error. Run no clustering before it is removed"
            )
            yield Finding("clustering-overwritten", ERROR, str(instant), meaning, _gentlest(facts.table, instant))


def undone(look: Look) -> Iterator[Finding]:
    """Completed clusterings that have undone a commit, and overwrites of the same file groups: see ``undone_by``."""
    facts = look.facts
    writes = sorted(facts.timeline.completed_writes(), key=_completed)
    ends = [_completed(entry) for entry in writes]
    for number, instant in enumerate(writes):
        # Those that were completed while it was planned already.
        beside = writes[bisect(ends, (instant.time,)) : number]
        if beside and instant.action == REPLACECOMMIT:
            alone = not is_clustering(facts.table, facts.commits, instant)
            found = undone_by(facts.table, facts.commits, instant, beside, replaced_only=alone)
            if found:
                yield _undone(instant, found, writes[number - 1], last=instant == writes[-1])


def _completed(write: Instant) -> tuple[str, ...]:
    return write.completion_time or "", write.time


def _undone(instant: Instant, found: Mapping[str, frozenset[str]], before: Instant, *, last: bool) -> Finding:
    meaning = (
        f"it replaced file groups that {first_few(sorted(found))} has changed since it was planned, in "
        f"{_places(found)}: readers see rows that were replaced or deleted, or do not see updates"
    )
    if not last:
        meaning += "; later writes are built on it: write the rows again, or go back to before it, and lose them"
    # No rollback: those commits were requested after it.
    remedy = mended(command_of("restore", options=[f"--to-instant={before.time}"]))
    return Finding("changes-undone", ERROR, str(instant), meaning, remedy)


def _places(found: Mapping[str, frozenset[str]]) -> str:
    return named(sorted(map(repr, frozenset().union(*found.values()))))


def stalled(look: Look) -> Iterator[Finding]:
    """Pending cleans without plan, and indexings that have not ended."""
    signs = look.facts.signs
    for entry in find_stalled(look.facts.table, signs.timeline, signs.now_ms, look.idle_ms):
        if entry.at_work:
            yield Finding("at-work", INFO, entry.instant, f"{entry.meaning}; {entry.at_work}")
        else:
            severity = INFO if entry.harmless else ERROR if entry.stops else WARNING
            yield Finding(entry.name, severity, entry.instant, entry.meaning, entry.remedy)
