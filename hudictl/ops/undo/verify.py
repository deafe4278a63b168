"""The barrier before instants go: a second listing proves what was deleted, marked and kept."""

from collections.abc import Mapping, Sequence

from hudictl import workers
from hudictl.errors import Incomplete
from hudictl.ops.session import Kind, Session
from hudictl.ops.undo.blocks import marked_slices
from hudictl.ops.undo.plan import Removal, block_tasks
from hudictl.phrases import first_few
from hudictl.table.file_view import StoredFile, Sweep, sweep, values


def verify_data(session: Session, removals: Sequence[Removal], needed: Mapping[str, StoredFile], kind: Kind) -> None:
    """The barrier before pending instants go: a second listing proves every deletion, every block, every needed file.

    A file that outlived its instant would come back as rows once the archive passes it.

    Raises:
        Incomplete: naming what is wrong; the operation stays pending.
    """
    partitions = {file.partition for file in needed.values()}
    named = partitions | {file.partition for removal in removals for file in removal.files}
    found = sweep(session.table, session.engine, named, sync=True)
    removed = {removal.time: removal for removal in removals}
    left = [file.path for file in found.files if file.data.instant in removed and removed[file.data.instant].owns(file)]
    sizes = {file.path: file.size for file in found.files}
    lost = [path for path, file in needed.items() if sizes.get(path) != file.size]
    bare = sorted(partitions - found.partitions)
    unmarked = _without_block(session, removals, found)
    for findings, what in (
        (left, "files of removed instants are still there"),
        (unmarked, "file slices have no rollback block"),
        (lost, "files that the table needs are gone or changed"),
        (bare, "partitions have no metafile"),
    ):
        if findings:
            raise Incomplete(
                f"{len(findings)} {what}: {first_few(findings)}; the {kind.value} stays pending",
                hint="stop all writers, then `hudictl resume`",
                findings=findings,
            )


def _without_block(session: Session, removals: Sequence[Removal], found: Sweep) -> list[str]:
    targets = ((removal.time, block) for removal in removals for block in removal.blocks)
    tasks = block_tasks(session.table.storage, marked_slices(targets, found.files))
    results = values(session.engine.map("read rollback blocks", workers.find_rollback_blocks, tasks), "read blocks")
    return [
        f"{task.partition}/{task.file_id} at {target}"
        for task, blocks in zip(tasks, results, strict=True)
        for target in task.targets
        if target not in blocks
    ]
