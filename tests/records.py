"""Instant files of Hudi's that hudictl itself never writes: cleans, compaction plans, archives."""

import io
import json
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from pyarrow import parquet

from hudictl.formats import log_blocks
from tests.helpers import Copy, put

NAMESPACE = "org.apache.hudi.avro.model"
STRINGS = {"type": "map", "values": {"type": "array", "items": "string"}}
PATH_INFO = {
    "type": "record",
    "name": "HoodieCleanFileInfo",
    "fields": [
        {"name": "filePath", "type": ["null", "string"], "default": None},
        {"name": "isBootstrapBaseFile", "type": ["null", "boolean"], "default": None},
    ],
}
INSTANT = {
    "type": "record",
    "name": "HoodieActionInstant",
    "fields": [{"name": name, "type": "string"} for name in ("timestamp", "action", "state")],
}
PLAN = {
    "type": "record",
    "namespace": NAMESPACE,
    "name": "HoodieCleanerPlan",
    "fields": [
        {"name": "earliestInstantToRetain", "type": ["null", INSTANT], "default": None},
        {"name": "policy", "type": "string"},
        {"name": "filesToBeDeletedPerPartition", "type": ["null", STRINGS], "default": None},
        {"name": "version", "type": ["int", "null"], "default": 1},
        {
            "name": "filePathsToBeDeletedPerPartition",
            "type": ["null", {"type": "map", "values": {"type": "array", "items": PATH_INFO}}],
            "default": None,
        },
        {
            "name": "partitionsToBeDeleted",
            "type": ["null", {"type": "array", "items": "string"}],
            "default": None,
        },
    ],
}
METADATA = {
    "type": "record",
    "namespace": NAMESPACE,
    "name": "HoodieCleanMetadata",
    "fields": [
        {"name": "earliestCommitToRetain", "type": "string"},
        {
            "name": "partitionMetadata",
            "type": {
                "type": "map",
                "values": {
                    "type": "record",
                    "name": "HoodieCleanPartitionMetadata",
                    "fields": [{"name": "successDeleteFiles", "type": {"type": "array", "items": "string"}}],
                },
            },
        },
    ],
}
ARCHIVED = {
    "type": "record",
    "namespace": NAMESPACE,
    "name": "HoodieArchivedMetaEntry",
    "fields": [
        {"name": "commitTime", "type": ["null", "string"]},
        {"name": "actionType", "type": ["null", "string"]},
        {"name": "actionState", "type": ["null", "string"]},
        {"name": "stateTransitionTime", "type": ["null", "string"]},
    ],
}


def avro(schema: dict[str, Any], value: dict[str, Any]) -> bytes:
    """A container with one record."""
    out = io.BytesIO()
    fastavro.writer(out, schema, [value])
    return out.getvalue()


def clean_plan(
    paths: list[str], *, partitions: Sequence[str] = (), retained: str | None = None, base: str = "/lake"
) -> bytes:
    """A clean's request that deletes data files (paths below the table, which is at ``base``) and whole partitions."""
    infos: dict[str, list[dict[str, Any]]] = {}
    for path in paths:
        partition = path.rpartition("/")[0]
        infos.setdefault(partition, []).append({"filePath": f"{base}/{path}", "isBootstrapBaseFile": False})
    earliest = {"timestamp": retained, "action": "commit", "state": "COMPLETED"} if retained else None
    return avro(
        PLAN,
        {
            "earliestInstantToRetain": earliest,
            "policy": "KEEP_LATEST_COMMITS",
            "filesToBeDeletedPerPartition": {},
            "version": 2,
            "filePathsToBeDeletedPerPartition": infos,
            "partitionsToBeDeleted": list(partitions),
        },
    )


def clean_metadata(paths: Iterable[str], retained: str = "") -> bytes:
    """A completed clean that deleted data files (paths below the table), and kept all of commits from one on."""
    deleted: dict[str, dict[str, Any]] = {}
    for path in paths:
        partition, _, name = path.rpartition("/")
        deleted.setdefault(partition, {"successDeleteFiles": []})["successDeleteFiles"].append(name)
    return avro(METADATA, {"earliestCommitToRetain": retained, "partitionMetadata": deleted})


def compaction_plan(slices: list[dict[str, str]]) -> bytes:
    """A compaction's request that reads slices: partitionPath, fileId and dataFilePath of each, a file's name."""
    operations = {"type": "array", "items": _slice("HoodieCompactionOperation")}
    schema = {"type": "record", "namespace": NAMESPACE, "name": "HoodieCompactionPlan"}
    return avro(schema | {"fields": [{"name": "operations", "type": operations}]}, {"operations": slices})


