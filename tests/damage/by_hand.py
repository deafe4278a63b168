"""Damages that no command of hudictl ends, each with its reason: by table version, table, kind and harm."""

_NO_COPY = "no other file has its rows, and no older commit is there to go back to"
_ARCHIVE = "the archive is whole again; what was lost of it stays a finding"
_NESTED = "only the metadata table shows the rows of a partition inside another one: Hudi must move them first"
_SAVEPOINTS = "going back would delete savepoints: the operator must say so"
_BUILT_ON = "later commits have written into its file groups: its own file must come back"
_UNOWNED = "nothing on the timeline tells whose files they are"

BY_HAND: dict[str, str] = {
    "v6-cow_cdc-cdc-log-cut": _NO_COPY,
    "v6-cow_cdc-cdc-log-doubled": _NO_COPY,
    "v6-cow_cdc-cdc-log-empty": _NO_COPY,
    "v6-cow_cdc-cdc-log-missing": _NO_COPY,
    "v6-cow_flat_nomdt-base-oldest-doubled": _NO_COPY,
    "v6-cow_part-base-oldest-cut": _NO_COPY,
    "v6-mor_failed_lazy-log-oldest-empty": _NO_COPY,
    "v6-mor_flat_nomdt-log-empty": _NO_COPY,
    "v6-mor_parquet_logs-log-missing": _NO_COPY,
    "v6-nested_partitions-base-oldest-empty": _NO_COPY,
    "v6-two_compactions-log-cut": _NO_COPY,
    "v6-two_compactions-log-oldest-cut": _NO_COPY,
    "v8-cow_cdc-cdc-log-missing": _NO_COPY,
    "v8-cow_flat_nomdt-base-oldest-cut": _NO_COPY,
    "v8-mor_failed_lazy-base-oldest-empty": _NO_COPY,
    "v9-cow_cdc-cdc-log-missing": _NO_COPY,
    "v9-mor_flat_nomdt-base-oldest-empty": _NO_COPY,
    "v9-two_compactions-base-oldest-cut": _NO_COPY,
    "v9-upgraded_mor-base-oldest-doubled": _NO_COPY,
    "v6-archived_beyond_savepoint-archive-missing": _ARCHIVE,
    "v6-archived_rows_lost-archive-cut": _ARCHIVE,
    "v8-archived_beyond_savepoint-archive-empty": _ARCHIVE,
    "v8-archived_beyond_savepoint-archive-missing": _ARCHIVE,
    "v8-archived_rows_lost-archive-flipped": _ARCHIVE,
    "v9-archived_beyond_savepoint-archive-cut": _ARCHIVE,
    "v8-nested_partitions-metadata-base-doubled": _NESTED,
    "v8-nested_partitions-metadata-log-empty": _NESTED,
    "v9-nested_partitions-metadata-deltacommit-missing": _NESTED,
    "v8-mor_compaction_after-log-oldest-missing": _SAVEPOINTS,
    "v8-mor_compaction_pending-log-oldest-empty": _SAVEPOINTS,
    "v9-mor_compaction_pending-log-oldest-cut": _SAVEPOINTS,
    "v6-mor_clustering-replacecommit-missing": _BUILT_ON,
    "v6-mor_pending_compaction-compaction.requested-missing": _UNOWNED,
}
MOST = 0.05
"""The share of all damages that may be here."""
