"""The plans of pending table services, as far as hudictl needs them: their files (Hudi 0.15.0 to 1.2.0); the same
plans with less in them; and a compaction plan of Hudi 0.15.0, to put in the place of one that is lost."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from hudictl.formats import avro
from hudictl.formats.file_names import base_path_in


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


def without_operations(body: bytes, what: str, groups: Collection[tuple[str, str]]) -> bytes:
    """A compaction plan without the operations of some file groups, in the schema that it has; b"" if none is left.
    Raises Unreadable."""

    def build(value: dict[str, Any]) -> dict[str, Any]:
        kept = [one for one in value["operations"] or () if (one["partitionPath"] or "", one["fileId"]) not in groups]
        return {**value, "operations": kept}

    left = avro.decode(body, "HoodieCompactionPlan", what, build)
    return avro.encode_like(body, left) if left["operations"] else b""


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
    (partition path, file id), their files, as (partition path, name), and the base paths of tables in their paths,
    which are whole (0.15.0 to 1.2.0)."""

    operation: str = ""
    groups: frozenset[tuple[str, str]] = frozenset()
    files: frozenset[tuple[str, str]] = frozenset()
    bases: frozenset[str] = frozenset()

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
    bases = {base_path_in(entry.get("dataFilePath") or "", entry["partitionPath"] or "") for entry in slices}
    return RequestedReplace(value.get("operationType") or "", groups, _files(slices), frozenset(filter(None, bases)))


@dataclass(frozen=True, slots=True)
class InputGroup:
    """What a clustering reads and replaces at once: file groups and files, as in ``RequestedReplace``."""

    groups: frozenset[tuple[str, str]]
    files: frozenset[tuple[str, str]]


def decode_input_groups(body: bytes, what: str) -> tuple[InputGroup, ...]:
    """The input groups of a clustering's request, in their order. Raises Unreadable."""

    def build(value: dict[str, Any]) -> tuple[InputGroup, ...]:
        slices = [group["slices"] or () for group in value["clusteringPlan"]["inputGroups"]]
        return tuple(
            InputGroup(frozenset((one["partitionPath"] or "", one["fileId"]) for one in some), _files(some))
            for some in slices
        )

    return avro.decode(body, "HoodieRequestedReplaceMetadata", what, build)


def without_input_groups(body: bytes, what: str, numbers: Collection[int]) -> bytes:
    """A clustering's request without some input groups, in the schema that it has; b"" if none is left. Raises
    Unreadable."""

    def build(value: dict[str, Any]) -> dict[str, Any]:
        plan = value["clusteringPlan"]
        kept = [group for number, group in enumerate(plan["inputGroups"]) if number not in numbers]
        return {**value, "clusteringPlan": {**plan, "inputGroups": kept}}

    left = avro.decode(body, "HoodieRequestedReplaceMetadata", what, build)
    return avro.encode_like(body, left) if left["clusteringPlan"]["inputGroups"] else b""


def decode_index_plan(body: bytes, what: str) -> dict[str, str]:
    """The request of Hudi's indexer (1.0.2, 1.2.0): the partitions of the metadata table, each with the instant up to
    which it must contain all writes. Raises Unreadable."""
    return avro.decode(body, "HoodieIndexPlan", what, _index_partitions)


def _index_partitions(value: dict[str, Any]) -> dict[str, str]:
    infos = value.get("indexPartitionInfos") or ()
    return {info["metadataPartitionPath"] or "": info["indexUptoInstant"] or "" for info in infos}


_INDEX_PARTITION = avro.record(
    "HoodieIndexPartitionInfo",
    {"name": "version", "type": ["int", "null"], "default": 1},
    {"name": "metadataPartitionPath", "type": ["null", avro.STRING], "default": None},
    {"name": "indexUptoInstant", "type": ["null", avro.STRING], "default": None},
    {"name": "extraMetadata", "type": ["null", avro.string_map(avro.STRING)], "default": None},
)
_INDEX_METADATA = avro.record(
    "HoodieIndexCommitMetadata",
    {"name": "version", "type": ["int", "null"], "default": 1},
    {"name": "operationType", "type": ["null", avro.STRING], "default": None},
    {"name": "indexPartitionInfos", "type": ["null", avro.array(_INDEX_PARTITION)], "default": None},
    top=True,
)


