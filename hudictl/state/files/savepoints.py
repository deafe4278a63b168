"""Savepoints: which files each protects, which ones are hudictl's own, and their tags."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from hudictl.engine.base import Engine
from hudictl.errors import Refused, Unreadable, Unsupported
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import COMMIT_ACTIONS, SAVEPOINT, Instant, InstantFile, State
from hudictl.formats.savepoint import SavepointMetadata, decode
from hudictl.formats.savepoint_names import Head, read_head
from hudictl.phrases import command_of
from hudictl.state.timeline.targets import what_it_may_be
from hudictl.table.files.saved import SavedFiles, gather_saved
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, read_instant

PROTECTION_COMMENT = "hudictl: protects the target of restore "
_COPY_COMMENT = "hudictl: protects the source of the copy to "
TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
"""Hudi's record has no place for a tag: it is in brackets at the beginning of the comment."""
_TAGGED = re.compile(rf"\[({TAG.pattern})\](?: |\Z)")


@dataclass(frozen=True)
class Saved:
    """A completed savepoint: who made it and why, and its files."""

    head: Head
    files: SavedFiles


def is_protection(head: Head | SavepointMetadata) -> bool:
    """Whether a savepoint is a temporary one of a restore of hudictl's."""
    return head.comment.startswith(PROTECTION_COMMENT)


def copy_comment(to: str) -> str:
    """The comment of the temporary savepoint of a copy to a URI: no other copy takes it for its own."""
    return f"{_COPY_COMMENT}{to}"


def copied_to(head: Head | SavepointMetadata) -> str:
    """The target of the copy whose temporary savepoint it is; "" for another savepoint."""
    return head.comment.removeprefix(_COPY_COMMENT) if head.comment.startswith(_COPY_COMMENT) else ""


def with_tag(tag: str, comment: str) -> str:
    """The comment of a savepoint with a tag, for example "[nightly] before the load"."""
    return f"[{tag}] {comment}".rstrip()


def tag_of(comment: str) -> str | None:
    """The tag in the comment of a savepoint, whoever wrote it."""
    match = _TAGGED.match(comment)
    return match[1] if match else None


def savepointed_files(table: Table, timeline: Timeline) -> dict[str, str]:
    """The paths of all files that savepoints name, with one such savepoint. Raises Unreadable."""
    found = savepointed_names(table, timeline)
    return {data_path(partition, name): time for time, partition, names in found for name in names}


def savepointed_partitions(table: Table, timeline: Timeline) -> set[str]:
    """The partitions with files in savepoints. Raises Unreadable."""
    return {partition for _, partition, names in savepointed_names(table, timeline) if names}


def savepointed_names(table: Table, timeline: Timeline) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Savepoint, partition path and file names, one savepoint after the other: a savepoint can name very many files.
    Raises Unreadable."""
    for instant in timeline.savepoints():
        file = instant.file(State.COMPLETED)
        if file is not None:
            metadata = decode(read_instant(table, file), file.name)
            yield from ((instant.time, partition, names) for partition, names in metadata.files.items())


def readable_savepoints(table: Table, timeline: Timeline, engine: Engine) -> Iterator[tuple[Instant, Saved]]:
    """The completed savepoints, without unreadable ones. Raises Conflict, StorageFailed, EngineFailed."""
    for instant in timeline.savepoints():
        saved = None
        with suppress(Unreadable):
            saved = read_saved(table, timeline, engine, instant.time)
        if saved is not None:
            yield instant, saved


def readable_partitions(table: Table, timeline: Timeline, engine: Engine) -> set[str]:
    """The partitions that these savepoints name."""
    return {path for _, saved in readable_savepoints(table, timeline, engine) for path in saved.files.partitions}


def read_saved(table: Table, timeline: Timeline, engine: Engine, time: str) -> Saved | None:
    """A completed savepoint, if there is one. Raises Unreadable, Conflict, StorageFailed, EngineFailed."""
    file = _completed(timeline, time)
    if file is None:
        return None
    files = gather_saved(table, file, timeline.sizes[file.name], engine)
    return Saved(_head(table, timeline, file), files)


def find_saved(table: Table, timeline: Timeline, engine: Engine, time: str) -> Saved:
    """A completed savepoint. Raises as ``find_savepoint`` and ``read_saved``."""
    return read_saved(table, timeline, engine, time) or _no_savepoint(table, timeline, time)


def find_savepoint(table: Table, timeline: Timeline, time: str) -> SavepointMetadata:
    """The metadata of a completed savepoint.

    Raises:
        Refused: there is none; the message names those that exist.
        Unreadable, Conflict.
    """
    file = _completed(timeline, time)
    return decode(read_instant(table, file), file.name) if file else _no_savepoint(table, timeline, time)


def read_savepoint_head(table: Table, timeline: Timeline, time: str) -> Head | None:
    """Who made a completed savepoint and why, if there is one: its files are not read. Raises Unreadable, Conflict."""
    file = _completed(timeline, time)
    return _head(table, timeline, file) if file is not None else None


def _completed(timeline: Timeline, time: str) -> InstantFile | None:
    instant = timeline.find(time, SAVEPOINT)
    return instant.file(State.COMPLETED) if instant else None


def _head(table: Table, timeline: Timeline, file: InstantFile) -> Head:
    path, size = f"{table.layout.timeline}/{file.name}", timeline.sizes[file.name]
    try:
        return read_head(partial(table.storage.read, path), size, file.name)
    except (Unsupported, FileNotFoundError):
        metadata = decode(read_instant(table, file), file.name)
        return Head(metadata.saved_by, metadata.saved_at_ms, metadata.comment)


def _no_savepoint(table: Table, timeline: Timeline, time: str) -> NoReturn:
    names = ", ".join(entry.time for entry in timeline.savepoints()) or "none"
    commit = timeline.find(time, *COMMIT_ACTIONS)
    restore = command_of("restore", options=[f"--to-instant={time}"])
    raise Refused(
        f"there is no savepoint {time}; savepoints of this table: {names}",
        hint=f"{time} is a commit without savepoint: `{restore}` restores to it"
        if commit is not None and commit.completed
        else what_it_may_be(table, timeline, time),
        savepoint=time,
    )
