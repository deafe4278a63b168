"""Writers of the real Hudi that die at chosen changes to a table, and what must hold once their writes are cleaned up.

A writer's death is its file system's (``Judge.dying``): from one change on nothing reaches the table any more.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.helpers import assert_listed
from tests.interop.judge import Judge, Rows
from tests.interop.product import upsert
from tests.interop.scenarios import MERGE_ON_READ, NO_METADATA, Made, Step, batch, build

DATA = r"[abcd]/[^/]*(parquet|\.log\.)"
# Those of the updates, in logs on merge on read: the new partition's file may come before the last of them.
UPDATED = DATA.replace("[abcd]", "[abc]")
COMPLETED = r"(create|rename) \.hoodie/(timeline/)?\d+(_\d+)?\.(commit|deltacommit|replacecommit)$"
METADATA_COMPLETED = r"(create|rename) \.hoodie/metadata/\.hoodie/(timeline/)?\d+(_\d+)?\.deltacommit$"
INSERTED, UPSERTED = batch(range(30), 1), batch(range(0, 30, 2), 2)
# Three partitions are updated, and a fourth is new.
WRITTEN = [*batch(range(30), 3), *([one, 3, f"new-{one}", "d"] for one in range(100, 105))]
FILES = 4


@dataclass(frozen=True)
class Death:
    """The change at which a writer dies: the last pattern's ``number``-th, after one of each pattern before."""

    events: tuple[str, ...]
    number: int = 1
    after: bool = False


WRITES = {
    "inflight": Death((r"\.hoodie/\.temp",)),
    "before_a_file": Death((f"create {DATA}",)),
    "between_files": Death((f"create {UPDATED}",), 3),
    "torn_file": Death((f"create {DATA}",), 3, after=True),
    "all_files": Death((f"close {DATA}",), FILES, after=True),
    "metadata_half": Death((METADATA_COMPLETED,)),
    "metadata_done": Death((COMPLETED,)),
}
SERVICES = {
    "inflight": Death((r"\.hoodie/\.temp",)),
    "between_files": Death((f"create {DATA}",), 2),
    "metadata_done": Death((COMPLETED,)),
}
MARKERS = {
    "direct": {"hoodie.write.markers.type": "DIRECT"},
    # A marker that the dead server has not written is waited for.
    "server": {"hoodie.write.markers.type": "TIMELINE_SERVER_BASED", "hoodie.filesystem.view.remote.timeout.secs": "5"},
}
LAZY = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.client.heartbeat.interval_in_ms": "1000",
    "hoodie.client.heartbeat.tolerable.misses": "2",
}
UNNAMED = re.compile(r"\.[0-9a-f]{8}-[0-9a-f-]{27}$")
# Compactions and clusterings only where a test asks for one.
BY_HAND = {"hoodie.compact.inline": "false"}


@dataclass(frozen=True)
class Killed:
    """A table that a dead writer left: its instant, and what a reader saw and what lay there before it."""

    hudi: Judge
    path: Path
    time: str
    rows: Rows
    files: frozenset[str]
    options: Mapping[str, str] = field(default_factory=dict)

    def copy(self, folder: Path) -> "Killed":
        """The same, on a table of its own."""
        path = shutil.copytree(self.path, folder / "table")
        return Killed(self.hudi, path, self.time, self.rows, self.files, self.options)


def made(hudi: Judge, folder: Path, kind: str, metadata: bool) -> Made:
    """A table of two commits, ``cow`` or ``mor``."""
    options = (MERGE_ON_READ | BY_HAND if kind == "mor" else {}) | ({} if metadata else NO_METADATA)
    steps = [Step("insert", INSERTED), Step("upsert", UPSERTED)]
    return build(hudi, folder, f"{kind}-{'metadata' if metadata else 'listing'}", steps, options)


def killed_write(hudi: Judge, table: Made, folder: Path, death: Death, options: Mapping[str, str]) -> Killed:
    """A copy of the table in which an upsert died."""
    path = shutil.copytree(table.path, folder / "table")
    options = {**table.options, **options}
    before, files = instants(path), data_files(path)
    with hudi.dying(path, *death.events, number=death.number, after=death.after):
        hudi.upsert(path, WRITTEN, options=options)
    (time,) = instants(path) - before
    return Killed(hudi, path, time, table.rows[table.instants[-1]], files, options)


def killed_service(hudi: Judge, table: Made, folder: Path, death: Death, service: str) -> Killed:
    """A copy of the table in which a ``compaction`` or ``clustering`` died."""
    path = shutil.copytree(table.path, folder / "table")
    options = {**table.options, **MARKERS["direct"]}
    before, files = instants(path), data_files(path)
    run_service(hudi, path, service, "schedule", options)
    with hudi.dying(path, *death.events, number=death.number, after=death.after):
        run_service(hudi, path, service, "run", options)
    (time,) = instants(path) - before
    return Killed(hudi, path, time, table.rows[table.instants[-1]], files, options)


def run_service(hudi: Judge, path: Path, service: str, step: str, options: Mapping[str, str]) -> None:
    """Schedules a compaction or clustering, or runs what is scheduled."""
    if service == "compaction":
        hudi.compact(path, step, {**options, "hoodie.compact.inline.max.delta.commits": "1"})
    else:
        hudi.cluster(path, "execute" if step == "run" else step, options)


