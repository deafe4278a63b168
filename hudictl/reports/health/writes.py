"""Findings of ``check`` on writers: what died in the middle, and what the dead have left beside the timeline."""

from collections.abc import Iterator

from hudictl.formats.instants import State
from hudictl.phrases import seconds
from hudictl.reports.health.finding import INFO, WARNING, Finding, Look
from hudictl.state.services import service_of
from hudictl.state.writers import newest_files, quiet_ms
from hudictl.table.markers import last_marker_ms, marker_folders


def failed_writes(look: Look) -> Iterator[Finding]:
    """Pending writes whose heartbeat has expired, or that were silent for long; a scheduled table service is none.

    Raises Unreadable: the plan of a replacecommit.
    """
    signs = look.facts.signs
    beats = {beat.time: beat for beat in signs.heartbeats}
    newest = newest_files(look.facts)
    named = {plan.target.time for _, plan in signs.rollbacks if plan is not None}
    named |= {info.time for restore in signs.restores for info in restore.plan.instants}

    for instant in signs.timeline.writes():
        # What a rollback or a restore takes back is theirs to tell.
        if instant.completed or instant.time in named:
            continue

        service = service_of(look.facts.table, instant) is not None
        if service and instant.state is State.REQUESTED:
            continue

        beat = beats.get(instant.time)
        quiet = quiet_ms(look.facts.table, signs, instant, newest)
        if (beat is not None and beat.live) or (beat is None and quiet < look.idle_ms):
            continue

        since = f"its last heartbeat is {seconds(beat.age_ms)} old" if beat else f"nothing of it for {seconds(quiet)}"
        if service:
            meaning = f"a table service died: {since}; the next run of it begins anew"
            command = f"hudictl rollback {instant.time} --keep-plan"
        else:
            meaning = f"its writer died: {since}"
            command = "hudictl failed-writes clean"
        yield Finding("failed-write", WARNING, str(instant), meaning, command)


def markers(look: Look) -> Iterator[Finding]:
    """Marker folders of instants that are not pending."""
    for time in marker_folders(look.facts.table):
        if time not in _pending(look) and look.silent(last_marker_ms(look.facts.table, time)):
            meaning = "markers of an instant that is not pending: nobody reads them any more"
            yield Finding("stale-markers", INFO, time, meaning, f"hudictl marker delete {time}")


def heartbeats(look: Look) -> Iterator[Finding]:
    """Heartbeats of instants that are not pending."""
    for beat in look.facts.signs.heartbeats:
        if beat.time not in _pending(look) and not beat.live:
            meaning = f"the heartbeat ({seconds(beat.age_ms)} old) of an instant that is not pending"
            yield Finding("stale-heartbeat", INFO, beat.time, meaning, f"hudictl heartbeat delete {beat.time}")


def locks(look: Look) -> Iterator[Finding]:
    """Locks that are held for long."""
    for lock in look.facts.signs.locks:
        if lock.held and lock.age_ms >= look.idle_ms:
            meaning = f"held since {seconds(lock.age_ms)} ({lock.provider}): a writer works long, or died with it"
            yield Finding("lock-held", WARNING, lock.path, meaning, "hudictl lock show")


def _pending(look: Look) -> set[str]:
    return {entry.time for entry in look.facts.timeline.instants if entry.pending}
