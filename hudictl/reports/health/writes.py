"""Findings of ``check`` on writers: interrupted writes, and their leftovers beside the timeline."""

from collections.abc import Iterator

from hudictl.phrases import command_of, seconds
from hudictl.reports.health.finding import ERROR, INFO, WARNING, Finding, Look, mended
from hudictl.state.metadata.gap import read_though_pending
from hudictl.state.timeline.unfinished import no_writer
from hudictl.state.writers.failed_writes import FAILED_WRITE, pending_writes_seen
from hudictl.table.writers.markers import last_marker_ms, marker_folders


def failed_writes(look: Look) -> Iterator[Finding]:
    """Pending writes with an expired heartbeat, or without activity for long; not scheduled table services. Writes that
    a pending rollback or restore removes are reported with that one."""
    read = read_though_pending(look.facts)
    for row in pending_writes_seen(look.facts.table, look.facts.signs, look.idle_ms, look.facts.sweep):
        if not row.abandoned:
            continue
        meaning = row.reason
        if row.instant in read:
            meaning += "; it is older than every completed write: readers that list folders see its rows"
        stops = not row.writers_can_start and (look.settings.cleans_eagerly or not row.eager_only)
        if stops and row.eager_only:
            meaning += f": {no_writer(eager_only=True)}"
        severity = ERROR if row.instant in read or stops else WARNING
        yield Finding(FAILED_WRITE, severity, row.name, meaning, row.remedy)


def markers(look: Look) -> Iterator[Finding]:
    """Marker folders of instants that are not pending."""
    for time in marker_folders(look.facts.table):
        if time not in _pending(look) and look.silent(last_marker_ms(look.facts.table, time)):
            meaning = "markers of an instant that is not pending: they are no longer used"
            yield Finding("stale-markers", INFO, time, meaning, mended(command_of("marker delete", time)))


def heartbeats(look: Look) -> Iterator[Finding]:
    """Heartbeats of instants that are not pending."""
    for beat in look.facts.signs.heartbeats:
        if beat.time not in _pending(look) and (beat.doubtful or not beat.live):
            meaning = (
                f"a heartbeat ({seconds(beat.age_ms)} old) of an instant that is not pending: it is no longer used"
            )
            yield Finding(
                "stale-heartbeat", INFO, beat.time, meaning, mended(command_of("heartbeat delete", beat.time))
            )


def locks(look: Look) -> Iterator[Finding]:
    """Locks that are held for long."""
    for lock in look.facts.signs.locks:
        if lock.held and lock.age_ms is not None and lock.age_ms >= look.idle_ms:
            meaning = (
                f"held for {seconds(lock.age_ms)} ({lock.provider}): its writer is running, or died while holding it"
            )
            yield Finding("lock-held", WARNING, lock.path, meaning, mended("hudictl lock show"))


def _pending(look: Look) -> set[str]:
    return {entry.time for entry in look.facts.timeline.instants if entry.pending}
