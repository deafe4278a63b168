"""Makes the tables of tests/history with the real Hudi: ``python -m tests.interop.make_history v6 v8 v9``.

A table's version is that of its end: one that was upgraded has been written by older releases before.
``facts-<version>.json`` has for each table its ``instants`` by name and its ``savepoints``, the ``rows`` that a reader
saw once each had completed (``listing``: where those that list saw something else), and of those on the active timeline
what a restore by Hudi itself ends with (``restores``): "right", "wrong" with why, or the message of its refusal. A name
behind the versions makes that table alone anew.
"""

import functools
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import support
from tests.interop import make_overlaps
from tests.interop.judge import Judge, JudgeError, Rows, start
from tests.interop.killed import LAZY, MARKERS, WRITES
from tests.interop.make_logs import pack, write_json
from tests.interop.make_overlaps import BY_HAND, MOR, rows
from tests.interop.scenarios import MERGE_ON_READ, Row, batch, digest

# Of the metadata table's partitions the one that all tables have.
FILES_ALONE = {
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.metadata.index.partition.stats.enable": "false",
}
ARCHIVED = {
    "hoodie.archive.beyond.savepoint": "true",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.cleaner.commits.retained": "1",
    # What the metadata table has not compacted stays on the table's timeline.
    "hoodie.metadata.compact.max.delta.commits": "1",
    "hoodie.archive.automatic": "false",
    **FILES_ALONE,
}
NESTED = (("a",), ("a/b",), ("c",))
OTHER_RELEASE = "1.1.1"


@dataclass
class Table(make_overlaps.Table):
    """A table that is being made: of its judges one at a time writes."""

    judges: Callable[[str], Judge] = field(kw_only=True)
    listing: dict[str, Rows] = field(default_factory=dict)
    """What readers that list saw, where it was something else."""

    def goes_to(self, release: str) -> None:
        """Another release writes from now on: that of a table version, or one by its number."""
        self.hudi = self.judges(release)

    def wrote(self, name: str, instant: str, rows: list[Row]) -> None:
        self.instants[name] = instant
        self.expected |= {row[0]: row for row in rows}
        self.rows[instant] = self.hudi.rows(self.path)
        assert self.rows[instant] == digest(self.expected.values()), f"{name} of {self.path}"
        if (listed := self.hudi.rows(self.path, metadata=False)) != self.rows[instant]:
            self.listing[instant] = listed

    def upsert(self, name: str, rows: list[Row]) -> None:
        """An upgrade may compact before the write."""
        self.hudi.upsert(self.path, rows, options=self.options)
        action = "deltacommit" if self.options.keys() >= MERGE_ON_READ.keys() else "commit"
        self.wrote(name, max(entry[0] for entry in self.hudi.timeline(self.path) if entry[1] == action), rows)

    def restores(self, instant: str) -> str:
        """What a copy is after a restore by Hudi: "right", "wrong", or why it refused."""
        with tempfile.TemporaryDirectory() as scratch:
            path = shutil.copytree(self.path, Path(scratch, "table"))
            try:
                if [instant, "savepoint"] not in [entry[:2] for entry in self.hudi.timeline(path)]:
                    self.hudi.savepoint(path, instant)
                self.hudi.restore(path, instant, {"hoodie.cleaner.policy.failed.writes": "LAZY"})
            except JudgeError as error:
                return error.errors[-1].replace(scratch, "").splitlines()[0]
            listed, found = (self.hudi.rows(path, metadata) for metadata in (False, True))
        if listed == found == self.rows[instant]:
            return "right"
        right = "right" if found == self.rows[instant] else f"{found['count']} rows"
        return f"wrong: {listed['count']} rows by listing, {right} through the metadata table"


def upgraded_cow(table: Table) -> None:
    """Made by 0.15.0; the writers of the releases up to this version's have upgraded it, with two commits each."""
    older = support.VERSIONS[: support.VERSIONS.index(table.hudi.version)]
    _upgraded(table, *older, table.hudi.version)


def upgraded_mor(table: Table) -> None:
    """The same on merge on read."""
    table.options = MOR
    upgraded_cow(table)


def upgraded_from_8_cow(table: Table) -> None:
    """Made by 1.0.2 and upgraded by 1.2.0, with two commits by each."""
    _upgraded(table, "v8", "v9")


def upgraded_from_8_mor(table: Table) -> None:
    """The same on merge on read."""
    table.options = MOR
    upgraded_from_8_cow(table)


def _upgraded(table: Table, *releases: str) -> None:
    table.options = {**table.options, **FILES_ALONE}
    for number, release in enumerate(releases):
        table.goes_to(release)
        if number:
            table.upsert(f"{release} first", rows("ab", 10 * number))
        else:
            table.insert(f"{release} first", rows("abc", 1))
        table.upsert(f"{release} second", rows("bc", 10 * number + 5, range(0, 30, 2)))


