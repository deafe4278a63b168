"""The plans of pending table services, as far as hudictl needs them (Hudi 0.15.0 to 1.2.0): what they touch."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hudictl.formats import avro
from hudictl.formats.file_names import data_path


def decode_compaction_groups(body: bytes, what: str) -> frozenset[tuple[str, str]]:
    """The file groups (partition path, file id) of a compaction plan. Raises Unreadable."""
    return avro.decode(body, "HoodieCompactionPlan", what, _groups)


def _groups(value: dict[str, Any]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (operation["partitionPath"] or "", operation["fileId"]) for operation in value.get("operations") or ()
    )


def decode_compaction_files(body: bytes, what: str) -> frozenset[str]:
    """The paths of the base and log files that a compaction plan reads. Raises Unreadable."""
    return avro.decode(
        body,
        "HoodieCompactionPlan",
        what,
        lambda value: frozenset(path for operation in value.get("operations") or () for path in _paths(operation)),
    )


def _paths(entry: Mapping[str, Any]) -> Iterator[str]:
    """The files of a slice in a plan: some releases name them absolute, some by their name."""
    for path in (entry.get("dataFilePath"), *(entry.get("deltaFilePaths") or ())):
        if path:
            yield data_path(entry["partitionPath"] or "", path.rpartition("/")[2])


@dataclass(frozen=True, slots=True)
class RequestedReplace:
    """What a replacecommit or clustering was requested for: only clustering says so, with the file groups that it reads
    as (partition path, file id), and the paths of their files."""

    operation: str = ""
    groups: frozenset[tuple[str, str]] = frozenset()
    files: frozenset[str] = frozenset()

    @property
    def is_clustering(self) -> bool:
        return self.operation == "CLUSTER"


def decode_requested_replace(body: bytes, what: str) -> RequestedReplace:
    """The request of a replacecommit or clustering; an empty one says nothing. Raises Unreadable."""
    if not body:
        return RequestedReplace()
    return avro.decode(body, "HoodieRequestedReplaceMetadata", what, _requested_replace)


def _requested_replace(value: dict[str, Any]) -> RequestedReplace:
    plan = value.get("clusteringPlan") or {}
    slices = [entry for group in plan.get("inputGroups") or () for entry in group.get("slices") or ()]
    groups = frozenset((entry["partitionPath"] or "", entry["fileId"]) for entry in slices)
    files = frozenset(path for entry in slices for path in _paths(entry))
    return RequestedReplace(value.get("operationType") or "", groups, files)