def clustering_plan(slices: list[dict[str, str]]) -> bytes:
    """A clustering's request that reads slices, as above, with absolute paths."""
    group = {
        "type": "record",
        "name": "HoodieClusteringGroup",
        "fields": [{"name": "slices", "type": {"type": "array", "items": _slice("HoodieSliceInfo")}}],
    }
    plan = {
        "type": "record",
        "name": "HoodieClusteringPlan",
        "fields": [{"name": "inputGroups", "type": {"type": "array", "items": group}}],
    }
    fields = [{"name": "operationType", "type": "string"}, {"name": "clusteringPlan", "type": plan}]
    schema = {"type": "record", "namespace": NAMESPACE, "name": "HoodieRequestedReplaceMetadata", "fields": fields}
    return avro(schema, {"operationType": "CLUSTER", "clusteringPlan": {"inputGroups": [{"slices": slices}]}})


def _slice(name: str) -> dict[str, Any]:
    fields = [{"name": field, "type": "string"} for field in ("partitionPath", "fileId", "dataFilePath")]
    logs = {"name": "deltaFilePaths", "type": ["null", {"type": "array", "items": "string"}], "default": None}
    return {"type": "record", "name": name, "fields": [*fields, logs]}


def stranger() -> bytes:
    """An Avro file of a record that is on no timeline."""
    return avro({"type": "record", "name": "Stranger", "fields": [{"name": "a", "type": "int"}]}, {"a": 1})


def nameless(record: str) -> bytes:
    """An Avro file with the right record name, and none of its fields."""
    schema = {"type": "record", "namespace": NAMESPACE, "name": record, "fields": [{"name": "odd", "type": "int"}]}
    return avro(schema, {"odd": 1})


def archive(
    copy: Copy,
    time: str,
    action: str = "commit",
    body: bytes = b"",
    end: str | None = None,
    plan: bytes = b"",
    state: str = "COMPLETED",
    number: int = 9,
) -> Path:
    """Puts an instant into the archive, beside what is there; returns the file.

    Args:
        body: the instant's own file, of a clean or a rollback.
        end: its completion time; None takes its time.
        plan: its requested file, from table version 8 on.
        state, number: in table version 6 the instant's state, and the number of the log file.
    """
    if copy.version == "v6":
        path = copy.meta / "archived" / f".commits_.archive.{number}_1-0-1"
        return put(path, _archive_log(time, action, body, end or time, state))
    folder = copy.timeline / "history"
    manifests = sorted(int(path.name[9:]) for path in folder.glob("manifest_*"))
    files = []
    if manifests:
        files = json.loads((folder / f"manifest_{manifests[-1]}").read_text())["files"]
    name = f"{time}_{time}_0.parquet"
    folder.mkdir(exist_ok=True)
    texts = {"instantTime": time, "completionTime": end or time, "action": action}
    columns = {column: pa.array([value], pa.string()) for column, value in texts.items()}
    columns |= {"metadata": pa.array([body or None], pa.binary()), "plan": pa.array([plan or None], pa.binary())}
    columns["version"] = pa.array([1], pa.int32())
    parquet.write_table(pa.table(columns), folder / name)
    number = (manifests[-1] if manifests else 0) + 1
    listed = [*files, {"fileName": name, "fileLen": (folder / name).stat().st_size}]
    put(folder / f"manifest_{number}", json.dumps({"files": listed}))
    put(folder / "_version_", str(number))
    return folder / name


def _archive_log(time: str, action: str, body: bytes, end: str, state: str) -> bytes:
    entry: dict[str, Any] = {"commitTime": time, "actionType": action, "actionState": state}
    schema: dict[str, Any] = ARCHIVED
    if body:
        reader = fastavro.reader(io.BytesIO(body))
        done = "hoodieRollbackMetadata" if action == "rollback" else "hoodieCleanMetadata"
        field = done if state == "COMPLETED" else "hoodieCleanerPlan"
        record = {"name": field, "type": ["null", json.loads(reader.metadata["avro.schema"])]}
        schema = ARCHIVED | {"fields": [record, *ARCHIVED["fields"]]}
        entry[field] = next(iter(reader))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), entry | {"stateTransitionTime": end})
    written = out.getvalue()
    content = struct.pack(">ii", 3, 1) + struct.pack(">i", len(written)) + written
    return log_blocks.encode_block(log_blocks.AVRO_DATA, {log_blocks.SCHEMA: json.dumps(schema)}, content)
