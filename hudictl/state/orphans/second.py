"""The second base file of one file slice: two tasks, or two writers, had the same instant and file group.

Which one goes is proved twice. The commit names exactly one of them. And nothing requires the other one: no savepoint,
pending plan, other commit or metadata table names it, and the rows of the one that stays can all be read.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from hudictl.engine.base import Engine, values
from hudictl.errors import HudictlError
from hudictl.index_workers import File, Tried
from hudictl.phrases import count_of
from hudictl.record_workers import TwinTask, compare_twins
from hudictl.state.facts import Facts
from hudictl.state.files.named import read_named
from hudictl.state.orphans.find import Orphan
from hudictl.table.files.choose import listed_ones
from hudictl.table.files.slices import StoredFile, base_groups, base_instant, names_by_partition, stored
from hudictl.table.files.sweep import Partition


def several_bases(place: Partition[object]) -> list[list[StoredFile]] | None:
    """The base files of each slice that has several. The engine runs this where they are listed."""
    found = []
    for _, entries in base_groups(place.listing):
        slices: dict[str, list[StoredFile]] = defaultdict(list)
        for entry in entries:
            slices[base_instant(entry)].append(stored(place.path, entry))
        found += [files for files in slices.values() if len(files) > 1]
    return found or None


def second_files(facts: Facts) -> list[Orphan]:
    """The base files in slices with several, but for those that stay, by path: sure if the records prove it. Their
    contents are not read. Raises Unreadable: a savepoint, or a pending plan; StorageFailed, EngineFailed."""
    slices = [files for some in facts.sweep.over("look for second base files", several_bases) for files in some]
    found = [orphan for files in slices for orphan in _of_slice(facts, files)]
    if not found:
        return []
    files = [orphan.file for orphan in found]
    named = read_named(facts.table, facts.timeline, facts.written, files).files
    listed = facts.known.listing.files if facts.known.listing is not None else None
    names = names_by_partition(files).items()
    in_index = facts.sweep.over("look for listed files", listed_ones, listed=listed, given=names) if listed else ()
    by = {path: "the metadata table" for paths in in_index for path in paths} | dict(named)
    judged = (
        orphan.left(f"but {by[orphan.file.path]} names it") if orphan.sure and orphan.file.path in by else orphan
        for orphan in found
    )
    return sorted(judged, key=lambda orphan: orphan.file.path)


def find_second(facts: Facts, engine: Engine) -> list[Orphan]:
    """The same; of those that are sure the rows are compared. Raises as ``second_files``."""
    found = second_files(facts)
    sure = [orphan for orphan in found if orphan.sure and orphan.instead is not None]
    tasks = [
        TwinTask(facts.table.storage, _file(orphan.instead), _file(orphan.file)) for orphan in sure if orphan.instead
    ]
    compared = values(engine.map("compare rows", Tried(compare_twins), tasks), "read")
    told = {orphan.file: _compared(orphan, result) for orphan, result in zip(sure, compared, strict=True)}
    return [told.get(orphan.file, orphan) for orphan in found]


def _of_slice(facts: Facts, files: Sequence[StoredFile]) -> Iterator[Orphan]:
    time = files[0].data.instant
    completed = {entry.time for entry in facts.timeline.completed_writes()}
    stats = facts.commits[time].stats.values() if time in completed else ()
    sizes = {stat.path: stat.file_bytes for some in stats for stat in some}
    right = [file for file in files if file.path in sizes]
    if len(right) == 1 and sizes[right[0].path] in (0, right[0].size):
        why = f"the commit {time} names {right[0].data.name} in its place"
        others = (file for file in files if file != right[0])
        yield from (Orphan(file, why, True, False, True, unnamed=True, instead=right[0]) for file in others)
        return
    if time not in completed:
        why = f"the instant {time} is not completed on the timeline: no commit says which file of its slice is right"
    elif len(right) == 1:
        why = f"the commit {time} names {right[0].data.name} with another size than it has"
    else:
        why = f"the commit {time} names {len(right) or 'none'} of the {len(files)} base files of its slice"
    kept = (file for file in files if len(right) != 1 or file != right[0])
    yield from (Orphan(file, why, sure=False, beyond=False, visible=True) for file in kept)


def _compared(orphan: Orphan, result: "tuple[int, int] | HudictlError") -> Orphan:
    """What the rows say of a file that the records prove to be the second one."""
    if isinstance(result, HudictlError):
        return orphan.left(f"but the rows of both cannot be compared: {result.message}")
    rows, alone = result
    if rows < 0:
        return orphan.because("its rows cannot be read")
    same = f"which has the same {count_of(rows, 'row')}"
    other = f"which does not have {alone:,} of its {count_of(rows, 'row')}; readers use the file that is listed last"
    return orphan.because(other if alone else same)


def _file(file: StoredFile) -> File:
    return File(file.path, file.size or 0)
