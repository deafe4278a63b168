"""What the real Hudi changes below ``.hoodie`` in one piece of work, and writers that die after each change."""

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import INFO
from hudictl.table.open import open_table
from tests.helpers import LONG_AGO
from tests.interop import product
from tests.interop.judge import Judge, Options
from tests.interop.scenarios import CLUSTER_NOW, MERGE_ON_READ, NO_METADATA, batch

FIRST, WRITTEN, LATER = batch(range(12), 1), batch(range(0, 12, 2), 90), batch(range(3), 99)
COLUMNS = ("id", "ts", "val", "p")
SERVICES = {
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.commits.archival.batch": "1",
    "hoodie.timeline.compaction.batch.size": "2",
    "hoodie.metadata.compact.max.delta.commits": "1",
    "hoodie.metadata.index.column.stats.enable": "false",
}
"""Each write cleans and archives, and compacts the metadata table."""
COMPACTING = SERVICES | {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
INDEX = {"hoodie.metadata.record.index.enable": "true"}
PLACES = {
    "properties": r"hoodie\.properties",
    "archive": r"/(?:archived|history)/",
    "markers": r"/\.(?:temp|heartbeat)/",
    "metadata": r"\.hoodie/metadata/",
    "timeline": r"\.hoodie/",
}
"""A change belongs to the first of them that finds it."""
_PARTS = {
    "UUID": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "TIME": r"\d{17,20}",
    "TOKEN": r"\d+-\d+-\d+",
    "NUMBER": r"\d+",
}


@dataclass(frozen=True)
class Scenario:
    """Writes that make a table, and one piece of work on it; ``later`` are the settings of the next writer."""

    made: Options
    writes: int
    work: Callable[[Judge, Path], object]
    later: Options

    def make(self, hudi: Judge, path: Path) -> None:
        hudi.create(path, FIRST, self.made)
        for number in range(self.writes):
            hudi.upsert(path, batch(range(0, 12, 3), 10 + number), options=self.made)


def _writing(made: Options, writes: int, options: Options) -> Scenario:
    return Scenario(made, writes, lambda hudi, path: hudi.upsert(path, WRITTEN, options=options), options)


SCENARIOS = {
    "services": _writing(COMPACTING | MERGE_ON_READ, 5, COMPACTING),
    "clustering": _writing(SERVICES | CLUSTER_NOW, 2, SERVICES | CLUSTER_NOW),
    "first metadata table": _writing(NO_METADATA, 2, INDEX),
}


def kind_of(change: str) -> str:
    """A change without its times, numbers and unique parts."""
    for word, pattern in _PARTS.items():
        change = re.sub(pattern, f"<{word}>", change)
    return change


def pattern_of(kind: str) -> str:
    """What finds the changes of a kind."""
    text = re.escape(kind)
    for word, pattern in _PARTS.items():
        text = text.replace(f"<{word}>", pattern)
    return f"^{text}$"


def place_of(kind: str) -> str:
    return next(name for name, pattern in PLACES.items() if re.search(pattern, kind))


def kinds_left(changes: Sequence[str]) -> Iterator[str]:
    """The kinds of change below ``.hoodie`` after which something else is left than before, each once. A temporary file
    is as good as whole where it is created; the table's partitions are alike, and the metadata table's."""
    kinds = dict.fromkeys(kind_of(change) for change in changes if " .hoodie/" in change)
    created = {kind.partition(" ")[2] for kind in kinds if kind.startswith("create")}
    for kind in kinds:
        what, _, path = kind.partition(" ")
        other = re.search(r"^\.hoodie/metadata/(?!\.hoodie/|files/)|^\.hoodie/\.temp/<TIME>/[bcd](/|$)", path)
        whole = what == "close" and ("<UUID>" in path.rpartition("/")[2] or path not in created)
        if what != "mkdir" and not other and not whole:
            yield kind


def died(hudi: Judge, scenario: Scenario, made: Path, kind: str, folder: Path) -> Path:
    """A copy of a table whose writer died right after the first change of a kind. It is no longer where the dead
    writer's heartbeats are, which this process goes on writing, and they have expired."""
    dying = shutil.copytree(made, folder / "dying" / "table")
    with hudi.dying(dying, pattern_of(kind), after=True):
        scenario.work(hudi, dying)
    left = dying.parent.rename(folder / "left") / "table"
    for beat in left.rglob(".heartbeat/*"):
        os.utime(beat, (LONG_AGO, LONG_AGO))
    return left


def mend(base: Path) -> list[str]:
    """Runs what `check` names, until it names nothing new; returns the commands."""
    done: list[str] = []
    while True:
        found = check_table(open_table(str(base)), product.ENGINE, 0).findings
        named = [entry.remedy[0].command for entry in found if entry.severity != INFO and entry.remedy]
        command = next((one for one in named if one not in done), None)
        if command is None:
            return done
        assert product.command(base, *shlex.split(command)[1:], idle="0s") == 0, command
        done.append(command)
