"""Files that a person wants to delete by their paths: that a person is sure is one of the two reasons.

The other one is found here: its instant is on no timeline; or its commit, which is complete, does not name it; or it
has not the name of a file of Hudi. What something requires is not deleted, whoever is sure.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain

from hudictl.engine.base import Engine
from hudictl.errors import NotFound, Refused, Unreadable
from hudictl.formats.file_names import parse_data_file, read_as
from hudictl.formats.parquet_footers import read_footer
from hudictl.phrases import count_of
from hudictl.state.facts import Facts
from hudictl.state.files.named import read_named
from hudictl.state.orphans.find import Orphan, find_orphans
from hudictl.table.files import choose
from hudictl.table.files.slices import Group, StoredFile


def foreign_files(facts: Facts) -> list[StoredFile]:
    """The files in partitions that look like base files, and do not have the name of one. Raises StorageFailed,
    EngineFailed."""
    look = partial(choose.foreign, f".{facts.table.base_file_format.lower()}")
    found = facts.sweep.over("look for foreign files", look)
    return sorted(chain.from_iterable(found), key=lambda file: file.path)


def read_files(facts: Facts, files: Collection[StoredFile]) -> frozenset[str]:
    """The paths of those of some foreign files whose rows readers see that list folders: by its name it is of a commit,
    or older than the timeline, and its file group has nothing newer."""
    completed = {entry.time for entry in facts.timeline.completed_writes()}
    start = min((entry.time for entry in facts.timeline.writes()), default="")
    instants = {file: read_as(file.data.name) for file in files}
    committed = {
        file: time for file, time in instants.items() if time is not None and (time in completed or time < start)
    }
    groups = {file: (file.partition, file.data.name.partition("_")[0]) for file in committed}
    newest: dict[Group, str] = {}
    for stored in facts.sweep.of_groups(groups.values()):
        newest[stored.group] = max(stored.data.instant, newest.get(stored.group, ""))
    return frozenset(file.path for file, time in committed.items() if newest.get(groups[file], "") <= time)


def find_asked(facts: Facts, engine: Engine, paths: Collection[str]) -> list[Orphan]:
    """The files at some paths (or URIs below the table), each one sure, by path.

    Raises:
        NotFound: there is no such file.
        Refused: a file is part of the table, or something requires it.
        Unreadable, StorageFailed, EngineFailed.
    """
    wanted = frozenset(path.removeprefix(f"{facts.table.uri}/") for path in paths)
    found = {orphan.file.path: orphan for orphan in find_orphans(facts, engine, wanted)}
    stored = {file.path: file for file in _stored(facts, wanted - found.keys())}
    others = [*_unnamed(facts, stored.values()), *_foreign(facts, wanted)]
    named = read_named(facts.table, facts.timeline, facts.written, [orphan.file for orphan in others]).files
    found |= {orphan.file.path: orphan for orphan in others}
    for path in sorted(wanted):
        if path in named:
            raise Refused(f"{path} cannot be deleted: {named[path]} names it", file=path)
        if path in stored and path not in found:
            raise Refused(f"{path} belongs to the instant {stored[path].data.instant}", file=path)
        if path not in found:
            hint = "give its path below the table; leave out what an earlier run has deleted"
            raise NotFound(f"there is no data file {path} in the table's partitions", hint=hint)
        if not found[path].sure:
            raise Refused(f"{path} cannot be deleted: {found[path].why}", file=path)
    return [found[path] for path in sorted(wanted)]


def _stored(facts: Facts, paths: Collection[str]) -> list[StoredFile]:
    parsed = ((path.rpartition("/")[0], parse_data_file(path.rpartition("/")[2])) for path in paths)
    groups = {(partition, data.file_id) for partition, data in parsed if data is not None}
    return [file for file in facts.sweep.of_groups(groups) if file.path in paths]


def _unnamed(facts: Facts, files: Collection[StoredFile]) -> Iterator[Orphan]:
    """Base files of completed commits that nothing names. A commit without statistics proves nothing."""
    completed = {entry.time for entry in facts.timeline.completed_writes()}
    for file in files:
        time = file.data.instant
        if file.data.is_base and time in completed and facts.commits[time].stats:
            why = f"the commit {time} does not name it, and its path was given"
            yield Orphan(file, why, sure=True, beyond=False, visible=True, unnamed=True)


def _foreign(facts: Facts, wanted: Collection[str]) -> Iterator[Orphan]:
    files = [file for file in foreign_files(facts) if file.path in wanted]
    read = read_files(facts, files)
    for file in files:
        rows = None
        with suppress(Unreadable):
            rows = read_footer(partial(facts.table.storage.read, file.path), file.size or 0).num_rows
        what = "" if rows is None else f" with {count_of(rows, 'row')}"
        why = f"not a file of Hudi{what}, and its path was given"
        yield Orphan(file, why, sure=True, beyond=False, visible=file.path in read)
