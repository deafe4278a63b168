"""What each command prints with ``--output json``: the types, and a command line on a sample table that prints it.

The page takes keys, types and sentences from the types. Each line is run: its document must have just these keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hudictl.cli.commands.config import ProfileRow
from hudictl.ops.clean_up.orphans import OrphanPlan, OrphanResult
from hudictl.ops.clean_up.service import ServiceRemoval
from hudictl.ops.copy.execute import CopyResult
from hudictl.ops.copy.plan import CopyPlan
from hudictl.ops.metadata.drop import DropPlan, DropResult
from hudictl.ops.put_back.drop import UndoDrop, UndoDropped
from hudictl.ops.put_back.execute import UndoResult
from hudictl.ops.put_back.planning import UndoPlan
from hudictl.ops.restore.execute import RestoreResult
from hudictl.ops.restore.leftovers import Leftovers
from hudictl.ops.restore.plan import RestorePlan
from hudictl.ops.restore.withdraw import Withdrawal, Withdrawn
from hudictl.ops.rollback.discard import Discard
from hudictl.ops.rollback.execute import RollbackResult
from hudictl.ops.rollback.failed import RollbackOutcome
from hudictl.ops.rollback.plan import RollbackPlan
from hudictl.ops.savepoint.plan import PrunePlan, PruneResult, SavepointDeletion, SavepointPlan
from hudictl.ops.savepoint.verify import Restorable
from hudictl.ops.waiting import Waited
from hudictl.reports.commits import (
    AmplificationRow,
    CheckpointRow,
    CommitDifference,
    CommitFile,
    CommitPartition,
    CommitRow,
)
from hudictl.reports.doctor.checkup import Checkup
from hudictl.reports.file_explain import FileExplained
from hudictl.reports.file_history import FileEvent
from hudictl.reports.health.finding import Finding, Skipped
from hudictl.reports.history import HistoryRow
from hudictl.reports.indexes.view import IndexDifference
from hudictl.reports.instant import InstantContents
from hudictl.reports.locks import LockDescription
from hudictl.reports.logs.against_timeline import DefectRow
from hudictl.reports.logs.blocks import BlockRow
from hudictl.reports.logs.records import RecordRow
from hudictl.reports.logs.slices import SliceRow
from hudictl.reports.markers import MarkerRow
from hudictl.reports.metadata_files import ListedFile, ListedPartition
from hudictl.reports.metadata_lookup import ColumnStatsRow, LookupRow
from hudictl.reports.metadata_stats import PartitionStats
from hudictl.reports.metadata_table import Difference
from hudictl.reports.partition_back import PartitionsBack
from hudictl.reports.partitions import PartitionRow
from hudictl.reports.phases import PhaseRow
from hudictl.reports.record_versions import FoundRecord, RecordVersion
from hudictl.reports.savepoints import SavepointFile, SavepointRow
from hudictl.reports.schemas import SchemaChange, TableSchema
from hudictl.reports.service_files import ServiceFile
from hudictl.reports.services import CleanRow, ClusteringRow, CompactionRow, IndexingRow, RestoreRow, RollbackRow
from hudictl.reports.stats import SizeRow
from hudictl.reports.table import TableDescription
from hudictl.reports.table_properties import PropertyRow
from hudictl.reports.timeline import TimelineRow
from hudictl.reports.timeline_pairs import TimelinePair
from hudictl.reports.timeline_report import ReportWritten
from hudictl.reports.undo_list import UndoRow
from hudictl.state.orphans.find import OrphanRow
from hudictl.state.services.due import Due
from hudictl.state.writers.failed_writes import PendingWrite
from hudictl.state.writers.heartbeats import HeartbeatRow
from hudictl.state.writers.markers import MarkerFolderRow
from hudictl.table.locks.config import LockConfig, LockSign
from hudictl.table.operations import Operation

SAVED = "cow_savepoints"
FAILED = "mor_failed_lazy"
UNFINISHED = "mor_restore_interrupted"
REFUSED = "cow_rollback_interrupted"
COMPACTED = "mor_pending_compaction"
ROWS, RESULT = "rows", "result"
PLANNED, DONE = "with `--plan`", "when done"


@dataclass(frozen=True, eq=False)
class Document:
    """A document of a command: under ``key`` it has one ``of`` this type, or ``rows`` of it.

    - ``when``: in which case, where a command has several documents.
    - ``line``: prints it on the sample table ``table``; LAST is the last operation. None: no table is in this case.
    - ``breaks``: this pattern of files is deleted first, and ``before`` is run.
    - ``besides``: keys that the command adds.
    """

    command: str
    key: str
    of: type[Any]
    when: str = ""
    line: str | None = ""
    table: str = SAVED
    breaks: str = ""
    before: str = ""
    besides: Mapping[str, type[Any]] = field(default_factory=dict)


_NO_SAVEPOINT = "savepoint delete 20261121030414313 --yes"
_NO_INSTANT = ".hoodie/timeline/20261121030627840.*"
_KEEPING = "restore 20261121030414313 --keep-files --yes"
_COPY = "--as-of 20261121030412254 --to /tmp/hudictl-no-such-folder"
_DATA_FILE = "384bfc70-33f5-4dfa-9fc7-f4f791e27901-0_2-1607-3438_20261121030410998.parquet"
_PAST = ".hoodie/timeline/20261121030623731*"
_FILE = "part-0/384bfc70-33f5-4dfa-9fc7-f4f791e27901-0_3-1707-3672_20261121030415374.parquet"
_LOCK = {"lock": LockConfig}
_TABLE = {"table": str}

DOCUMENTS = (
    Document("table show", RESULT, TableDescription, table=UNFINISHED),
    Document("table properties", ROWS, PropertyRow),
    Document("table schema", RESULT, TableSchema),
    Document("table schema", ROWS, SchemaChange, "with `--history`", None),
    Document("timeline show", ROWS, TimelineRow),
    Document("timeline show", ROWS, TimelinePair, "with `--with-metadata-table`", "--with-metadata-table"),
    Document("timeline report", RESULT, ReportWritten, line=None),
    Document("commit list", ROWS, CommitRow),
    Document("commit show", ROWS, CommitPartition, line="20261121030415374"),
    Document("commit show", ROWS, CommitFile, "with `--by file`", "20261121030415374 --by file"),
    Document("checkpoint list", ROWS, CheckpointRow, line=None),
    Document("clean list", ROWS, CleanRow, line=None),
    Document("clean show", ROWS, ServiceFile, line=None),
    Document("compaction list", ROWS, CompactionRow, table=COMPACTED),
    Document("compaction show", ROWS, ServiceFile, line="20261121030402687", table=COMPACTED),
    Document("clustering list", ROWS, ClusteringRow, line=None),
    Document("clustering show", ROWS, ServiceFile, line=None),
    Document("indexing list", ROWS, IndexingRow, line=None),
    Document("indexing show", ROWS, ServiceFile, line=None),
    Document("rollback list", ROWS, RollbackRow, table=REFUSED),
    Document("rollback show", ROWS, ServiceFile, line="20261121030655262", table=REFUSED),
    Document("restore list", ROWS, RestoreRow, table=UNFINISHED),
    Document("restore show", ROWS, ServiceFile, line="20261121030802660", table=UNFINISHED),
    Document("record find", ROWS, FoundRecord, line="17"),
    Document("record history", ROWS, RecordVersion, line="17"),
    Document("partition list", ROWS, PartitionRow),
    Document("stats sizes", ROWS, SizeRow),
    Document("stats skew", ROWS, SizeRow),
    Document("stats amplification", ROWS, AmplificationRow),
    Document("stats phases", ROWS, PhaseRow),
    Document("commit diff", ROWS, CommitDifference, line="/lake/trips"),
    Document("timeline inspect", RESULT, InstantContents, line="20261121030415374"),
    Document("savepoint create", RESULT, SavepointPlan, line="20261121030415374 --yes"),
    Document("savepoint list", ROWS, SavepointRow),
    Document("savepoint show", ROWS, SavepointFile, line="20261121030414313"),
    Document("savepoint show", RESULT, Restorable, "with `--verify`", "20261121030414313 --verify"),
    Document("savepoint delete", RESULT, SavepointDeletion, line="20261121030414313 --yes"),
    Document("savepoint prune", RESULT, PrunePlan, f"{PLANNED}, or nothing to do", "--all --keep-last 1 --plan"),
    Document("savepoint prune", RESULT, PruneResult, DONE, "--all --keep-last 1 --yes"),
    Document("restore", RESULT, RestorePlan, f"{PLANNED}, or nothing to do", "20261121030414313 --plan"),
    Document("restore", RESULT, RestoreResult, DONE, "20261121030414313 --yes"),
    Document("rollback", RESULT, RollbackPlan, PLANNED, "20261121030415374 --plan", before=_NO_SAVEPOINT),
    Document("rollback", RESULT, RollbackResult, DONE, "20261121030415374 --yes", before=_NO_SAVEPOINT),
    Document("rollback", RESULT, ServiceRemoval, "of a pending clean or indexing", None),
    Document("resume", RESULT, RestorePlan, f"of a restore, {PLANNED}", "--plan", UNFINISHED),
    Document("resume", RESULT, RestoreResult, f"of a restore, {DONE}", "--yes", UNFINISHED),
    Document("resume", RESULT, Withdrawal, "`--withdraw --plan`", None),
    Document("resume", RESULT, Withdrawn, "`--withdraw`, when done", None),
    Document("resume", ROWS, RollbackOutcome, "of rollbacks", None),
    Document(
        "resume",
        RESULT,
        Discard,
        "`--discard-rollbacks`, with no rollback to finish",
        "--discard-rollbacks --yes",
        REFUSED,
    ),
    Document("resume", RESULT, Leftovers, "of an ended restore's leftovers", None),
    Document("wait", RESULT, Waited, line="--for nothing-pending"),
    Document("undo", RESULT, UndoPlan, PLANNED, "LAST --plan", before=_KEEPING),
    Document("undo", RESULT, UndoResult, DONE, "LAST --yes", before=_KEEPING),
    Document("undo list", ROWS, UndoRow, before=_KEEPING),
    Document("undo drop", RESULT, UndoDrop, PLANNED, "LAST --plan", before=_KEEPING),
    Document("undo drop", RESULT, UndoDropped, DONE, "LAST --yes", before=_KEEPING),
    Document(
        "restore",
        RESULT,
        PartitionsBack,
        "with `--partition` and `--plan`",
        "20261121030412254 --partition part-0 --plan",
    ),
    Document("copy", RESULT, CopyPlan, f"{PLANNED}, or nothing to do", f"{_COPY} --plan"),
    Document("copy", RESULT, CopyResult, DONE, None),
    Document("failed-writes list", ROWS, PendingWrite, table=FAILED),
    Document("failed-writes clean", ROWS, RollbackOutcome, line="--yes", table=FAILED),
    Document("heartbeat list", ROWS, HeartbeatRow, table=FAILED),
    Document("heartbeat delete", RESULT, HeartbeatRow, PLANNED, "20261121030627840 --plan", FAILED, besides=_LOCK),
    Document("heartbeat delete", RESULT, HeartbeatRow, DONE, "20261121030627840 --yes", FAILED),
    Document("marker list", ROWS, MarkerFolderRow, table=FAILED),
    Document("marker list", ROWS, MarkerRow, "with an instant", "20261121030627840", FAILED),
    Document(
        "marker delete",
        RESULT,
        MarkerFolderRow,
        PLANNED,
        "20261121030627840 --plan",
        FAILED,
        _NO_INSTANT,
        besides=_LOCK,
    ),
    Document("marker delete", RESULT, MarkerFolderRow, DONE, "20261121030627840 --yes", FAILED, _NO_INSTANT),
    Document("orphans list", ROWS, OrphanRow, table=FAILED, breaks=_NO_INSTANT),
    Document("orphans delete", RESULT, OrphanPlan, PLANNED, "--plan", FAILED, _NO_INSTANT),
    Document("orphans delete", RESULT, OrphanResult, DONE, None),
    Document("file slices", ROWS, SliceRow, table=FAILED),
    Document("file explain", RESULT, FileExplained, line=_DATA_FILE),
    Document("file history", ROWS, FileEvent, line="384bfc70-33f5-4dfa-9fc7-f4f791e27901-0"),
    Document("log records", ROWS, RecordRow, line="/lake/trips/part-0", table=FAILED),
    Document("log verify", ROWS, DefectRow, table=FAILED, breaks=_PAST),
    Document("log inspect", ROWS, BlockRow, line="--partition part-0", table=FAILED),
    Document("metadata files", ROWS, ListedPartition),
    Document("metadata files", ROWS, ListedFile, "with a partition", "part-0"),
    Document("metadata partitions", ROWS, PartitionStats),
    Document(
        "metadata columns",
        ROWS,
        ColumnStatsRow,
        line=_FILE,
    ),
    Document("metadata lookup", ROWS, LookupRow, line="17 18", table="cow_record_index"),
    Document("metadata drop", RESULT, DropPlan, PLANNED, "--plan"),
    Document("metadata drop", RESULT, DropResult, DONE, "--yes"),
    Document("metadata verify", ROWS, Difference, breaks="part-0/*.parquet"),
    Document("metadata verify", ROWS, IndexDifference, "with --indexes", None),
    Document("lock show", RESULT, LockDescription),
    Document("lock break", RESULT, LockSign, line=None),
    Document("config list", ROWS, ProfileRow, line=None),
    Document("doctor", ROWS, Checkup, line=None),
    Document("check", ROWS, Finding, table=FAILED, besides=_TABLE),
    Document("check", "skipped", Skipped, "the checks that were skipped", table=FAILED, besides=_TABLE),
    Document("why archive", RESULT, Due, line="--assume-defaults"),
    Document("why clean", RESULT, Due, line="--assume-defaults"),
    Document("why compaction", RESULT, Due, line="--assume-defaults", table=FAILED),
    Document("history", ROWS, HistoryRow, before=_NO_SAVEPOINT),
    Document("history show", RESULT, Operation, line="LAST", before=_NO_SAVEPOINT),
)

OTHERS = {
    "apply": "the document of the command whose plan it is; `.command` is `apply`.",
    "completion": "text only.",
    "demo": "text only.",
}
"""Commands without a document of their own."""
