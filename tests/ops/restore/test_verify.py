"""The last look, when a restore is published: what is not as it should be is named, and the command ends with 3."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from hudictl.errors import Incomplete, Unreadable
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions, RestorePlan
from hudictl.ops.restore.verify import verify_timeline
from hudictl.ops.session import Silent
from hudictl.table.properties import update_properties
from tests.fixtures import Unpack
from tests.helpers import At, Copy, bare, die, drop, in_the_middle, plan, put, restore, session

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
LATER = "20991231000000000"
OPTIONS = RestoreOptions(to_instant=True, settle_s=0.0)


@dataclass(frozen=True)
class Ended:
    """A restore that is over, with the files of the rollbacks that it has made."""

    copy: Copy
    plan: RestorePlan
    restore: str
    rollbacks: dict[str, bytes]
    kept: frozenset[str]

    def look(self) -> None:
        times = {name.partition(".")[0] for name in self.rollbacks}
        verify_timeline(self.copy.table, self.plan, self.restore, times, self.kept)


def ended(copy: Copy, metadata: str = "keep") -> Ended:
    old = str(int(copy.commits[-1]) + 1)
    copy.write(f"{old}.rollback" if copy.version == "v6" else f"{old}_{old}.rollback", b"")
    copy.write(f"{old}.rollback.requested", b"")
    made = replace(plan(copy, copy.commits[0], replace(OPTIONS, metadata=metadata)), rollbacks_removed=(old,))
    kept: dict[str, bytes] = {}

    def keep() -> None:
        for name in copy.having("rollback.requested"):
            kept[name] = (copy.timeline / name).read_bytes()

    table = copy.table
    done = execute_restore(session(table, At("remove instants", keep)), made)
    kept.pop(f"{old}.rollback.requested", None)
    assert kept
    partitions = frozenset({"files", *done.indexes_kept} if metadata == "keep" else ())
    assert set(copy.table.metadata_partitions) == partitions
    return Ended(copy, made, done.restore, kept, partitions)


def a_write(over: Ended) -> str:
    time = over.plan.undo.removals[0].time
    over.copy.write(f"{time}.commit.requested")
    return time


def its_rollback(over: Ended) -> str:
    name, body = min(over.rollbacks.items())
    over.copy.write(name, body)
    return name.partition(".")[0]


def an_older_rollback(over: Ended) -> str:
    (time,) = over.plan.rollbacks_removed
    over.copy.write(f"{time}.rollback.inflight")
    return time


def another_restore(over: Ended) -> str:
    over.copy.write(f"{LATER}.restore.requested", b"")
    return LATER


def no_target(over: Ended) -> str:
    drop(over.copy.file(over.plan.target, "commit"))
    return f"target {over.plan.target} is not completed"


def no_result(over: Ended) -> str:
    drop(over.copy.file(over.restore, "restore"))
    return f"restore {over.restore} is not completed"


def markers(over: Ended) -> str:
    time = over.plan.undo.removals[0].time
    put(over.copy.meta / ".temp" / time / "part-1/f.parquet.marker.CREATE")
    return f"markers of {time}"


def markers_of_a_rollback(over: Ended) -> str:
    time = min(over.rollbacks).partition(".")[0]
    put(over.copy.meta / ".temp" / time / "part-1/f.parquet.marker.CREATE")
    return f"markers of {time}"


def a_backup(over: Ended) -> str:
    put(over.copy.meta / "hoodie.properties.backup", (over.copy.meta / "hoodie.properties").read_bytes())
    return "hoodie.properties.backup"


def the_metadata_table(over: Ended) -> str:
    """A writer has built one, or another partition of the one that is kept."""
    if over.kept:
        listed = ",".join([*over.copy.table.metadata_partitions, "bloom_filters"])
        update_properties(over.copy.table.storage, {"hoodie.table.metadata.partitions": listed})
        return "metadata table is in use again"
    put(over.copy.meta / "metadata/.hoodie/hoodie.properties", "hoodie.table.name=t_metadata\n", old=False)
    return "metadata table is in use again"


def the_metadata_table_beside_an_older_write(over: Ended) -> str:
    over.copy.write(f"{int(over.plan.target) + 1}.commit.requested")
    return the_metadata_table(over)


@VERSIONS
@pytest.mark.parametrize("metadata", ["keep", "delete"])
@pytest.mark.parametrize(
    "come",
    [
        *(a_write, its_rollback, an_older_rollback, another_restore, no_target, no_result, markers),
        *(markers_of_a_rollback, a_backup, the_metadata_table, the_metadata_table_beside_an_older_write),
    ],
)
def test_what_is_not_as_it_should_be_is_named(
    unpack: Unpack, version: str, come: Callable[[Ended], str], metadata: str
) -> None:
    over = ended(unpack(version, "cow_part"), metadata)
    over.look()
    name = come(over)
    with pytest.raises(Incomplete, match="the restore is published, but") as caught:
        over.look()
    assert caught.value.exit_code == 3
    assert [finding for finding in caught.value.fields["findings"] if name in finding]


@VERSIONS
@pytest.mark.parametrize("metadata", ["keep", "delete"])
def test_a_write_that_came_since_and_its_metadata_table_are_no_failure(
    unpack: Unpack, version: str, metadata: str
) -> None:
    over = ended(unpack(version, "cow_part"), metadata)
    the_metadata_table(over)
    over.copy.write(f"{LATER}.commit.requested")
    over.look()


@VERSIONS
@pytest.mark.parametrize("metadata", ["keep", "delete"])
def test_a_metadata_table_that_a_service_without_work_has_built_since_is_no_failure(
    unpack: Unpack, version: str, metadata: str
) -> None:
    over = ended(unpack(version, "cow_part"), metadata)
    the_metadata_table(over)
    own = over.copy.meta / "metadata/.hoodie"
    if not over.kept:
        put(own / "hoodie.properties", (over.copy.meta / "hoodie.properties").read_bytes(), old=False)
    instant = "20300101000000000.deltacommit" if version == "v6" else f"timeline/00000000000000003_{LATER}.deltacommit"
    put(own / instant, old=False)
    # Not within one tick of the file system's clock.
    os.utime(own / instant, (later := time.time() + 1, later))
    over.look()


@VERSIONS
@pytest.mark.parametrize("resumed", [False, True], ids=["first run", "resumed"])
def test_what_comes_while_it_is_published_is_seen(
    unpack: Unpack, version: str, resumed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the last step has begun nothing but this look can see it. The restore itself has ended."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    removed = max(copy.commits)
    if resumed:
        die(copy, target, "verify")
    come = f"{removed}.commit.requested"
    in_the_middle(monkeypatch, "hudictl.ops.restore.execute.complete_restore", lambda: copy.write(come))
    with pytest.raises(Incomplete, match=removed):
        restore(copy, target, Silent())
    assert [name for name in copy.instants() if bare(name).endswith(".restore")]


@VERSIONS
def test_properties_that_cannot_be_read_are_told(unpack: Unpack, version: str) -> None:
    over = ended(unpack(version, "cow_flat_nomdt"), "delete")
    table = over.copy.table
    over.copy.write(f"{LATER}.commit.requested")
    put(over.copy.meta / "hoodie.properties", b"hoodie.table")
    with pytest.raises(Unreadable):
        verify_timeline(table, over.plan, over.restore, (), ())
