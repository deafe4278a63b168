"""Which columns of each table matter: the last ones to be left out on a narrow terminal."""

_BY_IMPORTANCE = {
    "AmplificationRow": "time write_amplification problem | records updated",
    "BlockLine": "index block_type instant fate | records target bytes offset header",
    "CheckpointRow": "time checkpoint problem | completed_utc action key timeline",
    "Checkup": "outcome check text | advice",
    "CleanRow": "time state files diagnosis problem | earliest partitions failed completed_utc duration_ms policy "
    "partitions_dropped timeline requested_utc",
    "ClusteringRow": "time state diagnosis problem | file_groups replaced_file_groups files_added records bytes errors "
    "partitions input_groups completed_utc duration_ms timeline requested_utc",
    "ColumnStatsRow": "column min max | nulls values exact",
    "CommitDifference": "time here there | action",
    "CommitFile": "partition file records bytes | errors updated deleted inserted previous file_id file_bytes "
    "log_files log_records log_blocks corrupt_log_blocks rollback_blocks",
    "CommitPartition": "partition records bytes | errors updated deleted inserted files_added files_updated "
    "replaced_file_groups",
    "CommitRow": "time action records problem | errors bytes operation updated deleted inserted completed_utc "
    "duration_ms schema_changed files_added files_updated partitions write_amplification checkpoint timeline "
    "requested_utc",
    "CompactionRow": "time state diagnosis problem | file_groups logs records bytes errors kind partitions base_files "
    "completed_utc duration_ms timeline requested_utc",
    "DefectRow": "severity defect what index | instant offset",
    "Difference": "difference name partition | stored_bytes listed_bytes meaning listed_by",
    "DuplicateRecord": "key partition instant kept problem | file copies position kind file_id repair_sql",
    "FoundRecord": "partition file instant deleted problem | kind file_id key",
    "FileEvent": "time event file problem | action state operation bytes records target completed_utc partition begins "
    "timeline",
    "HeartbeatRow": "instant state age_ms | action instant_state misses last_beat_utc interval_ms assumed",
    "HistoryRow": "instant operation outcome problem | target exit_code message started_at attempts user ended_at host "
    "command",
    "HoodieCommitMetadata": "partition errors | written files updated inserted deleted bytes",
    "HoodieReplaceCommitMetadata": "partition errors | written files updated inserted deleted bytes",
    "IndexDifference": "index difference key file | partition in_index in_data",
    "IndexingRow": "time state indexes diagnosis problem | up_to completed_utc duration_ms timeline requested_utc",
    "InstantRow": "time action state records | files bytes operation rollback_blocks completion_time",
    "ListedFile": "name size_bytes | instant listed_by",
    "ListedPartition": "partition files bytes",
    "LockSign": "path held owner age_ms expires_in_ms | expired provider content",
    "LookupRow": "key found partition file_id | instant instant_utc position",
    "MarkerFolderRow": "instant state markers partial | action type changed_utc creates merges appends",
    "MarkerRow": "name partition on_storage | bytes kind",
    "MergedRow": "record_key record | instant file",
    "OrphanRow": "path certainty | why bytes visible instant modified_utc",
    "PendingWrite": "instant verdict action state | idle_ms heartbeat files bytes operation markers appended_logs",
    "PartitionRow": "partition state base_bytes problem | log_bytes last_write file_groups replaced_file_groups listed "
    "metafile base_files logs last_write_utc",
    "PartitionStats": "partition state commits_back back_limit | logs log_bytes delta_commits_since last_compaction "
    "base_bytes file_groups back_to base_files newest_slice oldest_slice last_compaction_utc",
    "PhaseRow": "time action state duration_ms | to_inflight_ms to_completed_ms metadata_ms completed_utc timeline",
    "ProfileRow": "profile uri | engine lock_provider references file",
    "PlanProblem": "partition file problem | file_group also_in",
    "PropertyRow": "name value | changed meaning default set",
    "PruneRow": "instant kept reasons | tag own_bytes",
    "RecordRow": "index fate record_key record | instant block_type",
    "RecordVersion": "instant state visible deleted problem | file kind partition operation action "
    "completed_utc file_id",
    "RestoreRow": "time state target diagnosis problem | instants files failed newest oldest rollback_blocks "
    "partitions completed_utc duration_ms timeline requested_utc",
    "RollbackOutcome": "instant outcome exit_code message | files_kept files_deleted bytes_deleted rollback_blocks "
    "rollback metadata_table",
    "RollbackRow": "time state target diagnosis problem | target_action files failed rollback_blocks partitions "
    "completed_utc duration_ms timeline requested_utc",
    "SavepointFile": "name partition bytes",
    "SavepointRow": "instant state warning problem restorable | tag comment created_utc own_bytes bytes files missing "
    "user",
    "ServiceFile": "role partition file there | bytes instant",
    "SchemaChange": "time added removed changed problem | made_nullable made_required completed_utc action timeline",
    "SchemaRow": "command keys | changes",
    "SchemaField": "name type nullable | doc",
    "SizeRow": "of count bytes | skew p50_bytes small_percent max_bytes bytes_percent records records_percent "
    "min_bytes p10_bytes p90_bytes p95_bytes p99_bytes mean_bytes std_dev_bytes",
    "SliceRow": "file_id log_files log_bytes | base_instant partition base_bytes newest compaction compaction_bytes "
    "log_ratio opened_by_compaction base_file",
    "TimelinePair": "time action state metadata_action metadata_state | completed_utc metadata_completed_utc",
    "TimelineRow": "time action state timeline problem | operation records duration_ms files bytes completion_time "
    "partitions completed_utc requested_utc",
    "UndoRow": "undo operation possible warning problem | expires_utc targets begun_utc bytes files",
}
"""By the type of the rows: the most important first; those before the bar are always shown."""


def by_importance(kind: str) -> tuple[list[str], list[str]]:
    """The columns that are always shown, and the others, those that matter most first. None for an unknown kind."""
    always, _, others = _BY_IMPORTANCE.get(kind, "").partition("|")
    return always.split(), others.split()
