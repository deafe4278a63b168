"""``HoodieRollbackPlan`` and ``HoodieRollbackMetadata``: a rollback's request and its result (Hudi 0.15.0 to 1.2.0)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hudictl.errors import Unreadable
from hudictl.formats import avro

INSTANT_INFO = avro.record(
    "HoodieInstantInfo", {"name": "commitTime", "type": avro.STRING}, {"name": "action", "type": avro.STRING}
)
_REQUEST = avro.record(
    "HoodieRollbackRequest",
    {"name": "partitionPath", "type": avro.STRING},
    {"name": "fileId", "type": ["null", avro.STRING], "default": None},
    {"name": "latestBaseInstant", "type": ["null", avro.STRING], "default": None},
    {"name": "filesToBeDeleted", "type": avro.array(avro.STRING, default=[]), "default": []},
    {"name": "logBlocksToBeDeleted", "type": ["null", avro.string_map("long")], "default": None},
)
PLAN = "HoodieRollbackPlan"
PLAN_SCHEMA = avro.record(
    PLAN,
    {
        "name": "instantToRollback",
        "type": ["null", INSTANT_INFO],
        "doc": "Hoodie instant that needs to be rolled back",
        "default": None,
    },
    {"name": "RollbackRequests", "type": ["null", avro.array(_REQUEST)], "default": None},
    {"name": "version", "type": ["int", "null"], "default": 1},
    top=True,
)

_PARTITION = avro.record(
    "HoodieRollbackPartitionMetadata",
    {"name": "partitionPath", "type": avro.STRING},
    {"name": "successDeleteFiles", "type": avro.array(avro.STRING)},
    {"name": "failedDeleteFiles", "type": avro.array(avro.STRING)},
    {"name": "rollbackLogFiles", "type": ["null", avro.string_map("long")], "default": None},
    {"name": "logFilesFromFailedCommit", "type": ["null", avro.string_map("long")], "default": None},
)
METADATA = "HoodieRollbackMetadata"
METADATA_FIELDS: tuple[dict[str, Any], ...] = (
    {"name": "startRollbackTime", "type": avro.STRING},
    {"name": "timeTakenInMillis", "type": "long"},
    {"name": "totalFilesDeleted", "type": "int"},
    {"name": "commitsRollback", "type": avro.array(avro.STRING)},
    {"name": "partitionMetadata", "type": avro.string_map(_PARTITION)},
    {"name": "version", "type": ["int", "null"], "default": 1},
    {"name": "instantsRollback", "type": avro.array(INSTANT_INFO, default=[]), "default": []},
)
METADATA_SCHEMA = avro.record(METADATA, *METADATA_FIELDS, top=True)


@dataclass(frozen=True, slots=True)
class InstantInfo:
    """An instant as plans name it: requested time and action."""

    time: str
    action: str

    def to_avro(self) -> dict[str, str]:
        return {"commitTime": self.time, "action": self.action}

    @staticmethod
    def from_avro(value: Mapping[str, str]) -> "InstantInfo":
        return InstantInfo(value["commitTime"], value["action"])


@dataclass(frozen=True, slots=True)
class RollbackRequest:
    """What a rollback does in one partition.

    Either ``files`` (absolute paths) are deleted, or a rollback block is appended to the logs of the file group
    (``file_id``, ``base_instant``); ``logs`` then maps the log that holds the blocks (absolute path) to its size.
    """

    partition: str
    files: tuple[str, ...] = ()
    file_id: str = ""
    base_instant: str = ""
    logs: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredRollbackPlan:
    """A rollback's request: its target instant, and what to undo."""

    target: InstantInfo
    requests: tuple[RollbackRequest, ...]

    @property
    def files(self) -> Iterator[tuple[str, str]]:
        """Each file to delete, by partition path and name; not the logs, to which blocks are appended."""
        for request in self.requests:
            yield from ((request.partition, path.rpartition("/")[2]) for path in request.files)


@dataclass(frozen=True, slots=True)
class RollbackPartition:
    """What a rollback did in one partition, absolute paths; ``blocks`` maps new log files to their size in bytes."""

    deleted: tuple[str, ...] = ()
    blocks: Mapping[str, int] = field(default_factory=dict)
    rolled_back_logs: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RollbackMetadata:
    """A rollback's result; ``start`` is the rollback's own instant time."""

    start: str
    duration_ms: int
    target: InstantInfo
    partitions: Mapping[str, RollbackPartition]


