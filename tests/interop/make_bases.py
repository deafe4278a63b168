"""Makes the tables of tests/bases with the real Hudi: ``python -m tests.interop.make_bases v6 v8 v9``.

Their base files are ORC, HFile or Lance. Each has two commits, the second with a savepoint (``S``), two bad commits
after it, and a write that died. ``facts-<version>.json`` has for each table its ``instants`` by name, and the ``rows``
after each commit; ``read``: whether Hudi's Spark reader reads this table at all, and read these rows. A name behind the
versions makes that table alone anew.

ORC and HFile have the bucket index: with PySpark's jars no other one works on all three releases. 1.2.0 writes Lance
only with its record merger for Spark.
"""

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests import support
from tests.interop import make_overlaps
from tests.interop.judge import start
from tests.interop.killed import COMPLETED, LAZY, MARKERS
from tests.interop.make_logs import pack, write_json
from tests.interop.make_overlaps import BY_HAND, rows
from tests.interop.scenarios import MERGE_ON_READ, Row, digest

BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
SPARK_RECORDS = {"hoodie.write.record.merge.custom.implementation.classes": "org.apache.hudi.DefaultSparkRecordMerger"}
METAFILES = {"hoodie.partition.metafile.use.base.format": "true"}
RECORD_INDEX = {"hoodie.metadata.record.index.enable": "true"}
A_FILE = r"create [abc]/[^/]*(\.log\.|\.orc$|\.hfile$)"


@dataclass
class Table(make_overlaps.Table):
    """A table that is being made; whether Hudi's reader reads it."""

    read: bool = True

    def wrote(self, name: str, instant: str, rows: list[Row]) -> None:
        if self.read:
            super().wrote(name, instant, rows)
            return
        self.instants[name] = instant
        self.expected |= {row[0]: row for row in rows}
        self.rows[instant] = digest(self.expected.values())

    def dies(self, rows: list[Row], *events: str, number: int = 1) -> None:
        before = self.times()
        with self.hudi.dying(self.path, *events, number=number):
            self.hudi.upsert(self.path, rows, options=self.options)
        (self.instants["failed"],) = self.times() - before


def options_of(name: str) -> dict[str, str]:
    """The settings of all writers of a table."""
    kind, form = name.split("_")[0], name.split("_")[1]
    return {
        **LAZY,
        **MARKERS["direct"],
        **BY_HAND,
        "hoodie.table.base.file.format": kind.upper(),
        "hoodie.base.file.format": kind.upper(),
        **(SPARK_RECORDS if kind == "lance" else BUCKETS),
        **(MERGE_ON_READ if form == "mor" else {}),
        **(METAFILES if name == "orc_cow" else {}),
        **(RECORD_INDEX if name == "lance_cow" else {}),
    }


def fill(table: Table) -> None:
    """The same writes for each table."""
    table.insert("first", rows("abc", 1))
    table.upsert("S", rows("ab", 2, range(0, 30, 2)))
    table.savepoint()
    table.upsert("L1", rows("abc", 3, range(36)))
    if table.options["hoodie.base.file.format"] == "LANCE" and table.options.keys() >= MERGE_ON_READ.keys():
        table.schedule("compact")
        table.run("compact")
    table.upsert("L2", rows("bc", 4, range(0, 36, 2)))


def fail(table: Table) -> None:
    """A write that died between two of its files. Lance's own library writes files without Hadoop: a writer of these
    dies before it completes."""
    if table.options["hoodie.base.file.format"] == "LANCE":
        table.dies(rows("abc", 5), COMPLETED)
    else:
        table.dies(rows("abc", 5), A_FILE, number=2)


# Of these Hudi's Spark reader reads no snapshot: it knows ORC with logs from 1.1 on, and HFile not at all.
UNREAD = {("v6", "orc_mor"), ("v8", "orc_mor"), *((version, "hfile_mor") for version in support.VERSIONS)}
NAMES: Mapping[str, tuple[str, ...]] = {
    "v6": ("orc_cow", "orc_mor", "hfile_mor"),
    "v8": ("orc_cow", "orc_mor"),
    "v9": ("orc_cow", "orc_mor", "hfile_mor", "lance_cow", "lance_mor"),
}


def make(version: str, names: Iterable[str]) -> Iterator[tuple[str, Table]]:
    """Makes and packs tables of one version."""
    with start(version, lance=version == "v9") as hudi:
        for name in names:
            with tempfile.TemporaryDirectory() as scratch:
                path = Path(scratch, name, "table")
                table = Table(hudi, path, options_of(name), read=(version, name) not in UNREAD)
                fill(table)
                fail(table)
                pack(Path(scratch), name, support.BASES / version / f"{name}.tar.gz")
                yield name, table


def main(arguments: Iterable[str]) -> None:
    """Versions, and the names of tables where not all are wanted."""
    versions = [word for word in arguments if word in support.VERSIONS]
    names = [word for word in arguments if word not in support.VERSIONS]
    for version in versions:
        file = support.BASES / f"facts-{version}.json"
        known = json.loads(file.read_text()) if names else {}

        for name, table in make(version, names or NAMES[version]):
            known[name] = {"instants": table.instants, "rows": table.rows, "read": table.read}
            write_json(file, known)
            print(version, name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
