"""The steps that restore and rollback share, once readers no longer see the instants. Each step is idempotent."""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial

from hudictl import workers
from hudictl.errors import Conflict, Incomplete, StorageFailed
from hudictl.formats.file_names import data_path
from hudictl.ops.session import Kind, Monitor, Session, change_on_engine, kept_room
from hudictl.ops.undo.phases import Phase
from hudictl.ops.undo.plan import MarkedSlice, Undo, block_tasks
from hudictl.ops.undo.verify import verify_data, verify_hashing
from hudictl.phrases import count_of
from hudictl.state.as_left import not_moved
from hudictl.storage import Ended, Leases, end_writing
from hudictl.table.files.hashing import remove_bucket_configs
from hudictl.table.files.slices import StoredFile, names_by_partition
from hudictl.table.files.sweep import Sweep
from hudictl.table.kept import LOST, contents_of, end_room
from hudictl.table.locks.hold import Hold
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from hudictl.table.writers.heartbeats import heartbeat_path
from hudictl.table.writers.markers import marker_folder, marker_folders


def delete_data_files(
    session: Session, held: Hold, files: Iterable[StoredFile], of: Table | None = None
) -> list[tuple[str, str]]:
    """Deletes the files; a missing one is no error.

    Args:
        of: their table, if it is not the session's.

    Returns:
        The paths of files that still exist, each with the reason.

    Raises:
        Conflict, StorageFailed, EngineFailed.
    """
    storage, ordered = (of or session.table).storage, sorted(files, key=lambda file: file.partition)
    # All but the last are of one size, whatever the partitions have: they are dealt out evenly.
    size = storage.delete_batch
    parts = (ordered[start : start + size] for start in range(0, len(ordered), size))
    batches = [[*names_by_partition(part).items()] for part in parts]
    delete = partial(workers.delete_files, storage)
    kept = change_on_engine(session, held, "delete files", delete, batches, len(ordered))
    return [failure for batch in kept for failure in batch]


Written = dict[str, list[tuple[str, workers.BlockFile]]]
"""By instant, the partition and log file that hold its rollback block."""


def wait_for_queries(monitor: Monitor, grace_s: float) -> None:
    """Waits for queries that began before the instants were un-published: they still read the files to delete next.
    Raises Interrupted."""
    until = time.monotonic() + grace_s
    if grace_s:
        monitor.step(f"wait {grace_s:g} s for running queries")
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(1.0, left))
        monitor.check()


def end_open_writes(
    session: Session, held: Hold, slices: Sequence[MarkedSlice], *, counted: bool
) -> tuple[MarkedSlice, ...]:
    """Closes the logs that get a rollback block, where a dead writer has left them open: until then their length is not
    final. Returns the slices with the lengths of now: what it had not flushed may have come to the end of a log.

    Args:
        counted: the plan counts the bytes of required files, and these logs are among them.

    Raises:
        Conflict: a living writer has one open; or one has grown, and is ``counted``.
        StorageFailed, EngineFailed.
    """
    storage = session.table.storage
    if not slices or not isinstance(storage, Leases):
        return tuple(slices)
    tasks = [(storage, [data_path(entry.partition, name) for name, _ in entry.logs]) for entry in slices]
    ended = change_on_engine(session, held, "close logs", end_writing, tasks)
    left = [log.error for logs in ended for log in logs if log.error is not None]
    if left:
        raise Conflict(
            left[0] + (f" ({len(left) - 1} other logs, too)" if len(left) > 1 else ""),
            hint="stop the writer, or wait a minute if it has died; then run the command again",
        )
    closed = tuple(_with_sizes(entry, logs) for entry, logs in zip(slices, ended, strict=True))
    if counted and closed != tuple(slices):
        raise Conflict(
            "a log of a dead writer has grown since planning: it was open, and is closed now",
            hint="run the command again with --idle 0s: the closing looks like activity of this writer",
        )
    return closed


def _with_sizes(entry: MarkedSlice, logs: Sequence[Ended]) -> MarkedSlice:
    names = (name for name, _ in entry.logs)
    return replace(entry, logs=tuple((name, log.size) for name, log in zip(names, logs, strict=True)))


