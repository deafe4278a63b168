"""Makes the tables of tests/overlaps with the real Hudi: ``python -m tests.interop.make_overlaps v6 v8 v9``.

In each an instant ``T`` is requested on the other side of the instant ``S`` than it is completed, or is pending beside
it. ``facts-<version>.json`` has for each table the ``instants`` by these names (``L`` are later writes), and the
``rows`` that a reader saw once each had completed. A name behind the versions makes that table alone anew.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import support
from tests.interop.judge import Judge, Rows, start
from tests.interop.make_logs import pack, write_json
from tests.interop.scenarios import MERGE_ON_READ, Row, batch, digest

# Services only where they are asked for.
BY_HAND = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false", "hoodie.compact.inline": "false"}
MOR = MERGE_ON_READ | BY_HAND
CLUSTER = {"hoodie.clustering.plan.strategy.partition.regex.pattern": "[ab]", **BY_HAND}
COMPACT = {"hoodie.compact.inline.max.delta.commits": "1", **BY_HAND}
ONE_VERSION = {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.cleaner.fileversions.retained": "1"}
SEVERAL_WRITERS = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    **BY_HAND,
}
WRITER = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.metadata.enable": "true",
}
SLOW_MS = 12_000


@dataclass
class Table:
    """A table that is being made, its instants by name, and what a reader saw after each."""

    hudi: Judge
    path: Path
    options: Mapping[str, str] = field(default_factory=lambda: BY_HAND)
    instants: dict[str, str] = field(default_factory=dict)
    rows: dict[str, Rows] = field(default_factory=dict)
    expected: dict[int, Row] = field(default_factory=dict)

    def insert(self, name: str, rows: list[Row]) -> None:
        self.wrote(name, self.hudi.create(self.path, rows, self.options), rows)

    def upsert(self, name: str, rows: list[Row]) -> None:
        self.wrote(name, self.hudi.upsert(self.path, rows, options=self.options), rows)

    def schedule(self, service: str, name: str = "T") -> None:
        before = self.times()
        self._service(service, "schedule")
        (self.instants[name],) = self.times() - before

    def run(self, service: str, name: str = "T") -> None:
        self._service(service, "execute" if service == "cluster" else "run")
        self.wrote(name, self.instants[name], [])

    def savepoint(self) -> None:
        self.hudi.savepoint(self.path, self.instants["S"], self.options)

    def clean(self) -> None:
        """Keeps one slice of each file group, besides what savepoints name."""
        self.hudi.clean(self.path, {**ONE_VERSION, **self.options})

    def _service(self, service: str, step: str) -> None:
        act = self.hudi.cluster if service == "cluster" else self.hudi.compact
        act(self.path, step, {**self.options, **(CLUSTER if service == "cluster" else COMPACT)})

    def times(self) -> set[str]:
        return {entry[0] for entry in self.hudi.timeline(self.path)}

    def wrote(self, name: str, instant: str, rows: list[Row]) -> None:
        self.instants[name] = instant
        self.expected |= {row[0]: row for row in rows}
        self.rows[instant] = self.hudi.both_rows(self.path)
        assert self.rows[instant] == digest(self.expected.values()), f"{name} of {self.path}"


def rows(partitions: str, ts: int, ids: Iterable[int] = range(30)) -> list[Row]:
    """The rows of some partitions with a new value; a record's partition depends on its id alone."""
    return [row for row in batch(ids, ts) if row[3] in partitions]


def cow_clustering(table: Table) -> None:
    """A clustering of partitions a and b; S updates c and has new file groups in a. Nothing is cleaned."""
    _clustering(table)
    table.run("cluster")
    table.upsert("L", rows("abc", 5))


def cow_clustering_cleaned(table: Table) -> None:
    """The same with Hudi's savepoint on S, made while T was pending, and a clean later."""
    _clustering(table)
    table.savepoint()
    table.run("cluster")
    table.upsert("L", rows("abc", 5))
    table.clean()


def mor_clustering(table: Table) -> None:
    """The same on merge on read."""
    table.options = MOR
    cow_clustering(table)


def _clustering(table: Table) -> None:
    table.insert("first", rows("abc", 1))
    table.upsert("second", rows("abc", 2, range(0, 30, 2)))
    table.schedule("cluster")
    table.upsert("S", [*rows("c", 3), *rows("a", 3, range(30, 40))])


def mor_compaction(table: Table) -> None:
    """A compaction of the file groups of a and b; S has logs in a alone. Nothing is cleaned."""
    _compaction(table)
    table.run("compact")
    table.upsert("L", rows("abc", 5))


def mor_compaction_pending(table: Table) -> None:
    """A compaction that is pending still; Hudi's savepoint on S."""
    _compaction(table)
    table.savepoint()


