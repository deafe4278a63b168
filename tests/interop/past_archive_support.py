"""Tables with a savepoint on S, and later writes of which the archive has some: made by the real Hudi."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.helpers import drop, put
from tests.interop.judge import Judge
from tests.interop.make_history import ARCHIVED
from tests.interop.make_overlaps import rows
from tests.interop.scenarios import MERGE_LOGS, MERGE_ON_READ, NO_METADATA, Row

COW = {**ARCHIVED, "hoodie.clean.automatic": "true"}
# Of delta commits only those before a compaction are archived.
COMPACTED = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
MOR = COW | MERGE_ON_READ | COMPACTED
CHANGES = {"hoodie.table.cdc.enabled": "true"}
# A write with a compaction behind it is not rolled back.
BY_HAND = {"hoodie.compact.inline": "false"}
# Without a metadata table a write before a compaction is archived at once.
KEPT = {"hoodie.keep.min.commits": "10", "hoodie.keep.max.commits": "11"}
METADATA: Mapping[str, Mapping[str, str]] = {
    "files": {},
    "nothing": NO_METADATA,
    "indexes": {
        "hoodie.metadata.index.column.stats.enable": "true",
        "hoodie.metadata.index.bloom.filter.enable": "true",
        "hoodie.metadata.record.index.enable": "true",
    },
}
"""What the writers' metadata table has."""
ARCHIVES = ("part", "whole", "cut")
"""How much of the history the archive has: some of it, all of it, or all of it but the newest that it had."""

SECOND = rows("ab", 2, range(0, 30, 2))
"""The rows of the target's own write."""


@dataclass
class Written:
    """A table that is being written, and the rows that it should have."""

    hudi: Judge
    path: Path
    options: Mapping[str, str]
    expected: dict[int, Row]
    number: int = 2
    target: str = ""

    def upsert(self, partitions: str = "abc", ids: range = range(30), **more: str) -> str:
        """Each with a value of its own; the archiver runs behind it."""
        self.number += 1
        written = rows(partitions, self.number, ids)
        instant = self.hudi.upsert(self.path, written, options=self.options | more)
        self.expected |= {row[0]: row for row in written}
        self.hudi.archive(self.path, self.options | more)
        return instant


def plain(table: Written) -> None:
    """Updates and new rows."""
    for count in range(5):
        table.upsert(ids=range(30 + count))


def overwritten(table: Written) -> None:
    """A partition is written anew: its file groups are replaced, and cleaned as far as the savepoint allows."""
    table.upsert("ab")
    table.hudi.upsert(table.path, rows("a", 50), "insert_overwrite", options=table.options)
    for _ in range(4):
        table.upsert("abc")


def dropped(table: Written) -> None:
    """A partition is dropped, and comes back with other file groups. Nothing is cleaned: Hudi would take all files of
    the partition, those of the savepoint, too."""
    table.options = {**table.options, "hoodie.clean.automatic": "false"}
    table.upsert("ab")
    table.hudi.delete_partitions(table.path, ["a"], table.options)
    for _ in range(3):
        table.upsert("bc")
    table.upsert("a")


def clustered(table: Written) -> None:
    table.upsert("ab")
    table.hudi.cluster(table.path, options=table.options)
    for _ in range(4):
        table.upsert("abc")


def compacted(table: Written) -> None:
    """Each write is compacted; the last logs are not."""
    for _ in range(4):
        table.upsert("abc", **{"hoodie.compact.inline.max.delta.commits": "1"})
    table.upsert("ab")


def logs_compacted(table: Written) -> None:
    for _ in range(6):
        table.upsert("abc", **MERGE_LOGS, **{"hoodie.compact.inline.max.delta.commits": "3"})


