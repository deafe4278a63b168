"""Findings of ``check`` on the files in completed commits' metadata, compared with storage, and on their ends."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain

from hudictl.errors import Unreadable
from hudictl.formats.base_files import has_known_end
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import COMPACTION
from hudictl.phrases import command_of, count_of
from hudictl.reports.health.finding import ERROR, FROM_BACKUP, INFO, Finding, Look, mended, named, with_way_back
from hudictl.reports.health.partition import Differences, differences, hidden_logs, wrong_ends
from hudictl.state.orphans.second import second_files
from hudictl.state.timeline.damaged import damaged_files, remedy_of_damage
from hudictl.state.timeline.service_plans import service_groups
from hudictl.state.writers.failed_writes import RUNNING, pending_writes_seen
from hudictl.table.files.slices import Group
from hudictl.table.files.view import committed_without
from hudictl.table.timeline.active import empty_commits


def without_content(look: Look) -> Iterator[Finding]:
    """Empty completed commits: the writer died, or the disk was full, after the file was created."""
    table, timeline = look.facts.table, look.facts.timeline
    empty = {file.name for file in empty_commits(timeline)}
    for instant in timeline.completed_writes():
        for found in damaged_files(table, timeline, instant) if empty.intersection(instant.names) else ():
            if found.file.name in empty:
                meaning = "the file of this commit is empty: it does not name its data files"
                mend, name = remedy_of_damage(found), found.file.name
                if mend:
                    yield Finding("empty-commit", ERROR, name, meaning, mend)
                else:
                    yield with_way_back("empty-commit", name, meaning, look.way_before(instant.time))


def hidden(look: Look) -> Iterator[Finding]:
    """Rows of completed writes that readers leave out, by the file that hides them."""
    facts, table = look.facts, look.facts.table
    if table.is_cow or not table.rules.has_completion_times:
        return
    compacting: set[Group] = set()
    for instant in facts.timeline.having(COMPACTION):
        # A plan that cannot be read is a finding of its own.
        with suppress(Unreadable):
            compacting |= service_groups(table, instant)
    judge = partial(hidden_logs, table.rules, committed_without(facts.timeline, ()), frozenset(compacting))
    logs = chain.from_iterable(facts.sweep.over("look for hidden logs", judge, written=facts.written.files))
    by: dict[tuple[str, str], list[str]] = defaultdict(list)
    for log in logs:
        by[log.file, log.by].append(log.path)
    if not by:
        return
    pending = {row.instant: row for row in pending_writes_seen(table, facts.signs, look.idle_ms, facts.sweep)}
    for (file, time), paths in sorted(by.items()):
        row = pending.get(time)
        end = f"the write {time} ends" if row is not None else "it is gone: no instant is known that has written it"
        meaning = (
            f"queries leave out {count_of(len(paths), 'log')} of completed writes ({named(sorted(paths))}), which lie "
            f"in the slice that this uncommitted file has begun, until {end}"
        )
        remedy = row.remedy if row is not None else mended(command_of("orphans delete", file))
        # Side by side, such writers are at work every day.
        severity = INFO if row is not None and row.verdict == RUNNING else ERROR
        yield Finding("logs-hidden", severity, file, meaning, remedy)


def base_files(look: Look) -> Iterator[Finding]:
    """Files that do not match their commits."""
    facts = look.facts
    completed = frozenset(entry.time for entry in facts.timeline.completed_writes())
    compare = partial(differences, committed_without(facts.timeline, ()), completed)
    found = facts.sweep.over("compare files with commits", compare, written=facts.written.files)
    found.sort(key=lambda entry: entry.path)
    yield from _second_base_files(look, found)
    yield from _unnamed_files(look, found)
    yield from _wrong_sizes(look, found)
    yield from _missing_change_logs(found)


def _second_base_files(look: Look, found: Sequence[Differences]) -> Iterator[Finding]:
    """Several base files in one slice: two tasks, or two writers, had the same instant and file group."""
    slices = [(entry.path, *second) for entry in found for second in entry.second]
    sure: set[str] = set()
    # What is damaged, and could name one of them, is a finding of its own.
    with suppress(Unreadable):
        sure = {orphan.file.path for orphan in second_files(look.facts) if orphan.sure} if slices else set()
    for folder, names, told in slices:
        paths, right = ([data_path(folder, name) for name in sorted(some)] for some in (names, told))
        says = f"its commit names {named(right)}; move all others out of the table"
        if not right:
            says = "no commit on the timeline names any of them; keep one, and move the others out of the table"
        meaning = f"{len(paths)} base files in one slice: readers use the last one in the listing. Here {says}"
        wrong = [path for path in paths if path not in right] or paths
        proved = "hudictl orphans delete --duplicates" if sure.issuperset(wrong) else ""
        remedy = mended(proved or command_of("orphans delete", *wrong)) if right else ()
        yield Finding("second-base-file", ERROR, wrong[0], meaning, remedy)


def _unnamed_files(look: Look, found: Sequence[Differences]) -> Iterator[Finding]:
    """Base files with the name of a completed commit on the timeline, whose statistics do not contain them."""
    for entry in found:
        for name, time in entry.unnamed:
            # An empty or damaged commit, which names nothing, is another finding.
            if look.facts.commits[time].stats:
                meaning = (
                    "its commit does not name this file, but readers that list folders treat its rows as committed"
                )
                path = data_path(entry.path, name)
                yield Finding("unnamed-file", ERROR, path, meaning, mended(command_of("orphans delete", path)))


def _wrong_sizes(look: Look, found: Sequence[Differences]) -> Iterator[Finding]:
    """Files whose size differs from their commit's statistics. Of a truncated log, Hudi reads only the complete blocks,
    without an error."""
    for entry in found:
        for file in entry.sizes:
            queries = "queries of change data" if file.cdc else "queries"
            sizes = f"{file.found:,} bytes, but its commit recorded {file.expected:,}"
            meaning = f"{sizes}: {queries} fail, or return wrong rows. {FROM_BACKUP}"
            path = data_path(entry.path, file.name)
            yield with_way_back("wrong-size", path, meaning, look.way_before_file(file.name))


def _missing_change_logs(found: Sequence[Differences]) -> Iterator[Finding]:
    meaning = "its commit names this file, but it is missing on storage: queries of change data fail"
    for entry in found:
        for name in entry.changes_missing:
            yield Finding("change-log-missing", ERROR, data_path(entry.path, name), meaning)


def ends(look: Look) -> Iterator[Finding]:
    """Committed base files whose format does not match their names, and logs that end with zeros."""
    if not look.footers:
        return
    read = partial(wrong_ends, look.facts.table.storage, committed_without(look.facts.timeline, ()))
    for path, problem in sorted(chain.from_iterable(look.facts.sweep.over("read footers", read))):
        meaning = f"it is {problem}: queries that read it fail. {FROM_BACKUP}"
        name = "not-parquet" if has_known_end(path) else "log-zeros"
        yield with_way_back(name, path, meaning, look.way_before_file(path.rpartition("/")[2]))
