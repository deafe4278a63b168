"""``clean``, ``compaction``, ``clustering``, ``indexing``, ``rollback`` and ``restore``: a row for each instant, from
its plan and its result (checked on Hudi 0.15.0 to 1.2.0)."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from hudictl.engine.base import Engine
from hudictl.errors import Refused, Unreadable
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.instants import (
    CLEAN,
    CLUSTERING,
    COMMIT,
    COMPACTION,
    DELTACOMMIT,
    INDEXING,
    LOGCOMPACTION,
    REPLACECOMMIT,
    RESTORE,
    ROLLBACK,
    Instant,
)
from hudictl.phrases import command_of
from hudictl.reports.record_files import clustered, planned_cleans, rollbacks_of
from hudictl.reports.records import Fields, Recorded, by_partition, records_of, sums_of, the_one
from hudictl.reports.timeline import Entry, TimelineFilter, instants_readable, tell_damaged
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.services.plan_problems import PlanProblem, plan_problems
from hudictl.state.timeline.service_plans import service_groups
from hudictl.table.table import Table

Columns = dict[str, Any]
_COMPACTS = frozenset({"COMPACT", "LOG_COMPACT"})


@dataclass(frozen=True)
class ServiceRow:
    """An instant of one kind."""

    time: str
    state: str
    timeline: str
    requested_utc: str | None
    completed_utc: str | None
    duration_ms: int | None


@dataclass(frozen=True)
class CleanRow(ServiceRow):
    """A clean. ``earliest`` is the first commit of which it keeps all files. ``files`` are deleted; of a pending clean:
    to delete."""

    policy: str | None = None
    earliest: str | None = None
    partitions: int | None = None
    partitions_dropped: int | None = None
    files: int | None = None
    failed: int | None = None
    diagnosis: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class CompactionRow(ServiceRow):
    """A compaction or log compaction. ``file_groups``, ``base_files`` and ``logs`` are those in its plan; the archive
    of layout 1 has no plans."""

    kind: str | None = None
    partitions: int | None = None
    file_groups: int | None = None
    base_files: int | None = None
    logs: int | None = None
    records: int | None = None
    errors: int | None = None
    bytes: int | None = None
    diagnosis: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class ClusteringRow(ServiceRow):
    """A clustering. ``input_groups`` are those of its plan: each is written together, from the files of several
    ``file_groups``."""

    partitions: int | None = None
    input_groups: int | None = None
    file_groups: int | None = None
    replaced_file_groups: int | None = None
    files_added: int | None = None
    records: int | None = None
    errors: int | None = None
    bytes: int | None = None
    diagnosis: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class IndexingRow(ServiceRow):
    """An indexing. ``indexes`` are partitions of the metadata table; all writes up to ``up_to`` must be in them."""

    indexes: tuple[str, ...] = ()
    up_to: str | None = None
    diagnosis: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class RollbackRow(ServiceRow):
    """A rollback. ``target`` is the instant that it removes. ``files`` are deleted, and ``rollback_blocks`` written;
    of a pending rollback: to delete, and to write."""

    target: str | None = None
    target_action: str | None = None
    partitions: int | None = None
    files: int | None = None
    failed: int | None = None
    rollback_blocks: int | None = None
    diagnosis: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class RestoreRow(ServiceRow):
    """A restore to ``target``. ``instants`` is the number of those that it removes, from ``newest`` to ``oldest``."""

    target: str | None = None
    instants: int | None = None
    newest: str | None = None
    oldest: str | None = None
    partitions: int | None = None
    files: int | None = None
    failed: int | None = None
    rollback_blocks: int | None = None
    diagnosis: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Service:
    """How instants of one kind are found and told. ``columns`` are those of an instant: None if it is of another kind.

    ``chosen``: which instants of these actions have to be read at all.
    """

    row_type: type[ServiceRow]
    actions: Collection[str]
    columns: Callable[[Recorded], Columns | None]
    chosen: Callable[[Entry], bool] = lambda _: True


def service_rows(table: Table, service: Service, wanted: TimelineFilter) -> Iterator[ServiceRow]:
    """The instants of one kind, with a diagnosis of each that is pending. Raises Unreadable: see ``tell_damaged``."""
    diagnosis = diagnosed(table)

    def row(entry: Recorded) -> ServiceRow | None:
        try:
            columns, problem = service.columns(entry), entry.problem
        except (Unreadable, AttributeError, KeyError, TypeError, ValueError) as error:
            columns, problem = {}, entry.problem or f"it is not what Hudi writes: {error}"
        if columns is None:
            return None
        times = (entry.requested_utc, entry.completed_utc, entry.duration_ms)
        columns |= {"diagnosis": diagnosis(entry), "problem": problem}
        return service.row_type(entry.time, entry.state, entry.timeline, *times, **columns)

    asked = replace(wanted, actions=service.actions)
    shown, damaged = instants_readable(table, asked)
    yield from filter(None, records_of(table, asked, row, plans=True, chosen=service.chosen, listed=shown))
    tell_damaged(damaged)


def service_instant(table: Table, name: str, time: str) -> Recorded:
    """One instant of a kind, with its records. Raises Refused: there is none; Unreadable: it is damaged."""
    service = SERVICES[name]
    entry = the_one(table, time, TimelineFilter(actions=service.actions), plans=True)
    if entry is None or (entry.problem is None and service.columns(entry) is None):
        hint = f"`{command_of(f'{name} list', options=['--archived'])}` lists them"
        raise Refused(f"there is no {name} {time}", hint=hint, instant=time)
    if entry.problem is not None:
        raise Unreadable(entry.problem, hint="`hudictl timeline inspect` shows the instant's other files")
    return entry


def compaction_problems(table: Table, engine: Engine, time: str) -> list[PlanProblem]:
    """Raises Refused: no compaction or log compaction of this time is pending; Unreadable, StorageFailed,
    EngineFailed."""
    signs = read_signs(table)
    instant = signs.timeline.find(time, COMPACTION, LOGCOMPACTION)
    if instant is None:
        hint = f"`{command_of('compaction list')}` lists them"
        raise Refused(f"no compaction {time} is pending", hint=hint, instant=time)
    partitions = {partition for partition, _ in service_groups(table, instant)}
    engine.start()
    return plan_problems(read_facts(table, engine, signs, choose=lambda _: partitions), instant)


def diagnosed(table: Table) -> Callable[[Recorded], str | None]:
    """What a pending instant waits for; of a completed one nothing. The table is looked at once."""

    @cache
    def known() -> Mapping[str, str]:
        # Most tables have nothing pending, and need no more than their records.
        from hudictl.reports.diagnosis import diagnoses

        return diagnoses(table)

    return lambda entry: None if entry.state == "COMPLETED" else known().get(entry.time)


def _clean(entry: Recorded) -> Columns:
    plan, done = entry.plan or {}, entry.done
    if done is not None:
        of = done["partitionMetadata"].values()
        return {
            "policy": next((part["policy"] for part in of), plan.get("policy")),
            "earliest": done.get("earliestCommitToRetain") or None,
            "partitions": len(of),
            "partitions_dropped": sum(bool(part.get("isPartitionDeleted")) for part in of),
            "files": sum(len(part["successDeleteFiles"]) for part in of),
            "failed": sum(len(part["failedDeleteFiles"]) for part in of),
        }
    if not plan:
        return {}
    files = planned_cleans(plan)
    return {
        "policy": plan.get("policy"),
        "earliest": (plan.get("earliestInstantToRetain") or {}).get("timestamp"),
        "partitions": len(files),
        "partitions_dropped": len(plan.get("partitionsToBeDeleted") or ()),
        "files": sum(map(len, files.values())),
    }


def _compaction(entry: Recorded) -> Columns | None:
    done, operations = entry.done or {}, (entry.plan or {}).get("operations")
    operation = str(done.get("operationType") or "")
    if entry.action in (COMMIT, DELTACOMMIT) and operations is None and entry.done and operation not in _COMPACTS:
        return None
    logs = entry.action in (DELTACOMMIT, LOGCOMPACTION)
    columns: Columns = {"kind": LOGCOMPACTION if logs else COMPACTION}
    if operations is not None:
        columns |= {
            "partitions": len({one["partitionPath"] for one in operations}),
            "file_groups": len(operations),
            "base_files": sum(bool(one["dataFilePath"]) for one in operations),
            "logs": sum(len(one["deltaFilePaths"] or ()) for one in operations),
        }
    return columns | _written(done, "records", "errors", "bytes")


def _clustering(entry: Recorded) -> Columns | None:
    done, plan = entry.done or {}, entry.plan or {}
    if entry.action == REPLACECOMMIT and "CLUSTER" not in (done.get("operationType"), plan.get("operationType")):
        return None if entry.problem is None else {}
    columns: Columns = _written(done, "files_added", "records", "errors", "bytes")
    if done:
        columns["replaced_file_groups"] = sum(map(len, by_partition(done, "partitionToReplaceFileIds").values()))
    if plan:
        slices = clustered(plan)
        columns |= {
            "partitions": len({one["partitionPath"] for one in slices}),
            "input_groups": len(plan["clusteringPlan"]["inputGroups"]),
            "file_groups": len({(one["partitionPath"], one["fileId"]) for one in slices}),
        }
    return columns


def _written(done: Fields, *names: str) -> Columns:
    if not done:
        return {}
    sums = sums_of([stat for stats in by_partition(done, "partitionToWriteStats").values() for stat in stats])
    return {name: sums[name] for name in names}


def _indexing(entry: Recorded) -> Columns:
    infos = (entry.done or entry.plan or {}).get("indexPartitionInfos") or ()
    up_to = {str(info["indexUptoInstant"]) for info in infos}
    return {"indexes": tuple(str(info["metadataPartitionPath"]) for info in infos), "up_to": max(up_to, default=None)}


def _rollback(entry: Recorded) -> Columns:
    if entry.done:
        actions = {info["action"] for info in entry.done.get("instantsRollback") or ()}
        targets = entry.done["commitsRollback"]
        return _target(", ".join(targets), ", ".join(sorted(actions))) | _undone([entry.done])
    if not entry.plan:
        return {}
    target, requests = entry.plan["instantToRollback"] or {}, entry.plan["RollbackRequests"] or ()
    return _target(target.get("commitTime"), target.get("action")) | {
        "partitions": len({one["partitionPath"] for one in requests}),
        "files": sum(len(one["filesToBeDeleted"]) for one in requests),
        "rollback_blocks": sum(bool(one["logBlocksToBeDeleted"]) for one in requests),
    }


def _target(time: str | None, action: str | None) -> Columns:
    return {"target": time or None, "target_action": action or None}


def _restore(entry: Recorded) -> Columns:
    plan, done = entry.plan or {}, entry.done or {}
    times = done.get("instantsToRollback") or [info["commitTime"] for info in plan.get("instantsToRollback") or ()]
    columns: Columns = {"target": plan.get("savepointToRestoreTimestamp"), "instants": len(times)}
    columns |= {"newest": max(times, default=None), "oldest": min(times, default=None)}
    return columns | (_undone(rollbacks_of(done)) if done else {})


def _undone(rollbacks: Collection[Fields]) -> Columns:
    of = [part for one in rollbacks for part in (one["partitionMetadata"] or {}).values()]
    return {
        "partitions": len({part["partitionPath"] for part in of}),
        "files": sum(len(part["successDeleteFiles"]) for part in of),
        "failed": sum(len(part["failedDeleteFiles"]) for part in of),
        "rollback_blocks": sum(len(part["rollbackLogFiles"] or ()) for part in of),
    }


def _planned_as_compaction(entry: Entry) -> bool:
    """On the active timeline the plan says it by its name; in the archive only the instant's own record does."""
    if isinstance(entry, Instant):
        return any(file.action in (COMPACTION, LOGCOMPACTION) for file in entry.files)
    return isinstance(entry, ArchivedInstant)


SERVICES: Mapping[str, Service] = {
    "clean": Service(CleanRow, (CLEAN,), _clean),
    "compaction": Service(
        CompactionRow, (COMPACTION, LOGCOMPACTION, COMMIT, DELTACOMMIT), _compaction, _planned_as_compaction
    ),
    "clustering": Service(ClusteringRow, (CLUSTERING, REPLACECOMMIT), _clustering),
    "indexing": Service(IndexingRow, (INDEXING,), _indexing),
    "rollback": Service(RollbackRow, (ROLLBACK,), _rollback),
    "restore": Service(RestoreRow, (RESTORE,), _restore),
}
"""By the word of the command."""
