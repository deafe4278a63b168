"""What each command prints with ``--output json``: the types, by command and key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hudictl.ops.clean_up.orphans import OrphanPlan, OrphanResult
from hudictl.ops.clean_up.service import ServiceRemoval
from hudictl.ops.copy.execute import CopyResult
from hudictl.ops.copy.plan import CopyPlan
from hudictl.ops.metadata.drop import DropPlan, DropResult
from hudictl.ops.put_back.drop import UndoDrop, UndoDropped
from hudictl.ops.put_back.execute import UndoResult
from hudictl.ops.put_back.planning import UndoPlan
from hudictl.ops.repair.plan import RepairPlan, RepairResult
from hudictl.ops.restore.execute import RestoreResult
from hudictl.ops.restore.leftovers import Leftovers
from hudictl.ops.restore.plan import RestorePlan
from hudictl.ops.restore.withdraw import Withdrawal, Withdrawn
from hudictl.ops.rollback.discard import Discard
from hudictl.ops.rollback.failed import RollbackOutcome
from hudictl.ops.rollback.plan import RollbackPlan
from hudictl.ops.rollback.run import RollbackResult
from hudictl.ops.savepoint.plan import PrunePlan, PruneResult, SavepointDeletion, SavepointPlan
from hudictl.ops.savepoint.verify import Restorable
from hudictl.ops.set_property import PropertyPlan
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
from hudictl.reports.profiles import ProfileRow
from hudictl.reports.record_duplicates import DuplicateRecord
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
from hudictl.state.services.plan_problems import PlanProblem
from hudictl.state.writers.failed_writes import PendingWrite
from hudictl.state.writers.heartbeats import HeartbeatRow
from hudictl.state.writers.markers import MarkerFolderRow
from hudictl.table.locks.config import LockConfig, LockSign
from hudictl.table.operations import Operation

ROWS, RESULT = "rows", "result"
PLANNED, DONE = "with `--plan`", "when done"


@dataclass(frozen=True, eq=False)
class Document:
    """A document of a command: under ``key`` it has one ``of`` this type, or ``rows`` of it.

    - ``when``: in which case, where a command has several documents.
    - ``besides``: keys that the command adds.
    - ``or_null``: there can be nothing to show. Of a command that changes something that is so in any case.
    """

    command: str
    key: str
    of: type[Any]
    when: str = ""
    besides: Mapping[str, type[Any]] = field(default_factory=dict)
    or_null: bool = False


@dataclass(frozen=True)
class SchemaRow:
    """A command that prints JSON. ``command``: its name. ``keys``: where its document has what the command found or
    did: ``rows`` or ``result``; a command with both has one of them in each case. ``changes``: whether it changes a
    table: then its document has an ``outcome``."""

    command: str
    keys: tuple[str, ...]
    changes: bool


_LOCK = {"lock": LockConfig}
_TABLE = {"table": str}


def _of_change(command: str, plan: type[Any], result: type[Any]) -> tuple[Document, Document]:
    return Document(command, RESULT, plan, PLANNED), Document(command, RESULT, result, DONE)


DOCUMENTS = (
    Document("table show", RESULT, TableDescription),
    Document("table properties", ROWS, PropertyRow),
    Document("table schema", RESULT, TableSchema, or_null=True),
    Document("table schema", ROWS, SchemaChange, "with `--history`"),
    Document("table set-property", RESULT, PropertyPlan),
    Document("timeline show", ROWS, TimelineRow),
    Document("timeline show", ROWS, TimelinePair, "with `--with-metadata-table`"),
    Document("timeline report", RESULT, ReportWritten),
    *_of_change("archive repair", RepairPlan, RepairResult),
    *_of_change("table repair-properties", RepairPlan, RepairResult),
    *_of_change("timeline quarantine", RepairPlan, RepairResult),
    Document("commit list", ROWS, CommitRow),
    Document("commit show", ROWS, CommitPartition),
    Document("commit show", ROWS, CommitFile, "with `--by file`"),
    Document("checkpoint list", ROWS, CheckpointRow),
    Document("clean list", ROWS, CleanRow),
    Document("clean show", ROWS, ServiceFile),
    Document("clean discard", RESULT, ServiceRemoval),
    Document("compaction list", ROWS, CompactionRow),
    Document("compaction show", ROWS, ServiceFile),
    Document("compaction validate", ROWS, PlanProblem),
    *_of_change("compaction unschedule", RollbackPlan, RollbackResult),
    Document("compaction unschedule", RESULT, RepairPlan, f"with `--group`, {PLANNED}"),
    Document("compaction unschedule", RESULT, RepairResult, f"with `--group`, {DONE}"),
    *_of_change("compaction rebuild-plan", RollbackPlan, RollbackResult),
    Document("clustering list", ROWS, ClusteringRow),
    Document("clustering show", ROWS, ServiceFile),
    *_of_change("clustering prune", RepairPlan, RepairResult),
    Document("indexing list", ROWS, IndexingRow),
    Document("indexing show", ROWS, ServiceFile),
    Document("rollback list", ROWS, RollbackRow),
    Document("rollback show", ROWS, ServiceFile),
    Document("restore list", ROWS, RestoreRow),
    Document("restore show", ROWS, ServiceFile),
    Document("record find", ROWS, FoundRecord),
    Document("record history", ROWS, RecordVersion),
    Document("record duplicates", ROWS, DuplicateRecord),
    Document("partition list", ROWS, PartitionRow),
    *_of_change("partition repair", RepairPlan, RepairResult),
    Document("stats sizes", ROWS, SizeRow),
    Document("stats skew", ROWS, SizeRow),
    Document("stats amplification", ROWS, AmplificationRow),
    Document("stats phases", ROWS, PhaseRow),
    Document("commit diff", ROWS, CommitDifference),
    Document("timeline inspect", RESULT, InstantContents),
    Document("savepoint create", RESULT, SavepointPlan),
    Document("savepoint list", ROWS, SavepointRow),
    Document("savepoint show", ROWS, SavepointFile),
    Document("savepoint show", RESULT, Restorable, "with `--verify`"),
    Document("savepoint delete", RESULT, SavepointDeletion),
    Document("savepoint prune", RESULT, PrunePlan, f"{PLANNED}, or nothing to do"),
    Document("savepoint prune", RESULT, PruneResult, DONE),
    Document("restore", RESULT, RestorePlan, f"{PLANNED}, or nothing to do"),
    Document("restore", RESULT, RestoreResult, DONE),
    Document("restore", RESULT, Leftovers, "of an ended restore's leftovers"),
    Document("restore", RESULT, PartitionsBack, "with `--partition` and `--plan`"),
    *_of_change("rollback", RollbackPlan, RollbackResult),
    Document("rollback", RESULT, ServiceRemoval, "of a pending clean or indexing"),
    Document("resume", RESULT, RestorePlan, f"of a restore, {PLANNED}"),
    Document("resume", RESULT, RestoreResult, f"of a restore, {DONE}"),
    Document("resume", RESULT, Withdrawal, "`--withdraw --plan`"),
    Document("resume", RESULT, Withdrawn, "`--withdraw`, when done"),
    Document("resume", ROWS, RollbackOutcome, "of rollbacks"),
    Document("resume", RESULT, Discard, "`--discard-rollbacks`, with no rollback to finish"),
    Document("resume", RESULT, Leftovers, "of an ended restore's leftovers"),
    Document("wait", RESULT, Waited),
    *_of_change("undo", UndoPlan, UndoResult),
    Document("undo list", ROWS, UndoRow),
    *_of_change("undo drop", UndoDrop, UndoDropped),
    Document("copy", RESULT, CopyPlan, f"{PLANNED}, or nothing to do"),
    Document("copy", RESULT, CopyResult, DONE),
    Document("failed-writes list", ROWS, PendingWrite),
    Document("failed-writes clean", ROWS, RollbackOutcome),
    Document("heartbeat list", ROWS, HeartbeatRow),
    Document("heartbeat delete", RESULT, HeartbeatRow, PLANNED, besides=_LOCK),
    Document("heartbeat delete", RESULT, HeartbeatRow, DONE),
    Document("marker list", ROWS, MarkerFolderRow),
    Document("marker list", ROWS, MarkerRow, "with an instant"),
    Document("marker delete", RESULT, MarkerFolderRow, PLANNED, besides=_LOCK),
    Document("marker delete", RESULT, MarkerFolderRow, DONE),
    Document("orphans list", ROWS, OrphanRow),
    *_of_change("orphans delete", OrphanPlan, OrphanResult),
    Document("file slices", ROWS, SliceRow),
    Document("file explain", RESULT, FileExplained),
    Document("file history", ROWS, FileEvent),
    Document("log records", ROWS, RecordRow),
    Document("log verify", ROWS, DefectRow),
    Document("log inspect", ROWS, BlockRow),
    Document("metadata files", ROWS, ListedPartition),
    Document("metadata files", ROWS, ListedFile, "with a partition"),
    Document("metadata partitions", ROWS, PartitionStats),
    Document("metadata columns", ROWS, ColumnStatsRow),
    Document("metadata lookup", ROWS, LookupRow),
    *_of_change("metadata drop", DropPlan, DropResult),
    Document("metadata verify", ROWS, Difference),
    Document("metadata verify", ROWS, IndexDifference, "with --indexes"),
    Document("lock show", RESULT, LockDescription),
    Document("lock break", RESULT, LockSign),
    Document("config list", ROWS, ProfileRow),
    Document("doctor", ROWS, Checkup),
    Document("check", ROWS, Finding, besides=_TABLE),
    Document("check", "skipped", Skipped, "the checks that were skipped", besides=_TABLE),
    Document("why archive", RESULT, Due),
    Document("why clean", RESULT, Due),
    Document("why compaction", RESULT, Due),
    Document("history", ROWS, HistoryRow),
    Document("history show", RESULT, Operation),
    Document("schema", ROWS, SchemaRow, "without COMMAND"),
)

CHANGING = frozenset(
    {
        *(f"savepoint {what}" for what in ("create", "delete", "prune")),
        *("restore", "rollback", "resume", "undo", "undo drop", "copy", "failed-writes clean", "apply"),
        *(f"{what} delete" for what in ("heartbeat", "marker", "orphans")),
        *("metadata drop", "lock break", "table set-property", "table repair-properties", "partition repair"),
        *("timeline quarantine", "archive repair"),
        *("clean discard", "compaction unschedule", "compaction rebuild-plan", "clustering prune"),
    }
)
"""The commands that change something: their documents have an ``outcome``, and their ``result`` can be null."""
_APPLIED = (
    *("restore", "rollback", "savepoint create", "savepoint delete", "savepoint prune"),
    *("metadata drop", "orphans delete"),
)
"""The commands whose saved plans can be applied."""


def documents_of(command: str) -> tuple[Document, ...]:
    """The documents of a command; none of one that has no document. A saved plan's are those of its command."""
    commands = _APPLIED if command == "apply" else (command,)
    return tuple(document for document in DOCUMENTS if document.command in commands)


def schema_rows() -> list[SchemaRow]:
    """All commands that have a document."""
    commands = dict.fromkeys((*(document.command for document in DOCUMENTS), "apply"))
    return [
        SchemaRow(
            command, tuple(dict.fromkeys(document.key for document in documents_of(command))), command in CHANGING
        )
        for command in commands
    ]
