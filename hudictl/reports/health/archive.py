"""Findings of ``check`` on the archived timeline."""

from collections.abc import Iterator

from hudictl.errors import Unreadable
from hudictl.formats.archived_timeline import is_archive_file
from hudictl.phrases import command_of, count_of
from hudictl.reports.health.finding import ERROR, WARNING, Finding, Look, mended, named, unreadable
from hudictl.state.facts import Facts
from hudictl.state.services.left_manifests import left_manifests
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.timeline.unfinished import RESUME
from hudictl.state.timeline.unread import archived_later, back_again, passed_over
from hudictl.state.timeline.unread import unread as find_unread
from hudictl.table.timeline.archive import torn_logs

_REPAIR = mended("hudictl archive repair", "what cannot be read goes into quarantine; the plan says what is lost")


def torn_end(look: Look) -> Iterator[Finding]:
    """The logs whose archiver died, or that may have lost instants."""
    table = look.facts.table
    try:
        torn = torn_logs(table)
    except Unreadable as error:
        yield unreadable(error, _REPAIR)
        return
    for name in torn:
        path = f"{table.layout.archive}/{name}"
        status = table.storage.stat(path)
        if status is not None and look.silent(status.modified_ms):
            meaning = (
                "the end of this file is incomplete: the archiving process died while writing. Nothing is lost: its "
                "instants are in another log, or on the timeline until the next archiving"
            )
            yield Finding("torn-archive", WARNING, path, meaning, _REPAIR)


def left(look: Look) -> Iterator[Finding]:
    """Temporary manifests of a writer that died."""
    for path in left_manifests(look.facts.table, look.metadata, look.facts.signs.now_ms, look.idle_ms):
        meaning = (
            "a writer died while it archived: Hudi fails at this file, and archives nothing any more; 1.0.2 also reads "
            "nothing, if it was the first archiving"
        )
        yield Finding("archive-manifest-left", ERROR, path, meaning, mended(RESUME))


def unread(look: Look) -> Iterator[Finding]:
    """Files of archived commits after the timeline's first write, which readers treat as uncommitted; or which later
    writes have treated so; and files that such commits have replaced."""
    try:
        archived = archived_later(look.facts)
        yield from _unread(look.facts, archived) if archived else ()
    except Unreadable as error:
        # An instant or a plan of the timeline is a finding of its own.
        yield unreadable(error, _REPAIR if is_archive_file(str(error.fields.get("file"))) else ())


def _unread(facts: Facts, archived: frozenset[str]) -> Iterator[Finding]:
    first = min(entry.time for entry in facts.timeline.completed_writes())
    prevent = "To prevent this, set hoodie.archive.beyond.savepoint=false"
    saved = {entry.time for entry in facts.timeline.savepoints()}
    later = ["--delete-later-savepoints"] if max(saved, default="") > first else []
    leaves = f"the rows of {first}, without all later writes{' and savepoints' if later else ''}"
    back = (Remedy(command_of("restore", first, options=later), leaves),) if first in saved else ()
    if paths := find_unread(facts, archived, ()):
        meaning = (
            f"{count_of(len(paths), 'file')} ({named(paths)}) of archived commits after {first}, the timeline's first "
            "commit: readers treat them as uncommitted and show older rows; the next write is based on the "
            f"older rows. Stop all writers, delete the savepoint {first}, then archive its commit with Hudi: after "
            f"that, readers use them again. {prevent}"
        )
        delete = Remedy(command_of("savepoint delete", first), "readers use them once its commit is archived")
        yield Finding("archived-rows-unread", ERROR, first, meaning, (delete, *back))
    if paths := passed_over(facts, archived):
        meaning = (
            f"{count_of(len(paths), 'file')} ({named(paths)}) of archived commits after {first}, the timeline's first "
            "commit: the next writes or compactions of their file groups took them for uncommitted, and are based on "
            f"older files. Their rows are lost, except those written again since. Write them again. {prevent}"
        )
        yield Finding("archived-rows-unread", ERROR, first, meaning, back)
    if paths := back_again(facts, archived):
        meaning = (
            f"archived commits after {first}, the timeline's first commit, replaced {count_of(len(paths), 'file')} "
            f"({named(paths)}): readers see them again, beside those that replaced them; if they were "
            f"replaced once more, their rows were copied. {prevent}"
        )
        yield Finding("archived-rows-unread", ERROR, first, meaning, back)
