"""``HoodieRestorePlan`` and ``HoodieRestoreMetadata``: a restore's request and its result (Hudi 0.15.0 to 1.2.0)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hudictl.formats import avro
from hudictl.formats.rollback import (
    INSTANT_INFO,
    METADATA,
    METADATA_FIELDS,
    InstantInfo,
    RollbackMetadata,
    metadata_to_avro,
)

PLAN = "HoodieRestorePlan"
PLAN_SCHEMA = avro.record(
    PLAN,
    {"name": "instantsToRollback", "type": avro.array(INSTANT_INFO, default=None), "default": []},
    {"name": "version", "type": ["int", "null"], "default": 2},
    {"name": "savepointToRestoreTimestamp", "type": ["null", avro.STRING], "default": None},
    top=True,
)
_ROLLBACK = avro.record(METADATA, *METADATA_FIELDS)
RESTORE_METADATA = "HoodieRestoreMetadata"
METADATA_SCHEMA = avro.record(
    RESTORE_METADATA,
    {"name": "startRestoreTime", "type": avro.STRING},
    {"name": "timeTakenInMillis", "type": "long"},
    {"name": "instantsToRollback", "type": avro.array(avro.STRING)},
    {"name": "hoodieRestoreMetadata", "type": avro.string_map(avro.array(["null", _ROLLBACK], default=None))},
    {"name": "version", "type": ["int", "null"], "default": 1},
    {"name": "restoreInstantInfo", "type": avro.array("HoodieInstantInfo", default=None), "default": []},
    top=True,
)


@dataclass(frozen=True, slots=True)
class StoredRestorePlan:
    """A restore's request: the instants in the order of their rollback, and the target (None before plan version 2)."""

    instants: tuple[InstantInfo, ...]
    target: str | None


def target_text(target: str | None) -> str:
    """A restore's target in a sentence."""
    return target or "an unnamed instant"


def decode_plan(body: avro.Body, what: str) -> StoredRestorePlan:
    """Raises Unreadable."""
    return avro.decode(body, PLAN, what, _build_plan)


def _build_plan(value: dict[str, Any]) -> StoredRestorePlan:
    instants = tuple(InstantInfo.from_avro(entry) for entry in value["instantsToRollback"])
    return StoredRestorePlan(instants, value.get("savepointToRestoreTimestamp"))


def encode_plan(plan: StoredRestorePlan) -> bytes:
    """The body of a restore's requested file."""
    instants = [entry.to_avro() for entry in plan.instants]
    return avro.encode(
        {"instantsToRollback": instants, "version": 2, "savepointToRestoreTimestamp": plan.target}, PLAN_SCHEMA
    )


def encode_metadata(start: str, duration_ms: int, rollbacks: Sequence[RollbackMetadata]) -> bytes:
    """The body of a completed restore's file: one rollback's result for each instant, newest first."""
    return avro.encode(
        {
            "startRestoreTime": start,
            "timeTakenInMillis": duration_ms,
            "instantsToRollback": [entry.target.time for entry in rollbacks],
            "hoodieRestoreMetadata": {entry.target.time: [metadata_to_avro(entry)] for entry in rollbacks},
            "version": 1,
            "restoreInstantInfo": [entry.target.to_avro() for entry in rollbacks],
        },
        METADATA_SCHEMA,
    )


def decode_partitions(body: avro.Body, what: str) -> frozenset[str]:
    """The partitions in which a completed restore did something. Raises Unreadable."""
    return avro.decode(body, RESTORE_METADATA, what, _build_partitions)


def _build_partitions(value: dict[str, Any]) -> frozenset[str]:
    rollbacks = [entry for entries in value["hoodieRestoreMetadata"].values() for entry in entries or () if entry]
    return frozenset(partition for entry in rollbacks for partition in entry["partitionMetadata"] or ())
