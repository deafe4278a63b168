"""What is inside the files that readers require: the ends of base files, and each block of the logs, on the engine."""

from collections.abc import Collection
from functools import partial
from itertools import chain

from hudictl import workers
from hudictl.engine.base import Engine, values
from hudictl.formats.base_files import has_known_end
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.log_checks import (
    BAD_TRAILING_LENGTH,
    CORRUPT_BLOCK,
    TRUNCATED_TAIL,
    UNDECODABLE,
    Defect,
    fails_readers,
)
from hudictl.state.facts import Facts
from hudictl.state.files.needed import Case
from hudictl.state.files.savepoint_files import needed_names
from hudictl.table.files import choose
from hudictl.table.logs.scan import cut_logs

_FILES_A_TASK = 100
_GRAVE = frozenset({BAD_TRAILING_LENGTH, CORRUPT_BLOCK, TRUNCATED_TAIL, UNDECODABLE})


def damaged_contents(facts: Facts, engine: Engine, case: Case) -> dict[str, str]:
    """The required files that readers fail at, or of which they skip rows of committed writes (Hudi 0.15.0 to 1.2.0);
    by path, each with the problem. What a dead writer has torn is no damage: readers are to skip it.

    Raises StorageFailed, EngineFailed.
    """
    storage = facts.table.storage
    names = needed_names(facts, case).items()
    found = facts.sweep.over("look for required files", choose.states, given=names)
    sizes = {path: size for path, (size, _) in sorted(chain.from_iterable(found))}
    bases = [entry for entry in sizes.items() if has_known_end(entry[0])]
    parts = [bases[start : start + _FILES_A_TASK] for start in range(0, len(bases), _FILES_A_TASK)]
    read = partial(workers.damaged_footers, storage)
    footers = values(engine.map("read footers", read, parts), "read footers")
    damaged = dict(chain.from_iterable(footers))
    logs = [
        workers.PieceTask(storage, path, size, False, 0, size)
        for path, size in sizes.items()
        if not has_known_end(path)
    ]
    pieces = [piece for _, piece in cut_logs(engine, logs)]
    results = engine.map("read logs", workers.check_log, pieces)
    checked = [piece for piece in values(results, "read logs") if piece is not None]
    undone = {mention.target for piece in checked for mention in piece.mentions}
    first: dict[str, Defect] = {}
    for task, result in zip(pieces, results, strict=True):
        for defect in result.value.defects if result.value is not None else ():
            known = first.get(task.path)
            if _is_grave(facts, case, undone, task.path, defect) and (known is None or defect.offset < known.offset):
                first[task.path] = defect
    return damaged | {path: f"byte {defect.offset:,}: {defect.what}" for path, defect in first.items()}


def _is_grave(facts: Facts, case: Case, undone: Collection[str | None], path: str, defect: Defect) -> bool:
    """Whether readers fail, or lose rows of a committed write. Whose rows a torn block had is not always known."""
    if fails_readers(defect):
        return True
    if defect.defect not in _GRAVE:
        return False
    data = parse_data_file(path.rpartition("/")[2])
    named = data.instant if data is not None and facts.table.rules.logs_named_by_writer else None
    time = defect.instant or named
    return time is not None and time in case.view.committed and time not in undone
