"""Findings of ``check`` on the archived timeline."""

from collections.abc import Iterator

from hudictl.reports.health.finding import WARNING, Finding, Look
from hudictl.table.archive import torn_logs


def torn_end(look: Look) -> Iterator[Finding]:
    """The logs whose archiver died. Raises Unreadable: instants may be lost with the end of one."""
    table = look.facts.table
    for name in torn_logs(table):
        path = f"{table.layout.archive}/{name}"
        status = table.storage.stat(path)
        if status is not None and look.silent(status.modified_ms):
            meaning = (
                "its archiver died while it wrote: the end of the file is torn. Nothing is lost: what it was to "
                "archive is still on the timeline, where Hudi's next archiver takes it from, or in another log"
            )
            yield Finding("torn-archive", WARNING, path, meaning)
