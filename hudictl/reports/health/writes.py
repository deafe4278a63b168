"""Findings of ``check`` on writers: what died in the middle, and what the dead have left beside the timeline."""

from collections.abc import Iterator

from hudictl.formats.instants import State
from hudictl.phrases import seconds
from hudictl.reports.health.finding import ERROR, INFO, WARNING, Finding, Look
from hudictl.state.metadata_gap import read_though_pending
from hudictl.state.services import service_of
from hudictl.state.writers import find_traces, read_marked
from hudictl.table.markers import last_marker_ms, marker_folders


def failed_writes(look: Look) -> Iterator[Finding]:
    """Pending writes whose heartbeat has expired, or that were silent for long; a scheduled table service is none.

    Raises Unreadable: the plan of a replacecommit.
    """
    signs = look.facts.signs
    beats = {beat.time: beat for beat in signs.heartbeats}
    named = {rollback.target for rollback in signs.live_rollbacks}.union(*(entry.instants for entry in signs.restores))
    # What a rollback or a restore takes back is theirs to tell.
    pending = [entry for entry in signs.timeline.writes() if entry.pending and entry.time not in named]
    marked = read_marked(look.facts.table, (entry for entry in pending if entry.time not in beats))
    left = find_traces(look.facts.table, signs.timeline, marked, look.facts.sweep.files)
    read = read_though_pending(look.facts)
    for instant in pending:
        service = service_of(look.facts.table, instant) is not None
        if service and instant.state is State.REQUESTED:
            continue

        beat = beats.get(instant.time)
        if beat.live if beat else not look.silent(left[instant].changed_ms):
            continue
        if beat:
            since = f"its last heartbeat is {seconds(beat.age_ms)} old"
        else:
            since = f"nothing of it for {seconds(signs.now_ms - left[instant].changed_ms)}"
        if service:
            meaning = f"a table service died: {since}; the next run of it begins anew"
            command = f"hudictl rollback {instant.time} --keep-plan"
        else:
            meaning = f"its writer died: {since}"
            command = "hudictl failed-writes clean"
        if instant.time in read:
            meaning += "; it is older than every completed write, and readers that list folders see its rows"
        severity = ERROR if instant.time in read else WARNING
        yield Finding("failed-write", severity, str(instant), meaning, command)


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
