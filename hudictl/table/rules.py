"""What a table's version means: the facts that differ between versions, each by its name.

Checked on the releases that write the versions: 0.15.0 (version 6), 1.0.2 (8) and 1.2.0 (9). What follows from the
names of files, and the archive's format, go by the timeline layout, all else by the version: where an upgrade was
interrupted, the two may disagree.
"""

from dataclasses import dataclass

V0_15 = "0.15.0"
V1_0 = "1.0.2"
V1_2 = "1.2.0"

WRITABLE_VERSIONS = {6: 1, 8: 2, 9: 2}
"""Table versions that hudictl writes, with the timeline layout that they have."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The facts of one table version and timeline layout."""

    known: bool
    """Whether hudictl knows what the version means: not of one that came after its own."""
    reads_as: str
    """The release whose readers' rules hold: V0_15 up to version 7, V1_0 for 8, V1_2 from 9 on."""

    has_completion_times: bool
    """Whether a completed instant's file name has its completion time, by which logs find their slice."""
    archive_is_lsm: bool
    """Whether the archive is a tree of sorted files with manifests, and not a row of logs."""
    logs_named_by_writer: bool
    """Whether a log's name has the instant that wrote it, and not the base instant of its slice."""
    logs_grow: bool
    """Whether later writes and rollbacks append to a log that is there."""
    later_blocks_hide: bool
    """Whether a rollback block that is newer than the last commit hides what is behind it (0.15.0)."""
    restores_by_completion: bool
    """Whether a restore removes what was completed after its target, and not what was requested after it."""

    needs_rollback_blocks: bool
    """Whether a rollback marks its blocks on slices of merge on read, since their logs cannot be deleted."""
    metadata_is_vouched_for: bool
    """Whether of a metadata table only those instants count that the data table has ended or taken back (0.15.0); later
    readers leave out only what is pending there."""
    rollbacks_beat: bool
    """Whether pending restores and rollbacks have heartbeats, which lazy cleaners respect (1.1 on)."""
    commitless_clean_retains_last: bool
    """Whether the oldest commit to make a savepoint of, after a clean that names none, is the last write before the
    clean (1.1 on), and not the timeline's first (seen on 0.15.0 and 1.2.0)."""
    cleans_read_from_request: bool
    """Whether Hudi reads the plan of a pending clean from its request alone, and fails at one without content (1.2.0);
    before, from the newest of its files, and one without content is deleted (0.15.0, 1.0.2)."""

    archives_cleans_apart: bool
    """Whether archiving counts cleans and rollbacks by themselves, and not along with the commits around them."""
    archive_heeds_spared: bool
    """Whether archiving keeps replacecommits that a clean has not cleaned up for a savepoint's sake (1.0 on)."""
    metadata_waits_for_all: bool
    """Whether a metadata table is not compacted while something older than its last write is pending (0.15.0)."""
    compaction_waits_for_writes: bool
    """Whether no compaction is scheduled while a write is pending, by writers that clean eagerly (0.15.0)."""
    compaction_counts_pending: bool
    """Whether pending delta commits count towards the next compaction (0.15.0), and not completed ones alone."""


def rules_of(version: int, layout_version: int) -> Rules:
    """What a table version with a timeline layout means; one that is not known, what its neighbour below does."""
    layout_2 = layout_version >= 2
    return Rules(
        known=version <= max(WRITABLE_VERSIONS),
        reads_as=V0_15 if version < 8 else V1_0 if version == 8 else V1_2,
        has_completion_times=layout_2,
        archive_is_lsm=layout_2,
        logs_named_by_writer=layout_2,
        logs_grow=not layout_2,
        later_blocks_hide=not layout_2,
        restores_by_completion=version >= 9,
        needs_rollback_blocks=version <= 6,
        metadata_is_vouched_for=version < 8,
        rollbacks_beat=version >= 9,
        commitless_clean_retains_last=version >= 9,
        cleans_read_from_request=version >= 9,
        archives_cleans_apart=not layout_2,
        archive_heeds_spared=version >= 8,
        metadata_waits_for_all=version < 8,
        compaction_waits_for_writes=version < 8,
        compaction_counts_pending=version < 8,
    )
