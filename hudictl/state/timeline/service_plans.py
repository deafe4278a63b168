"""Table services: which one a pending instant is, and the file groups and files in its plan."""

from collections import defaultdict
from collections.abc import Collection
from functools import partial

from hudictl.errors import Unreadable
from hudictl.formats.instants import CLUSTERING, COMPACTION, LOGCOMPACTION, Instant, State
from hudictl.formats.plans import decode_compaction_files, decode_compaction_groups
from hudictl.state.facts import Facts
from hudictl.table.files.choose import is_log_of
from hudictl.table.files.slices import Group, StoredFile
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, read_instant
from hudictl.table.timeline.commits import read_requested_replace


def service_of(table: Table, instant: Instant) -> str | None:
    """The kind of table service of a pending instant: compaction, log compaction or clustering; None for a write.

    Below table version 8 a pending clustering is a replacecommit whose request holds a clustering plan. Later the
    action tells, and a request that cannot be read is a write's.

    Raises Unreadable: below version 8, the request.
    """
    if instant.action in (COMPACTION, LOGCOMPACTION, CLUSTERING):
        return instant.action
    try:
        return CLUSTERING if instant.pending and read_requested_replace(table, instant).is_clustering else None
    except Unreadable:
        if not table.rules.clusterings_are_named:
            raise
    return None


def service_groups(table: Table, instant: Instant) -> frozenset[Group]:
    """The file groups in the plan of a pending table service."""
    file = instant.file(State.REQUESTED)
    if file is not None and instant.action in (COMPACTION, LOGCOMPACTION):
        return decode_compaction_groups(read_instant(table, file), file.name)
    return read_requested_replace(table, instant).groups


def planned_files(table: Table, timeline: Timeline, removed: Collection[str]) -> dict[str, dict[str, str]]:
    """The files that kept pending table services will read: by partition path and name, the service's time.

    Raises Unreadable: a plan.
    """
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for instant in timeline.writes():
        if instant.pending and instant.time not in removed and service_of(table, instant) is not None:
            for path, name in service_files(table, instant):
                found[path][name] = instant.time
    return found


def service_files(table: Table, instant: Instant) -> frozenset[tuple[str, str]]:
    """The files (partition path, name) that a pending table service will read. Raises Unreadable."""
    file = instant.file(State.REQUESTED)
    if file is not None and instant.action in (COMPACTION, LOGCOMPACTION):
        return decode_compaction_files(read_instant(table, file), file.name)
    return read_requested_replace(table, instant).files


def logs_of_later_writes(facts: Facts, instant: Instant) -> list[StoredFile]:
    """The logs in the slices that a pending compaction has opened: below table version 8 later writes put theirs there.
    Without the compaction's plan readers would not find them."""
    if facts.table.rules.logs_named_by_writer or instant.completed or instant.action != COMPACTION:
        return []
    return facts.sweep.select("look for logs", partial(is_log_of, instant.time), {instant.time})
