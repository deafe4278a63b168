"""Logs that a write has created under another instant's name."""

from collections import defaultdict
from collections.abc import Mapping

from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import CLUSTERING, Instant
from hudictl.state.facts import Facts
from hudictl.state.files.instant_files import own_files
from hudictl.state.timeline.service_plans import service_of
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