def instants(base: Path) -> set[str]:
    """The requested times of everything on the timeline but rollbacks."""
    return {path.name[:17] for path in timeline_files(base) if ".rollback" not in path.name}


def timeline_files(base: Path) -> list[Path]:
    """Every file of the active timeline.

    But not what a dead writer of 1.2.0 leaves, which renames completed instants into place: Hudi sees no instant in it.
    """
    folder = base / ".hoodie/timeline"
    found = (folder if folder.exists() else base / ".hoodie").glob("[0-9]*")
    return [path for path in found if path.is_file() and not UNNAMED.search(path.name)]


def data_files(base: Path) -> frozenset[str]:
    """The base and log files on storage, by path; not a partition's metafile, which may have its first name still."""
    files = (path.relative_to(base) for path in base.rglob("*") if path.suffix != ".crc" and path.is_file())
    return frozenset(
        str(path) for path in files if path.parts[0] != ".hoodie" and not path.name.startswith(".hoodie_partition")
    )


def assert_cleaned(killed: Killed) -> None:
    """The write is gone, nothing of it is left, and writers go on."""
    assert {path.name for path in timeline_files(killed.path) if path.name.startswith(killed.time)} == set()
    assert_rolled_back(killed)
    upsert(killed.hudi, killed.path, killed.options)


def assert_requested_again(killed: Killed, service: str) -> None:
    """Only the plan is left of the run, and Hudi's next run of it works."""
    assert {
        path.name.partition(".")[2] for path in timeline_files(killed.path) if path.name.startswith(killed.time)
    } < {
        "compaction.requested",
        "clustering.requested",
        "replacecommit.requested",
    }
    assert_rolled_back(killed)
    run_service(killed.hudi, killed.path, service, "run", killed.options)
    done = [entry for entry in killed.hudi.timeline(killed.path) if entry[0] == killed.time]
    assert [entry[2] for entry in done] == ["COMPLETED"]
    assert killed.hudi.both_rows(killed.path) == killed.rows
    upsert(killed.hudi, killed.path, killed.options)


def assert_rolled_back(killed: Killed) -> None:
    """Rows as before, by either way of reading; no file, marker or heartbeat of it; a rollback that says so."""
    hudi, path = killed.hudi, killed.path
    assert hudi.both_rows(path) == killed.rows
    assert_listed_alike(hudi, path)
    files = data_files(path)
    assert killed.files - files == set()
    assert {name for name in files - killed.files if not blocked(killed, name, files)} == set()
    assert [entry.name for entry in (path / ".hoodie/.temp").glob("*")] == []
    assert not (path / ".hoodie/.heartbeat" / killed.time).exists()
    assert not (path / ".hoodie/hoodie.properties.backup").exists()
    records = rollbacks(hudi, path)
    assert [time for record in records for time in record["commitsRollback"]] == [killed.time]
    for record in records:
        assert record["totalFilesDeleted"] == len(deleted(record))
        assert listed(record, "failedDeleteFiles") & files == set()


def assert_listed_alike(hudi: Judge, base: Path) -> None:
    """The metadata table lists what is there; of an empty log file, which says nothing, it need not know."""
    empty = {name for name in data_files(base) if not (base / name).stat().st_size}
    assert set(hudi.files(base)) - empty == set(hudi.files(base, metadata=False)) - empty
    assert_listed(base)


def assert_only_blocks_unlisted(hudi: Judge, base: Path) -> None:
    """What 0.15.0 leaves by itself: its metadata table does not list the logs of the rollback blocks that it has
    written while it finished a rollback. Rows are right without them: no reader takes the removed instant's."""
    unlisted = set(hudi.files(base, metadata=False)) - set(hudi.files(base))
    assert set(hudi.files(base)) <= set(hudi.files(base, metadata=False))
    assert all(".log." in name for name in unlisted)


def blocked(killed: Killed, name: str, files: Sequence[str] | frozenset[str]) -> bool:
    """Whether a log file of table version 6 is in a slice with a rollback block for the instant."""
    slice_name, log, _ = name.partition(".log.")
    if not log or killed.hudi.version != "v6":
        return False
    logs = [other for other in files if other.startswith(f"{slice_name}.log.")]
    blocks = [block for other in logs for block in killed.hudi.log_blocks(killed.path / other)]
    return any(
        block["type"] == "COMMAND_BLOCK" and block["header"]["TARGET_INSTANT_TIME"] == killed.time for block in blocks
    )


def rollbacks(hudi: Judge, base: Path) -> list[dict[str, Any]]:
    """The records of the completed rollbacks, as Hudi reads them."""
    return [hudi.decode(path, "HoodieRollbackMetadata") for path in timeline_files(base) if path.suffix == ".rollback"]


def deleted(record: Mapping[str, Any]) -> set[str]:
    """The files that a rollback has deleted, by path."""
    return listed(record, "successDeleteFiles")


def listed(record: Mapping[str, Any], outcome: str) -> set[str]:
    partitions = record["partitionMetadata"].items()
    return {f"{partition}/{Path(file).name}" for partition, one in partitions for file in one[outcome]}
