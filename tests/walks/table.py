"""The table of a walk: where it is, what was written into it, and how Hudi is asked about it."""

import os
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from hudictl.formats.commit_metadata import decode
from tests.interop.judge import Judge, JudgeError
from tests.interop.killed import data_files, timeline_files
from tests.interop.scenarios import Row, digest
from tests.walks.rows import Instant, Write, rows_after
from tests.walks.shape import PARTITIONS, Shape

# In a table's past: something died at one of its changes; a step of Hudi's ended with an error.
DEATH, FAILURE = "death", "failure"


@dataclass
class Table:
    """A table on its walk. ``writes`` are completed and not taken back, in the order of completion.

    ``strays`` are files that are not the table's own. ``good`` is False once something was done to it that Hudi does
    not do: a stray, a lost metafile. ``past`` has the names of the steps that were taken, and whether any of them died
    or failed. ``adopted``: hudictl has worked on it. ``wanted`` are the writes that stay when a restore of Hudi's is
    finished. ``keys`` are all that were ever written, or tried to be. ``broken``: instants that keep Hudi from reading
    or writing, or hide rows. ``copied``: those with a copy's times as completion times.
    ``undone``: a clustering that has undone a commit. ``cleaned``: files that Hudi's cleans took. ``bare``: those of
    them whose groups have lost, by Hudi, what had replaced them.
    """

    hudi: Judge
    base: Path
    shape: Shape
    writes: list[Write] = field(default_factory=list)
    ts: int = 0
    strays: set[str] = field(default_factory=set)
    good: bool = True
    adopted: bool = False
    wanted: list[Write] = field(default_factory=list)
    past: set[str] = field(default_factory=set)
    keys: set[int] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    copied: frozenset[str] = frozenset()
    undone: str = ""
    cleaned: set[str] = field(default_factory=set)
    bare: set[str] = field(default_factory=set)

    @property
    def version(self) -> str:
        """The table version, as the judges are called."""
        return f"v{self.shape.version}" if self.shape.version else self.hudi.version

    @property
    def timeline(self) -> list[Instant]:
        """The active timeline, as Hudi loads it; but the times of a copy do not count."""
        found = [Instant(*entry) for entry in self.hudi.timeline(self.base)]
        return [replace(one, completed=one.completed and one.time) if one.time in self.copied else one for one in found]

    @property
    def rows(self) -> dict[int, Row]:
        return rows_after(self.writes)

    @property
    def active(self) -> list[Instant]:
        """Completed writes and services that are not archived, in the order of completion."""
        return sorted((entry for entry in self.timeline if entry.is_write), key=lambda entry: entry.completed)

    @property
    def pending(self) -> list[Instant]:
        return [entry for entry in self.timeline if entry.state != "COMPLETED"]

    @property
    def interrupted(self) -> bool:
        """Something died half way: what is pending, but for what is only planned."""
        planned = ("compaction", "logcompaction", "clustering", "replacecommit")
        return any(entry.state == "INFLIGHT" or entry.action not in planned for entry in self.pending)

    @property
    def ahead(self) -> str:
        """The completed commit of a clock that was ahead; "" where there is none."""
        return next((write.instant for write in self.writes if write.instant in self.broken), "")

    @property
    def is_broken(self) -> bool:
        """Whether something broken is there still: pending, or the commit that is ahead."""
        return bool(self.ahead or self.broken & {entry.time for entry in self.pending})

    def moved(self, write: Write, time: str) -> None:
        """A write has another time, and is ahead."""
        self.writes[self.writes.index(write)] = replace(write, instant=time)
        self.broken.add(time)

    @contextmanager
    def cleaning(self) -> Iterator[None]:
        """Around a clean of Hudi's: notes what it takes."""
        before = data_files(self.base)
        try:
            yield
        finally:
            self.cleaned |= before - data_files(self.base)

    def taken_back(self, times: Collection[str]) -> None:
        """Notes what is bare once Hudi has taken back these writes: it does not ask what a clean has taken since, which
        hudictl refuses. It may do so later: a rollback that ends with an error is done by a later writer."""
        groups = set[str]()
        for file in timeline_files(self.base):
            if file.name[:17] in times and file.suffix in (".commit", ".deltacommit", ".replacecommit"):
                commit = decode(file.read_bytes(), file.name)
                groups.update(stat.file_id for stats in commit.stats.values() for stat in stats)
                groups.update(group for replaced in commit.replaced.values() for group in replaced)
        self.bare |= {file for file in self.cleaned if Path(file).name.lstrip(".").partition("_")[0] in groups}

    def rows_known(self, kept: Collection[str]) -> bool:
        """Whether the rows are known once only these writes are kept: what came after a commit that is ahead was built
        on it, and stays."""
        times = [write.instant for write in self.writes]
        return not self.ahead or self.ahead in kept or not set(times[times.index(self.ahead) :]) & set(kept)

    def batch(self, chance: Random, count: int, known: bool) -> list[Row]:
        """Rows with new values: of keys that are there, or of new ones. A key's partition never changes."""
        self.ts += 10
        partitions = PARTITIONS[self.shape.partitions]
        keys = sorted(self.rows)
        ids = chance.sample(keys, min(count, len(keys))) if known else range(self.ts * 1000, self.ts * 1000 + count)
        self.keys.update(ids)
        return [[one, self.ts, f"v{self.ts}-{one}", *partitions[one % len(partitions)]] for one in ids]

    def copy(self, folder: Path) -> "Table":
        """The same table, elsewhere."""
        base = shutil.copytree(self.base, folder / "table", symlinks=True)
        own = {name: set(getattr(self, name)) for name in ("strays", "past", "broken", "cleaned", "bare")}
        return replace(self, base=base, writes=list(self.writes), **own)

    def age_heartbeats(self) -> None:
        """Hours after a writer's death: by then it is dead by unknown settings, too, and walks do not wait."""
        for file in (self.base / ".hoodie/.heartbeat").glob("*"):
            os.utime(file, (time.time() - 2 * 3600,) * 2)

    def wrong_rows(self, rows: Mapping[int, Row] | None = None, readers: Sequence[bool] = (False, True)) -> str | None:
        """Asks readers by listing, and through the metadata table; what is wrong with what they find."""
        expected = digest((self.rows if rows is None else rows).values())
        for metadata in readers:
            how = "through the metadata table" if metadata else "by listing"
            try:
                found = self.hudi.rows(self.base, metadata)
            except JudgeError as error:
                if not expected["count"] and "UNRESOLVED_COLUMN" in error.errors[-1]:
                    continue  # to Hudi, a table without any commit has no columns
                return f"a reader fails {how}: {error.errors[-1]}"
            if found != expected:
                return f"rows {how}: {found['count']} of {expected['count']}"
        return None