def write_blocks(session: Session, held: Hold, slices: Sequence[MarkedSlice]) -> Written:
    """Writes the rollback blocks of a version 6 table. Raises Conflict, StorageFailed, EngineFailed."""
    written: Written = {}
    tasks = block_tasks(session.table.storage, slices)
    results = change_on_engine(session, held, "write rollback blocks", workers.write_rollback_blocks, tasks)
    for task, files in zip(tasks, results, strict=True):
        for file in files:
            written.setdefault(file.target, []).append((task.partition, file))
    return written


def delete_first(session: Session, held: Hold, undo: Undo, kind: Kind) -> None:
    """Deletes the files that hide rows of kept instants once the removed ones are un-published. Called right then, and
    not stopped by the operator: readers miss these rows until it has ended. Raises as ``delete_and_prove``."""
    if undo.hiding:
        held.check()
        delete_files(session, held, undo.hiding, kind, "until they are gone, readers miss rows of commits that stay")


def delete_files(
    session: Session,
    held: Hold,
    files: Sequence[StoredFile],
    kind: Kind,
    meaning: str = "readers no longer see these files",
) -> None:
    """Deletes the files in one job, by partition. Raises Incomplete, naming a file that could not be deleted, and what
    that is to readers."""
    failed = delete_data_files(session, held, files)
    if failed:
        path, reason = failed[0]
        raise Incomplete(
            f"{len(failed):,} of {count_of(len(files), 'file')} could not be deleted, for example {path}: {reason}; "
            f"the {kind.value} is still pending",
            hint=f"{meaning}; fix the cause, then run `hudictl resume`",
            failed=[path for path, _ in failed],
        )


def delete_and_prove(
    session: Session,
    held: Hold,
    undo: Undo,
    kind: Kind,
    *,
    enter: Callable[[Phase], object],
    delete_dropped: Callable[[], object],
    last_look: Callable[[Undo], Undo] = lambda undo: undo,
) -> tuple[Undo, Written, Sweep]:
    """The middle of a restore and a rollback: no reader sees the instants, and none of them is removed yet.

    Args:
        enter: before each phase: raises if it must not begin.
        delete_dropped: deletes what was taken out of use of the metadata table.
        last_look: the last look at the files before they are deleted; returns what is still to be undone.

    Returns:
        What was undone, the rollback blocks that were written, and the listing that proves it.

    Raises:
        Incomplete: a file could not be deleted, or the proof has failed; the operation is still pending.
        Conflict, StorageFailed, EngineFailed, Interrupted.
    """
    enter(Phase.DELETE_FILES)
    delete_dropped()
    blocks = write_blocks(session, held, undo.marked)
    undo = last_look(undo)
    held.check()
    delete_files(session, held, [file for removal in undo.removals for file in removal.files], kind)
    _note_loss(session, blocks)
    # Not before: what is missing of the files shows that the resize cannot be published again.
    remove_bucket_configs(session.table, undo.hashing)

    enter(Phase.VERIFY)
    found = verify_data(session, undo, kind)
    verify_hashing(session, undo.removed, kind)
    return undo, blocks, found


def _note_loss(session: Session, blocks: Written) -> None:
    """Notes that another process has deleted files, or hidden rows by rollback blocks, before the operation could: it
    cannot be undone then. Later nothing shows it."""
    room, table = kept_room(session), session.table
    if room is None:
        return
    contents = contents_of(table, room)
    foreign = [
        path
        for files in blocks.values()
        for path in (data_path(partition, file.name) for partition, file in files)
        if path not in contents.made
    ]
    _, gone = not_moved(table, load_timeline(table), contents)
    if foreign or gone:
        end_room(table, room, LOST)


def remove_traces(table: Table, times: Collection[str]) -> None:
    """Deletes the markers and heartbeats of removed instants. Raises StorageFailed."""
    for folder in marker_folders(table):
        if folder in times:
            table.storage.delete_folder(marker_folder(folder))
    beats = [heartbeat_path(time) for time in sorted(times)]
    for outcome in table.storage.delete(beats):
        # A folder of that name is no heartbeat, and stays.
        if outcome.error is not None and not table.storage.has_folder(outcome.path):
            raise StorageFailed(f"cannot delete {outcome.path}: {outcome.error}", path=outcome.path)


def elapsed_ms(since: float) -> int:
    """Milliseconds since a moment of the monotonic clock."""
    return round((time.monotonic() - since) * 1000)
