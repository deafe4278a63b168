"""Makes the tables of tests/indexed with the real Hudi: ``python -m tests.interop.make_indexed v6 v8 v9``.

Each has a record index, column statistics and bloom filters, over columns of many types, and a metadata table that was
compacted: ``cow``, ``mor`` (the last slices have updates and deletes in logs) and, on version 9, ``parted`` (with a
record index for each partition).
"""

import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests import support
from tests.interop.judge import Judge, start
from tests.interop.make_logs import pack

INDEXES = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "2",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    "hoodie.metadata.index.column.stats.file.group.count": "2",
    "hoodie.metadata.index.bloom.filter.file.group.count": "2",
    "hoodie.metadata.compact.max.delta.commits": "4",
    "hoodie.index.type": "RECORD_INDEX",
    "hoodie.table.timeline.timezone": "UTC",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.insert.shuffle.parallelism": "2",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.delete.shuffle.parallelism": "2",
    "hoodie.index.bloom.num_entries": "20",
    "hoodie.bloom.index.filter.dynamic.max.entries": "200",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}
MERGE_ON_READ = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "5",
    # 1.0.2 fails to append a record of nothing but nulls where these columns are indexed (NullPointerException).
    "hoodie.metadata.index.column.stats.column.list": "id,ts,word",
}
FOR_EACH_PARTITION = {
    "hoodie.metadata.record.index.enable": "false",
    "hoodie.metadata.global.record.level.index.enable": "false",
    "hoodie.metadata.record.level.index.enable": "true",
    "hoodie.metadata.record.level.index.min.filegroup.count": "2",
    "hoodie.index.type": "RECORD_LEVEL_INDEX",
}
COLUMNS = (
    "n INT",
    "price DECIMAL(12, 3)",
    "day DATE",
    "at TIMESTAMP",
    "share DOUBLE",
    "ratio FLOAT",
    "yes BOOLEAN",
    "word STRING",
    "raw BINARY",
)


def values(ids: Iterable[int], ts: int, partitions: Sequence[str] = "ab") -> str:
    """A query of rows; some have nothing but nulls, and some keys and words are beyond Latin-1."""
    rows = []
    for one in ids:
        key = f"𝄞schlüssel-{one}" if one % 7 == 0 else f"key-{one}"
        some = (
            f"{one - 5}, {one}.{ts:03d}, DATE'19{60 + one % 40}-01-0{1 + one % 9}', "
            f"TIMESTAMP'2026-01-01 00:00:00.{one:06d}', {one / 3}D, {one / 7}F, {str(one % 2 == 0).lower()}, "
            f"'wört{ts}-{one}', X'{one:04x}'"
        )
        columns = some.split(", ") if one % 5 else ["NULL"] * len(COLUMNS)
        cast = [f"CAST({value} AS {column.split(' ', 1)[1]})" for value, column in zip(columns, COLUMNS, strict=True)]
        rows.append(f"('{key}', {ts}L, {', '.join(cast)}, '{partitions[one % 2]}')")
    names = ", ".join(column.split()[0] for column in COLUMNS)
    return f"SELECT * FROM VALUES {', '.join(rows)} AS t(id, ts, {names}, p)"


def indexed(hudi: Judge, base: Path, options: dict[str, str], partitions: Sequence[str] = "ab") -> None:
    """Inserts, upserts and deletes, so many that the metadata table is compacted, and has logs behind that."""
    settings = INDEXES | options | {"hoodie.table.name": "indexed"}

    def write(ids: Iterable[int], ts: int, operation: str, mode: str = "append") -> None:
        hudi.write_query(base, values(ids, ts, partitions), operation, settings, mode)

    write(range(40), 1, "insert", "errorifexists")
    write(range(10, 20), 2, "upsert")
    write([1, 2, 7], 3, "delete")
    write(range(30, 50), 4, "upsert")
    write([2, 3], 5, "upsert")
    write([45, 12], 6, "delete")
    write(range(50, 53), 7, "upsert")
    write(range(20, 25), 8, "upsert")
    write(range(53, 63), 9, "insert")


KINDS: dict[str, tuple[dict[str, str], Sequence[str]]] = {
    "cow": ({}, "ab"),
    "mor": (MERGE_ON_READ, "ab"),
    # In the names of the index's files the dashes are escaped.
    "parted": (FOR_EACH_PARTITION, ("2026-01-01", "2026-01-02")),
}


def main(versions: Iterable[str]) -> None:
    """Makes those of some versions."""
    for version in versions:
        with start(version) as hudi, tempfile.TemporaryDirectory() as scratch:
            for name, (options, partitions) in KINDS.items():
                if name != "parted" or version == "v9":
                    indexed(hudi, Path(scratch, name, "table"), options, partitions)
                    pack(Path(scratch), name, support.INDEXED / version / f"{name}.tar.gz")


if __name__ == "__main__":
    main(sys.argv[1:])
