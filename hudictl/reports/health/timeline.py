"""Findings of ``check`` on the timeline: unfinished operations, empty files, unknown files."""

from collections.abc import Iterator

from hudictl.formats.instants import RESTORE, ROLLBACK, SAVEPOINT, WRITE_ACTIONS, State, instant_file_name
from hudictl.phrases import command_of
from hudictl.reports.health.finding import ERROR, INFO, UNREADABLE, WARNING, Finding, Look, mended
from hudictl.state.timeline.ahead import commits_ahead
from hudictl.state.timeline.damaged import Damaged, Way, damaged_files, remedy_of_damage
from hudictl.state.timeline.lost_plans import has_lost_plan, remedy_of_lost_plan, slices_to_plan
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.timeline.unfinished import ARMED_ROLLBACK, RESUME, UNDO_BEGUN, find_unfinished


def unfinished(look: Look) -> Iterator[Finding]:
    """Restores and rollbacks that have not ended, except rollbacks of a pending restore, which ends them itself."""
    for entry in find_unfinished(look.facts.table, look.facts.signs, look.idle_ms):
        if entry.at_work:
            yield Finding("at-work", INFO, entry.instant, f"{entry.told}; {entry.at_work}")
        # An empty result is a finding of its own.
        elif not entry.completed:
            lazy = entry.eager_only and not look.settings.cleans_eagerly
            told = f"{entry.meaning}: the writers' next clean-up of failed writes executes it" if lazy else entry.told
            grave = entry.name in (ARMED_ROLLBACK, UNDO_BEGUN) or not (entry.writers_can_start or lazy)
            yield Finding(entry.name, ERROR if grave else WARNING, entry.instant, told, entry.remedy)


def contents(look: Look) -> Iterator[Finding]:
    """Files of instants that are unreadable, or empty although they must have content."""
    timeline = look.facts.timeline
    for instant in timeline.instants:
        for file in instant.files:
            empty = file.state is State.COMPLETED and not timeline.sizes[file.name]
            if empty and file.action in (RESTORE, ROLLBACK):
                meaning = (
                    f"the completed file of this {file.action} is empty: Hudi fails when it reads the metadata table"
                )
                yield Finding("empty-result", ERROR, file.name, meaning, mended(RESUME))
        for found in damaged_files(look.facts.table, timeline, instant, look.facts.written.decoded):
            if found.file.action == SAVEPOINT and not found.body:
                meaning = "the savepoint is empty: it protects no files, and Hudi's cleans fail on it"
                yield Finding("empty-result", ERROR, found.file.name, meaning, remedy_of_damage(found))
            elif found.way is Way.FROM_RESULT and not found.body:
                meaning = (
                    f"the plan of this completed {found.file.action} is empty: Hudi 0.15.0 fails when it archives it"
                )
                yield Finding("empty-plan", ERROR, found.file.name, meaning, remedy_of_damage(found))
            elif found.body or found.file.action == RESTORE:
                remedy = remedy_of_damage(found) or _without_it(look, found)
                yield Finding(UNREADABLE, ERROR, found.file.name, found.problem, remedy)


def _without_it(look: Look, found: Damaged) -> tuple[Remedy, ...]:
    """The command that ends a pending write or table service with a damaged file."""
    table, timeline, instant = look.facts.table, look.facts.timeline, found.instant
    if not instant.pending or instant.action not in WRITE_ACTIONS:
        return ()
    if found.file.state is State.REQUESTED and has_lost_plan(table, timeline, instant):
        return remedy_of_lost_plan(table, instant, needed=bool(slices_to_plan(look.facts, instant)))
    # While the file is being written, it cannot be read either.
    quiet = timeline.idle_ms(instant, look.facts.signs.now_ms) >= look.idle_ms
    live = any(beat.live and beat.time == instant.time for beat in look.facts.signs.heartbeats)
    return mended(command_of("rollback", instant.time)) if quiet and not live else ()


def plans(look: Look) -> Iterator[Finding]:
    """Pending table services without their plan."""
    table, timeline = look.facts.table, look.facts.timeline
    for instant in timeline.instants:
        request = instant.file(State.REQUESTED)
        # A damaged one is a finding on the file.
        if (request is None or not timeline.sizes[request.name]) and has_lost_plan(table, timeline, instant):
            name = instant_file_name(instant.time, instant.action, State.REQUESTED, table.layout.version)
            finding, how = ("empty-plan", "empty") if request else ("missing-plan", "gone")
            rows = (
                "; without a plan the rows of later logs are not found" if slices_to_plan(look.facts, instant) else ""
            )
            meaning = f"the plan of a pending table service is {how}: Hudi's readers fail on it{rows}"
            yield Finding(finding, ERROR, name, meaning, remedy_of_lost_plan(table, instant, needed=bool(rows)))


def times(look: Look) -> Iterator[Finding]:
    """Files that have lost the times at which they were written: below version 8 these are completion times."""
    lost = look.facts.timeline.not_kept
    if lost is not None and lost.because:
        meaning = (
            f"{lost.because}: the table was copied without the times of its files, or downgraded, so completion times "
            "are not known; which instants are later is decided by the times in their names"
        )
        yield Finding("times-not-kept", WARNING, look.facts.table.layout.timeline, meaning)


def ahead(look: Look) -> Iterator[Finding]:
    """Commits of a clock that was ahead."""
    for found in commits_ahead(look.facts.table, look.facts.timeline):
        remedy = mended(command_of("rollback", found.instant.time)) if found.future else ()
        yield Finding("commit-ahead", ERROR, str(found.instant), found.meaning, remedy)


def names(look: Look) -> Iterator[Finding]:
    """Instants of unknown actions, and instants that were completed twice."""
    for file in look.facts.timeline.unknown:
        meaning = f"unknown action {file.action!r}: a newer Hudi wrote it; hudictl refuses to change this table"
        yield Finding("unknown-action", WARNING, file.name, meaning)
    for instant in look.facts.timeline.instants:
        completed = [file.name for file in instant.completed_files]
        if len(completed) > 1:
            meaning = (
                f"two processes completed it: {', '.join(completed)}; if the archive contains one of them, delete the "
                "other; if not, the valid one cannot be determined"
            )
            yield Finding("completed-twice", ERROR, str(instant), meaning)
