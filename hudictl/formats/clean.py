"""``HoodieCleanerPlan`` and ``HoodieCleanMetadata`` (plan versions 1 and 2 of Hudi 0.15.0 to 1.2.0)."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from hudictl.formats import avro
from hudictl.formats.file_names import base_path_in, data_path

PLAN = "HoodieCleanerPlan"
METADATA = "HoodieCleanMetadata"
_PARTITION = avro.record(
    "HoodieCleanPartitionMetadata",
    {"name": "partitionPath", "type": avro.STRING},
    {"name": "policy", "type": avro.STRING},
    {"name": "deletePathPatterns", "type": avro.array(avro.STRING)},
    {"name": "successDeleteFiles", "type": avro.array(avro.STRING)},
    {"name": "failedDeleteFiles", "type": avro.array(avro.STRING)},
    {"name": "isPartitionDeleted", "type": ["null", "boolean"], "default": None},
)
_METADATA = avro.record(
    METADATA,
    {"name": "startCleanTime", "type": avro.STRING},
    {"name": "timeTakenInMillis", "type": "long"},
    {"name": "totalFilesDeleted", "type": "int"},
    {"name": "earliestCommitToRetain", "type": avro.STRING},
    {"name": "lastCompletedCommitTimestamp", "type": avro.STRING, "default": ""},
    {"name": "partitionMetadata", "type": avro.string_map(_PARTITION)},
    {"name": "version", "type": ["int", "null"], "default": 1},
    {
        "name": "bootstrapPartitionMetadata",
        "type": ["null", avro.string_map("HoodieCleanPartitionMetadata")],
        "default": None,
    },
    {"name": "extraMetadata", "type": ["null", avro.string_map(avro.STRING)], "default": None},
    top=True,
)
_INSTANT = avro.record(
    "HoodieActionInstant", *({"name": name, "type": avro.STRING} for name in ("timestamp", "action", "state"))
)
_FILE = avro.record(
    "HoodieCleanFileInfo",
    {"name": "filePath", "type": ["null", avro.STRING], "default": None},
    {"name": "isBootstrapBaseFile", "type": ["null", "boolean"], "default": None},
)
_FILES = {"name": "filesToBeDeletedPerPartition", "type": ["null", avro.string_map(avro.array(avro.STRING))]}
_PLAN = avro.record(
    PLAN,
    {"name": "earliestInstantToRetain", "type": ["null", _INSTANT], "default": None},
    {"name": "lastCompletedCommitTimestamp", "type": avro.STRING, "default": ""},
    {"name": "policy", "type": avro.STRING},
    {**_FILES, "default": None},
    {"name": "version", "type": ["int", "null"], "default": 1},
    {
        "name": "filePathsToBeDeletedPerPartition",
        "type": ["null", avro.string_map(avro.array(_FILE))],
        "default": None,
    },
    {"name": "partitionsToBeDeleted", "type": ["null", avro.array(avro.STRING)], "default": None},
    {"name": "extraMetadata", "type": ["null", avro.string_map(avro.STRING)], "default": None},
    top=True,
)
_NAMES_ALONE = 2
"""The version of a result whose paths are names in their partition."""


@dataclass(frozen=True, slots=True)
class CleanPlan:
    """``earliest`` is the earliest instant to retain (None where the policy counts versions); ``files`` maps a
    partition path to the names to delete; ``partitions`` are deleted whole; ``bases`` are the base paths of tables in
    the paths of its files, which are whole (0.15.0 to 1.2.0)."""

    earliest: str | None
    files: Mapping[str, frozenset[str]]
    partitions: frozenset[str]
    bases: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CleanMetadata:
    """``earliest`` as written: may be None or ``""``; ``deleted`` maps a partition path to names that are gone;
    ``last_commit`` is the last commit that was completed when it was planned."""

    earliest: str | None
    deleted: Mapping[str, frozenset[str]]
    last_commit: str = ""


def decode_plan(body: avro.Body, what: str) -> CleanPlan:
    """Raises Unreadable."""
    return avro.decode(body, PLAN, what, _build_plan)


def encode_plan(body: bytes, what: str, absolute: Callable[[str], str]) -> bytes:
    """The plan of a clean with a result, as Hudi 0.15.0 writes it; ``absolute`` makes the path of a file whole. Raises
    Unreadable."""

    def build(value: dict[str, Any]) -> dict[str, Any]:
        _build_metadata(value)
        own, sources = value["partitionMetadata"], value.get("bootstrapPartitionMetadata") or {}
        files: dict[str, list[dict[str, Any]]] = {path: [] for path in {*own, *sources}}
        for path, entry in own.items():
            paths = [absolute(data_path(path, _name(name))) for name in entry["deletePathPatterns"]]
            files[path] += [{"filePath": file, "isBootstrapBaseFile": False} for file in paths]
        for path, entry in sources.items():
            files[path] += [{"filePath": file, "isBootstrapBaseFile": True} for file in entry["deletePathPatterns"]]
        earliest = value.get("earliestCommitToRetain")
        return {
            "earliestInstantToRetain": {"timestamp": earliest, "action": "commit", "state": "COMPLETED"}
            if earliest
            else None,
            "lastCompletedCommitTimestamp": value.get("lastCompletedCommitTimestamp") or "",
            "policy": next((entry["policy"] for entry in own.values()), "KEEP_LATEST_COMMITS"),
            "filesToBeDeletedPerPartition": {},
            "version": _NAMES_ALONE,
            "filePathsToBeDeletedPerPartition": dict(sorted(files.items())),
            "partitionsToBeDeleted": [path for path, entry in own.items() if entry.get("isPartitionDeleted")],
            "extraMetadata": value.get("extraMetadata"),
        }

    return avro.encode(avro.decode(body, METADATA, what, build), _PLAN)


def encode_metadata(time: str, plan: bytes, what: str, left: Mapping[str, Collection[str]]) -> bytes:
    """The result of a clean that has deleted all files of its plan but those that are ``left``: by partition their
    names. As Hudi writes it; how long it took is not known, and 0. Raises Unreadable."""

    def build(value: dict[str, Any]) -> dict[str, Any]:
        _build_plan(value)
        infos = value.get("filePathsToBeDeletedPerPartition") or {
            path: [{"filePath": name} for name in names]
            for path, names in (value.get("filesToBeDeletedPerPartition") or {}).items()
        }
        gone = value.get("partitionsToBeDeleted") or ()

        def of(bootstrap: bool) -> dict[str, Any]:
            """By partition the result for its own files, or for the sources of a bootstrap."""
            found = {}
            for path in {*infos, *gone}:
                own = [info for info in infos.get(path, ()) if bool(info.get("isBootstrapBaseFile")) is bootstrap]
                names = [info["filePath"] if bootstrap else _name(info["filePath"]) for info in own]
                stay = set(left.get(path, ()))
                if names or (path in gone and not bootstrap):
                    found[path] = {
                        "partitionPath": path,
                        "policy": value["policy"],
                        "deletePathPatterns": names,
                        "successDeleteFiles": [name for name in names if name not in stay],
                        "failedDeleteFiles": [name for name in names if name in stay],
                        "isPartitionDeleted": path in gone,
                    }
            return found

        partitions, earliest = of(False), value.get("earliestInstantToRetain")
        return {
            "startCleanTime": time,
            "timeTakenInMillis": 0,
            "totalFilesDeleted": sum(len(entry["successDeleteFiles"]) for entry in partitions.values()),
            "earliestCommitToRetain": earliest["timestamp"] if earliest else "",
            "lastCompletedCommitTimestamp": value.get("lastCompletedCommitTimestamp") or "",
            "partitionMetadata": dict(sorted(partitions.items())),
            "version": _NAMES_ALONE,
            "bootstrapPartitionMetadata": of(True),
            "extraMetadata": value.get("extraMetadata"),
        }

    return avro.encode(avro.decode(plan, PLAN, what, build), _METADATA)


def decode_metadata(body: avro.Body, what: str) -> CleanMetadata:
    """Raises Unreadable."""
    return avro.decode(body, METADATA, what, _build_metadata)


def _build_plan(value: dict[str, Any]) -> CleanPlan:
    # The files that an unknown kind of plan deletes cannot be determined.
    if "policy" not in value or value.get("version") not in (None, 1, 2):
        raise TypeError(f"not a clean plan of version 1 or 2: {value}")
    files: dict[str, set[str]] = {}
    for path, names in (value.get("filesToBeDeletedPerPartition") or {}).items():
        files.setdefault(path, set()).update(_name(name) for name in names)
    bases: set[str] = set()
    for path, infos in (value.get("filePathsToBeDeletedPerPartition") or {}).items():
        files.setdefault(path, set()).update(_name(info["filePath"] or "") for info in infos)
        # The sources of a bootstrap are outside the table.
        own = [info["filePath"] or "" for info in infos if not info.get("isBootstrapBaseFile")]
        bases.update(base_path_in(file, path) for file in own)
    earliest: Any = value.get("earliestInstantToRetain")
    return CleanPlan(
        earliest["timestamp"] if earliest else None,
        {path: frozenset(names) for path, names in files.items()},
        frozenset(value.get("partitionsToBeDeleted") or ()),
        frozenset(filter(None, bases)),
    )


def _build_metadata(value: dict[str, Any]) -> CleanMetadata:
    deleted = {
        path: frozenset(_name(name) for name in entry["successDeleteFiles"])
        for path, entry in value["partitionMetadata"].items()
    }
    return CleanMetadata(value.get("earliestCommitToRetain"), deleted, value.get("lastCompletedCommitTimestamp") or "")


def _name(path: str) -> str:
    return path.rpartition("/")[2]
