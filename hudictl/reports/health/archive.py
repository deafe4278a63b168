"""Findings of ``check`` on the archived timeline."""

from collections.abc import Iterator

from hudictl.phrases import command_of, count_of
from hudictl.reports.health.finding import ERROR, WARNING, Finding, Look, mended, named
from hudictl.state.services.left_manifests import left_manifests
from hudictl.state.timeline.unfinished import RESUME
from hudictl.state.timeline.unread import archived_later
from hudictl.state.timeline.unread import unread as find_unread
from hudictl.table.timeline.archive import torn_logs


def torn_end(look: Look) -> Iterator[Finding]:
    """The logs whose archiver died. Raises Unreadable: a log whose end may have held instants that are lost."""
    table = look.facts.table
    for name in torn_logs(table):
        path = f"{table.layout.archive}/{name}"
        status = table.storage.stat(path)
        if status is not None and look.silent(status.modified_ms):
            meaning = (
                "the end of this file is incomplete: the archiving process died while writing. Nothing is lost: its "
                "instants are in another log, or on the timeline until the next archiving"
            )
            yield Finding("torn-archive", WARNING, path, meaning)


def left(look: Look) -> Iterator[Finding]:
    """Temporary manifests of a writer that died."""
    for path in left_manifests(look.facts.table, look.metadata, look.facts.signs.now_ms, look.idle_ms):
        meaning = (
            "a writer died while it archived: Hudi fails at this file, and archives nothing any more; 1.0.2 also reads "
            "nothing, if it was the first archiving"
        )
        yield Finding("archive-manifest-left", ERROR, path, meaning, mended(RESUME))


def unread(look: Look) -> Iterator[Finding]:
    """Base files of archived commits that are newer than the timeline's first write: readers treat them as uncommitted.

    Raises Unreadable.
    """
    archived = archived_later(look.facts)
    paths = find_unread(look.facts, archived, ()) if archived else []
    if paths:
        first = min(entry.time for entry in look.facts.timeline.completed_writes())
        meaning = (
            f"{count_of(len(paths), 'file')} ({named(paths)}) of archived commits after {first}, the timeline's first "
            "commit: readers treat them as uncommitted and show older rows; the next write is based on the "
            f"older rows. Stop all writers, delete the savepoint {first}, then archive its commit with Hudi: after "
            "that, readers use them again. To prevent this, set hoodie.archive.beyond.savepoint=false"
        )
        yield Finding("archived-rows-unread", ERROR, first, meaning, mended(command_of("savepoint delete", first)))