def encode_index_metadata(plan: bytes, what: str) -> bytes:
    """The result of an indexing, as Hudi's indexer writes it (1.0.2, 1.2.0): it has the partitions of its plan. Raises
    Unreadable."""

    def build(value: dict[str, Any]) -> dict[str, Any]:
        return {"version": 1, "operationType": None, "indexPartitionInfos": value["indexPartitionInfos"]}

    return avro.encode(avro.decode(plan, "HoodieIndexPlan", what, build), _INDEX_METADATA)


_OPERATION = avro.record(
    "HoodieCompactionOperation",
    {"name": "baseInstantTime", "type": ["null", avro.STRING]},
    {"name": "deltaFilePaths", "type": ["null", avro.array(avro.STRING)], "default": None},
    {"name": "dataFilePath", "type": ["null", avro.STRING], "default": None},
    {"name": "fileId", "type": ["null", avro.STRING]},
    {"name": "partitionPath", "type": ["null", avro.STRING], "default": None},
    {"name": "metrics", "type": ["null", avro.string_map("double")], "default": None},
    {"name": "bootstrapFilePath", "type": ["null", avro.STRING], "default": None},
)
_STRATEGY = avro.record(
    "HoodieCompactionStrategy",
    {"name": "compactorClassName", "type": ["null", avro.STRING], "default": None},
    {"name": "strategyParams", "type": ["null", avro.string_map(avro.STRING)], "default": None},
    {"name": "version", "type": ["int", "null"], "default": 1},
)
_COMPACTION_PLAN = avro.record(
    "HoodieCompactionPlan",
    {"name": "operations", "type": ["null", avro.array(_OPERATION)], "default": None},
    {"name": "extraMetadata", "type": ["null", avro.string_map(avro.STRING)], "default": None},
    {"name": "version", "type": ["int", "null"], "default": 1},
    {"name": "strategy", "type": ["null", _STRATEGY], "default": None},
    {"name": "preserveHoodieMetadata", "type": ["boolean", "null"], "default": False},
    top=True,
)
_NAMES_ALONE = 2
"""The version of a plan whose paths are names in their partition."""


@dataclass(frozen=True, slots=True)
class CompactedSlice:
    """A file slice that a compaction reads: the names of its base file and its logs, in their order, and their sizes in
    bytes. ``source`` is the file outside of the table that has the base file's rows, after a bootstrap."""

    partition: str
    file_id: str
    base_instant: str
    base: str | None
    logs: tuple[str, ...]
    base_bytes: int
    log_bytes: int
    source: str | None = None


def encode_compaction_plan(slices: Iterable[CompactedSlice]) -> bytes:
    """A compaction plan as Hudi 0.15.0 writes it, which also runs it. Raises Unreadable: see ``avro.encode``."""
    operations: list[dict[str, Any]] = [
        {
            "baseInstantTime": entry.base_instant,
            "deltaFilePaths": list(entry.logs),
            "dataFilePath": entry.base,
            "fileId": entry.file_id,
            "partitionPath": entry.partition,
            "metrics": _metrics(entry),
            "bootstrapFilePath": entry.source,
        }
        for entry in slices
    ]
    return avro.encode({"operations": operations, "extraMetadata": {}, "version": _NAMES_ALONE}, _COMPACTION_PLAN)


def _metrics(entry: CompactedSlice) -> dict[str, float]:
    """Whole mebibytes, as Hudi counts them."""
    read, written = (size // 2**20 for size in (entry.base_bytes + entry.log_bytes, entry.base_bytes))
    return {
        "TOTAL_LOG_FILES": float(len(entry.logs)),
        "TOTAL_LOG_FILES_SIZE": float(entry.log_bytes),
        "TOTAL_IO_READ_MB": float(read),
        "TOTAL_IO_WRITE_MB": float(written),
        "TOTAL_IO_MB": float(read + written),
    }
