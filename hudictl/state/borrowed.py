"""Logs that a write has put under another instant's name."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import CLUSTERING, Instant
from hudictl.state.facts import Facts
from hudictl.state.services import service_of
from hudictl.table.commits import Commits
from hudictl.table.markers import look_at_markers, marker_folders

Borrowed = Mapping[str, Mapping[str, str]]
"""By partition path and file name: the write whose log it is."""


def borrowed_logs(facts: Facts, removed: Mapping[str, Instant | None], backup: Commits) -> Borrowed:
    """The logs that removed writes have put under the name of a pending clustering.

    While a resize of consistent hashing is pending, a writer puts the rows of its buckets into the new ones, too, whose
    logs have the clustering's time (1.0.2, 1.2.0). No reader sees them before it is completed; then, once the timeline
    has passed the write, their rows would count. Hudi's rollback deletes those of a failed write, by its markers, and
    leaves those of a completed one. Below table version 8 rollback blocks take care of them.

    Args:
        removed: the instants that go; None for one that is gone already.
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
    """The files, as partition path and name, that a write's own records name. ``marked`` have a marker folder."""
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
