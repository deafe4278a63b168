"""The names of all findings of ``check``. Alone: completions are quick, and the families import very much."""

_NAMES = """
archive-manifest-left archived-rows-unread archiving-behind armed-rollback at-work bootstrap-index-lost
bootstrap-source-elsewhere bootstrap-source-lost bucket-twice change-log-missing checksum-mismatch clean-in-the-way
clean-without-plan cleaning-behind clustering-elsewhere clustering-overwritten clustering-waits commit-ahead
compaction-behind completed-twice empty-commit empty-plan empty-result failed-write foreign-file hashing-metadata-left
huge-plan index-definitions-damaged index-holds-removed-instant instant-lost linked-folder listed-files-missing
lock-held log-zeros lone-sidecars metadata-compaction-behind metadata-files-damaged metadata-table-absent
metadata-table-behind metadata-table-leftover metadata-table-unlisted metadata-table-unreadable metadata-table-version
misnamed-logs missing-file missing-plan moved nested-partition not-parquet orphans other-table
partition-metafile-damaged partition-without-metafile pending-indexing pending-restore pending-rollback
plan-names-missing-file properties-backup properties-damaged properties-wrong record-index-small restore-without-plan
rollback-block-ahead rollback-remnant rollbacks-piled-up savepoint-behind-archive savepoint-broken savepoint-interrupted
savepoint-old savepoint-partition-dropped savepoint-protects-too-little savepoint-remnant savepoint-without-commit
second-base-file stale-heartbeat stale-markers table-type-wrong temporary-file timeline-without-end times-not-kept
torn-archive unknown-action unlisted-files unnamed-file unowned-files unreadable wrong-size
"""
NAMES = frozenset(_NAMES.split())
