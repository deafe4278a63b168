"""Findings of ``check`` on the ends of base files, with --footers: one read for each file."""

from collections.abc import Iterator

from hudictl import workers
from hudictl.formats.base_files import has_known_end
from hudictl.reports.health.finding import ERROR, Finding, Look
from hudictl.table.file_view import committed_without
from hudictl.table.sweep import values

_FILES_A_TASK = 100


def ends(look: Look) -> Iterator[Finding]:
    """Committed base files whose format does not match their names."""
    if not look.footers:
        return
    committed = committed_without(look.facts.timeline, ())
    files = sorted(
        (file.path, file.size or 0)
        for file in look.facts.sweep.files
        if file.data.is_base and file.data.instant in committed and has_known_end(file.data.name)
    )
    storage = look.facts.table.storage
    parts = (tuple(files[at : at + _FILES_A_TASK]) for at in range(0, len(files), _FILES_A_TASK))
    tasks = [workers.EndTask(storage, part) for part in parts]
    for found in values(look.engine.map("read footers", workers.damaged_ends, tasks), "read footers"):
        for path, problem in found:
            yield Finding("not-parquet", ERROR, path, f"it is {problem}: queries that read it fail")