def decode_plan(body: avro.Body, what: str) -> StoredRollbackPlan:
    """Raises Unreadable; also if it names no instant: nobody could finish such a rollback."""
    plan = avro.decode(body, PLAN, what, _build_plan)
    target = plan.target.time
    if not (target.isascii() and target.isdigit()):
        raise Unreadable(f"{what} is to roll back {target!r}: that is no instant time", file=what)
    return plan


def _build_plan(value: Mapping[str, Any]) -> StoredRollbackPlan:
    requests = tuple(
        RollbackRequest(
            request["partitionPath"],
            tuple(request["filesToBeDeleted"]),
            request["fileId"] or "",
            request["latestBaseInstant"] or "",
            request["logBlocksToBeDeleted"] or {},
        )
        for request in value["RollbackRequests"] or ()
    )
    return StoredRollbackPlan(
        InstantInfo.from_avro(value["instantToRollback"] or {"commitTime": "", "action": ""}), requests
    )


def encode_plan(plan: StoredRollbackPlan) -> bytes:
    """The body of a rollback's requested file."""
    requests = [
        {
            "partitionPath": request.partition,
            "fileId": request.file_id,
            "latestBaseInstant": request.base_instant,
            "filesToBeDeleted": list(request.files),
            "logBlocksToBeDeleted": dict(request.logs),
        }
        for request in plan.requests
    ]
    return avro.encode(
        {"instantToRollback": plan.target.to_avro(), "RollbackRequests": requests, "version": 1}, PLAN_SCHEMA
    )


def metadata_to_avro(metadata: RollbackMetadata) -> dict[str, Any]:
    """The record, as it stands in a completed rollback, or inside a completed restore."""
    partitions = {
        path: {
            "partitionPath": path,
            "successDeleteFiles": list(done.deleted),
            "failedDeleteFiles": [],
            "rollbackLogFiles": dict(done.blocks),
            "logFilesFromFailedCommit": dict(done.rolled_back_logs),
        }
        for path, done in metadata.partitions.items()
    }
    return {
        "startRollbackTime": metadata.start,
        "timeTakenInMillis": metadata.duration_ms,
        "totalFilesDeleted": sum(len(done.deleted) for done in metadata.partitions.values()),
        "commitsRollback": [metadata.target.time],
        "partitionMetadata": partitions,
        "version": 1,
        "instantsRollback": [metadata.target.to_avro()],
    }


def encode_metadata(metadata: RollbackMetadata) -> bytes:
    """The body of a completed rollback's file."""
    return avro.encode(metadata_to_avro(metadata), METADATA_SCHEMA)


def encode_result_of(plan: StoredRollbackPlan, time: str) -> bytes:
    """The result of a rollback that has deleted all files of its stored plan; without its log blocks, which nobody
    reads."""
    done: dict[str, RollbackPartition] = {}
    for request in plan.requests:
        before = done.get(request.partition, RollbackPartition()).deleted
        done[request.partition] = RollbackPartition((*before, *request.files))
    return encode_metadata(RollbackMetadata(time, 0, plan.target, done))


def decode_taken_back(body: avro.Body, what: str) -> frozenset[str]:
    """The requested times of the instants that a completed rollback has rolled back. Raises Unreadable."""
    return avro.decode(body, METADATA, what, lambda value: frozenset(value["commitsRollback"]))


@dataclass(frozen=True, slots=True)
class Undone:
    """The result of a completed rollback or restore: its instants with their actions ("" if unknown), and the changed
    partitions."""

    actions: Mapping[str, str]
    partitions: frozenset[str]


def decode_undone(body: avro.Body, what: str) -> Undone:
    """The instants and partitions of a completed rollback. Raises Unreadable."""
    return avro.decode(body, METADATA, what, _build_undone)


def _build_undone(value: Mapping[str, Any]) -> Undone:
    actions = {entry["commitTime"]: entry["action"] for entry in value.get("instantsRollback") or ()}
    return Undone(dict.fromkeys(value["commitsRollback"], "") | actions, frozenset(value["partitionMetadata"] or ()))
