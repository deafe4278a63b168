"""What the tests of find share with others."""

import pytest

from hudictl.errors import HudictlError
from hudictl.formats import avro, rollback
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.rollback import InstantInfo, RollbackMetadata, RollbackPartition
from hudictl.ops.clean_up.orphans import OrphanOptions, OrphanResult, delete_orphans, plan_orphan_deletion
from hudictl.ops.session import Silent
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.orphans.find import Orphan, find_orphans
from hudictl.state.orphans.ownership import NO_PROOF, ON_NO_TIMELINE
from hudictl.table.timeline.archive import archived_after
from tests.helpers import (
    ENGINE,
    Copy,
    drop,
    put,
    session,
    tree,
)
from tests.metadata_edits import say

LONG_AGO = "20200101000000000"


LATER = "20261121235959000"


UNPROVED = f"{ON_NO_TIMELINE}, {NO_PROOF}"


def orphans(copy: Copy) -> list[Orphan]:
    table = copy.table
    return find_orphans(read_facts(table, ENGINE, read_signs(table)), ENGINE)


def found(copy: Copy) -> dict[str, tuple[str, bool]]:
    return {orphan.file.path: (orphan.why, orphan.sure) for orphan in orphans(copy)}


def delete(copy: Copy, monitor: object = None, idle_ms: int = 0, *, metadata: str = "keep") -> OrphanResult:
    table = copy.table
    plan = plan_orphan_deletion(session(table), OrphanOptions(idle_ms, metadata))
    return delete_orphans(session(table, monitor or Silent()), plan)  # type: ignore[arg-type]


def refused(copy: Copy, kind: type[HudictlError], options: OrphanOptions | None = None) -> HudictlError:
    before = tree(copy.path)
    with pytest.raises(kind) as caught:
        plan_orphan_deletion(session(copy.table), options or OrphanOptions(0))
    assert tree(copy.path) == before
    return caught.value


def written_by(copy: Copy, time: str) -> set[str]:
    return {path for path in copy.data() if f"_{time}." in path}


def lose(copy: Copy, time: str) -> set[str]:
    """Takes an instant off the timeline, and nothing else; returns its files."""
    for path in [*copy.timeline.glob(f"{time}[._]*")]:
        drop(path)
    return written_by(copy, time)


def stray(copy: Copy, time: str, *, old: bool = True) -> str:
    """A base file as a killed writer leaves it, of another instant than its neighbour's; returns its path.

    Nothing proves that it is no part of the table: see ``orphan``.
    """
    like = sorted(path for path in copy.data() if path.endswith(".parquet"))[0]
    path = f"{like.rpartition('_')[0]}_{time}.parquet"
    put(copy.path / path, (copy.path / like).read_bytes(), old=old)
    return path


def orphan(copy: Copy, time: str, *, old: bool = True) -> str:
    """The same, with the completed rollback of the write, which has missed the file; returns its path."""
    rolled_back(copy, time)
    return stray(copy, time, old=old)


def listed_orphan(copy: Copy, time: str) -> str:
    """The same, and the metadata table lists it, if there is one; returns its path."""
    return listed(copy, orphan(copy, time))


def listed(copy: Copy, path: str) -> str:
    """Has the metadata table, if there is one, list a file; returns its path."""
    partition, _, name = path.rpartition("/")
    if (copy.meta / "metadata").exists():
        say(copy.path, {partition: {name: (copy.path / path).stat().st_size}})
    return path


def rollback_result(target: str, action: str = "deltacommit", partitions: tuple[str, ...] = ()) -> bytes:
    """The body of a completed rollback, which has deleted nothing in some partitions."""
    done = RollbackMetadata(LATER, 1, InstantInfo(target, action), dict.fromkeys(partitions, RollbackPartition()))
    record = rollback.metadata_to_avro(done)
    return avro.encode(record, avro.record(rollback.METADATA, *rollback.METADATA_FIELDS, top=True))


def rolled_back(
    copy: Copy, target: str, action: str = "deltacommit", partitions: tuple[str, ...] = (), time: str = ""
) -> str:
    """A completed rollback, as Hudi publishes it; returns its time."""
    time = time or time_plus_ms(LATER, len(copy.having("rollback")))
    completed = "" if copy.version == "v6" else f"_{time}"
    copy.write(f"{time}{completed}.rollback", rollback_result(target, action, partitions))
    return time


def taken_back(time: str = LATER) -> str:
    return f"{ON_NO_TIMELINE}, and the rollback {time} rolled it back"


def mark(copy: Copy, path: str) -> None:
    """The marker that a writer makes before the file, and deletes after the commit."""
    time = path.split("_")[-1].split(".")[0]
    put(copy.meta / ".temp" / time / f"{path}.marker.CREATE")


def between(copy: Copy) -> str:
    """A time between the first two commits that are archived, of which nothing knows."""
    archived = sorted(entry.time for entry in archived_after(copy.table, "") if entry.action == "commit")
    return time_plus_ms(archived[0], 1)


def between_commits(copy: Copy) -> str:
    return time_plus_ms(copy.commits[0], 1)
