"""A table to look at, and to change."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from hudictl.library.opened import IDLE_MS, Opened, Times
from hudictl.library.rows import Rows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hudictl.library.change import TableChange
    from hudictl.library.files import DataFiles
    from hudictl.library.logs import LogFiles
    from hudictl.library.metadata import MetadataTable
    from hudictl.library.pictures import Pictures
    from hudictl.library.records import Records
    from hudictl.library.rollbacks import Rollbacks
    from hudictl.library.services import TableServices
    from hudictl.library.writers import Writers
    from hudictl.ops.clean_up.orphans import OrphanOptions, OrphanPlan, OrphanResult
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
    from hudictl.reports.timeline import TimelineFilter, TimelineRow
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
        """The instants. ``limit``: this many of the newest; then no others are read."""
        from dataclasses import replace

        from hudictl.reports.timeline import TimelineRow, timeline_rows

        chosen = partial(replace, actions=actions, states=states, limit=limit)
        return Rows(TimelineRow, lambda: timeline_rows(self.core, chosen(self.opened.instants(**times))))

    def timeline_pairs(
        self, actions: Sequence[str] = (), states: Sequence[str] = (), **times: "Unpack[Times]"
    ) -> "Rows[TimelinePair]":
        """The instants beside those of the metadata table."""
        from dataclasses import replace

        from hudictl.reports.timeline_pairs import TimelinePair, timeline_pairs

        chosen = partial(replace, actions=actions, states=states)
        return Rows(TimelinePair, lambda: timeline_pairs(self.core, chosen(self.opened.instants(**times))))

    def instant(self, instant: str) -> "InstantContents":
        """The contents of an instant's files, active and archived. ``problems`` are files that cannot be read."""
        from hudictl.reports.instant import inspect_instant

        return inspect_instant(self.core, instant)

    def commits(self, **times: "Unpack[Times]") -> "Rows[CommitRow]":
        """The completed writes: what each did, and how much it wrote."""
        from hudictl.reports.commits import CommitRow, commit_rows

        return self.opened.by_time(CommitRow, commit_rows, times)

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

        def look(table: "Table", wanted: "TimelineFilter") -> "list[CommitDifference]":
            return commit_differences(table, copy.core, wanted)

        return self.opened.by_time(CommitDifference, look, times)

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
        from hudictl.reports.logs.slices import SliceRow, files_of_partition, files_of_table, slice_rows
        from hudictl.table.timeline.active import load_timeline

        def look() -> list[SliceRow]:
            timeline = load_timeline(self.core)
            if partition is None:
                files = files_of_table(self.core, timeline, self.opened.engine)
            else:
                files = files_of_partition(self.core, partition)
            return slice_rows(self.core, files, timeline, as_of)

        return Rows(SliceRow, look)

    def savepoints(self, *, count_bytes: bool = False, verify: bool = False) -> "Rows[SavepointRow]":
        """The savepoints, newest first.

        Args:
            count_bytes: also what each holds; data files are listed.
            verify: also whether each can be restored now.
        """
        from hudictl.library.savepoints import savepoints
        from hudictl.reports.savepoints import SavepointRow

        return Rows(SavepointRow, lambda: savepoints(self.opened, count_bytes=count_bytes, verify=verify))

    def savepoint_files(self, instant: str) -> "Rows[SavepointFile]":
        """The files of a savepoint; a note has its tag. Raises Refused: there is none."""
        from hudictl.reports.savepoints import SavepointFile, savepoint_files
        from hudictl.state.files.savepoints import find_savepoint, tag_of
        from hudictl.table.timeline.active import load_timeline

        notes: list[str] = []

        def look() -> list[SavepointFile]:
            metadata = find_savepoint(self.core, load_timeline(self.core), instant)
            tag = tag_of(metadata.comment)
            notes[:] = [f"tag: {tag}"] if tag else []
            return savepoint_files(self.core, dict(metadata.files))

        return Rows(SavepointFile, look, notes)

    def verify_savepoint(self, instant: str, *, deep: bool = False, idle_ms: int = IDLE_MS) -> "Restorable":
        """Whether a savepoint can be restored now. ``deep``: footers and logs are read, too."""
        from hudictl.ops.restore.plan import RestoreOptions
        from hudictl.ops.savepoint.verify import verify_savepoint

        options = RestoreOptions(idle_ms=idle_ms, deep=deep)
        return verify_savepoint(self.opened.session(), instant, options)

    def partitions_back(self, to: str, partitions: Sequence[str]) -> "PartitionsBack":
        """The copy and the SQL that bring single partitions back as of a commit."""
        from hudictl.reports.partition_back import partitions_back

        return partitions_back(self.core, to, partitions)

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
            settings: of the writers; checks that need them are skipped without.
            selection: only these findings, or not these.
            footers: also read the end of each base file and log.
        """
        from hudictl.reports.health.check import check_table
        from hudictl.reports.health.families import FindingSelection
        from hudictl.table.settings import NOTHING_GIVEN

        return check_table(
            self.core,
            self.opened.engine,
            settings=settings or NOTHING_GIVEN,
            idle_ms=idle_ms,
            note=self.opened.access.note,
            selection=selection or FindingSelection(),
            footers=footers,
        )

    def why(
        self,
        service: Literal["archive", "clean", "compaction"],
        settings: "Settings | None" = None,
        *,
        idle_ms: int = IDLE_MS,
    ) -> "Due":
        """Why archiving, cleaning or compaction does nothing or too little. ``settings`` are those of the writers."""
        from hudictl.reports.why import why
        from hudictl.table.settings import NOTHING_GIVEN

        return why(self.core, service, settings or NOTHING_GIVEN, idle_ms)

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

    def log(self, *paths: str) -> "LogFiles":
        """Logs of the table: files, folders or patterns, as paths below the table."""
        from hudictl.library.logs import logs_at

        access = self.opened.access
        return logs_at([f"{self.uri}/{path}" for path in paths], access.storage_options, access.timezone)

    def restore(self, to: str, options: "RestoreOptions | None" = None) -> "TableChange[RestorePlan, RestoreResult]":
        """A restore to a savepoint; to any commit with ``RestoreOptions(to_instant=True)``. Stop all writers first.

        The same again goes on with one that was interrupted.
        """
        from hudictl.library import changes
        from hudictl.ops.restore.plan import RestoreOptions

        return changes.restore(to, options or RestoreOptions()).of(self.opened)

    def withdraw_restore(self, idle_ms: int = IDLE_MS) -> "TableChange[Withdrawal, Withdrawn]":
        """The withdrawal of a pending restore, possible until it deletes the first data file."""
        from hudictl.library import changes

        return changes.withdrawal(idle_ms).of(self.opened)

    def rollback(
        self, instant: str, options: "RollbackOptions | None" = None
    ) -> "TableChange[RollbackPlan, RollbackResult]":
        """The rollback of a pending write or table service, or of the newest completed commit."""
        from hudictl.library import changes
        from hudictl.ops.rollback.plan import RollbackOptions

        return changes.rollback(instant, options or RollbackOptions()).of(self.opened)

    def clean_failed_writes(
        self, policy: Literal["lazy", "eager"] = "lazy", options: "RollbackOptions | None" = None
    ) -> "Rollbacks":
        """The rollbacks of failed writes. lazy: those with an expired heartbeat; eager: all without activity."""
        from hudictl.library.rollbacks import Rollbacks, failed_writes_to_clean
        from hudictl.ops.rollback.plan import RollbackOptions

        choice = failed_writes_to_clean(self.opened, policy, options or RollbackOptions())
        return Rollbacks(self.opened, choice.targets)

    def create_savepoint(
        self, instant: str | None = None, options: "SavepointOptions | None" = None
    ) -> "TableChange[SavepointPlan, None]":
        """A savepoint on a commit; by default on the newest without older pending writes."""
        from hudictl.library import changes
        from hudictl.ops.savepoint.plan import SavepointOptions
        from hudictl.table.operations import current_user

        return changes.savepoint_creation(instant, options or SavepointOptions(user=current_user())).of(self.opened)

    def delete_savepoint(self, instant: str) -> "TableChange[SavepointDeletion, None]":
        """The deletion of a savepoint."""
        from hudictl.library import changes

        return changes.savepoint_deletion(instant).of(self.opened)

    def prune_savepoints(self, options: "PruneOptions") -> "TableChange[PrunePlan, PruneResult]":
        """The deletion of the savepoints that no rule keeps."""
        from hudictl.library import changes

        return changes.savepoint_prune(options).of(self.opened)

    def delete_orphans(self, options: "OrphanOptions | None" = None) -> "TableChange[OrphanPlan, OrphanResult]":
        """The deletion of the sure orphans."""
        from hudictl.library import changes
        from hudictl.ops.clean_up.orphans import OrphanOptions

        return changes.orphan_deletion(options or OrphanOptions()).of(self.opened)

    def undo(self, instant: str, idle_ms: int = IDLE_MS) -> "TableChange[UndoPlan, UndoResult]":
        """The undo of an operation that kept its files (``keep_files`` in its options)."""
        from hudictl.library import changes

        return changes.undo(instant, idle_ms).of(self.opened)

    def apply(self, plan: str | bytes) -> "TableChange[Any, Any]":
        """A saved plan (``Planned.to_json``, or ``--plan --output json``): it is planned again and compared.

        Raises Unreadable: not a plan, or one that was changed; Conflict, when it is planned: the table has changed.
        """
        from hudictl.library.saved import read_plan

        read = read_plan(plan.encode() if isinstance(plan, str) else plan, "the plan")
        return read.change().of(self.opened)
