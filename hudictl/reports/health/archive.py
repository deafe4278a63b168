"""Findings of ``check`` on the archived timeline."""

from collections.abc import Iterator

from hudictl.reports.health.finding import WARNING, Finding, Look
from hudictl.table.archive import torn_log


def torn_end(look: Look) -> Iterator[Finding]:
    """The newest log where its archiver died. Raises Unreadable: instants may be lost with its end."""
    table = look.facts.table
    name = torn_log(table)
    path = f"{table.layout.archive}/{name}"
    status = table.storage.stat(path) if name else None
    if status is not None and look.silent(status.modified_ms):
        meaning = (
            "its archiver died while it wrote: the end of the file is torn. Nothing is lost: what it was to archive is "
            "still on the timeline, where Hudi's next archiver takes it from"
        )
        yield Finding("torn-archive", WARNING, path, meaning)
