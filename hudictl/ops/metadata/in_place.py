"""The metadata table during the rollback of one instant: it must not list deleted files, nor lose more than necessary.

Each write has its own deltacommit there, under the same time. From table version 8 on, that deltacommit can be rolled
back as Hudi does it (1.0.2, 1.2.0): its files are deleted, by a rollback with the time of the data table's rollback.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress

from hudictl.errors import Incomplete, Unreadable, Unsupported
from hudictl.formats import instants as fmt
from hudictl.formats import rollback
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import Instant, State
from hudictl.formats.layouts import META
from hudictl.formats.rollback import (
    InstantInfo,
    RollbackRequest,
    StoredRollbackPlan,
)
from hudictl.ops.undo import instants
from hudictl.ops.undo.execute import remove_traces
from hudictl.state.metadata.facts import read_metadata_facts
from hudictl.state.metadata.undo import Mode, is_damaged
from hudictl.table.metadata.listing import FILES, check_openable
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.operations import read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.active import (
    Timeline,
    completion_now,
    create_instant_file,
    delete_instant,
    drop_empty_result,
    load_timeline,
    pending_rollbacks,
)
from hudictl.table.timeline.commits import read_commit


def mode_in_place(
    table: Table, target: Instant | None, time: str, stored: Collection[str], *, blocks: bool
) -> Mode | None:
    """Whether a metadata table in use can stay as it is, or be rolled back in its place; None if neither.

    Args:
        target: the instant to roll back; None if it is already removed.
        time: its requested time.
        stored: the pending rollbacks of the instant, which may have un-published it already, here and there.
        blocks: rollback blocks are written: with a metadata table, readers find only the log files that it lists.

    Raises:
        Unreadable: a record of the rollbacks.
    """
    opened = _opened(table) if FILES in table.metadata_partitions and not blocks else None
    if opened is None:
        return None
    metadata, timeline = opened
    if _has_nothing(table, metadata, timeline, target, time, stored):
        return Mode.KEEP
    own, pending = timeline.find(time, *fmt.WRITE_ACTIONS), _pending_rollback(metadata, timeline, time)
    if own is None and pending is None:
        return None
    # A pending rollback may have un-published it already. Whoever began that has looked up to then.
    since = (own.completion_time if own is not None else None) or (pending[0] if pending is not None else time)
    alone = metadata.rules.logs_named_by_writer and not _merged(timeline, since) and _own_files_only(metadata, own)
    return Mode.UNDO if alone and (pending is not None or _is_whole(table, metadata, time)) else None


def _is_whole(table: Table, metadata: Table, time: str) -> bool:
    """Whether the metadata table can be read without an instant: else it must not be kept as it is."""
    try:
        check_openable(metadata)
        facts = read_metadata_facts(table, load_timeline(table))
        return facts is not None and not is_damaged(facts, (time,))
    except (Unreadable, Unsupported):
        return False


def has_nothing_of(table: Table, target: Instant | None, time: str, stored: Collection[str]) -> bool:
    """Whether the metadata table has nothing of an instant: it was never completed, or is already rolled back there.
    Arguments as in ``mode_in_place``. Raises Unreadable."""
    opened = _opened(table)
    return opened is not None and _has_nothing(table, *opened, target, time, stored)


def _opened(table: Table) -> tuple[Table, Timeline] | None:
    """The metadata table with its timeline; None if it has none, or none that can be read: it is deleted then."""
    with suppress(Unreadable):
        metadata = open_metadata_table(table)
        return None if metadata is None else (metadata, load_timeline(metadata))
    return None


def _has_nothing(
    table: Table, metadata: Table, timeline: Timeline, target: Instant | None, time: str, stored: Collection[str]
) -> bool:
    if timeline.find(time, *fmt.WRITE_ACTIONS) or _pending_rollback(metadata, timeline, time):
        return False
    # A table that was built after a completed commit lists its files; files of a pending one it leaves out.
    was_completed = (target is not None and target.completed) or not all(_of_pending(table, time) for time in stored)
    return not was_completed or _ended(timeline, stored)


def roll_back_metadata(table: Table, target: str, rollback_time: str) -> None:
    """Rolls back one deltacommit of the metadata table, or finishes an earlier attempt. Idempotent.

    Raises:
        Incomplete: files could not be deleted; the rollback is still pending.
        Unreadable, StorageFailed.
    """
    metadata = open_metadata_table(table)
    if metadata is None:
        return
    timeline = load_timeline(metadata)
    own = timeline.find(target, *fmt.WRITE_ACTIONS)
    pending = _pending_rollback(metadata, timeline, target)
    if own is None and pending is None:
        return
    files = _files(metadata, target)
    if pending is None:
        pending = rollback_time, _plan(metadata, target, files)
        body = rollback.encode_plan(pending[1])
        create_instant_file(metadata, rollback_time, fmt.ROLLBACK, State.REQUESTED, body)
    time, plan = pending
    create_instant_file(metadata, time, fmt.ROLLBACK, State.INFLIGHT)
    drop_empty_result(metadata, time, fmt.ROLLBACK)
    if own is not None and own.completed:
        instants.unpublish(metadata, own)
    _delete(metadata, files)
    delete_instant(metadata, load_timeline(metadata).find(target, *fmt.WRITE_ACTIONS))
    # From the stored plan: an earlier attempt may already have deleted the files.
    result = rollback.encode_result_of(plan, time)
    remove_traces(metadata, {target, time})
    create_instant_file(metadata, time, fmt.ROLLBACK, State.COMPLETED, result, completion_now(metadata, time))


def _of_pending(table: Table, rollback_time: str) -> bool:
    """Whether a pending rollback began with an instant that readers had never seen. False for a rollback that Hudi has
    begun, because that cannot be determined; and if hudictl did not keep the metadata table."""
    begun = read_operation(table.storage, rollback_time)
    plan = begun.plan if begun else {}
    return plan.get("completed") is False and plan.get("metadata_table") == Mode.KEEP.value


def _ended(timeline: Timeline, rollbacks: Collection[str]) -> bool:
    """Whether one of the rollbacks is completed there. Below version 8, Hudi (0.15.0) appends 006 to its time."""
    return any(
        entry.completed and (entry.time in rollbacks or entry.time.removesuffix("006") in rollbacks)
        for entry in timeline.having(fmt.ROLLBACK)
    )


def _merged(timeline: Timeline, since: str) -> bool:
    """Whether a table service has copied records of a deltacommit into other files, or may soon do so.

    A log compaction completes as a deltacommit: only its pending files show that it is one.

    Args:
        since: when the deltacommit was completed, or a time before.
    """
    for entry in timeline.instants:
        services = {file.action for file in entry.files} & {fmt.COMPACTION, fmt.LOGCOMPACTION, fmt.COMMIT}
        unfinished = entry.pending and entry.action in (fmt.CLEAN, fmt.RESTORE)
        if unfinished or (services and (entry.pending or (entry.completion_time or "") >= since)):
            return True
    return False


def _pending_rollback(metadata: Table, timeline: Timeline, target: str) -> tuple[str, StoredRollbackPlan] | None:
    plans = pending_rollbacks(metadata, timeline)
    return next(((entry.time, plan) for entry, plan in plans if plan is not None and plan.target.time == target), None)


def _plan(metadata: Table, target: str, files: Mapping[str, tuple[str, ...]]) -> StoredRollbackPlan:
    requests = (
        RollbackRequest(partition, tuple(metadata.storage.absolute(f"{partition}/{name}") for name in names))
        for partition, names in files.items()
    )
    return StoredRollbackPlan(InstantInfo(target, fmt.DELTACOMMIT), tuple(requests))


def _own_files_only(metadata: Table, own: Instant | None) -> bool:
    """Whether the deltacommit has written only files of its own name: before an upgrade it may have appended to
    others. False if its metadata cannot be read."""
    try:
        stats = read_commit(metadata, own).stats if own is not None else {}
    except Unreadable:
        # Its writer may have died while it wrote its profile.
        return False
    names = ((stat.path or "").rpartition("/")[2] for entries in stats.values() for stat in entries)
    parsed = (parse_data_file(name) for name in names if name)
    return own is None or all(data is not None and data.instant == own.time for data in parsed)


def _files(metadata: Table, target: str) -> dict[str, tuple[str, ...]]:
    """The deltacommit's files by partition, by the instant in their names."""
    found = {}
    for folder in metadata.storage.list(""):
        if folder.is_dir and folder.name != META:
            named = ((entry.name, parse_data_file(entry.name)) for entry in metadata.storage.list(folder.name))
            names = tuple(name for name, data in named if data is not None and data.instant == target)
            if names:
                found[folder.name] = names
    return found


def _delete(metadata: Table, files: dict[str, tuple[str, ...]]) -> None:
    for partition, names in files.items():
        outcomes = metadata.storage.delete([f"{partition}/{name}" for name in names])
        failed = [outcome for outcome in outcomes if outcome.error is not None]
        if failed:
            raise Incomplete(
                f"{failed[0].path} of the metadata table could not be deleted: {failed[0].error}; "
                "the rollback is still pending",
                hint="fix the cause, then run `hudictl resume`",
                failed=[outcome.path for outcome in failed],
            )
        metadata.storage.sync(partition)
