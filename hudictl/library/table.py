"""A table to look at, and to change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from hudictl.library import changes
from hudictl.library.opened import IDLE_MS, Opened, Times
from hudictl.library.options import chosen, several
from hudictl.library.rows import Rows
from hudictl.library.times import age_ms

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hudictl.library.change import TableChange
    from hudictl.library.files import DataFiles
    from hudictl.library.logs import LogFiles
    from hudictl.library.metadata import MetadataTable
    from hudictl.library.pictures import Pictures
    from hudictl.library.records import Records
    from hudictl.library.repairs import Repairs
    from hudictl.library.rollbacks import Rollbacks
    from hudictl.library.services import TableServices
    from hudictl.library.writers import Writers
    from hudictl.ops.clean_up.orphans import OrphanOptions, OrphanPlan, OrphanResult
    from hudictl.ops.copy.execute import CopyResult
    from hudictl.ops.copy.plan import CopyOptions, CopyPlan
    from hudictl.ops.put_back.drop import UndoDrop, UndoDropped
    from hudictl.ops.put_back.execute import UndoResult
    from hudictl.ops.put_back.planning import UndoPlan
    from hudictl.ops.restore.execute import RestoreResult
    from hudictl.ops.restore.plan import RestoreOptions, RestorePlan
    from hudictl.ops.restore.withdraw import Withdrawal, Withdrawn
    from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
    from hudictl.ops.rollback.run import RollbackResult
    from hudictl.ops.savepoint.plan import (
        PruneOptions,
        PrunePlan,
        PruneResult,
        SavepointDeletion,
        SavepointOptions,
        SavepointPlan,
    )
    from hudictl.ops.savepoint.verify import Restorable
    from hudictl.ops.undo.afterwards import Afterwards
    from hudictl.ops.waiting import Waited
    from hudictl.reports.commits import (
        AmplificationRow,
        CheckpointRow,
        CommitDifference,
        CommitFile,
        CommitPartition,
        CommitRow,
    )
    from hudictl.reports.health.check import Found
    from hudictl.reports.health.families import FindingSelection
    from hudictl.reports.history import HistoryRow
    from hudictl.reports.instant import InstantContents
    from hudictl.reports.logs.slices import SliceRow
    from hudictl.reports.partition_back import PartitionsBack
    from hudictl.reports.partitions import PartitionRow
    from hudictl.reports.phases import PhaseRow
    from hudictl.reports.savepoints import SavepointFile, SavepointRow
    from hudictl.reports.schemas import SchemaChange, SchemaField, TableSchema
    from hudictl.reports.table import TableDescription
    from hudictl.reports.table_properties import PropertyRow
    from hudictl.reports.timeline import TimelineRow
    from hudictl.reports.timeline_pairs import TimelinePair
    from hudictl.reports.undo_list import UndoRow
    from hudictl.state.services.due import Due
    from hudictl.table.operations import Operation
    from hudictl.table.settings import Settings
    from hudictl.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class HudiTable:
    """A Hudi table. ``hudictl.open`` makes it; used in ``with``, its engine is stopped at the end.

    Lists are ``Rows``: they read the table when they are iterated. Every method raises errors of ``hudictl.errors``.
    """

    opened: Opened

    def __repr__(self) -> str:
        return f"HudiTable({self.uri!r}, version {self.version})"

    @property
    def core(self) -> "Table":
        """What the formats and the operations of hudictl know as a table."""
        return self.opened.core

    @property
    def uri(self) -> str:
        """The base path."""
        return self.core.uri

    @property
    def name(self) -> str:
        """``hoodie.table.name``."""
        return self.core.name

    @property
    def version(self) -> int:
        """``hoodie.table.version``."""
        return self.core.version

    @property
    def metadata(self) -> "MetadataTable":
        """The metadata table."""
        from hudictl.library.metadata import MetadataTable

        return MetadataTable(self.opened)

    @property
    def services(self) -> "TableServices":
        """Cleans, compactions, clusterings, indexings, rollbacks and restores."""
        from hudictl.library.services import TableServices

        return TableServices(self.opened)

    @property
    def files(self) -> "DataFiles":
        """The data files."""
        from hudictl.library.files import DataFiles

        return DataFiles(self.opened)

    @property
    def records(self) -> "Records":
        """The records, by their keys."""
        from hudictl.library.records import Records

        return Records(self.opened)

    @property
    def repairs(self) -> "Repairs":
        """Mends what is damaged, file by file."""
        from hudictl.library.repairs import Repairs

        return Repairs(self.opened)

    @property
    def pictures(self) -> "Pictures":
        """Bars of the instants, and a page for a ticket."""
        from hudictl.library.pictures import Pictures

        return Pictures(self.opened)

    @property
    def writers(self) -> "Writers":
        """Pending writes, heartbeats, markers and locks."""
        from hudictl.library.writers import Writers

        return Writers(self.opened)

    def close(self) -> None:
        """Stops the engine."""
        self.opened.close()

    def __enter__(self) -> "HudiTable":
        return self

    def __exit__(self, *_ended: object) -> None:
        self.close()

    def describe(self) -> "TableDescription":
        """The state of the table, and whether a writer can open it (``table show``)."""
        from hudictl.reports.table import describe_table

        return describe_table(self.core)

    def properties(self, *, unset: bool = False) -> "Rows[PropertyRow]":
        """hoodie.properties; ``unset``: also those that are not set, with their defaults."""
        from hudictl.reports.table_properties import PropertyRow, property_rows

        return Rows(PropertyRow, lambda: property_rows(self.core, unset=unset))

    def schema(self, as_of: str | None = None) -> "TableSchema | None":
        """The schema of the newest completed write, or as of an instant; None if no write has one."""
        from hudictl.reports.schemas import table_schema_as_of

        return table_schema_as_of(self.core, as_of)

    def fields(self, as_of: str | None = None) -> "Rows[SchemaField]":
        """The fields of this schema."""
        from hudictl.reports.schemas import SchemaField, fields_of

        def look() -> "Sequence[SchemaField]":
            found = self.schema(as_of)
            return fields_of(found.schema) if found else ()

        return Rows(SchemaField, look)

    def schema_changes(self) -> "Rows[SchemaChange]":
        """The writes that changed the schema, newest first, with archived ones."""
        from hudictl.reports.schemas import SchemaChange, schema_changes

        return Rows(SchemaChange, lambda: schema_changes(self.core))

    def timeline(
        self,
        actions: Sequence[str] = (),
        states: Sequence[str] = (),
        limit: int | None = None,
        **times: "Unpack[Times]",
    ) -> "Rows[TimelineRow]":
        """The instants. ``limit``: this many of the newest; then no others are read. ``actions``: commit, deltacommit,
        clean, rollback and the like, as the rows have them; ``states``: requested, inflight, completed."""
        from hudictl.reports.timeline import TimelineRow, timeline_rows

        return self.opened.by_time(TimelineRow, timeline_rows, times, **chosen(actions, states, limit))

    def timeline_pairs(
        self, actions: Sequence[str] = (), states: Sequence[str] = (), **times: "Unpack[Times]"
    ) -> "Rows[TimelinePair]":
        """The instants beside those of the metadata table."""
        from hudictl.reports.timeline_pairs import TimelinePair, timeline_pairs

        return self.opened.by_time(TimelinePair, timeline_pairs, times, **chosen(actions, states))

    def instant(self, instant: str) -> "InstantContents":
        """The contents of an instant's files, active and archived. ``problems`` are files that cannot be read."""
        from hudictl.reports.instant import inspect_instant

        return inspect_instant(self.core, instant)

    def commits(self, partition: str | None = None, **times: "Unpack[Times]") -> "Rows[CommitRow]":
        """The completed writes, or those that changed a partition: what each did, and how much it wrote."""
        from hudictl.reports.commits import CommitRow, commit_rows

        return self.opened.by_time(CommitRow, partial(commit_rows, partition=partition), times)

    def commit_partitions(self, instant: str) -> "Rows[CommitPartition]":
        """What a commit did, by partition."""
        from hudictl.reports.commits import CommitPartition, commit_partitions

        return Rows(CommitPartition, lambda: commit_partitions(self.core, instant))

    def commit_files(self, instant: str) -> "Rows[CommitFile]":
        """What a commit did, by file."""
        from hudictl.reports.commits import CommitFile, commit_files

        return Rows(CommitFile, lambda: commit_files(self.core, instant))

    def commit_differences(self, copy: "HudiTable", **times: "Unpack[Times]") -> "Rows[CommitDifference]":
        """The completed writes that only one of the table and its copy has."""
        from hudictl.reports.commits import CommitDifference, commit_differences

        return self.opened.by_time(
            CommitDifference, lambda table, wanted: commit_differences(table, copy.core, wanted), times
        )

    def checkpoints(self, **times: "Unpack[Times]") -> "Rows[CheckpointRow]":
        """The commits with a checkpoint of Hudi Streamer."""
        from hudictl.reports.commits import CheckpointRow, checkpoint_rows

        return self.opened.by_time(CheckpointRow, checkpoint_rows, times)

    def amplification(self, **times: "Unpack[Times]") -> "Rows[AmplificationRow]":
        """How many records completed writes wrote for each updated one, and the total."""
        from hudictl.reports.commits import AmplificationRow, amplification_rows

        return self.opened.by_time(AmplificationRow, amplification_rows, times)

    def phases(self, **times: "Unpack[Times]") -> "Rows[PhaseRow]":
        """How long instants were requested and inflight, and of this in the metadata table."""
        from hudictl.reports.phases import PhaseRow, phase_rows

        return self.opened.by_time(PhaseRow, phase_rows, times)

    def partitions(self) -> "Rows[PartitionRow]":
        """The partitions: their files and last write, and whether readers see them."""
        from hudictl.reports.partitions import PartitionRow, partition_rows

        return Rows(PartitionRow, lambda: partition_rows(self.core, self.opened.engine))

    def slices(self, partition: str | None = None, as_of: str | None = None) -> "Rows[SliceRow]":
        """The file slices of all file groups: base file, logs, and the bytes that a compaction would read."""
        from hudictl.library.files import slices_of

        return slices_of(self.opened, partition, as_of)

    def savepoints(
        self, *, count_bytes: bool = False, verify: bool = False, idle_ms: int = IDLE_MS
    ) -> "Rows[SavepointRow]":
        """The savepoints, newest first. ``count_bytes``: also what each holds; data files are listed. ``verify``: also
        whether each can be restored now."""
        from hudictl.library.savepoints import savepoints

        return savepoints(self.opened, count_bytes=count_bytes, verify=verify, idle_ms=idle_ms)

    def savepoint_files(self, instant: str) -> "Rows[SavepointFile]":
        """The files of a savepoint; a note has its tag. Raises Refused: there is none."""
        from hudictl.library.savepoints import files_of_savepoint

        return files_of_savepoint(self.opened, instant)

    def verify_savepoint(self, instant: str, *, deep: bool = False, idle_ms: int = IDLE_MS) -> "Restorable":
        """Whether a savepoint can be restored now. ``deep``: footers and logs are read, too."""
        from hudictl.ops.restore.plan import RestoreOptions
        from hudictl.ops.savepoint.verify import verify_savepoint

        options = RestoreOptions(idle_ms=idle_ms, deep=deep)
        return verify_savepoint(self.opened.session(), instant, options)

    def partitions_back(self, to: str, partitions: Sequence[str]) -> "PartitionsBack":
        """The copy and the SQL that bring single partitions back as of a commit."""
        from hudictl.reports.partition_back import partitions_back

        return partitions_back(self.core, to, several(partitions))

    def history(self) -> "Rows[HistoryRow]":
        """The operations of hudictl on the table, newest first."""
        from hudictl.reports.history import HistoryRow, history_rows

        return Rows(HistoryRow, lambda: history_rows(self.core)[::-1])

    def operation(self, instant: str) -> "Operation":
        """One operation: its plan, and every attempt. Raises Refused: there is none."""
        from hudictl.reports.history import find_operation

        return find_operation(self.core, instant)

    def afterwards(self, instant: str) -> "Afterwards":
        """What those who read and write the table must know after a restore or rollback."""
        from hudictl.ops.undo.afterwards import afterwards_then

        return afterwards_then(self.core, instant)

    def undos(self) -> "Rows[UndoRow]":
        """The operations that kept their files, newest first."""
        from hudictl.reports.undo_list import UndoRow, undo_rows

        return Rows(UndoRow, lambda: undo_rows(self.core))

    def check(
        self,
        settings: "Settings | None" = None,
        *,
        idle_ms: int = IDLE_MS,
        selection: "FindingSelection | None" = None,
        footers: bool = False,
    ) -> "Found":
        """The health of the table: findings, each with its meaning and its remedy, and what was not checked.

        Args:
            settings: of the writers, by default those it was opened with; checks that need others are skipped.
            selection: only these findings, or not these.
            footers: also read the end of each base file and log; so are they for a finding that needs it.
        """
        from hudictl.library.checks import check

        return check(self.opened, settings or self.opened.settings, idle_ms, selection, footers=footers)

    def why(
        self,
        service: Literal["archive", "clean", "compaction"],
        settings: "Settings | None" = None,
        *,
        idle_ms: int = IDLE_MS,
    ) -> "Due":
        """Why archiving, cleaning or compaction does too little. ``settings``: as in ``check``. Raises UsageError."""
        from hudictl.reports.why import why

        return why(self.core, service, settings or self.opened.settings, idle_ms)

    def wait(
        self,
        conditions: Sequence[str],
        *,
        timeout_ms: int = 1_800_000,
        every_ms: int = 10_000,
        idle_ms: int = IDLE_MS,
    ) -> "Waited":
        """Waits until all conditions hold at the same look: no-writers, nothing-pending, savepoint-restorable[=S],
        instant=T.

        Raises Conflict: the time is over; Refused: a condition can never hold.
        """
        from hudictl.library.waiting import wait

        return wait(self.opened, conditions, timeout_ms=timeout_ms, every_ms=every_ms, idle_ms=idle_ms)

    def log(
        self, *paths: str, partition: str | None = None, file_id: str | None = None, instant: str | None = None
    ) -> "LogFiles":
        """Logs of the table: files, folders or patterns, as paths below the table; or those of a partition, of a file
        group, or with blocks of an instant; by default all, also of its metadata table."""
        from hudictl.library.logs import logs_in

        return logs_in(self.opened, paths, partition, file_id, instant)

    def restore(self, to: str, options: "RestoreOptions | None" = None) -> "TableChange[RestorePlan, RestoreResult]":
        """A restore to a savepoint; to any commit with ``RestoreOptions(to_instant=True)``. Stop all writers first.
        The same again goes on with one that was interrupted."""
        from hudictl.ops.restore.plan import RestoreOptions

        return changes.restore(to, self.opened.keeping(options or RestoreOptions())).of(self.opened)

    def withdraw_restore(self, idle_ms: int = IDLE_MS) -> "TableChange[Withdrawal, Withdrawn]":
        """The withdrawal of a pending restore, possible until it deletes the first data file."""
        return changes.withdrawal(idle_ms).of(self.opened)

    def rollback(
        self, instant: str, options: "RollbackOptions | None" = None
    ) -> "TableChange[RollbackPlan, RollbackResult]":
        """The rollback of a pending write, compaction or clustering, or of the newest completed commit. A pending
        clean or indexing: ``services.remove``."""
        from hudictl.ops.rollback.plan import RollbackOptions

        return changes.rollback(instant, self.opened.keeping(options or RollbackOptions())).of(self.opened)

    def clean_failed_writes(
        self, policy: Literal["lazy", "eager"] = "lazy", options: "RollbackOptions | None" = None
    ) -> "Rollbacks":
        """The rollbacks of failed writes. lazy: those with an expired heartbeat; eager: all without activity."""
        from hudictl.library.rollbacks import Rollbacks, failed_writes_to_clean
        from hudictl.ops.rollback.plan import RollbackOptions

        options = self.opened.keeping(options or RollbackOptions())
        choice = failed_writes_to_clean(self.opened, policy, options)
        return Rollbacks(self.opened, choice.targets)

    def create_savepoint(
        self,
        instant: str | None = None,
        options: "SavepointOptions | None" = None,
        *,
        tag: str | None = None,
        every: str | timedelta | None = None,
    ) -> "TableChange[SavepointPlan, None]":
        """A savepoint on a commit; by default on the newest without older pending writes.

        Args:
            instant: The commit.
            options: By default the user is that of this process.
            tag: For ``prune_savepoints``: it stands before the comment.
            every: Nothing is to do if a savepoint with the tag is on a commit younger than 90 % of this ("24h").
        """
        from hudictl.library.savepoints import creation

        return creation(instant, options, tag, every).of(self.opened)

    def delete_savepoint(self, instant: str) -> "TableChange[SavepointDeletion, None]":
        """The deletion of a savepoint."""
        return changes.savepoint_deletion(instant).of(self.opened)

    def prune_savepoints(self, options: "PruneOptions") -> "TableChange[PrunePlan, PruneResult]":
        """The deletion of the savepoints that no rule keeps."""
        return changes.savepoint_prune(options).of(self.opened)

    def delete_orphans(self, options: "OrphanOptions | None" = None) -> "TableChange[OrphanPlan, OrphanResult]":
        """The deletion of the sure orphans."""
        from hudictl.ops.clean_up.orphans import OrphanOptions

        return changes.orphan_deletion(self.opened.keeping(options or OrphanOptions())).of(self.opened)

    def undo(self, instant: str, idle_ms: int = IDLE_MS) -> "TableChange[UndoPlan, UndoResult]":
        """The undo of an operation that kept its files (``keep_files`` in its options)."""
        return changes.undo(instant, idle_ms).of(self.opened)

    def drop_undo(
        self, *instants: str, older_than: str | timedelta | None = None
    ) -> "TableChange[UndoDrop, UndoDropped]":
        """The deletion of what operations have kept: of some, or of all that are older than an age ("14d")."""
        older_ms = None if older_than is None else age_ms(older_than, "older_than")
        return changes.undo_drop(instants, older_ms).of(self.opened)

    def copy(
        self,
        to: str,
        as_of: str,
        options: "CopyOptions | None" = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> "TableChange[CopyPlan, CopyResult]":
        """A copy of the table as of a commit: a table of its own. The same again goes on with one that has failed.

        Args:
            to: The folder of the copy: empty, or absent.
            as_of: The commit: the copy has the rows that readers saw after it.
            options: Only some partitions, another name.
            storage_options: Of the copy's store. By default those of the table, on the same kind of store.
        """
        from hudictl.library.copies import copy_of

        return copy_of(self.opened, to, as_of, options, storage_options or {})

    def apply(self, plan: str | bytes) -> "TableChange[Any, Any]":
        """A saved plan (``Planned.to_json``, or ``--plan --output json``): it is planned again and compared.

        Raises Unreadable: not a plan, or one that was changed; Conflict, when it is planned: the table has changed.
        """
        from hudictl.library.saved import read_plan

        read = read_plan(plan.encode() if isinstance(plan, str) else plan, "the plan")
        return read.change().of(self.opened)
