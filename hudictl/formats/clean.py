"""``HoodieCleanerPlan`` and ``HoodieCleanMetadata``, read only (plan versions 1 and 2 of Hudi 0.15.0 to 1.2.0)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hudictl.formats import avro
from hudictl.formats.file_names import base_path_in

PLAN = "HoodieCleanerPlan"
METADATA = "HoodieCleanMetadata"


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
