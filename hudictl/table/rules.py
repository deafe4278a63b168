"""What a table's version means: the facts that differ between versions, each by its name.

Checked on the releases that write the versions: 0.15.0 (version 6), 1.0.2 (8) and 1.2.0 (9). Facts about file names and
the archive's format depend on the timeline layout, all others on the version: the two may disagree after an interrupted
upgrade.
"""

from dataclasses import dataclass

from hudictl.formats.releases import V0_15, V1_0, V1_2

WRITABLE_VERSIONS = {6: 1, 8: 2, 9: 2}
"""Table versions that hudictl can change, with their timeline layout."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The facts of one table version and timeline layout."""

    known: bool
    """Whether hudictl knows the version; False for newer ones."""
    reads_as: str
    """The release whose reader rules apply: V0_15 up to version 7, V1_0 for 8, V1_2 from 9 on."""

    has_completion_times: bool
    """Whether a completed instant's file name has its completion time, which decides the slice of its logs."""
    opens_with_archive: bool
    """Whether readers and writers look up files older than the timeline in the archive, and fail if that is damaged
    (1.0.2)."""
    archive_is_lsm: bool
    """Whether the archive consists of sorted files with manifests, not of logs."""
    logs_named_by_writer: bool
    """Whether a log's name has the instant that wrote it, not the base instant of its slice."""
    logs_grow: bool
    """Whether later writes and rollbacks append to an existing log."""
    later_blocks_hide: bool
    """Whether a rollback block newer than the last commit hides the blocks after it (0.15.0)."""
    clusterings_are_named: bool
    """Whether a pending clustering has an action of its own, not that of other replacements."""
    restores_by_completion: bool
    """Whether a restore removes instants completed after its target, not those requested after it."""

    needs_rollback_blocks: bool
    """Whether a rollback writes rollback blocks into slices of merge on read, because logs cannot be deleted."""
    metadata_is_vouched_for: bool
    """Whether an instant of the metadata table counts only if the data table has completed it or rolled it back
    (0.15.0); later readers exclude only instants pending there."""
    builds_indexes_alone: bool
    """Whether no index is built while an instant is pending: the metadata table does not list the write that tries, and
    beside a compaction a write fails that needs the record index (0.15.0)."""
    rollbacks_beat: bool
    """Whether pending restores and rollbacks have heartbeats, which lazy cleaners respect (1.1 on)."""
    commitless_clean_retains_last: bool
    """Whether, after a clean that names no commit, the oldest commit that can get a savepoint is the last write before
    the clean (1.1 on), not the timeline's first one (seen on 0.15.0 and 1.2.0)."""
    cleans_read_from_request: bool
    """Whether Hudi reads the plan of a pending clean only from its requested file, and fails on an empty one (1.2.0).
    Older releases read the newest of its files, and delete an empty one (0.15.0, 1.0.2)."""

    compaction_waits_for_writes: bool
    """Whether writers with eager cleaning schedule no compaction while a write is pending (0.15.0)."""


def rules_of(version: int, layout_version: int) -> Rules:
    """The facts of a table version with a timeline layout; an unknown version has those of the next lower one."""
    layout_2 = layout_version >= 2
    return Rules(
        known=version <= max(WRITABLE_VERSIONS),
        reads_as=V0_15 if version < 8 else V1_0 if version == 8 else V1_2,
        has_completion_times=layout_2,
        opens_with_archive=version == 8,
        archive_is_lsm=layout_2,
        logs_named_by_writer=layout_2,
        logs_grow=not layout_2,
        later_blocks_hide=not layout_2,
        clusterings_are_named=layout_2,
        restores_by_completion=version >= 9,
        needs_rollback_blocks=version <= 6,
        metadata_is_vouched_for=version < 8,
        builds_indexes_alone=version < 8,
        rollbacks_beat=version >= 9,
        commitless_clean_retains_last=version >= 9,
        cleans_read_from_request=version >= 9,
        compaction_waits_for_writes=version < 8,
    )