def archived_beyond_savepoint(table: Table) -> None:
    """Hudi's savepoint on S; cleans, and commits after S in the archive. Each has written all file groups."""
    _archived(table, "abc", "abc", "abc", "abc")


def archived_rows_lost(table: Table) -> None:
    """The same, but the archive has the last write to a and b. The timeline of readers begins with S: what the archive
    has after it they take for uncommitted, and see rows of S again."""
    _archived(table, "abc", "ab", "c", "c")
    read = table.hudi.both_rows(table.path)
    *_, last = table.rows
    assert read != table.rows[last]
    table.rows[last] = read


def _archived(table: Table, *written: str) -> None:
    table.options = ARCHIVED
    table.insert("first", rows("abc", 1))
    table.upsert("S", rows("ab", 2))
    table.savepoint()
    for number, partitions in enumerate(written, 1):
        table.upsert(f"L{number}", rows(partitions, number + 2))
    table.hudi.archive(table.path, table.options)


def first_write_failed(table: Table) -> None:
    """The table's first write died between two of its files; later ones were completed, and it is pending still."""
    table.options = {**LAZY, **MARKERS["direct"], **BY_HAND, **FILES_ALONE}
    death = WRITES["between_files"]
    with table.hudi.dying(table.path, *death.events, number=death.number):
        table.hudi.create(table.path, rows("abc", 1), table.options)
    (table.instants["failed"],) = table.times()
    table.upsert("first", rows("abc", 2))
    table.upsert("second", rows("ab", 3, range(0, 30, 2)))


def two_compactions(table: Table) -> None:
    """A completed compaction, and a later one of the same file groups that is pending, with writes beside both."""
    table.options = {**MOR, **FILES_ALONE}
    table.insert("first", rows("abc", 1))
    table.upsert("second", rows("ab", 2, range(0, 30, 2)))
    table.schedule("compact")
    table.upsert("beside T", rows("a", 3))
    table.run("compact")
    table.upsert("S", rows("ab", 4))
    table.schedule("compact", "second T")
    table.upsert("L", rows("abc", 5))


def nested_partitions(table: Table) -> None:
    """A partition a, and a/b below it, which no listing finds: the metadata table knows it."""
    table.options = {**BY_HAND, **FILES_ALONE}
    table.insert("first", batch(range(30), 1, NESTED))
    table.upsert("second", batch(range(0, 30, 2), 2, NESTED))
    table.upsert("third", [row for row in batch(range(40), 3, NESTED) if row[3] == "a/b"])


def two_releases(table: Table) -> None:
    """1.1.1 and 1.2.0 have written in turns."""
    table.options = {**MOR, **FILES_ALONE}
    for number, release in enumerate((OTHER_RELEASE, "v9") * 2):
        table.goes_to(release)
        write = table.upsert if number else table.insert
        write(f"{release} {number // 2 + 1}", rows("abc"[number % 2 :], number + 1))


EVERY = (archived_beyond_savepoint, archived_rows_lost, first_write_failed, two_compactions, nested_partitions)
UPGRADED = (upgraded_cow, upgraded_mor)
SAMPLES: dict[str, dict[str, Callable[[Table], None]]] = {
    version: {sample.__name__: sample for sample in samples}
    for version, samples in {
        "v6": EVERY,
        "v8": (*EVERY, *UPGRADED),
        "v9": (*EVERY, *UPGRADED, upgraded_from_8_cow, upgraded_from_8_mor, two_releases),
    }.items()
}


def make(judges: Callable[[str], Judge], version: str, names: Iterable[str], known: dict[str, Any]) -> None:
    """Makes samples of one version; their facts come to the known ones."""
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            table = Table(judges(version), Path(scratch, name, "table"), judges=judges)
            SAMPLES[version][name](table)
            active = [instant for instant in table.rows if instant in table.times()]
            known[name] = {
                "how": SAMPLES[version][name].__doc__,
                "instants": table.instants,
                "rows": table.rows,
                "listing": table.listing,
                "savepoints": [entry[0] for entry in table.hudi.timeline(table.path) if entry[1] == "savepoint"],
                "restores": {instant: table.restores(instant) for instant in active},
            }
            pack(Path(scratch), name, support.HISTORY / version / f"{name}.tar.gz")
        write_json(support.HISTORY / f"facts-{version}.json", known)
        print(version, name, flush=True)


def main(arguments: Iterable[str]) -> None:
    """Versions, and the names of tables where not all are wanted."""
    versions = [word for word in arguments if word in support.VERSIONS]
    names = [word for word in arguments if word not in support.VERSIONS]
    with ExitStack() as stack:

        @functools.cache
        def judges(release: str) -> Judge:
            return stack.enter_context(start(release) if release in support.VERSIONS else start("v9", release=release))

        for version in versions:
            file = support.HISTORY / f"facts-{version}.json"
            known = json.loads(file.read_text()) if names else {}
            make(judges, version, names or SAMPLES[version], known)


if __name__ == "__main__":
    main(sys.argv[1:])
