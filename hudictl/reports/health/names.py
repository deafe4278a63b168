"""All findings of ``check``, by the function that finds them. Alone: completions are quick, and those functions import
very much."""

from collections.abc import Mapping

FINDINGS: Mapping[str, str] = {
    "timeline.unfinished": "at-work undo-begun pending-restore restore-without-plan "
    "pending-rollback armed-rollback rollback-remnant",
    "timeline.contents": "empty-result empty-plan",
    "timeline.plans": "empty-plan missing-plan",
    "timeline.names": "unknown-action completed-twice",
    "timeline.times": "times-not-kept",
    "timeline.ahead": "commit-ahead",
    "archive.torn_end": "torn-archive",
    "archive.left": "archive-manifest-left",
    "archive.unread": "archived-rows-unread",
    "writes.failed_writes": "failed-write",
    "writes.locks": "lock-held",
    "commits.without_content": "empty-commit",
    "commits.hidden": "logs-hidden",
    "commits.base_files": "second-base-file unnamed-file wrong-size change-log-missing",
    "commits.ends": "not-parquet log-zeros",
    "files.missing": "missing-file partly-copied misnamed-logs partition-without-metafile moved",
    "files.sources": "bootstrap-index-lost bootstrap-source-lost bootstrap-source-elsewhere",
    "files.cleans": "clean-in-the-way",
    "files.metafiles": "partition-metafile-damaged",
    "services.plans": "plan-names-missing-file",
    "services.outside": "logs-outside-plan",
    "services.overwritten": "clustering-overwritten",
    "services.undone": "changes-undone",
    "services.clusterings": "clustering-elsewhere clustering-waits",
    "hashing.bucket_twins": "bucket-twice",
    "services.stalled": "at-work clean-without-plan pending-indexing",
    "files.savepoints": "savepoint-broken savepoint-interrupted savepoint-protects-too-little "
    "savepoint-remnant savepoint-without-commit savepoint-partition-dropped savepoint-not-restorable",
    "files.savepoints_behind_archive": "savepoint-behind-archive",
    "files.orphans": "orphans unowned-files timeline-without-end instant-lost",
    "files.blocks_ahead": "rollback-block-ahead",
    "files.strangers": "other-table linked-folder",
    "files.foreign": "foreign-file",
    "storage.table_properties": "upgrade-interrupted properties-damaged properties-backup table-type-wrong "
    "properties-wrong",
    "storage.metadata_table": "metadata-table-absent metadata-table-version "
    "metadata-table-unlisted metadata-table-leftover",
    "storage.metadata_aside": "metadata-table-leftover",
    "hashing.hashing_metadata": "hashing-metadata-left bucket-configs-missing",
    "indexes.definitions": "index-definitions-damaged",
    "indexes.slices": "index-without-slice",
    "indexes.waiting": "index-waits",
    "indexes.holding_removed": "index-holds-removed-instant",
    "indexes.record_index": "record-index-small",
    "metadata.listing": "metadata-table-unreadable metadata-table-behind "
    "nested-partition unlisted-files listed-files-missing",
    "metadata.files": "metadata-files-damaged",
    "storage.sidecars": "checksum-mismatch lone-sidecars",
    "files.sidecars": "lone-sidecars",
    "writes.markers": "stale-markers",
    "writes.heartbeats": "stale-heartbeat",
    "storage.temporary_files": "temporary-file",
    "behind.archiving": "archiving-behind savepoint-old",
    "behind.cleaning": "cleaning-behind",
    "behind.compaction": "compaction-behind",
    "behind.metadata_compaction": "metadata-compaction-behind",
    "behind.rollbacks": "rollbacks-piled-up",
    "behind.huge_plans": "huge-plan",
}
"""By module and name of the function, in the order of ``check``."""
NAMES = frozenset({"unreadable"}.union(*(names.split() for names in FINDINGS.values())))
"""Whatever is looked for, a file may be unreadable."""
