"""Logs that a write has created under another instant's name."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import chain

from hudictl.engine.base import look_at
from hudictl.formats.file_names import data_path, parse_data_file, split_names
from hudictl.formats.instants import CLUSTERING, Instant
from hudictl.state.facts import Facts
from hudictl.state.files.instant_files import own_files
from hudictl.state.timeline.service_plans import service_of
from hudictl.table.files.written import Written
from hudictl.table.timeline.commits import Commits

Borrowed = Mapping[str, Mapping[str, str]]
"""The write of each such log, by partition path and file name."""


def borrowed_logs(facts: Facts, removed: Mapping[str, Instant | None], backup: Commits) -> Borrowed:
    """The logs that removed writes have created under the name of a pending clustering.

    While a resize of consistent hashing is pending, a writer also writes its rows into the new buckets. Their logs
    carry the clustering's time (1.0.2, 1.2.0). Readers see them only after the clustering has completed. Then these
    rows would count, once the timeline has passed the write. Hudi's rollback deletes the logs of a failed write, by
    its markers, but leaves those of a completed one. Below table version 8 rollback blocks invalidate them.

    Args:
        removed: the instants to remove; None for one that no longer exists.
        backup: the metadata of un-published instants.
    """
    if not facts.table.rules.logs_named_by_writer:
        return {}
    pending = [entry for entry in facts.timeline.writes() if entry.pending]
    resizes = {entry.time for entry in pending if service_of(facts.table, entry) == CLUSTERING}
    if not resizes:
        return {}
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for time, own in own_files(facts.table, facts.signs, facts.commits, removed, backup).items():
        for partition, name in own.files:
            data = parse_data_file(name)
            if data is not None and not data.is_base and data.instant in resizes - {time}:
                found[partition][name] = time
    return found


def logs_of_kept(facts: Facts, removed: Collection[str]) -> list[tuple[str, str, bool]]:
    """The completed writes among some instants that have written into logs under the name of another completed one,
    each with such a log, and whether others have written into it, too: nothing can take these rows back. See
    ``own_files_only``, which refuses. Raises StorageFailed, EngineFailed."""
    if not facts.table.rules.logs_named_by_writer or facts.table.is_cow or not removed:
        return []
    own = frozenset(removed).union(entry.time for entry in facts.timeline.writes() if entry.pending)
    look = partial(_in_others, frozenset(removed), own)
    return sorted(chain.from_iterable(look_at(facts.written.files, "look at commits", look)))


def _in_others(
    removed: frozenset[str], own: frozenset[str], partition: str, writes: Sequence[Written]
) -> list[tuple[str, str, bool]] | None:
    named = ((entry.time, name) for entry in writes if entry.time in removed for name in split_names(entry.names))
    parsed = ((time, parse_data_file(name)) for time, name in named)
    logs = [
        (time, data.name) for time, data in parsed if data is not None and not data.is_base and data.instant not in own
    ]
    if not logs:
        return None
    kept = {name for entry in writes if entry.time not in removed for name in split_names(entry.names)}
    return [(time, data_path(partition, name), name in kept) for time, name in logs]
