"""An instant's records as text, summed up by partition. JSON has them in full."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hudictl.formats.instants import utc_text_of_ms
from hudictl.render.text import Console, print_facts, print_lines, print_table
from hudictl.reports.instant import FileContents, InstantContents

Fields = Mapping[str, Any]
Facts = list[tuple[str, Any]]
Rows = list[dict[str, Any]]
Summary = tuple[Facts, Rows]

_SHORT = 100


def print_contents(out: Console, contents: InstantContents) -> None:
    """Each file under its name: facts, then a table."""
    for number, file in enumerate(contents.files):
        print_lines(out, [*([""] if number else []), _title(file)])
        if file.problem is not None:
            print_lines(out, [f"  unreadable: {file.problem}"])
        elif file.record is None or file.record_type is None:
            print_lines(out, ["  empty"])
        else:
            facts, rows = _summary(file.record_type, file.record)
            print_facts(out, [(f"  {name}", value) for name, value in facts if value not in (None, "")])
            if rows:
                print_table(out, rows, list(rows[0]), "", file.record_type)


def _title(file: FileContents) -> str:
    size = "" if file.bytes is None else f", {file.bytes:,} bytes"
    kind = f": {file.record_type}" if file.record_type else ""
    where = f"{file.name} ({file.timeline}{size})"
    return f"{file.action} {file.state}{kind} in {where}"


def _summary(record_type: str, record: Fields) -> Summary:
    """A record that does not have the fields that Hudi writes is shown field by field."""
    try:
        return _SUMMARIES[record_type](record)
    except (KeyError, TypeError, AttributeError, ValueError):
        return [(name, _short(value)) for name, value in record.items()], []


def _commit(record: Fields) -> Summary:
    rows = []
    replaced = record.get("partitionToReplaceFileIds") or {}
    written = record.get("partitionToWriteStats") or {}
    for partition in sorted({*written, *replaced}):
        stats = written.get(partition) or []
        row = {
            "partition": partition,
            "files": len(stats),
            "written": _sum(stats, "numWrites"),
            "inserted": _sum(stats, "numInserts"),
            "updated": _sum(stats, "numUpdateWrites"),
            "deleted": _sum(stats, "numDeletes"),
            "errors": _sum(stats, "totalWriteErrors"),
            "bytes": _sum(stats, "totalWriteBytes"),
        }
        rows.append(row | ({"replaced file groups": len(replaced.get(partition) or [])} if replaced else {}))

    facts: Facts = [("operation", record.get("operationType")), ("compacted", record.get("compacted") or None)]
    return facts + _extra(record), rows


def _rollback_plan(record: Fields) -> Summary:
    rows = _by_partition(
        ((request["partitionPath"], request) for request in record["RollbackRequests"] or []),
        {
            "files to delete": lambda request: len(request["filesToBeDeleted"]),
            "logs to roll back": lambda request: len(request["logBlocksToBeDeleted"] or {}),
        },
    )
    return [("rolls back", _instant(record["instantToRollback"], "commitTime"))], rows


def _rollback(record: Fields) -> Summary:
    rows = _by_partition(record["partitionMetadata"].items(), _ROLLED_BACK)
    targets = [_instant(entry, "commitTime") for entry in record["instantsRollback"]] or record["commitsRollback"]
    facts = [("rolled back", targets), ("files deleted", record["totalFilesDeleted"])]
    return facts + _timed(record, "startRollbackTime"), rows


def _restore_plan(record: Fields) -> Summary:
    rows = [{"rolls back": entry["commitTime"], "action": entry["action"]} for entry in record["instantsToRollback"]]
    return [("restores to", record.get("savepointToRestoreTimestamp"))], rows


def _restore(record: Fields) -> Summary:
    actions = {entry["commitTime"]: entry["action"] for entry in record.get("restoreInstantInfo") or []}
    rows = []
    for time in record["instantsToRollback"]:
        parts = [
            part
            for rollback in record["hoodieRestoreMetadata"].get(time) or []
            for part in (rollback or {}).get("partitionMetadata", {}).values()
        ]
        sums = {name: sum(count(part) for part in parts) for name, count in _ROLLED_BACK.items()}
        rows.append({"rolled back": time, "action": actions.get(time), "partitions": len(parts), **sums})
    return _timed(record, "startRestoreTime"), rows


def _clean_plan(record: Fields) -> Summary:
    named = (record.get("filesToBeDeletedPerPartition") or {}) | (record.get("filePathsToBeDeletedPerPartition") or {})
    facts = [
        ("policy", record["policy"]),
        ("earliest instant to retain", _instant(record.get("earliestInstantToRetain"), "timestamp")),
        ("last completed commit", record.get("lastCompletedCommitTimestamp")),
        ("partitions to delete", record.get("partitionsToBeDeleted") or None),
    ]
    return facts + _extra(record), _by_partition(named.items(), {"files to delete": len})


def _clean(record: Fields) -> Summary:
    rows = [
        {
            "partition": partition,
            "policy": done.get("policy"),
            "deleted": len(done["successDeleteFiles"]),
            "failed": len(done["failedDeleteFiles"]),
            "whole partition": done.get("isPartitionDeleted") or None,
        }
        for partition, done in sorted(record["partitionMetadata"].items())
    ]
    facts = [
        ("files deleted", record["totalFilesDeleted"]),
        ("earliest commit to retain", record["earliestCommitToRetain"]),
        ("last completed commit", record.get("lastCompletedCommitTimestamp")),
    ]
    return facts + _timed(record, "startCleanTime") + _extra(record), rows


def _savepoint(record: Fields) -> Summary:
    created = utc_text_of_ms(record["savepointedAt"])
    facts = [("by", record["savepointedBy"]), ("created utc", created), ("comment", record["comments"])]
    named = {path: entry["savepointDataFile"] for path, entry in record["partitionMetadata"].items()}
    return facts, _by_partition(named.items(), {"files": len})


def _compaction_plan(record: Fields) -> Summary:
    rows = _by_partition(
        ((operation["partitionPath"], operation) for operation in record["operations"] or []),
        {
            "file groups": lambda operation: 1,
            "base files": lambda operation: 1 if operation["dataFilePath"] else 0,
            "log files": lambda operation: len(operation["deltaFilePaths"] or []),
            "log bytes": lambda operation: int((operation["metrics"] or {}).get("TOTAL_LOG_FILES_SIZE", 0)),
        },
    )
    strategy = (record.get("strategy") or {}).get("compactorClassName")
    facts = [("strategy", strategy), ("partitions left out", record.get("missingSchedulePartitions") or None)]
    return facts + _extra(record), rows


def _requested_replace(record: Fields) -> Summary:
    plan = record["clusteringPlan"] or {}
    groups = [(group["slices"] or [], group) for group in plan.get("inputGroups") or []]
    rows = _by_partition(
        ((slices[0]["partitionPath"] if slices else "", group) for slices, group in groups),
        {
            "groups": lambda group: 1,
            "file slices": lambda group: len(group["slices"] or []),
            "log files": lambda group: sum(len(entry["deltaFilePaths"] or []) for entry in group["slices"] or []),
            "output file groups": lambda group: group["numOutputFileGroups"] or 0,
        },
    )
    facts = [
        ("operation", record["operationType"]),
        ("strategy", (plan.get("strategy") or {}).get("strategyClassName")),
        ("partitions left out", plan.get("missingSchedulePartitions") or None),
    ]
    return facts + _extra(plan) + _extra(record), rows


def _indexes(record: Fields) -> Summary:
    rows = [
        {"metadata partition": info["metadataPartitionPath"], "up to instant": info["indexUptoInstant"]}
        for info in record["indexPartitionInfos"] or []
    ]
    return [("operation", record.get("operationType"))], rows


_ROLLED_BACK: Mapping[str, Callable[[Any], int]] = {
    "deleted": lambda part: len(part["successDeleteFiles"]),
    "failed": lambda part: len(part["failedDeleteFiles"]),
    "rollback logs": lambda part: len(part["rollbackLogFiles"] or {}),
    "logs rolled back": lambda part: len(part["logFilesFromFailedCommit"] or {}),
}
_SUMMARIES: Mapping[str, Callable[[Fields], Summary]] = {
    "HoodieCommitMetadata": _commit,
    "HoodieReplaceCommitMetadata": _commit,
    "HoodieRollbackPlan": _rollback_plan,
    "HoodieRollbackMetadata": _rollback,
    "HoodieRestorePlan": _restore_plan,
    "HoodieRestoreMetadata": _restore,
    "HoodieCleanerPlan": _clean_plan,
    "HoodieCleanMetadata": _clean,
    "HoodieSavepointMetadata": _savepoint,
    "HoodieCompactionPlan": _compaction_plan,
    "HoodieRequestedReplaceMetadata": _requested_replace,
    "HoodieIndexPlan": _indexes,
    "HoodieIndexCommitMetadata": _indexes,
}


def _by_partition(entries: Iterable[tuple[str, Any]], counts: Mapping[str, Callable[[Any], int]]) -> Rows:
    rows: dict[str, dict[str, Any]] = {}
    for partition, entry in entries:
        row = rows.setdefault(partition, {"partition": partition, **dict.fromkeys(counts, 0)})
        for name, count in counts.items():
            row[name] += count(entry)
    return [rows[partition] for partition in sorted(rows)]


def _timed(record: Fields, start: str) -> Facts:
    return [("started", record[start]), ("duration ms", record["timeTakenInMillis"])]


def _extra(record: Fields) -> Facts:
    return [(f"extra {name}", _short(value)) for name, value in sorted((record.get("extraMetadata") or {}).items())]


def _instant(value: Fields | None, time: str) -> str | None:
    return f"{value[time]} {value['action']}" if value else None


def _sum(stats: Sequence[Fields], field: str) -> int:
    return sum(stat.get(field) or 0 for stat in stats)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}... ({len(text):,} characters)"
