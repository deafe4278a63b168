"""Un-publishing an instant, and the bodies of rollback files."""

import time
from collections.abc import Sequence
from datetime import datetime, timezone

from hudictl.errors import Unreadable
from hudictl.formats import instants as fmt
from hudictl.formats import partition_metafile, rollback
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import Instant, State
from hudictl.formats.limits import INSTANT_BYTES
from hudictl.formats.rollback import (
    InstantInfo,
    RollbackMetadata,
    RollbackPartition,
    RollbackRequest,
    StoredRollbackPlan,
)
from hudictl.ops.undo.plan import Removal
from hudictl.storage import read_whole
from hudictl.table.files.view import metafile_path
from hudictl.table.table import Table
from hudictl.table.timeline.active import create_instant_file, delete_instant_files, instant_now
from hudictl.workers import BlockFile

_LONGEST_WAIT_MS = 60_000


def encode_rollback(table: Table, removal: Removal) -> bytes:
    """The body of ``rollback.requested``: complete, so that Hudi's writers can execute it too."""
    requests = [
        RollbackRequest(partition, tuple(table.storage.absolute(file.path) for file in files))
        for partition, files in sorted(removal.files_by_partition().items())
    ]
    for block in removal.blocks:
        path = data_path(block.partition, block.log) if block.log else block.partition
        logs = {table.storage.absolute(path): block.log_size}
        requests.append(RollbackRequest(block.partition, (), block.file_id, block.base_instant, logs))
    return rollback.encode_plan(StoredRollbackPlan(InstantInfo(removal.time, removal.action), tuple(requests)))


def check_rollback_plan(table: Table, rollback_time: str, target: str) -> None:
    """Raises Unreadable: the stored rollback plan cannot be read back, or is of another instant."""
    name = fmt.instant_file_name(rollback_time, fmt.ROLLBACK, State.REQUESTED, table.layout.version)
    body = read_whole(table.storage, f"{table.layout.timeline}/{name}", INSTANT_BYTES)
    plan = rollback.decode_plan(body, name)
    if plan.target.time != target:
        raise Unreadable(f"{name} rolls back {plan.target.time}, not {target}", file=name)


def unpublish(table: Table, instant: Instant) -> None:
    """Makes an instant a pending write again; existing pending files are kept.

    A compaction becomes a pending *commit*, without its plan. As a pending compaction it would do harm: two pending
    compactions of one file group make every Hudi reader fail, and with an empty plan readers would see the compaction's
    base files (both seen on 0.15.0, 1.0.2 and 1.2.0). With a pending commit readers ignore these files, and Hudi's own
    resume rolls it back like any other. A log compaction becomes a pending deltacommit, even if it is not completed:
    Hudi's resume does not roll back log compactions at all.
    """
    services = [file for file in instant.files if file.action in (fmt.COMPACTION, fmt.LOGCOMPACTION)]
    delete_instant_files(table, tuple(reversed(services)))
    pending = [file for file in instant.files if file.state is not State.COMPLETED and file not in services]
    if not any(file.state is State.INFLIGHT for file in pending):
        action = pending[0].action if pending else fmt.COMPLETES_AS.get(instant.action, instant.action)
        if not pending:
            create_instant_file(table, instant.time, action, State.REQUESTED)
        create_instant_file(table, instant.time, action, State.INFLIGHT)
    delete_instant_files(table, [file for file in instant.files if file.state is State.COMPLETED])


def create_metafile(table: Table, partition: str, commit: str) -> None:
    """Creates a partition's metafile again: without it listings do not find the partition."""
    body = partition_metafile.encode(partition, commit, datetime.now(timezone.utc))
    try:
        table.storage.create(metafile_path(partition), body)
    except FileExistsError:
        # An earlier attempt made it.
        return


def rollback_result(
    table: Table, removal: Removal, rollback_time: str, blocks: Sequence[tuple[str, BlockFile]], duration_ms: int
) -> RollbackMetadata:
    """What the rollback of an instant has done. Raises Unreadable: its stored plan."""
    partitions = _partitions(table, removal, rollback_time, blocks)
    return RollbackMetadata(rollback_time, duration_ms, InstantInfo(removal.time, removal.action), partitions)


def wait_until(table: Table, moment: str) -> None:
    """Waits until the clock has passed an instant time: each rollback takes the next millisecond as its time.

    At most a minute: the time of a resumed restore may be from another zone, hours ahead.
    """
    far = fmt.time_plus_ms(instant_now(table), _LONGEST_WAIT_MS)
    while instant_now(table) <= moment < far:
        time.sleep(0.001)


def _partitions(
    table: Table, removal: Removal, rollback_time: str, blocks: Sequence[tuple[str, BlockFile]]
) -> dict[str, RollbackPartition]:
    """What the rollback has done, by partition. The deleted files are from its stored plan: an earlier attempt may have
    deleted some."""
    name = fmt.instant_file_name(rollback_time, fmt.ROLLBACK, State.REQUESTED, table.layout.version)
    try:
        body = read_whole(table.storage, f"{table.layout.timeline}/{name}", INSTANT_BYTES)
    except FileNotFoundError:
        return {}
    deleted: dict[str, list[str]] = {}
    logs: dict[str, dict[str, int]] = {}
    for request in rollback.decode_plan(body, name).requests:
        names = (path.rpartition("/")[2] for path in request.files)
        paths = (data_path(request.partition, name) for name in names)
        deleted.setdefault(request.partition, []).extend(map(table.storage.absolute, paths))
    for block in removal.blocks:
        if block.log:
            path = data_path(block.partition, block.log)
            logs.setdefault(block.partition, {})[f"{table.storage.uri}/{path}"] = block.log_size
    written: dict[str, dict[str, int]] = {}
    for partition, file in blocks:
        path = data_path(partition, file.name)
        written.setdefault(partition, {})[f"{table.storage.uri}/{path}"] = file.size
    return {
        partition: RollbackPartition(
            tuple(deleted.get(partition, ())), written.get(partition, {}), logs.get(partition, {})
        )
        for partition in sorted(deleted.keys() | written.keys())
    }
