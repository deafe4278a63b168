"""``log verify``: every block is read and decoded on the engine, then compared with the timeline."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from hudictl import workers
from hudictl.engine.base import Engine, Progress, values
from hudictl.errors import Unreadable
from hudictl.formats.instants import CLEAN, RESTORE, ROLLBACK
from hudictl.formats.log_mentions import merged
from hudictl.reports.health.finding import ERROR
from hudictl.reports.logs.against_timeline import (
    DefectRow,
    LogMentions,
    LogTimes,
    against_timeline,
    block_defect,
    defect_row,
    read_commit_or_none,
    read_times,
)
from hudictl.table.files.choose import is_log
from hudictl.table.files.sweep import sweep
from hudictl.table.logs.reader import LogFile, logs_alone, logs_in
from hudictl.table.logs.scan import cut_logs
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from hudictl.workers import CheckedPiece, PieceTask

VANISHED = "vanished"
UNREADABLE_FILE = "unreadable-file"


@dataclass(frozen=True)
class Verified:
    """The defects, and how much was verified: ``log_bytes`` is the total size of the logs."""

    rows: tuple[DefectRow, ...]
    logs: int
    blocks: int
    records: int
    log_bytes: int

    @property
    def errors(self) -> int:
        return sum(entry.severity == ERROR for entry in self.rows)


def logs_of_table(table: Table, engine: Engine, notes: list[str]) -> list[LogFile]:
    """All logs of a table: of its partitions, of its metadata table, and of the archived timelines of both.

    Args:
        notes: gets the files that could not be read.

    Raises:
        Unreadable: there is no timeline.
        StorageFailed, EngineFailed.
    """
    engine.start()
    tables = [table]
    try:
        metadata = open_metadata_table(table)
        tables += [metadata] if metadata else []
    except Unreadable as error:
        notes.append(f"the logs of the metadata table are not verified: {error.message}")
    return [log for member in tables for log in _logs_of(member, engine, notes)]


def _logs_of(table: Table, engine: Engine, notes: list[str]) -> list[LogFile]:
    # One at a time: a commit can name very many files.
    commits = (read_commit_or_none(table, entry, notes) for entry in load_timeline(table).writes())
    named = {partition for commit in commits for partition in commit.stats}
    files = sweep(table, engine, named).select("collect logs", partial(is_log, None), (".log.",))
    logs = [LogFile(table.storage, table, file.partition, file.data.name, file.size or 0) for file in files]
    return logs + [log for log in logs_in(table.storage, table, table.layout.archive) if log.archive]


def verify_logs(
    logs: Sequence[LogFile], engine: Engine, notes: list[str], progress: Progress | None = None
) -> Verified:
    """Reads and decodes every block of some logs, and compares them with their tables' timelines.

    Args:
        engine: decodes; one task for each log, or for 8 MiB of one.
        notes: gets additional messages.

    Raises:
        EngineFailed: also if executors lack a module for decoding.
        StorageFailed: not one log could be read.
        UsageError: a base file among the logs.
    """
    logs_alone(logs)
    # Before the blocks are read: data that a write appends later is not a defect.
    times = _times(logs, notes)

    whole = [PieceTask(log.storage, log.path, log.size, log.archive, 0, log.size) for log in logs]
    pieces = [(logs[number], piece) for number, piece in cut_logs(engine, whole)]
    results = engine.map("verify logs", workers.check_log, [task for _, task in pieces], progress)
    if results and all(result.error is not None for result in results):
        values(results, "read logs")

    rows: list[DefectRow] = []
    gone: dict[str, LogFile] = {}
    checked: dict[str, tuple[LogFile, list[CheckedPiece]]] = {log.uri: (log, []) for log in logs}
    for (log, task), result in zip(pieces, results, strict=True):
        if result.error is not None:
            rows.append(defect_row(log, UNREADABLE_FILE, f"from byte {task.start} on: {result.error}"))
        elif result.value is None:
            gone[log.uri] = log
        else:
            checked[log.uri][1].append(result.value)
            rows += (block_defect(log, defect, _own(log, times)) for defect in result.value.defects)

    rows += _vanished(list(gone.values()), times, notes)
    members = [_mentions(log, some) for log, some in checked.values() if not log.archive and log.uri not in gone]
    for own in times.values():
        rows += against_timeline([entry for entry in members if _own(entry.log, times) is own], own, engine, notes)

    found = [piece for _, some in checked.values() for piece in some]
    return Verified(
        tuple(sorted(rows, key=lambda entry: (entry.table or "", entry.file, entry.offset or 0))),
        len(logs),
        sum(piece.blocks for piece in found),
        sum(piece.records for piece in found),
        sum(log.size for log in logs),
    )


def _times(logs: Sequence[LogFile], notes: list[str]) -> dict[str, LogTimes]:
    """The timelines of the logs' tables, by URI."""
    times = {}
    for uri, table in {log.table.uri: log.table for log in logs if log.table is not None}.items():
        try:
            times[uri] = read_times(table)
        except Unreadable as error:
            notes.append(f"logs of {uri} are not compared with its timeline: {error.message}")
    return times


def _own(log: LogFile, times: Mapping[str, LogTimes]) -> LogTimes | None:
    return times.get(log.table.uri) if log.table else None


def _mentions(log: LogFile, pieces: Sequence[CheckedPiece]) -> LogMentions:
    return LogMentions(log, merged(mention for piece in pieces for mention in piece.mentions))


def _vanished(logs: Sequence[LogFile], times: Mapping[str, LogTimes], notes: list[str]) -> Iterator[DefectRow]:
    """Logs that disappeared during the verification: no defect while a clean, rollback or restore deletes files."""
    taking: dict[str, bool] = {}
    for log in logs:
        own = _own(log, times)
        if own is not None:
            if own.table.uri not in taking:
                taking[own.table.uri] = _takes_files(own)
            if taking[own.table.uri]:
                notes.append(f"{log.uri} disappeared meanwhile: a clean, rollback or restore deletes files")
                continue
        yield defect_row(
            log, VANISHED, "it disappeared after it was listed, but no clean, rollback or restore ran since"
        )


def _takes_files(times: LogTimes) -> bool:
    actions = (CLEAN, ROLLBACK, RESTORE)
    before = {str(instant) for instant in times.timeline.having(*actions)}
    try:
        now = list(load_timeline(times.table).having(*actions))
    except Unreadable:
        return False
    return any(instant.pending or str(instant) not in before for instant in now)
