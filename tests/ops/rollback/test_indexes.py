"""Indexes that were made after the instant that is rolled back (tests/indexes): they hold what it wrote, and go."""

import json
import shutil
from pathlib import Path

import pytest

from hudictl.errors import StorageFailed
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.rollback import InstantInfo, RollbackMetadata, encode_metadata
from hudictl.ops.rollback import execute
from hudictl.render.plans import rollback_lines
from hudictl.reports.health.check import check_table
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.aside import drop_indexes
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, At, Copy, attempt, put, roll_back, rollback_of, rollback_plan, step_of
from tests.ops.rollback.execute_support import newest
from tests.ops.rollback.indexes_support import LATER, VERSIONS, holding
from tests.ops.rollback.metadata_support import unpublish

KEPT = {"files", "record_index"}


@pytest.fixture
def table(version: str, tmp_path: Path) -> Copy:
    return Copy(version, "later", support.unpack(version, "later", tmp_path))


def folders(copy: Copy) -> set[str]:
    """The partitions of the metadata table, and what was taken out of use."""
    found = [*(copy.meta / "metadata").iterdir(), *(copy.meta / ".hudictl").glob("dropped-*")]
    return {path.name for path in found if path.is_dir() and path.name != ".hoodie"}


def defined(copy: Copy) -> set[str]:
    return set(json.loads((copy.meta / ".index_defs/index.json").read_text())["indexDefinitions"])


def assert_dropped(copy: Copy) -> None:
    assert set(copy.table.metadata_partitions) == folders(copy) == KEPT
    assert copy.table.metadata_partitions_inflight == ()
    assert defined(copy).isdisjoint(LATER)
    assert holding(copy) == set()


@VERSIONS
def test_they_are_named_by_the_plan_and_go_and_the_others_stay(table: Copy) -> None:
    target = newest(table)
    plan = rollback_of(table, target)
    assert (step_of(plan), plan.undo.indexes_lost) == ("rolled back in its place", LATER)
    said = rollback_lines(plan)
    for name in LATER:
        start = f"The metadata partition {name} is deleted: it was built after {target}, and contains its data."
        assert f"{start} Create this index again yourself (CREATE INDEX)." in said
    roll_back(table, target)
    assert_dropped(table)


@VERSIONS
def test_they_go_before_readers_lose_the_instant(table: Copy) -> None:
    """Hudi may end the rollback from there on, and knows nothing of them."""
    target = newest(table)

    def look() -> None:
        assert target not in table.commits
        assert set(table.table.metadata_partitions) == KEPT
        assert {path.name for path in (table.meta / "metadata").iterdir()} - {".hoodie"} == KEPT

    monitor = At("delete files", look)
    roll_back(table, target, monitor)
    assert monitor.done


