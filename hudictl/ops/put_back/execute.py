"""Executing an undo, in this order: no writer begins, no reader sees a half, and every step can be done again.

A pending restore keeps writers out (``begun``). Then all comes back that readers do not see yet: data files, markers,
and the metadata table while it is out of use. Then the instants, oldest first; then the properties, by which readers
use the metadata table; then data files that it alone may hide; and last the operation's own instant goes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from hudictl import workers
from hudictl.engine.base import values
from hudictl.errors import Conflict, Incomplete
from hudictl.formats.file_names import PARTITION_METAFILE, data_path
from hudictl.formats.instants import RESTORE, ROLLBACK, State, time_in_name
from hudictl.formats.layouts import META, METADATA_TABLE, OWN, PARTITION_KEYS, PROPERTIES, PROPERTIES_BACKUP
from hudictl.ops.put_back.begun import (
    forget_aside,
    is_shown,
    keep_writers_out,
    let_writers_in,
    note_shown,
    request_of_undo,
    set_aside,
)
from hudictl.ops.put_back.planning import (
    UndoPlan,
    check,
    completed_again,
    data_of,
    no_version_gone,
    nothing_in_the_way,
    required_room,
    timeline_again,
    to_be_back,
)
from hudictl.ops.session import Begun, Kind, Session, change_on_engine, changing
from hudictl.ops.undo.execute import remove_traces
from hudictl.ops.undo.instants import create_metafile
from hudictl.ops.writers_out import settle
from hudictl.phrases import command_of, count_of, first_few
from hudictl.state.as_left import changes_metadata_table, on_timeline
from hudictl.state.facts import signs_of_damaged
from hudictl.storage import ODD, DeleteOutcome, Folders, delete_all
from hudictl.storage.keeping import kept_path, put_back
from hudictl.table.archive_lost import forget_loss
from hudictl.table.files.sweep import sweep
from hudictl.table.kept import (
    UNDONE,
    Contents,
    Room,
    begin_undo,
    contents_of,
    drop_room,
    keeping,
    of_metadata_table,
    state_of,
    timeline_path,
    to_come_back,
)
from hudictl.table.locks.hold import Hold
from hudictl.table.metadata.aside import keeping_none
from hudictl.table.metadata.listing import read_known
from hudictl.table.metadata.place import listed_partitions
from hudictl.table.properties import update_properties
from hudictl.table.table import Table
from hudictl.table.timeline.active import delete_instant, delete_instant_files, load_timeline

_PROPERTIES = (PROPERTIES, PROPERTIES_BACKUP)
_MAY_BE_HIDDEN = (Kind.ROLLBACK.value, Kind.ORPHANS_DELETE.value)
"""The operations that delete files of writes that never completed."""


@dataclass(frozen=True)
class UndoResult:
    """What an undo has put back: see ``UndoPlan``."""

    undone: str
    instants: tuple[str, ...]
    files: int
    bytes: int
    files_removed: int


def execute_undo(session: Session, plan: UndoPlan, idle_ms: int) -> UndoResult:
    """Puts all back as it was before the operation; the same command again does the rest.

    Raises:
        Refused, Conflict: the table has changed since the operation, or since planning.
        Incomplete: not all is as it was; what is kept stays.
        Unsupported, Unreadable, StorageFailed, EngineFailed, Interrupted.
    """
    look, work = partial(_look_again, session, plan, idle_ms), partial(_put_back, session, plan, idle_ms)
    return changing(session, Kind.UNDO, plan.undoes, plan.summary, look=look, work=work)


Sizes = Mapping[str, Mapping[str, int]]
"""Data files: by partition, the names with their sizes in bytes."""


def _look_again(session: Session, plan: UndoPlan, idle_ms: int) -> tuple[Contents, Sizes]:
    table, signs = session.table, signs_of_damaged(session.table)
    room = required_room(table, plan.undoes)
    contents = contents_of(table, room)
    if room != plan.room or contents.kept.keys() != plan.contents.kept.keys():
        raise Conflict(f"what is kept of {plan.undoes} has changed since planning", hint="run the command again")
    check(session, signs, room, contents, idle_ms)
    nothing_in_the_way(session, room, data_of(contents.kept))
    no_version_gone(session, room, contents)
    return contents, to_be_back(session, signs, room, contents)


def _put_back(session: Session, plan: UndoPlan, idle_ms: int, run: Begun[tuple[Contents, Sizes]]) -> UndoResult:
    table, room, (contents, data) = session.table, plan.room, run.found

    def enter(step: str, contents: Contents) -> None:
        session.monitor.step(step)
        run.held.check()
        check(session, signs_of_damaged(table), room, contents, idle_ms)

    begin_undo(table, room, data)
    data = to_come_back(table, room) or data
    keep_writers_out(table, room)
    contents = contents_of(table, room)
    _make_pending(session, room)
    if not is_shown(table, room):
        _disarm(session, room, contents)
        contents = contents_of(table, room)
    settle()
    # Of a write that never completed, or of none: if it is older than the first commit, readers that list folders see
    # its rows. Only the metadata table hides them.
    late = plan.of in _MAY_BE_HIDDEN and not plan.instants

    # Not again: the metadata table would be taken out of use once more.
    if not is_shown(table, room):
        contents = _show_again(session, run.held, room, contents, enter, None if late else data)
        note_shown(table, room)
    if late:
        contents = contents_of(table, room)
        enter("put files back", contents)
        delete_all(table.storage, _made_data(contents))
        _put_data(session, run.held, room, contents)
    # Not before readers use the metadata table, which alone knows these partitions.
    delete_all(table.storage, sorted(filter(_is_metafile, contents.made)))
    _remove_own(session, room)
    _forget(session, room)
    # Not before the files: with these their sidecars would go.
    for path in contents.sidecars:
        table.storage.copy_file(kept_path(room.folder, path), path)
    _verify(session, room, contents, data)
    let_writers_in(table, plan.undoes)
    forget_loss(table, plan.undoes)
    drop_room(table, plan.undoes, UNDONE)
    return UndoResult(plan.undoes, plan.instants, plan.files, plan.bytes, len(plan.files_removed))


def _show_again(
    session: Session,
    held: Hold,
    room: Room,
    contents: Contents,
    enter: Callable[[str, Contents], None],
    data: Sizes | None,
) -> Contents:
    """Brings timeline, metadata table and properties back; before them the ``data`` that readers then look for, None if
    they look for none. Returns what the room has now."""
    table = session.table
    enter("put files back", contents)
    hidden = [path for path in contents.kept if not _is_shown(session, path)]
    parts = {_part_of(path) for path in (*contents.kept, *contents.made) if of_metadata_table(path)}
    # The undo of a repair may have brought damaged properties back already.
    if parts and (listed := listed_partitions(table)) and not parts.isdisjoint({META, *listed}):
        # What it keeps of the properties is what they were before the operation, or are now.
        kept = keeping(table, room)
        _make_metafiles(session, kept, room)
        update_properties(kept.storage, dict.fromkeys(PARTITION_KEYS, ""))
        contents = contents_of(table, room)
    hidden_made = (path for path in contents.made if path.startswith(f"{META}/") and not _is_shown(session, path))
    delete_all(table.storage, sorted(hidden_made))
    _put(session, room, contents, [path for path in hidden if path.startswith(f"{META}/")])
    if data is not None:
        set_aside(table, room, _made_data(contents))
        _put_data(session, held, room, contents)
        # Also those that an earlier attempt has put back: readers must not see an instant without its files.
        _refuse_wrong(room, _not_back(session, data))

    enter("publish instants again", contents)
    own = (*(timeline_path(table, time) for time in room.times), *request_of_undo(table, room.times[0]))
    made = sorted(path for path in contents.made if on_timeline(table, path) and not path.startswith(own))
    for path in timeline_again(table, contents):
        _put(session, room, contents, [path])
    delete_all(table.storage, made)
    forget_aside(table, room)

    enter("put the properties back", contents)
    _put(session, room, contents, [path for path in _PROPERTIES if path in contents.kept])
    delete_all(table.storage, [path for path in _PROPERTIES if path in contents.made])
    return contents


def _disarm(session: Session, room: Room, contents: Contents) -> None:
    """A writer that cleans eagerly executes the operation's pending rollbacks, and rolls back what it has un-published,
    before it notices the restore that keeps it out (Hudi 0.15.0 to 1.2.0). So nothing of these commits is pending any
    more, until they are completed again."""
    table, timeline = session.table, load_timeline(session.table)
    again = {*completed_again(table, contents)}
    for entry in timeline.having(ROLLBACK):
        paths = [timeline_path(table, file.name) for file in reversed(entry.files)]
        if entry.pending and contents.made.issuperset(paths):
            set_aside(table, room, paths)
    for entry in timeline.writes():
        if entry.pending and entry.time in again:
            delete_instant(keeping(table, room), entry)


def _made_data(contents: Contents) -> list[str]:
    """What the operation has created among the data files: logs with rollback blocks."""
    return sorted(path for path in contents.made if not path.startswith(f"{META}/") and not _is_metafile(path))


def _make_pending(session: Session, room: Room) -> None:
    """Makes a completed restore pending again."""
    table = session.table
    timeline = load_timeline(table)
    for time in room.times:
        restore = timeline.find(time, RESTORE)
        file = restore.file(State.COMPLETED) if restore is not None else None
        if file is not None:
            delete_instant_files(table, [file])


def _remove_own(session: Session, room: Room) -> None:
    """Removes the operation from the timeline; of one that another program had begun, what was added to it."""
    table, before = session.table, {seen.path for seen in room.before}
    timeline = load_timeline(table)
    for time in room.times:
        own = timeline.find(time, RESTORE, ROLLBACK)
        files = reversed(own.files if own is not None else ())
        delete_instant_files(table, [file for file in files if timeline_path(table, file.name) not in before])


def _is_shown(session: Session, path: str) -> bool:
    """Whether readers and writers see something else as soon as the file is there or not."""
    return path in _PROPERTIES or on_timeline(session.table, path)


def _make_metafiles(session: Session, kept: Table, room: Room) -> None:
    """Metafiles of the partitions that only the metadata table lists: without it readers find them by these. Raises
    Unreadable, StorageFailed, EngineFailed."""
    known = read_known(session.table, session.engine)
    filled = known.listing.filled if known.listing is not None else frozenset()
    found = sweep(session.table, session.engine, filled) if filled else None
    for partition in sorted(filled - found.partitions) if found is not None else ():
        create_metafile(kept, partition, room.times[0])


def _part_of(path: str) -> str:
    """The partition of a file of the metadata table. Its timeline is as one."""
    return path.removeprefix(f"{METADATA_TABLE}/").partition("/")[0]


def _is_metafile(path: str) -> bool:
    """Whether listings find a partition by this file."""
    return path.rpartition("/")[2] == PARTITION_METAFILE and not path.startswith(f"{META}/")


def _put(session: Session, room: Room, contents: Contents, paths: Iterable[str]) -> None:
    """Puts files back, each over what is there. Raises Incomplete, StorageFailed."""
    files = [contents.versions.get(path, path) for path in paths]
    _refuse_failed(put_back(session.table.storage, room.folder, files), room)


def _put_data(session: Session, held: Hold, room: Room, contents: Contents) -> None:
    """Puts data files back, on the engine. Raises Conflict, Incomplete, StorageFailed, EngineFailed."""
    storage = session.table.storage
    paths = sorted(path for path in contents.kept if not path.startswith(f"{META}/"))
    size = storage.delete_batch
    files = [contents.versions.get(path, path) for path in paths]
    batches = [files[start : start + size] for start in range(0, len(files), size)]
    put = partial(put_back, storage, room.folder)
    for outcomes in change_on_engine(session, held, "put files back", put, batches, len(batches)):
        _refuse_failed(outcomes, room)


def _refuse_failed(outcomes: Sequence[DeleteOutcome], room: Room) -> None:
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    if failed:
        raise Incomplete(
            f"{count_of(len(failed), 'file')} could not be put back, for example {failed[0].path}: {failed[0].error}",
            hint=f"fix the cause, then run `{command_of('undo', room.times[0])}` again",
            failed=[outcome.path for outcome in failed],
        )


def _forget(session: Session, room: Room) -> None:
    """Deletes what the operation has left in hudictl's own folder, and its heartbeats."""
    table = session.table
    # What another program had begun has its traces back already.
    before = [seen.path for seen in room.before if on_timeline(table, seen.path)]
    begun = {time_in_name(path.rpartition("/")[2]) for path in before}
    remove_traces(table, set(room.times) - begun)
    for time in room.times:
        aside = keeping_none(time)
        names = (f"{aside.folder}.json", aside.files, aside.dropped_files, f"{OWN}/restore-{time}")
        delete_all(table.storage, names)


