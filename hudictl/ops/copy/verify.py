"""Whether a copy has the files that it should have, and no others: at its end, and where it is a table already."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import TypeVar

from hudictl.copy_workers import CopyTask, FolderTask, differing, folder_files, in_parts, wrong_files
from hudictl.engine.base import values
from hudictl.errors import Unreadable
from hudictl.formats import partition_metafile
from hudictl.formats.file_names import PARTITION_METAFILE, WRITE_TOKEN, data_path, next_log_name
from hudictl.formats.layouts import PROPERTIES
from hudictl.ops.copy.plan import CopyPlan
from hudictl.ops.session import Session
from hudictl.ops.undo.plan import block_tasks
from hudictl.storage import Storage
from hudictl.table.properties import read_properties
from hudictl.workers import lacking_blocks

Task = TypeVar("Task")
Value = TypeVar("Value")


def each(session: Session, label: str, function: Callable[[Task], Value], tasks: Sequence[Task]) -> list[Value]:
    """A step of a copy. Raises StorageFailed, EngineFailed, Interrupted."""
    session.monitor.step(label)
    session.monitor.check()
    return values(session.engine.map(label, function, tasks, session.monitor.counter(len(tasks))), label)


def copy_tasks(session: Session, plan: CopyPlan, target: Storage) -> list[CopyTask]:
    """What is copied, or compared."""
    source = session.table.storage
    parts = (part for folder in (*plan.meta, *plan.folders) for part in in_parts(folder))
    return [CopyTask(source, target, part, plan.resumes, plan.logs_grow) for part in parts]


def made_metafiles(plan: CopyPlan) -> list[tuple[str, bytes]]:
    """The metafiles that the table lacks, by partition."""
    now = datetime.now(timezone.utc)
    return [(path, partition_metafile.encode(path, plan.as_of, now)) for path in plan.bare]


def wrong_paths(session: Session, plan: CopyPlan, target: Storage, more: Iterable[tuple[str, str, int]]) -> list[str]:
    """Lists the copy: all files are there with their sizes, and no others. With ``checksum`` both are read. Returns the
    paths where that is not so. Raises StorageFailed, EngineFailed.

    Args:
        more: what the copy has beside the table's files, as partition, name and size.
    """
    added: dict[str, list[tuple[str, int]]] = {}
    for folder, name, size in dict.fromkeys(more):
        added.setdefault(folder, []).append((name, size))
    tasks = [
        FolderTask(target, folder_files(folder.folder, [*folder.entries, *added.get(folder.folder, ())]), alone)
        for folder in (*plan.folders, *plan.meta)
        for alone in [folder.folder != plan.archive]
    ]
    wrong = [path for found in each(session, "verify", wrong_files, tasks) for path in found]
    if not wrong and plan.checksum:
        pieces = copy_tasks(session, plan, target)
        wrong = [path for found in each(session, "compare contents", differing, pieces) for path in found]
    return wrong


def differences(session: Session, plan: CopyPlan, target: Storage) -> list[str]:
    """The same of a copy that is a table already, with its rollback blocks and properties: nothing is written."""
    tasks = block_tasks(target, plan.marked)
    own = {
        data_path(task.partition, next_log_name(dict(task.logs), task.file_id, task.base_instant, WRITE_TOKEN))
        for task in tasks
    }
    metafiles = [(path, PARTITION_METAFILE, len(body)) for path, body in made_metafiles(plan)]
    wrong = [path for path in wrong_paths(session, plan, target, metafiles) if path not in own]
    if not wrong:
        found = each(session, "verify rollback blocks", lacking_blocks, tasks)
        wrong = [path for paths in found for path in paths]
    if not wrong:
        properties: dict[str, str] = {}
        with suppress(Unreadable):
            properties = read_properties(target)
        wrong = [] if plan.properties.items() <= properties.items() else [PROPERTIES]
    return wrong
