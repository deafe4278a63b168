"""The plans of pending table services, as far as hudictl needs them: their files (Hudi 0.15.0 to 1.2.0)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hudictl.formats import avro


def decode_compaction_groups(body: bytes, what: str) -> frozenset[tuple[str, str]]:
    """The file groups (partition path, file id) of a compaction plan. Raises Unreadable."""
    return avro.decode(body, "HoodieCompactionPlan", what, _groups)


def _groups(value: dict[str, Any]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (operation["partitionPath"] or "", operation["fileId"]) for operation in value.get("operations") or ()
    )


def decode_compaction_files(body: bytes, what: str) -> frozenset[tuple[str, str]]:
    """The files (partition path, name) that a compaction plan reads. Raises Unreadable."""
    return avro.decode(body, "HoodieCompactionPlan", what, lambda value: _files(value.get("operations") or ()))


def _files(slices: Iterable[dict[str, Any]]) -> frozenset[tuple[str, str]]:
    """The files of slices in a plan: their paths may be whole or names alone."""
    return frozenset(
        (entry["partitionPath"] or "", path.rpartition("/")[2])
        for entry in slices
        for path in (entry.get("dataFilePath"), *(entry.get("deltaFilePaths") or ()))
        if path
    )


@dataclass(frozen=True, slots=True)
class RequestedReplace:
    """The request of a replacecommit or clustering. Only clustering has content: the file groups that it reads, as
    (partition path, file id), and their files, as (partition path, name)."""

    operation: str = ""
    groups: frozenset[tuple[str, str]] = frozenset()
    files: frozenset[tuple[str, str]] = frozenset()

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
    return RequestedReplace(value.get("operationType") or "", groups, _files(slices))


def decode_index_plan(body: bytes, what: str) -> dict[str, str]:
    """The request of Hudi's indexer (1.0.2, 1.2.0): the partitions of the metadata table, each with the instant up to
    which it must contain all writes. Raises Unreadable."""
    return avro.decode(body, "HoodieIndexPlan", what, _index_partitions)


def _index_partitions(value: dict[str, Any]) -> dict[str, str]:
    infos = value.get("indexPartitionInfos") or ()
    return {info["metadataPartitionPath"] or "": info["indexUptoInstant"] or "" for info in infos}