def mor_compaction_cleaned(table: Table) -> None:
    """Hudi's savepoint on S, made while T was pending; T completed, and a clean took what was before it."""
    _compaction(table)
    table.savepoint()
    table.run("compact")
    table.upsert("L", rows("abc", 5))
    table.clean()


def mor_compaction_superseded(table: Table) -> None:
    """Hudi's savepoint on S, made while T was pending; T is completed, and after a second compaction cleaned."""
    _compaction(table)
    table.savepoint()
    table.run("compact")
    table.upsert("L", rows("abc", 5))
    table.schedule("compact", "second T")
    table.run("compact", "second T")
    table.upsert("M", rows("abc", 6))
    table.clean()


def cow_writer(table: Table) -> None:
    """A second writer's commit, which updates b and c; S updates a. Nothing is cleaned."""
    table.insert("first", rows("abc", 1))
    table.upsert("second", rows("abc", 2, range(0, 30, 2)))
    with _second_writer(table, rows("bc", 4, range(40))):
        table.upsert("S", rows("a", 3))
    table.upsert("L", rows("abc", 5))


def mor_writer(table: Table) -> None:
    """The same on merge on read."""
    table.options = MOR
    cow_writer(table)


@contextmanager
def _second_writer(table: Table, written: list[Row]) -> Iterator[None]:
    """Runs the body beside another process that writes T: it has begun before, and is completed after."""
    alone, before = table.options, table.times()
    table.options = {**alone, **SEVERAL_WRITERS}
    with start(table.hudi.version) as other, ThreadPoolExecutor(1) as pool:
        other.rows(table.path)  # once more at its first query it would be slow
        slow = f"IF(id = {written[0][0]} AND reflect('java.lang.Thread', 'sleep', {SLOW_MS}L) = '', '', val)"
        text = json.dumps([dict(zip(("id", "ts", "val", "p"), row, strict=True)) for row in written])
        data = f"inline(from_json('{text}', 'ARRAY<STRUCT<id: BIGINT, ts: BIGINT, val: STRING, p: STRING>>'))"
        query = f"SELECT id, ts, {slow} AS val, p FROM (SELECT {data})"
        options = {**WRITER, "hoodie.table.name": table.hudi.properties(table.path)["hoodie.table.name"]}
        done = pool.submit(other.write_query, table.path, query, "upsert", {**options, **table.options})
        while table.times() == before and not done.done():
            time.sleep(0.05)
        (table.instants["T"],) = table.times() - before
        yield
        assert not done.done(), "S was slower than T"
        done.result()
    table.options = alone
    table.wrote("T", table.instants["T"], written)


def mor_compaction_after(table: Table) -> None:
    """The compaction is requested after Hudi's savepoint on S and completed: a clean finds nothing to take."""
    table.options = MOR
    table.insert("first", rows("abc", 1))
    table.upsert("second", rows("ab", 2, range(0, 30, 2)))
    table.upsert("S", rows("a", 3))
    table.savepoint()
    table.schedule("compact")
    table.upsert("L", rows("a", 4))
    table.run("compact")
    table.upsert("M", rows("abc", 5))
    table.clean()


def _compaction(table: Table) -> None:
    table.options = MOR
    table.insert("first", rows("abc", 1))
    table.upsert("second", rows("ab", 2, range(0, 30, 2)))
    table.schedule("compact")
    table.upsert("S", rows("a", 3))


SAMPLES: dict[str, Callable[[Table], None]] = {
    sample.__name__: sample
    for sample in (
        cow_clustering, cow_clustering_cleaned, mor_clustering, mor_compaction, mor_compaction_pending,
        mor_compaction_cleaned, mor_compaction_superseded, mor_compaction_after, cow_writer, mor_writer,
    )
}  # fmt: skip


def made(hudi: Judge, name: str, folder: Path) -> Table:
    """Makes a table under ``folder/name/table``."""
    table = Table(hudi, folder / name / "table")
    SAMPLES[name](table)
    return table


def make(hudi: Judge, names: Iterable[str], known: dict[str, Any]) -> None:
    """Makes samples of one release; their facts come to the known ones."""
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            table = made(hudi, name, Path(scratch))
            known[name] = {"how": SAMPLES[name].__doc__, "instants": table.instants, "rows": table.rows}
            pack(Path(scratch), name, support.OVERLAPS / hudi.version / f"{name}.tar.gz")
        write_json(support.OVERLAPS / f"facts-{hudi.version}.json", known)
        print(hudi.version, name, flush=True)


def main(arguments: Iterable[str]) -> None:
    """Versions, and the names of tables where not all are wanted."""
    versions = [word for word in arguments if word in support.VERSIONS]
    names = [word for word in arguments if word not in support.VERSIONS]
    for version in versions:
        file = support.OVERLAPS / f"facts-{version}.json"
        known = json.loads(file.read_text()) if names else {}
        with start(version) as hudi:
            make(hudi, names or SAMPLES, known)


if __name__ == "__main__":
    main(sys.argv[1:])
