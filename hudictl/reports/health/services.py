"""Findings of ``check`` on pending table services: the files in their plans, and services that Hudi never ends."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain

from hudictl.errors import Unreadable
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import REPLACECOMMIT, Instant, State
from hudictl.formats.layouts import HASHING_METADATA
from hudictl.phrases import command_of, count_of, seconds
from hudictl.reports.health.finding import ERROR, INFO, WARNING, Finding, Look, mended, named
from hudictl.state.services.stalled import find_stalled
from hudictl.state.timeline.service_plans import logs_of_later_writes, service_files, service_of
from hudictl.storage import entries_of, first_elsewhere
from hudictl.table.settings import CLUSTERING_UPDATES
from hudictl.table.timeline.active import load_timeline


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
    remedy = () if later else mended(command_of("rollback", instant.time))
    return Finding("plan-names-missing-file", ERROR, str(instant), meaning, remedy)


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
    """Pending clusterings that read file groups which a commit has replaced since: their run writes the replaced rows
    into new file groups, and they are back, without an error (seen with 0.15.0, 1.0.2 and 1.2.0). A compaction writes
    into the replaced group, which readers skip."""
    facts = look.facts
    completed = [entry.time for entry in facts.timeline.having(REPLACECOMMIT) if entry.completed]
    for instant, request in look.clusterings if completed else ():
        by = {
            time: {
                path
                for path, ids in facts.commits[time].replaced.items()
                for one in ids
                if (path, one) in request.groups
            }
            for time in completed
        }
        for time, paths in by.items():
            if paths:
                meaning = (
                    f"its plan reads file groups that {time} has replaced, in {named(sorted(map(repr, paths)))}: its "
                    "run brings the replaced rows back, without an error. Run no clustering before it is removed"
                )
                remedy = mended(command_of("rollback", instant.time))
                yield Finding("clustering-overwritten", ERROR, str(instant), meaning, remedy)
                break


def stalled(look: Look) -> Iterator[Finding]:
    """Pending cleans without plan, and indexings that have not ended."""
    signs = look.facts.signs
    for entry in find_stalled(look.facts.table, signs.timeline, signs.now_ms, look.idle_ms):
        if entry.at_work:
            yield Finding("at-work", INFO, entry.instant, f"{entry.meaning}; {entry.at_work}")
        else:
            severity = INFO if entry.harmless else ERROR if entry.stops else WARNING
            yield Finding(entry.name, severity, entry.instant, entry.meaning, entry.remedy)
