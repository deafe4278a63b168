"""The families of ``check``, in their order, with the findings that each can have."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from hudictl.errors import UsageError
from hudictl.reports.health import (
    archive,
    base_files,
    behind,
    commits,
    files,
    hashing,
    indexes,
    metadata,
    services,
    storage,
    timeline,
    writes,
)
from hudictl.reports.health.finding import UNREADABLE, Finding, Look, Skipped
from hudictl.reports.health.names import NAMES
from hudictl.state.files.bootstrap import INDEX_LOST, SOURCE_ELSEWHERE, SOURCE_LOST
from hudictl.state.services.stalled import CLEAN_WITHOUT_PLAN, PENDING_INDEXING
from hudictl.state.timeline.unfinished import (
    ARMED_ROLLBACK,
    PENDING_RESTORE,
    PENDING_ROLLBACK,
    RESTORE_WITHOUT_PLAN,
    ROLLBACK_REMNANT,
)
from hudictl.state.writers.failed_writes import FAILED_WRITE

Family = Callable[[Look], Iterator[Finding | Skipped]]
FAMILIES: Mapping[Family, tuple[str, ...]] = {
    timeline.unfinished: (
        *("at-work", PENDING_RESTORE, RESTORE_WITHOUT_PLAN, PENDING_ROLLBACK, ARMED_ROLLBACK, ROLLBACK_REMNANT),
    ),
    timeline.contents: ("empty-result",),
    timeline.plans: ("empty-plan", "missing-plan"),
    timeline.names: ("unknown-action", "completed-twice"),
    timeline.times: ("times-not-kept",),
    timeline.ahead: ("commit-ahead",),
    archive.torn_end: ("torn-archive",),
    archive.left: ("archive-manifest-left",),
    archive.unread: ("archived-rows-unread",),
    writes.failed_writes: (FAILED_WRITE,),
    writes.locks: ("lock-held",),
    commits.without_content: ("empty-commit",),
    commits.base_files: ("second-base-file", "unnamed-file", "wrong-size", "change-log-missing"),
    base_files.ends: ("not-parquet", "log-zeros"),
    files.missing: ("missing-file", "misnamed-logs", "partition-without-metafile", "moved"),
    files.sources: (INDEX_LOST, SOURCE_LOST, SOURCE_ELSEWHERE),
    files.cleans: ("clean-in-the-way",),
    files.metafiles: ("partition-metafile-damaged",),
    services.plans: ("plan-names-missing-file",),
    services.overwritten: ("clustering-overwritten",),
    services.clusterings: ("clustering-elsewhere", "clustering-waits"),
    hashing.bucket_twins: ("bucket-twice",),
    services.stalled: ("at-work", CLEAN_WITHOUT_PLAN, PENDING_INDEXING),
    files.savepoints: (
        *("savepoint-broken", "savepoint-interrupted", "savepoint-protects-too-little", "savepoint-remnant"),
        "savepoint-without-commit",
        "savepoint-partition-dropped",
    ),
    files.savepoints_behind_archive: ("savepoint-behind-archive",),
    files.orphans: ("orphans", "unowned-files", "timeline-without-end", "instant-lost"),
    files.blocks_ahead: (files.ROLLBACK_BLOCK_AHEAD,),
    files.strangers: ("other-table", "linked-folder"),
    files.foreign: ("foreign-file",),
    storage.table_properties: ("properties-damaged", "properties-backup", "table-type-wrong", "properties-wrong"),
    storage.metadata_table: (
        *("metadata-table-absent", "metadata-table-version", "metadata-table-unlisted", "metadata-table-leftover"),
    ),
    storage.metadata_aside: ("metadata-table-leftover",),
    hashing.hashing_metadata: ("hashing-metadata-left",),
    indexes.definitions: ("index-definitions-damaged",),
    indexes.holding_removed: ("index-holds-removed-instant",),
    indexes.record_index: ("record-index-small",),
    metadata.listing: (
        *("metadata-table-unreadable", "metadata-table-behind", "nested-partition", "unlisted-files"),
        "listed-files-missing",
    ),
    metadata.files: ("metadata-files-damaged",),
    storage.sidecars: ("checksum-mismatch", "lone-sidecars"),
    files.sidecars: ("lone-sidecars",),
    writes.markers: ("stale-markers",),
    writes.heartbeats: ("stale-heartbeat",),
    storage.temporary_files: ("temporary-file",),
    behind.archiving: ("archiving-behind", "savepoint-old"),
    behind.cleaning: ("cleaning-behind",),
    behind.compaction: ("compaction-behind",),
    behind.metadata_compaction: ("metadata-compaction-behind",),
    behind.rollbacks: ("rollbacks-piled-up",),
    behind.huge_plans: ("huge-plan",),
}


@dataclass(frozen=True)
class FindingSelection:
    """The selected findings: all, ``only`` some, or all except those to ``skip``.

    Raises UsageError: an unknown name.
    """

    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for option, given in (("--only", self.only), ("--skip", self.skip)):
            for name in sorted(given - NAMES):
                near = get_close_matches(name, sorted(NAMES), n=3) or sorted(NAMES)
                raise UsageError(
                    f"{option} {name}: check has no such finding", hint=f"known findings: {', '.join(near)}"
                )

    def takes(self, finding: str) -> bool:
        """Unreadable files are always reported, because they can hide the selected findings."""
        asked = not self.only or finding in self.only or finding == UNREADABLE
        return asked and finding not in self.skip

    def families(self) -> Iterator[Family]:
        """The families that can have a selected finding; every family can find unreadable files."""
        every = UNREADABLE in self.only
        yield from (family for family, names in FAMILIES.items() if every or any(map(self.takes, names)))