def restored(table: Written) -> None:
    """Hudi has restored to a later savepoint before, which is deleted since."""
    table.upsert("ab")
    later = table.upsert("bc", **KEPT)
    table.hudi.savepoint(table.path, later, table.options)
    table.upsert("abc")
    # Hudi refuses it where it is told that archiving goes beyond savepoints.
    table.hudi.restore(table.path, later, {**table.options, "hoodie.archive.beyond.savepoint": "false"})
    table.hudi.delete_savepoint(table.path, later, table.options)
    for _ in range(5):
        table.upsert("abc")


def rolled_back(table: Written) -> None:
    """Every second write is rolled back by Hudi; its metadata table, compacted since, would be in the way."""
    table.options = {**table.options, **NO_METADATA}
    for _ in range(3):
        table.upsert("ab")
        table.hudi.rollback(table.path, table.upsert("abc", **BY_HAND), table.options)
    for _ in range(2):
        table.upsert("c")


def failed(table: Written) -> None:
    """A writer has died between two files; a later one has rolled it back. The metadata table of 0.15.0 then lists the
    log that the dead writer was about to begin, and compactions fail at it."""
    if table.hudi.version == "v6" and MERGE_ON_READ.items() <= table.options.items():
        table.options = {**table.options, **NO_METADATA}
    table.upsert("ab")
    with table.hudi.dying(table.path, r"create .*\.(parquet|log\..*)", number=2):
        table.hudi.upsert(table.path, rows("abc", 60), options=table.options | BY_HAND)
    table.hudi.rollback_failed(table.path, table.options)
    for _ in range(4):
        table.upsert("abc")


def logged(table: Written) -> None:
    """Change logs (CDC) beside the base files: see ``make``. Nothing is cleaned: 1.0.2 and 1.2.0 refuse to begin before
    the newest archived instant, also a clean."""
    table.options = {**table.options, "hoodie.clean.automatic": "false"}
    plain(table)


def two_savepoints(table: Written) -> None:
    """One more savepoint after S, with archived writes before and after it."""
    table.upsert("abc")
    later = table.upsert("ab", **KEPT)
    table.hudi.savepoint(table.path, later, table.options)
    for _ in range(4):
        table.upsert("abc")


Shapes = Mapping[str, Callable[[Written], None]]
SHAPES: Shapes = {shape.__name__: shape for shape in (plain, overwritten, dropped, clustered, restored, two_savepoints)}
ON_COPY_ON_WRITE: Shapes = {shape.__name__: shape for shape in (rolled_back, failed, logged)}
ON_MERGE_ON_READ: Shapes = {shape.__name__: shape for shape in (compacted, logs_compacted, rolled_back, failed)}


def cut(path: Path) -> None:
    """The newest file of the archive is lost, as by a clean-up of old files."""
    if logs := sorted((path / ".hoodie/archived").glob(".commits_.archive.*")):
        drop(logs[-1])
        return
    folder = path / ".hoodie/timeline/history"
    manifest = folder / f"manifest_{(folder / '_version_').read_text()}"
    named = json.loads(manifest.read_text())
    drop(folder / named["files"].pop()["fileName"])
    put(manifest, json.dumps(named).encode())


def make(
    hudi: Judge, folder: Path, options: Mapping[str, str], shape: Callable[[Written], None], archive: str = "part"
) -> Written:
    """A table of three partitions, updated once before S; then the shape of its history. Its rows are those of S."""
    options = {**options, **(CHANGES if shape is logged else {})}
    table = Written(hudi, folder / "table", options, {})
    first = rows("abc", 1)
    hudi.create(table.path, first, options)
    table.target = hudi.upsert(table.path, SECOND, options=options)
    table.expected = {row[0]: row for row in [*first, *SECOND]}
    hudi.savepoint(table.path, table.target, options)
    at_target = dict(table.expected)
    shape(table)
    for _ in range(0 if archive == "part" else 3):
        table.upsert()
    if archive == "cut":
        cut(table.path)
        if shape is two_savepoints:
            # The archive had the newest writes: without one more a restore asks for --accept-lost-instants.
            table.hudi.upsert(table.path, rows("abc", 70), options=table.options)
    table.expected = at_target
    return table
