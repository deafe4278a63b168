"""Check beside what Hudi's own validators say of the sample tables as they are: tests/tables/validated-*.json."""

import pytest

from hudictl.formats import commit_metadata
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.file_names import DataFile, parse_data_file
from hudictl.formats.instants import COMMIT_ACTIONS, State
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.timeline.archive import archived_files
from hudictl.table.timeline.commits import read_commit
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy
from tests.reports.health.check_support import VERSIONS, check

OF_METADATA = {
    # The files of the write that died: a listing makes slices of them, the metadata table does not have them.
    "first_write_failed": "failed-write",
    # No listing finds the partition below another, the metadata table has it.
    "nested_partitions": "nested-partition",
    # The base file of the compaction that 1.0.2 has left pending.
    "upgraded_mor": "failed-write",
}
"""Tables that the metadata validator finds fault with, and what check finds of them, for the same reason."""

IN_NO_COMMIT = {
    "mor_failed_direct": "failed-write",
    "mor_failed_lazy": "failed-write",
    "mor_restore_interrupted": "pending-restore",
}
"""Tables with dangling files that no completed commit has written, and what check finds of them. The data validator
comes upon these files by chance: their names are those of logs of commits (version 6)."""

EARLY = "commits in the archive wrote files that are the newest of their group, or protected by a savepoint"
CHANGES = "the validator reads the paths of commits, and change logs have a list of their own"
SAVEPOINT = "a savepoint has the time of its commit, and the validator takes it for an instant that wrote nothing"
BASE_INSTANT = "a log of version 6 has the time of its slice's base file in its name, not of the commit that wrote it"


def faulty(kind: str) -> list[tuple[str, str]]:
    """The tables that something is recorded of."""
    return [
        (version, name)
        for version in support.VERSIONS
        for name, said in support.validated(version).items()
        if kind in said
    ]


def findings(copy: Copy) -> set[str]:
    return {found.finding for found in check(copy, idle_ms=0)}


def paths(commit: CommitMetadata) -> set[str]:
    """The files that a commit has written; change logs, too."""
    stats = [stat for of_partition in commit.stats.values() for stat in of_partition]
    return {stat.path for stat in stats if stat.path} | {path for stat in stats for path, _ in stat.change_logs}


def archived(copy: Copy, time: str) -> set[str]:
    """The files that archived commits of a time have written."""
    commits = [
        commit_metadata.decode(body, entry.file)
        for entry, body, _ in archived_files(copy.table, time)
        if entry.state is State.COMPLETED and entry.action in COMMIT_ACTIONS
    ]
    return {path for commit in commits for path in paths(commit)}


def parsed(path: str) -> DataFile:
    found = parse_data_file(path.rpartition("/")[2])
    assert found is not None, path
    return found


def why_suspected(version: str, name: str, timeline: Timeline, path: str) -> str | None:
    """Why the data validator takes a good file for a dangling one; None where there is no reason to."""
    data = parsed(path)
    if data.instant < min(entry.time for entry in timeline.instants):
        return EARLY
    if data.cdc:
        return CHANGES
    if data.instant in {entry.time for entry in timeline.savepoints()}:
        return SAVEPOINT
    # The first commit of an upgraded table is of version 6.
    first = min(entry.time for entry in timeline.completed_writes())
    of_version_6 = version == "v6" or (name.startswith("upgraded_") and data.instant == first)
    return BASE_INSTANT if of_version_6 and not data.is_base else None


@VERSIONS
def test_every_table_was_asked_about(version: str) -> None:
    assert set(support.validated(version)) == set(support.every_name(version))
    assert {key for said in support.validated(version).values() for key in said} <= {
        "dangling",
        "metadata",
        "passed over",
    }


@pytest.mark.parametrize(("version", "name"), faulty("passed over"))
def test_only_tables_without_metadata_table_were_not_compared(unpack: Unpack, version: str, name: str) -> None:
    assert support.validated(version)[name]["passed over"].startswith("Metadata table is not found")
    assert not (unpack(version, name).meta / "metadata").exists()


@pytest.mark.parametrize(("version", "name"), faulty("metadata"))
def test_what_the_metadata_validator_finds_is_found(unpack: Unpack, version: str, name: str) -> None:
    """On all other tables it finds nothing."""
    assert OF_METADATA[name] in findings(unpack(version, name))


@pytest.mark.parametrize(("version", "name"), faulty("dangling"))
def test_files_that_the_data_validator_suspects(unpack: Unpack, version: str, name: str) -> None:
    """Each was written by a completed commit, and is suspected by a rule that is too simple; others are found."""
    copy = unpack(version, name)
    timeline, dangling = load_timeline(copy.table), support.validated(version)[name]["dangling"]
    active = {path for entry in timeline.completed_writes() for path in paths(read_commit(copy.table, entry))}
    reasons = {path: why_suspected(version, name, timeline, path) for path in dangling}
    assert None not in reasons.values(), reasons
    early = [parsed(path).instant for path, reason in reasons.items() if reason == EARLY]
    written = active.union(*(archived(copy, time) for time in early))
    if not set(dangling) <= written:
        assert version == "v6"
        assert IN_NO_COMMIT[name] in findings(copy)