def _verify(session: Session, room: Room, contents: Contents, data: Sizes) -> None:
    """Raises Incomplete: something is not as it was before the operation."""
    table = session.table
    keeps_times = isinstance(table.storage, Folders)
    before, now = (
        {(seen.path, seen.size, seen.modified_ms if keeps_times else 0) for seen in found}
        for found in (room.before, state_of(table))
    )
    wrong = sorted({path for path, _, _ in before ^ now}.difference(request_of_undo(table, room.times[0])))
    if not changes_metadata_table(room, contents):
        wrong = [path for path in wrong if not of_metadata_table(path)]
    _refuse_wrong(room, [*wrong, *_not_back(session, data)])


def _not_back(session: Session, data: Sizes) -> list[str]:
    """The data files that are not there, or have another size. That of a link is the size of what it points to. Raises
    StorageFailed, EngineFailed."""
    compare = partial(workers.compare_sizes, session.table.storage)
    compared = values(session.engine.map("verify", compare, [*data.items()]), "verify")
    links = {data_path(partition, name) for partition in data for name, size in data[partition].items() if size == ODD}
    return [
        path for found in compared for path in (*found.absent, *(path for path in found.other if path not in links))
    ]


def _refuse_wrong(room: Room, wrong: Sequence[str]) -> None:
    """Raises Incomplete: there are such files."""
    if wrong:
        time = room.times[0]
        raise Incomplete(
            f"{count_of(len(wrong), 'file')} not as before the {room.operation}: {first_few(wrong)}",
            hint="`hudictl check` shows whether the table is whole; bring these files back and run "
            f"`{command_of('undo', time)}` again, or `{command_of('undo drop', time)}` drops what is left of the kept "
            "files",
            files=wrong,
        )
