"""What a table of a walk is: chosen once, by chance."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from tests.interop.make_hashing import OPTIONS as HASHING
from tests.interop.scenarios import LEVELS, MERGE_ON_READ, PLAIN, THREE_LEVELS

# Services and cleaning only where a step asks for them.
BY_HAND = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
    "hoodie.clustering.inline": "false",
}
LAZY = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    # A writer that died keeps its lock: the process lives on.
    "hoodie.write.lock.wait_time_ms": "2000",
    "hoodie.write.lock.num_retries": "1",
    "hoodie.write.lock.client.num_retries": "1",
    "hoodie.client.heartbeat.interval_in_ms": "20000",
    "hoodie.client.heartbeat.tolerable.misses": "2",
}
INDEXES: Mapping[str, Mapping[str, str]] = {
    "bloom": {},
    "simple": {"hoodie.index.type": "SIMPLE"},
    "bucket": {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"},
    "hashing": {name: value for name, value in HASHING.items() if "metadata" not in name and "table.type" not in name},
    "record": {
        "hoodie.index.type": "RECORD_INDEX",
        "hoodie.metadata.record.index.enable": "true",
        "hoodie.metadata.global.record.level.index.enable": "true",
        "hoodie.metadata.record.index.min.filegroup.count": "1",
        "hoodie.metadata.global.record.level.index.min.filegroup.count": "1",
    },
}
STATISTICS = {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
}
NO_STATISTICS = {
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.metadata.index.partition.stats.enable": "false",
}
# Of walks with all indexes.
ALL_INDEXES = {
    **STATISTICS,
    "hoodie.metadata.index.partition.stats.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "2",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    "hoodie.metadata.index.column.stats.file.group.count": "1",
    "hoodie.metadata.index.bloom.filter.file.group.count": "1",
    # The files of each bloom filter are small then.
    "hoodie.index.bloom.num_entries": "50",
    "hoodie.bloom.index.filter.dynamic.max.entries": "500",
}
# Else a pending clustering refuses each write to its file groups; then two overlap.
ALLOW_UPDATES = {
    "hoodie.clustering.updates.strategy": (
        "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
    ),
    "hoodie.clustering.rollback.pending.replacecommit.on.conflict": "true",
}
# One row fills a file: each insert makes file groups of its own.
SMALL_FILES = {"hoodie.parquet.small.file.limit": "0"}
MARKERS = {
    "direct": {"hoodie.write.markers.type": "DIRECT"},
    "server": {"hoodie.write.markers.type": "TIMELINE_SERVER_BASED", "hoodie.filesystem.view.remote.timeout.secs": "5"},
}
PARTITIONS: Mapping[str, tuple[tuple[str, ...], ...]] = {"none": (("a",),), "one": PLAIN, "nested": LEVELS}


@dataclass(frozen=True)
class Shape:
    """A table's type, partitions and indexes, and how its writers are set.

    ``compact_every``: it has all indexes, and its metadata table is compacted after so many commits; 0 where not.
    ``version``: the table version that its writers are told to keep; 0 for their own.
    """

    kind: str
    partitions: str
    index: str
    metadata: bool
    statistics: bool
    small_files: bool
    allow_updates: bool
    lazy: bool
    markers: str
    zone: str
    compact_every: int = 0
    version: int = 0

    @property
    def options(self) -> dict[str, str]:
        """What each of its writers is given."""
        fields = {"none": {"hoodie.datasource.write.partitionpath.field": ""}, "nested": THREE_LEVELS}
        return {
            **BY_HAND,
            **(MERGE_ON_READ if self.kind == "mor" else {}),
            **fields.get(self.partitions, {}),
            **INDEXES[self.index],
            "hoodie.metadata.enable": str(self.metadata).lower(),
            **(STATISTICS if self.statistics else NO_STATISTICS),
            **(self.all_indexes if self.compact_every else {}),
            **(SMALL_FILES if self.small_files else {}),
            **(ALLOW_UPDATES if self.allow_updates else {}),
            **(LAZY if self.lazy else {}),
            **MARKERS[self.markers],
            "hoodie.table.timeline.timezone": self.zone,
            **(_keeping(self.version) if self.version else {}),
        }

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of its rows."""
        return "id", "ts", "val", *(("p", "q", "r") if self.partitions == "nested" else ("p",))

    @property
    def all_indexes(self) -> dict[str, str]:
        return {**ALL_INDEXES, "hoodie.metadata.compact.max.delta.commits": str(self.compact_every)}


def _keeping(version: int) -> dict[str, str]:
    return {"hoodie.write.table.version": str(version), "hoodie.write.auto.upgrade": "false"}


def by_chance(chance: Random) -> Shape:
    """Any shape that Hudi allows."""
    index = chance.choice([*INDEXES, "bloom", "record"])
    return Shape(
        kind="mor" if index == "hashing" else chance.choice(("cow", "mor")),
        partitions=chance.choice(("none", "one", "one", "nested")),
        index=index,
        metadata=index == "record" or chance.random() < 0.75,
        statistics=index != "hashing" and chance.random() < 0.3,
        small_files=chance.random() < 0.3,
        allow_updates=index != "hashing" and chance.random() < 0.6,
        lazy=chance.random() < 0.4,
        markers=chance.choice(("direct", "direct", "server")),
        zone=chance.choice(("UTC", "LOCAL")),
    )


def with_indexes(chance: Random) -> Shape:
    """Any shape that has all indexes, and a record index for its writers."""
    every = chance.choice((3, 4))
    shape = replace(by_chance(chance), kind=chance.choice(("cow", "mor")), compact_every=every)
    # What a pending clustering refuses would end most of their histories.
    return replace(shape, index="record", metadata=True, statistics=True, allow_updates=True)
