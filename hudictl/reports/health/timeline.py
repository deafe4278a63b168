"""Findings of ``check`` on the timeline: operations that have not ended, files that say nothing, or nothing known."""

from collections.abc import Iterator

from hudictl.errors import Unreadable
from hudictl.formats import commit_metadata
from hudictl.formats.instants import COMMIT_ACTIONS, COMPACTION, LOGCOMPACTION, RESTORE, ROLLBACK, SAVEPOINT, State
from hudictl.formats.restore import target_text
from hudictl.reports.health.finding import ERROR, WARNING, Finding, Look, unreadable
from hudictl.state.pending import Condition
from hudictl.table.timeline import read_instant

_RESUME = "hudictl resume"
# An empty plan of these makes every reader fail that looks for pending ones.
_PLANNED = (COMPACTION, LOGCOMPACTION)


def restores(look: Look) -> Iterator[Finding]:
    """Restores that are not completed: no writer can start."""
    for restore in look.facts.signs.planned_restores:
        if restore.instant.completed:
            # Its result has no content: a finding of its own.
            continue
        meaning = f"a restore to {target_text(restore.plan.target)} has not ended: no writer can start"
        yield Finding("pending-restore", ERROR, str(restore.instant), meaning, _RESUME)
    for restore in look.facts.signs.unplanned_restores:
        meaning = "a restore was requested without a plan, and did nothing: no writer can start"
        yield Finding("restore-without-plan", ERROR, str(restore.instant), meaning, _RESUME)


def rollbacks(look: Look) -> Iterator[Finding]:
    """Rollbacks that are not completed, but for those of a pending restore, which ends them itself."""
    signs = look.facts.signs
    begun = min((restore.instant.time for restore in signs.planned_restores), default="~")
    saved = {entry.time for entry in signs.timeline.savepoints()}
    for rollback in signs.live_rollbacks:
        instant = rollback.instant
        if instant.time > begun or instant.completed:
            continue
        if rollback.condition is Condition.TARGET_COMPLETED:
            does = "writers fail at it" if rollback.target in saved else "the next writer takes that commit back"
            meaning = (
                f"it was requested, and refused or not begun: its target {rollback.target} is completed, and {does}"
            )
            yield Finding("armed-rollback", ERROR, str(instant), meaning, f"{_RESUME} --discard-rollbacks")
        elif signs.timeline.idle_ms(instant, signs.now_ms) >= look.idle_ms:
            what = f"of {rollback.target} has not ended" if rollback.target else "has no plan that can be read"
            yield Finding("pending-rollback", WARNING, str(instant), f"a rollback {what}: writers execute it", _RESUME)
    for rollback in signs.left_rollbacks:
        meaning = "it is left of a restore that has ended: the next eager writer would execute it"
        yield Finding("rollback-remnant", WARNING, f"{rollback.instant.time} {ROLLBACK}", meaning, _RESUME)


def contents(look: Look) -> Iterator[Finding]:
    """Files of instants that cannot be read, or are empty where they must say something."""
    timeline = look.facts.timeline
    for instant in timeline.instants:
        for file in instant.files:
            if not timeline.sizes[file.name]:
                if file.state is State.COMPLETED and file.action in (RESTORE, ROLLBACK):
                    meaning = (
                        f"the {file.action} ended in a file without content: Hudi fails where it reads the metadata "
                        "table"
                    )
                    yield Finding("empty-result", ERROR, file.name, meaning, _RESUME)
                elif file.state is State.COMPLETED and file.action == SAVEPOINT:
                    meaning = "the savepoint names no files, and Hudi's cleans fail at it"
                    yield Finding("empty-result", ERROR, file.name, meaning, f"hudictl savepoint delete {instant.time}")
                elif file.state is State.REQUESTED and file.action in _PLANNED and instant.pending:
                    meaning = "a table service without plan: Hudi's readers fail at it"
                    yield Finding("empty-plan", ERROR, file.name, meaning, f"hudictl rollback {instant.time}")
                continue
            try:
                body = read_instant(look.facts.table, file)
                if file.action in COMMIT_ACTIONS and file.state is not State.REQUESTED:
                    commit_metadata.decode(body, file.name)
                else:
                    commit_metadata.read_record(body, file.name)
            except Unreadable as error:
                yield unreadable(error)


def names(look: Look) -> Iterator[Finding]:
    """Instants of actions that nobody knows, and instants that were completed twice."""
    for file in look.facts.timeline.unknown:
        meaning = f"unknown action {file.action!r}: a newer Hudi wrote it; hudictl changes nothing on this table"
        yield Finding("unknown-action", WARNING, file.name, meaning)
    for instant in look.facts.timeline.instants:
        completed = [file.name for file in instant.completed_files]
        if len(completed) > 1:
            meaning = (
                f"two processes completed it: {', '.join(completed)}; delete the one that the archive does not know"
            )
            yield Finding("completed-twice", ERROR, str(instant), meaning)
