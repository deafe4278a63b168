"""What the tests of service share with others."""

from hudictl.formats import avro
from tests.helpers import Copy
from tests.state.orphans.find_support import LATER

DAMAGES = ("empty", "garbage", "cut")


def broken_clean(copy: Copy, damage: str, *, begun: bool) -> None:
    """A pending clean whose plan cannot be read; the inflight file as the version's Hudi makes it: before 1.2.0 it has
    the plan, too."""
    whole = copy.file_of("clean.requested")
    body = {"empty": b"", "garbage": b"garbage", "cut": whole[: len(whole) // 2]}[damage]
    copy.write(f"{LATER}.clean.requested", body)
    if begun:
        copy.write(f"{LATER}.clean.inflight", b"" if copy.version == "v9" else body)


def index_plan() -> bytes:
    """A plan of the partition ``bloom_filters``."""
    text = avro.record(
        "HoodieIndexPartitionInfo",
        {"name": "metadataPartitionPath", "type": ["null", "string"]},
        {"name": "indexUptoInstant", "type": ["null", "string"]},
    )
    schema = avro.record("HoodieIndexPlan", {"name": "indexPartitionInfos", "type": {"type": "array", "items": text}})
    info = {"metadataPartitionPath": "bloom_filters", "indexUptoInstant": "20260101000000000"}
    return avro.encode({"indexPartitionInfos": [info]}, schema)


def indexing(copy: Copy, *, begun: bool) -> None:
    """A pending indexing of ``bloom_filters`` that has written nothing."""
    copy.write(f"{LATER}.indexing.requested", index_plan())
    if begun:
        copy.write(f"{LATER}.indexing.inflight")


def left(copy: Copy) -> list[str]:
    """The files of the instant on the timeline."""
    return sorted(name for name in copy.instants() if name.startswith(LATER))