@VERSIONS
@pytest.mark.parametrize("function", ["delete_dropped", "roll_back_metadata", "back_up_instants"])
def test_a_rollback_that_dies_drops_them_when_it_is_run_again(
    table: Copy, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = newest(table)

    def die(*_: object, **__: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        patch.setattr(execute, function, die)
        assert isinstance(attempt(lambda: roll_back(table, target)), StorageFailed)
    roll_back(table, target)
    assert_dropped(table)


@VERSIONS
def test_on_a_store_without_renames(table: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalStorage, "move", lambda *_: False)
    roll_back(table, newest(table))
    assert_dropped(table)


@VERSIONS
def test_one_that_is_half_deleted_goes_although_it_is_not_listed(table: Copy) -> None:
    target = newest(table)
    drop_indexes(table.table, LATER[:1], "1")
    shutil.move(table.meta / f".hudictl/dropped-metadata-1-{LATER[0]}", table.meta / "metadata" / LATER[0])
    assert rollback_of(table, target).undo.indexes_lost == LATER
    roll_back(table, target)
    assert_dropped(table)


@VERSIONS
def test_one_that_is_being_built_goes(table: Copy) -> None:
    path = table.meta / "hoodie.properties"
    lines = [line for line in path.read_text().splitlines() if "partitions.inflight" not in line]
    put(path, "\n".join([*lines, "hoodie.table.metadata.partitions.inflight=bloom_filters"]))
    assert rollback_of(table, newest(table)).undo.indexes_lost == ("bloom_filters", *LATER)
    roll_back(table, newest(table))
    assert_dropped(table)


@VERSIONS
def test_a_pending_instant_is_in_no_index(table: Copy) -> None:
    target = newest(table)
    unpublish(table, target)
    assert rollback_of(table, target).undo.indexes_lost == ()


@VERSIONS
def test_of_an_instant_that_hudi_has_unpublished_nobody_can_tell(table: Copy) -> None:
    target = newest(table)
    unpublish(table, target)
    time = time_plus_ms(load_timeline(table.table).last_time(), 1)
    table.write(f"{time}.rollback.requested", rollback_plan(target))
    assert set(LATER) <= set(rollback_of(table, target).undo.indexes_lost)


@VERSIONS
@pytest.mark.parametrize("recorded", [True, False])
def test_check_finds_those_that_a_rollback_has_kept(
    table: Copy, recorded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Hudi's own rollback leaves them, of which there is no record, and hudictl's did."""
    assert holding(table) == set()
    with monkeypatch.context() as patch:
        patch.setattr(execute, "drop_indexes", lambda *_: False)
        roll_back(table, newest(table))
    if recorded:
        for plan in table.timeline.glob("*.indexing*"):
            plan.unlink()
    else:
        shutil.rmtree(table.meta / ".hudictl")
    assert holding(table) == {f".hoodie/metadata/{name}" for name in LATER}


@pytest.mark.parametrize("version", ["v9"])
def test_what_is_not_proved_is_no_finding(table: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any record the instant may have been pending when the indexes were built."""
    with monkeypatch.context() as patch:
        patch.setattr(execute, "drop_indexes", lambda *_: False)
        roll_back(table, newest(table))
    for plan in table.timeline.glob("*.indexing*"):
        plan.unlink()
    shutil.rmtree(table.meta / ".hudictl")
    assert holding(table) == set()


@pytest.mark.slow
@pytest.mark.short(
    "v6-cow_part",
    "v6-mor_failed_lazy",
    "v6-mor_savepoints",
    "v8-cow_record_index",
    "v9-cow_cluster",
    "v9-cow_record_index",
    "v9-cow_rollback_interrupted",
    "v9-mor_part",
    "v9-mor_restore_interrupted",
)
# A rollback retires indexes that came late; what is below another partition no listing finds.
@pytest.mark.parametrize(
    ("version", "name"), [table for table in support.every_table() if table[1] not in ("later", "nested_partitions")]
)
def test_no_table_of_hudis_has_the_finding(version: str, name: str, tmp_path: Path) -> None:
    """Also not after its newest instant was rolled back, and then nothing is lost that was there before."""
    copy = Copy(version, name, support.unpack(version, name, tmp_path))
    assert holding(copy) == set()
    before = copy.table.metadata_partitions
    if attempt(lambda: roll_back(copy, newest(copy))) is None:
        assert holding(copy) == set()
        assert copy.table.metadata_partitions in (before, ())
    assert load_timeline(copy.table).instants


def test_version_6_names_what_a_partition_was_built_from(tmp_path: Path) -> None:
    """By the newest completed instant of the table."""
    copy = Copy("v6", "cow_record_index", support.unpack("v6", "cow_record_index", tmp_path))
    gone, other = "20261121000000001", "20261121000000002"
    time = time_plus_ms(load_timeline(copy.table).last_time(), 1)
    for taken in (gone, other):
        body = encode_metadata(RollbackMetadata(time, 0, InstantInfo(taken, "commit"), {}))
        copy.write(f"{time_plus_ms(time, int(taken[-1]))}.rollback", body)
    put(copy.meta / f"metadata/record_index/record-index-0000-0_0-1-1_{gone}011.hfile")
    # A compaction's: it says nothing of what the table had completed.
    put(copy.meta / f"metadata/record_index/record-index-0001-0_0-1-1_{other}001.hfile")
    assert holding(copy) == {".hoodie/metadata/record_index"}
    (found,) = [
        entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.finding.startswith("index-holds")
    ]
    assert (gone in found.meaning, other in found.meaning) == (True, False)


def test_what_was_there_is_asked_for_the_moment_when_the_instant_was_in_it(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A partition that was built while the instant was written holds it as the others do. Where the listing itself was
    built later, it cannot stay in its place."""
    copy = unpack("v9", "cow_part")
    target = newest(copy)
    metadata = open_metadata_table(copy.table)
    assert metadata is not None
    done = load_timeline(metadata).find(target, "deltacommit")
    seen: list[object] = []

    def later(_: object, data: object, listed: object, time: str, since: str) -> frozenset[str]:
        seen.append((time, since))
        return frozenset({"files"})

    monkeypatch.setattr("hudictl.ops.metadata.treat.later_indexes", later)
    made = rollback_of(copy, target)
    assert done is not None
    assert set(seen) == {(target, done.completion_time)}
    assert step_of(made) == "set aside"
