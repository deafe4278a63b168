"""The plans of pending table services, as far as a restore needs them (Hudi 0.15.0 to 1.2.0): what they touch."""

from typing import Any

from hudictl.formats import avro


def decode_compaction_groups(body: bytes, what: str) -> frozenset[tuple[str, str]]:
    """The file groups (partition path, file id) of a compaction plan. Raises Unreadable."""
    return avro.decode(body, "HoodieCompactionPlan", what, _groups)


def _groups(value: dict[str, Any]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (operation["partitionPath"] or "", operation["fileId"]) for operation in value.get("operations") or ()
    )
