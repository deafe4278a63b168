"""Findings of ``check`` on the ends of base files and logs, with --footers: one read for each file."""

from collections.abc import Iterator
from functools import partial
from itertools import chain

from hudictl.formats.base_files import has_known_end
from hudictl.reports.health.finding import FROM_BACKUP, Finding, Look, with_way_back
from hudictl.reports.health.partition import wrong_ends
from hudictl.table.files.view import committed_without


def ends(look: Look) -> Iterator[Finding]:
    """Committed base files whose format does not match their names, and logs that end with zeros."""
    if not look.footers:
        return
    read = partial(wrong_ends, look.facts.table.storage, committed_without(look.facts.timeline, ()))
    for path, problem in sorted(chain.from_iterable(look.facts.sweep.over("read footers", read))):
        meaning = f"it is {problem}: queries that read it fail. {FROM_BACKUP}"
        name = "not-parquet" if has_known_end(path) else "log-zeros"
        yield with_way_back(name, path, meaning, look.way_before_file(path.rpartition("/")[2]))
