"""Reading the table back: what a restore has promised, looked up on storage."""

from collections.abc import Iterable, Mapping, Sequence

from hudictl import workers
from hudictl.engine.base import Engine
from hudictl.errors import Incomplete
from hudictl.formats import instants as fmt
from hudictl.formats.layouts import PROPERTIES_BACKUP
from hudictl.ops.plan import Removal, RestorePlan
from hudictl.ops.rollback_blocks import block_tasks
from hudictl.table.file_view import StoredFile, Sweep, sweep, values
from hudictl.table.markers import marker_folders
from hudictl.table.metadata_table import metadata_table_in_use
from hudictl.table.properties import read_properties
from hudictl.table.table import Table
from hudictl.table.timeline import load_timeline

_NAMED = 5


def verify_data(
    table: Table, engine: Engine, removals: Sequence[Removal], needed: Mapping[str, StoredFile], operation: str
) -> None:
    """The barrier before pending instants go: a second listing proves every deletion, every block, every needed file.

    A file that outlived its instant would come back as rows once the archive passes it.

    Raises:
        Incomplete: naming what is wrong; the operation (a noun) stays pending.
    """
    partitions = {file.partition for file in needed.values()}
    named = partitions | {file.partition for removal in removals for file in removal.files}
    found = sweep(table, engine, named, sync=True)
    removed = {removal.time: removal for removal in removals}
    left = [file.path for file in found.files if file.data.instant in removed and removed[file.data.instant].owns(file)]
    sizes = {file.path: file.size for file in found.files}
    lost = [path for path, file in needed.items() if sizes.get(path) != file.size]
    bare = sorted(partitions - found.partitions)
    unmarked = _without_block(table, engine, removals, found)
    for findings, what in (
        (left, "files of removed instants are still there"),
        (unmarked, "file slices have no rollback block"),
        (lost, "files that the table needs are gone or changed"),
        (bare, "partitions have no metafile"),
    ):
        if findings:
            raise Incomplete(
                f"{len(findings)} {what}: {', '.join(findings[:_NAMED])}; the {operation} stays pending",
                hint="stop all writers, then `hudictl resume`",
                findings=findings,
            )


def _without_block(table: Table, engine: Engine, removals: Sequence[Removal], found: Sweep) -> list[str]:
    targets = ((removal.time, block) for removal in removals for block in removal.blocks)
    tasks = block_tasks(table.storage, targets, found.files)
    results = values(engine.map("read rollback blocks", workers.find_rollback_blocks, tasks), "read blocks")
    return [
        f"{task.partition}/{task.file_id} at {target}"
        for task, blocks in zip(tasks, results, strict=True)
        for target in task.targets
        if target not in blocks
    ]


def verify_timeline(table: Table, plan: RestorePlan, restore: str, rollbacks: Iterable[str]) -> None:
    """Reads the timeline back after the restore is published. Writes that came since are no failure.

    Raises:
        Incomplete, Unreadable.
    """
    timeline = load_timeline(table)
    ended = {*plan.rollbacks, *rollbacks}
    findings = [str(entry) for entry in timeline.writes() if entry.time in plan.removed]
    findings += [str(entry) for entry in timeline.having(fmt.ROLLBACK) if entry.time in ended]
    findings += [str(entry) for entry in timeline.having(fmt.RESTORE) if entry.pending]
    target = timeline.find(plan.target, *fmt.COMMIT_ACTIONS)
    if target is None or not target.completed:
        findings.append(f"the target {plan.target} is not completed")
    completed = timeline.find(restore, fmt.RESTORE)
    if completed is None or not completed.completed:
        findings.append(f"restore {restore} is not completed")
    findings += [f"markers of {time}" for time in marker_folders(table) if time in plan.removed | ended]
    read_properties(table.storage)
    if table.storage.stat(PROPERTIES_BACKUP) is not None:
        findings.append(PROPERTIES_BACKUP)
    written_since = any(entry.time > restore for entry in timeline.writes())
    if not written_since and metadata_table_in_use(table):
        findings.append("the metadata table is back")
    if findings:
        raise Incomplete(
            f"the restore is published, but not all is as it should be: {', '.join(findings[:_NAMED])}",
            hint="`hudictl table show` tells what is unfinished",
            findings=findings,
        )
