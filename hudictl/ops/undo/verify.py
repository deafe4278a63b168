"""Whether a table is in the state that a plan describes: tested on the planned listing before any change, and on a real
listing afterwards."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from hudictl import workers
from hudictl.errors import Incomplete, Refused
from hudictl.formats.file_names import WRITE_TOKEN, next_log_name, parse_data_file
from hudictl.ops.session import Kind, Session
from hudictl.ops.undo.blocks import marked_slices
from hudictl.ops.undo.plan import KeptRow, MarkedSlice, Removal, block_tasks
from hudictl.phrases import first_few
from hudictl.state.needed import Case, Outcome, judge_table
from hudictl.table.file_view import StoredFile, Sweep, sweep, values

Files = Mapping[str, StoredFile]
"""The files that readers require when the work is done, by path."""


def refuse_wrong_outcome(
    case: Case, outcome: Outcome, removals: Sequence[Removal], marked: Sequence[MarkedSlice], found: Sweep
) -> None:
    """Judges the future listing: without the files to delete, with the blocks and the metafiles to create.

    Raises Refused: it is not the state that the plan describes; nothing was changed.
    """
    # By the identity of the objects: comparing paths would take longer than everything else here.
    going = {id(file) for removal in removals for file in removal.files}
    files = (*(file for file in found.files if id(file) not in going), *_blocks(marked))
    planned = replace(found, files=files, partitions=found.partitions.union(outcome.bare))
    kept = {file.path for file in outcome.unproved}
    for findings, what in _deviations(case, outcome.files, marked, planned, kept):
        raise Refused(
            "the plan contradicts itself, and nothing was changed; this would be wrong after its execution: "
            f"{len(findings):,} {what}: {first_few(findings)}",
            hint="the timeline and the data files contradict each other; choose another instant; `hudictl check` "
            "shows more",
            findings=findings,
        )


def verify_data(
    session: Session,
    removals: Sequence[Removal],
    case: Case,
    needed: Files | None,
    marked: Sequence[MarkedSlice],
    kept: Iterable[KeptRow],
    kind: Kind,
) -> Sweep:
    """The barrier before pending instants are removed: a second listing proves every deletion, every rollback block and
    every required file.

    If a file outlived its instant, readers would see its rows again once the archive has passed the instant.

    Args:
        needed: None if writers may work at the same time: then the required files may change.
        kept: the files that the plan keeps although their names contain a removed instant.

    Returns:
        The second listing.

    Raises:
        Incomplete: the message names the deviation; the operation is still pending.
    """
    found = sweep(session.table, session.engine, case.named, sync=True)
    unmarked = _without_block(session, removals, found)
    wrong = [(unmarked, "file slices have no rollback block")] if unmarked else []
    known = {row.path for row in kept}
    for findings, what in (*_deviations(case, needed, marked, found, known), *wrong):
        raise Incomplete(
            f"{len(findings):,} {what}: {first_few(findings)}; the {kind.value} is still pending",
            hint="stop all writers, then run `hudictl resume`",
            findings=findings,
        )
    return found


def _deviations(
    case: Case, needed: Files | None, marked: Iterable[MarkedSlice], found: Sweep, kept: Collection[str]
) -> Iterator[tuple[list[str], str]]:
    """The deviations of a listing from the plan: the names, and what is wrong with them."""
    outcome = judge_table(case, found)
    left = [file.path for files in outcome.removed.values() for file in files]
    if left:
        yield left, "files of removed instants still exist"
    late = [file.path for file in outcome.unproved if file.path not in kept]
    if late:
        yield late, "files of removed instants have appeared since planning"
    if needed is None:
        return
    stored = outcome.files
    lost = [path for path, file in needed.items() if path not in stored or stored[path].size != file.size]
    if lost:
        yield lost, "required files are missing or changed"
    blocks = {(entry.partition, entry.file_id, entry.base_instant) for entry in marked}
    others = [file for path, file in stored.items() if path not in needed]
    strange = [file.path for file in others if file.data.is_base or (*file.group, file.data.instant) not in blocks]
    if strange:
        yield strange, "files of the newest file slices are not in the plan"
    if outcome.bare:
        yield list(outcome.bare), "partitions have no metafile"


def _blocks(marked: Iterable[MarkedSlice]) -> Iterator[StoredFile]:
    """The logs that will hold rollback blocks; their size does not matter."""
    for entry in marked:
        logs = (name for name, _ in entry.logs)
        data = parse_data_file(next_log_name(logs, entry.file_id, entry.base_instant, WRITE_TOKEN))
        if data is not None:
            yield StoredFile(entry.partition, data, 1)


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
