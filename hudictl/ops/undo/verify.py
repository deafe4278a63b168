"""Whether a table is in the state that a plan describes: tested on the planned listing before any change, and on a real
listing afterwards."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from hudictl import workers
from hudictl.engine.base import values
from hudictl.errors import Incomplete, Refused
from hudictl.formats.file_names import WRITE_TOKEN, next_log_name, parse_data_file
from hudictl.ops.session import Kind, Session
from hudictl.ops.undo.blocks import marked_slices
from hudictl.ops.undo.plan import MarkedSlice, Removal, Undo, block_tasks
from hudictl.phrases import first_few
from hudictl.state.files.changes import Future, Needed
from hudictl.state.files.needed import Case, Outcome, outcome_of, weigh_table
from hudictl.table.files.hashing import hashing_files
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.sweep import Sweep, sweep


def refuse_wrong_outcome(
    case: Case, outcome: Outcome, removals: Sequence[Removal], marked: Sequence[MarkedSlice], found: Sweep
) -> None:
    """Judges the future of the partitions that change: without the files to delete, with the blocks to write.

    Raises Refused: it is not the state that the plan describes; nothing was changed.
    """
    futures = _futures(removals, marked, written=False)
    kept = {file.path for file in outcome.unproved}
    needed = {path: entry for path, entry in outcome.needed.items() if path in futures}
    later = outcome_of(weigh_table(case, found, futures=futures, only_futures=True)) if futures else Outcome()
    forgotten = [file.path for files in outcome.removed.values() for file in files if file.partition not in futures]
    wrong = [(forgotten, "files of removed instants still exist")] if forgotten else []
    for findings, what in (*wrong, *_deviations(later, needed, outcome.missing, kept)):
        raise Refused(
            "the plan contradicts itself, and nothing was changed; this would be wrong after its execution: "
            f"{len(findings):,} {what}: {first_few(findings)}",
            hint="the timeline and the data files contradict each other; choose another instant; `hudictl check` "
            "shows more",
            findings=findings,
        )


def verify_data(session: Session, undo: Undo, kind: Kind) -> Sweep:
    """The barrier before pending instants are removed: a second listing proves every deletion, every rollback block and
    every required file.

    If a file outlived its instant, readers would see its rows again once the archive has passed the instant.

    Returns:
        The second listing.

    Raises:
        Incomplete: the message names the deviation; the operation is still pending.
    """
    case = undo.case
    found = sweep(session.table, session.engine, case.named, within=case.within, sync=True)
    unmarked = _without_block(session, undo.removals, found)
    wrong = [(unmarked, "file slices have no rollback block")] if unmarked else []
    known = {row.path for row in undo.files_kept}
    outcome = outcome_of(weigh_table(case, found, futures=_futures((), undo.marked, written=True)))
    wrong += _deviations(outcome, undo.needed, undo.files_lost, known)
    if undo.needed is not None and outcome.bare:
        wrong.append((list(outcome.bare), "partitions have no metafile"))
    for findings, what in wrong:
        raise Incomplete(
            f"{len(findings):,} {what}: {first_few(findings)}; the {kind.value} is still pending",
            hint="stop all writers, then run `hudictl resume`",
            findings=findings,
        )
    return found


def verify_hashing(session: Session, times: Collection[str], kind: Kind) -> None:
    """A second listing proves that no hashing metadata of removed instants is left: by it, writers would write into
    buckets that no longer exist, and store keys twice. Raises Incomplete; the operation is then still pending."""
    there = [file.path for file in hashing_files(session.table, session.engine, times)]
    if there:
        raise Incomplete(
            f"{len(there):,} hashing metadata files of removed instants still exist: {first_few(there)}; "
            f"the {kind.value} is still pending",
            hint="stop all writers, then run `hudictl resume`",
            findings=there,
        )


def _deviations(
    outcome: Outcome, needed: Mapping[str, Needed] | None, missing: Collection[str], kept: Collection[str]
) -> Iterator[tuple[list[str], str]]:
    """The deviations of an outcome from the plan: the names, and what is wrong with them."""
    left = [file.path for files in outcome.removed.values() for file in files]
    if left:
        yield left, "files of removed instants still exist"
    late = [file.path for file in outcome.unproved if file.path not in kept]
    if late:
        yield late, "files of removed instants have appeared since planning"
    if needed is None:
        return
    paths = sorted({*needed, *outcome.needed})
    changed = [path for path in paths if needed.get(path) != outcome.needed.get(path)]
    # A record can name a file; of others, only the digest of their partition shows that they are missing.
    lost = {path for path in outcome.missing if path.rpartition("/")[0] in changed}.difference(missing)
    if lost:
        yield sorted(lost), "required files are missing, empty or damaged"
    if changed:
        yield [path or "." for path in changed], "partitions do not have the required files of the plan"


def _futures(removals: Iterable[Removal], marked: Iterable[MarkedSlice], *, written: bool) -> dict[str, Future]:
    """What changes in each partition, or has changed. The size of the logs that will hold rollback blocks does not
    matter.

    Args:
        written: whether these logs exist already.
    """
    going: dict[str, set[str]] = defaultdict(set)
    blocks: dict[str, list[StoredFile]] = defaultdict(list)
    slices: dict[str, dict[tuple[str, str], frozenset[str]]] = defaultdict(dict)
    for removal in removals:
        for file in removal.files:
            going[file.partition].add(file.data.name)
    for entry in marked:
        names = [name for name, _ in entry.logs]
        slices[entry.partition][entry.file_id, entry.base_instant] = frozenset(names)
        data = parse_data_file(next_log_name(names, entry.file_id, entry.base_instant, WRITE_TOKEN))
        if data is not None and not written:
            blocks[entry.partition].append(StoredFile(entry.partition, data, 1))
    return {
        path: Future(frozenset(going[path]), tuple(blocks[path]), slices[path]) for path in sorted({*going, *slices})
    }


def _without_block(session: Session, removals: Sequence[Removal], found: Sweep) -> list[str]:
    targets = ((removal.time, block) for removal in removals for block in removal.blocks)
    tasks = block_tasks(session.table.storage, marked_slices(targets, found))
    results = values(session.engine.map("read rollback blocks", workers.find_rollback_blocks, tasks), "read blocks")
    return [
        f"{task.partition}/{task.file_id} at {target}"
        for task, blocks in zip(tasks, results, strict=True)
        for target in task.targets
        if target not in blocks
    ]
