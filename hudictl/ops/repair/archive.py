"""``archive repair``: an archive that holds what can be read of it, and a record of what it has lost."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hudictl.errors import Conflict, Unreadable, Unsupported
from hudictl.formats.instants import DELTACOMMIT, TIME_FORMAT_DIGITS, time_plus_ms
from hudictl.ops.guards import liveness
from hudictl.ops.repair.archive_files import Loss, Mended, mend_archive
from hudictl.ops.repair.plan import FileRepair, RepairPlan
from hudictl.ops.session import Kind, Session, writable_signs
from hudictl.phrases import count_of, first_few, seconds
from hudictl.table.metadata.listing import listing_table
from hudictl.table.metadata.place import MADE_ANEW
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline, taken_back
from hudictl.table.timeline.archive import archived_after, at_one_time


@dataclass(frozen=True)
class _Witness:
    """The metadata table, which has a delta commit for each instant of the table since it was built: their times; and
    what is wrong with its archive."""

    times: frozenset[str] = field(default_factory=frozenset)
    problem: str = ""


def plan_archive(session: Session, idle_ms: int) -> RepairPlan:
    """Plans to mend the archived timeline. Changes nothing; every guard has passed. Raises Conflict: a writer, a table
    service or an archiving may be running; Unsupported, Unreadable, StorageFailed, EngineFailed."""
    table, signs = session.table, writable_signs(session)
    mended = at_one_time(lambda: mend_archive(table, signs.timeline))
    if mended.files:
        liveness.nothing_at_work(table, session.engine, signs, session.locking, idle_ms)
        _nothing_written(table, mended.files, signs.now_ms, idle_ms)
    witness = _witness(table)
    lost, until = _lost(table, signs.timeline, mended, witness.times) if mended.lost else ((), "")
    elsewhere = (f"the archive of the metadata table: {witness.problem}; {MADE_ANEW}",) if witness.problem else ()
    return RepairPlan(
        Kind.ARCHIVE_REPAIR, "archived timeline", mended.files, session.lock, lost, mended.guessed, elsewhere, until
    )


def _nothing_written(table: Table, files: Iterable[FileRepair], now_ms: int, idle_ms: int) -> None:
    """Raises Conflict: a file was changed so late that an archiving may run, which leaves no other trace."""
    for file in files:
        status = table.storage.stat(file.path)
        if status is not None and now_ms - status.modified_ms < idle_ms:
            raise Conflict(
                f"{file.path} was written {seconds(now_ms - status.modified_ms)} ago: an archiving may be running",
                hint=f"run the command again after {seconds(idle_ms)} without activity; if none is running, specify a "
                "shorter --idle",
                file=file.path,
            )


def _witness(table: Table) -> _Witness:
    try:
        metadata = listing_table(table)
        if metadata is None:
            return _Witness()
        found = {entry.time for entry in load_timeline(metadata).having(DELTACOMMIT) if entry.completed}
        found |= {entry.time for entry in archived_after(metadata, "") if entry.action == DELTACOMMIT}
    except (Unreadable, Unsupported) as error:
        return _Witness(problem=error.message)
    # Not those of its own services: below table version 8 their times are longer.
    return _Witness(frozenset(time for time in found if len(time) == TIME_FORMAT_DIGITS and not time.startswith("0")))


def _lost(table: Table, timeline: Timeline, mended: Mended, witnessed: frozenset[str]) -> tuple[tuple[str, ...], str]:
    """What is lost, in words, and the greatest requested time of an instant that may be."""
    known = mended.kept.union(taken_back(table, timeline), (entry.time for entry in timeline.instants))
    named = sorted(witnessed - known)
    until = {time for loss in mended.lost.values() for time in (*loss.times, loss.last)}
    if not all(loss.exact for loss in mended.lost.values()):
        until |= {*named, _end(timeline, witnessed)}
    words = [f"{name}: {_words(loss, named)}" for name, loss in mended.lost.items()]
    rest = (
        f"what was archived up to {max(until)} is not all known any more: a restore, rollback or savepoint that "
        "depends on it is refused, and no orphan of that time is deleted"
    )
    return (*words, rest), max(until)


def _words(loss: Loss, named: Iterable[str]) -> str:
    if loss.exact:
        return f"{count_of(len(loss.times), 'archived instant')}: {first_few(loss.times, rest=' and {:,} more')}"
    times = sorted({*loss.times, *(time for time in named if loss.first <= time <= (loss.last or "~"))})
    span = f"all archived instants from {loss.first} to {loss.last}" if loss.last else "archived instants"
    proved = f"known from elsewhere are {first_few(times, rest=' and {:,} more')}" if times else "none is known"
    return f"{span}; {proved}"


def _end(timeline: Timeline, witnessed: frozenset[str]) -> str:
    """A time after which no lost instant was requested. Without a savepoint, Hudi archives what is older than the first
    write of the timeline, and beyond one also what is later: then the metadata table must prove that there was none."""
    writes = [entry.time for entry in timeline.completed_writes()]
    first = min(writes, default="")
    if first and min(witnessed, default="~") <= first and witnessed.issuperset(writes):
        return time_plus_ms(first, -1)
    saved = {entry.time for entry in timeline.savepoints()}
    later = min((time for time in writes if time > first and time not in saved), default="")
    return time_plus_ms(later, -1) if later else timeline.last_time()
