"""Logs that a write has created under another instant's name."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import CLUSTERING, Instant
from hudictl.state.facts import Facts
from hudictl.state.timeline.service_plans import service_of
from hudictl.table.timeline.commits import Commits
from hudictl.table.writers.markers import look_at_markers, marker_folders

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
    marked = set(marker_folders(facts.table))
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for time in removed:
        for partition, name in _named(facts, time, backup, marked):
            data = parse_data_file(name)
            if data is not None and not data.is_base and data.instant in resizes - {time}:
                found[partition][name] = time
    return found


def _named(facts: Facts, time: str, backup: Commits, marked: Collection[str]) -> Iterator[tuple[str, str]]:
    """The files (partition path, name) in a write's own records. The instants in ``marked`` have a marker folder."""
    for commits in (facts.commits, backup):
        for stats in commits.get(time, CommitMetadata()).stats.values():
            for stat in stats:
                partition, _, name = (stat.path or "").rpartition("/")
                yield partition, name
    markers = look_at_markers(facts.table, time) if time in marked else None
    for marker in markers.markers if markers else ():
        yield marker.partition, marker.name
    for rollback in facts.signs.rollbacks:
        if rollback.plan is not None and rollback.target == time:
            for request in rollback.plan.requests:
                yield from ((request.partition, path.rpartition("/")[2]) for path in request.files)
