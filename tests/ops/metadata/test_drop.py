"""The metadata table, or indexes of it, dropped: what goes, what stays, and what a plan of it rests on."""

import json
import shutil
from pathlib import Path

import pytest

from hudictl.errors import Conflict, Refused, StorageFailed, Unreadable
from hudictl.formats.file_names import PARTITION_METAFILE
from hudictl.ops.clean_up.service import plan_service_removal
from hudictl.ops.metadata.drop import DropOptions, DropPlan, DropResult, drop_metadata, plan_metadata_drop
from hudictl.render.plans import drop_lines
from hudictl.reports.history import history_rows
from hudictl.reports.metadata_stats import partition_stats
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.place import metadata_partition_names, metadata_table_in_use, open_metadata_table
from hudictl.table.operations import operation_instants
from hudictl.table.properties import update_properties
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import OWN, At, Copy, assert_listed, only_listed, put, savepoint, session, take_over, tree
from tests.metadata_edits import newest_log, write
from tests.ops.clean_up.service_support import indexing
from tests.ops.metadata.drop_support import later
from tests.ops.restore.new_metadata_table_support import begin, make_anew
from tests.state.orphans.find_support import LATER

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
SHORT_VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
STORES = pytest.mark.parametrize("moves", [True, False], ids=["moves folders", "object store"])
TABLE = "cow_record_index"
KEEPS = {"v6": {"files"}, "v8": {"column_stats", "files", "partition_stats"}}
KEEPS["v9"] = KEEPS["v8"]


def planned(copy: Copy, *names: str, idle_ms: int = 0) -> DropPlan:
    return plan_metadata_drop(session(copy.table), DropOptions(names, idle_ms))


def dropped(copy: Copy, *names: str, monitor: object = None) -> DropResult:
    """Plans and executes."""
    plan = planned(copy, *names)
    return drop_metadata(session(copy.table, monitor), plan)


def left(copy: Copy) -> set[str]:
    """What there is of a metadata table, dropped or not."""
    own = copy.path / OWN
    return {path.name for path in copy.meta.iterdir() if "metadata" in path.name} | {
        path.name for path in own.glob("dropped-*")
    }


def on_object_store(monkeypatch: pytest.MonkeyPatch, moves: bool) -> None:
    if not moves:
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)


@STORES
@VERSIONS
def test_the_whole_metadata_table(unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, moves: bool) -> None:
    on_object_store(monkeypatch, moves)
    copy = unpack(version, TABLE)
    data = copy.data()
    files = [path for path in (copy.meta / "metadata").rglob("*") if path.is_file()]
    plan = planned(copy)
    assert set(plan.names) == {"files", "record_index"} | KEEPS[version]
    assert (plan.files_to_delete, plan.bytes_to_delete) == (len(files), sum(path.stat().st_size for path in files))
    assert plan.files_to_delete > sum(row.files for row in plan.partitions)
    done = drop_metadata(session(copy.table), plan)
    assert (done.whole, done.files_deleted) == (True, len(files))
    assert not metadata_table_in_use(copy.table)
    assert (left(copy), copy.data()) == (set(), data)
    (row,) = history_rows(copy.table)
    assert (row.operation, row.exit_code) == ("metadata drop", 0)
    assert planned(copy).nothing_to_do


@STORES
@VERSIONS
def test_one_index_and_the_others_stay(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, moves: bool
) -> None:
    on_object_store(monkeypatch, moves)
    copy = unpack(version, TABLE)
    metadata = open_metadata_table(copy.table)
    assert metadata is not None
    before = load_timeline(metadata).modified_ms
    files = [path for path in (copy.meta / "metadata/record_index").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    done = dropped(copy, "record_index")
    assert (done.whole, done.partitions) == (False, ("record_index",))
    assert (done.files_deleted, done.bytes_deleted) == (len(files), size)
    assert set(copy.table.metadata_partitions) == metadata_partition_names(copy.table) == KEEPS[version]
    assert load_timeline(metadata).modified_ms == before
    assert left(copy) == {"metadata"}
    assert_listed(copy.path)
    again = planned(copy, "record_index")
    assert (again.nothing_to_do, again.partitions_absent) == (True, ("record_index",))
    assert set(again.partitions_kept) == KEEPS[version]


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_what_depends_on_an_index_goes_with_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    plan = planned(copy, "column_stats")
    assert [(row.partition, row.depends_on) for row in plan.partitions] == [
        ("column_stats", ""),
        ("partition_stats", "column_stats"),
    ]
    assert planned(copy, "partition_stats").names == ("partition_stats",)
    assert planned(copy, "column_stats", "partition_stats").partitions[1].depends_on == ""
    copy = later(unpack(version, "later"))
    dropped(copy, "record_index")
    assert metadata_partition_names(copy.table) == {"files", "expr_index_idx_day"}
    definitions = json.loads((copy.meta / ".index_defs/index.json").read_text())["indexDefinitions"]
    assert set(definitions) & {"secondary_index_idx_val", "expr_index_idx_day"} == {"expr_index_idx_day"}


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_definitions_stay_with_the_whole_one(unpack: Unpack, version: str) -> None:
    """The next writer builds these indexes from them (1.0.2, 1.2.0)."""
    copy = later(unpack(version, "later"))
    before = (copy.meta / ".index_defs/index.json").read_bytes()
    dropped(copy)
    assert (copy.meta / ".index_defs/index.json").read_bytes() == before


@SHORT_VERSIONS
def test_one_that_a_writer_has_not_finished(unpack: Unpack, version: str) -> None:
    copy = unpack(version, TABLE)
    put(copy.meta / "metadata/bloom_filters/.hoodie_partition_metadata")
    update_properties(copy.table.storage, {"hoodie.table.metadata.partitions.inflight": "bloom_filters"})
    dropped(copy, "bloom_filters")
    assert metadata_partition_names(copy.table) == {"record_index"} | KEEPS[version]


@SHORT_VERSIONS
def test_an_indexing_that_has_begun_can_be_removed_afterwards(unpack: Unpack, version: str) -> None:
    copy = unpack(version, TABLE)
    indexing(copy, begun=True)
    assert planned(copy).indexings_pending == ()
    put(copy.meta / f"metadata/bloom_filters/bloom-filters-0000-0_0-1-2_{LATER}004.hfile")
    with pytest.raises(Refused, match="has begun to build"):
        plan_service_removal(session(copy.table), LATER)
    assert planned(copy, "record_index").indexings_pending == ()
    assert planned(copy, "bloom_filters").indexings_pending == planned(copy).indexings_pending == (LATER,)
    dropped(copy, "bloom_filters")
    assert plan_service_removal(session(copy.table), LATER).files


@SHORT_VERSIONS
def test_the_listing_alone_and_a_name_that_is_no_partition_are_refused(unpack: Unpack, version: str) -> None:
    copy = unpack(version, TABLE)
    before = tree(copy.path)
    with pytest.raises(Refused, match="`files` cannot be dropped alone"):
        planned(copy, "files")
    with pytest.raises(Refused, match="'colum_stats' is no partition") as caught:
        planned(copy, "record_index", "colum_stats")
    assert "record_index" in caught.value.hint
    assert "files" not in caught.value.fields["indexes"]
    assert tree(copy.path) == before


def test_where_nothing_is_there_nothing_is_changed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    before = tree(copy.path)
    for names in ((), ("record_index",)):
        assert planned(copy, *names).nothing_to_do
        assert dropped(copy, *names) == DropResult(False, (), 0, 0)
    assert tree(copy.path) == before


@SHORT_VERSIONS
def test_a_damaged_one_goes_whole_only(unpack: Unpack, version: str) -> None:
    copy = unpack(version, TABLE)
    log = newest_log(copy.path)
    write(log, b"garbage")
    put(copy.meta / "metadata/.hoodie/hoodie.properties", b"garbage")
    with pytest.raises(Unreadable):
        planned(copy, "record_index")
    assert planned(copy).metadata_table_unread
    dropped(copy)
    assert left(copy) == set()


@SHORT_VERSIONS
def test_one_that_is_only_listed(unpack: Unpack, version: str) -> None:
    """Each write fails until it is not listed any more."""
    copy = unpack(version, TABLE)
    shutil.rmtree(copy.meta / "metadata")
    dropped(copy)
    assert not copy.table.metadata_partitions


@SHORT_VERSIONS
def test_a_partition_that_it_alone_knows_gets_its_metafile(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    only_listed(copy, "old/one")
    assert planned(copy).partition_metafiles_made == ("old/one",)
    dropped(copy)
    assert (copy.path / "old/one" / PARTITION_METAFILE).exists()


@STORES
@SHORT_VERSIONS
def test_one_that_a_writer_makes_meanwhile(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, moves: bool
) -> None:
    """It stays where the old one was moved away; else both have one folder, and only the writer's end tells."""
    on_object_store(monkeypatch, moves)
    copy = unpack(version, TABLE)
    written = copy.meta / "metadata/files/.hoodie_partition_metadata"

    def build() -> None:
        make_anew(copy)
        put(written, b"new", old=False)

    again = At("delete files", build)
    if moves:
        dropped(copy, monitor=again)
        assert left(copy) == {"metadata"}
        return
    with pytest.raises(Conflict, match=r"a writer has used \.hoodie/metadata"):
        dropped(copy, monitor=again)
    assert (copy.meta / "metadata/.hoodie/.temp/begun").exists()
    assert written.read_bytes() == b"new"
    dropped(copy)
    assert left(copy) == set()


@SHORT_VERSIONS
def test_an_index_that_a_writer_lists_again_is_told(unpack: Unpack, version: str) -> None:
    copy = unpack(version, TABLE)
    listed = {"hoodie.table.metadata.partitions": "files,record_index"}
    with pytest.raises(Conflict, match="a writer has used record_index"):
        dropped(copy, "record_index", monitor=At("verify", lambda: update_properties(copy.table.storage, listed)))
    dropped(copy, "record_index")
    assert "record_index" not in copy.table.metadata_partitions


@STORES
@SHORT_VERSIONS
@pytest.mark.parametrize("names", [(), ("record_index",)], ids=["whole", "index"])
def test_what_a_drop_that_died_has_left_goes_with_the_next(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, names: tuple[str, ...], moves: bool
) -> None:
    on_object_store(monkeypatch, moves)
    copy = unpack(version, TABLE)
    hudis = put(copy.meta / ".metadata_20200101000000000/kept")
    savepoint(copy)
    (other,) = operation_instants(copy.table.storage)
    put(copy.path / OWN / f"dropped-metadata-{other}/kept")

    def dies() -> None:
        raise StorageFailed("the process dies here")

    with pytest.raises(StorageFailed, match="dies here"):
        dropped(copy, *names, monitor=At("delete files", dies))
    assert not set(names or ("files",)) & set(copy.table.metadata_partitions)
    plan = planned(copy, *names)
    if moves:
        assert (plan.whole, plan.partitions, len(plan.unfinished)) == (False, (), 1)
    drop_metadata(session(copy.table), plan)
    assert left(copy) == {hudis.parent.name, f"dropped-metadata-{other}"} | ({"metadata"} if names else set())
    assert hudis.exists()
    assert planned(copy, *names).nothing_to_do


@SHORT_VERSIONS
def test_the_rest_of_a_dead_drop_that_a_writer_has_built_upon_is_the_writers(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    on_object_store(monkeypatch, moves=False)
    copy = unpack(version, TABLE)

    def dies() -> None:
        raise StorageFailed("the process dies here")

    with pytest.raises(StorageFailed, match="dies here"):
        dropped(copy, monitor=At("delete files", dies))
    make_anew(copy)
    assert planned(copy).whole
    dropped(copy)
    assert left(copy) == set()
    assert planned(copy).nothing_to_do


@SHORT_VERSIONS
def test_one_that_a_writer_is_building_is_the_writers(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    begun = begin(copy)
    with pytest.raises(Conflict, match="may be building"):
        planned(copy, idle_ms=600_000)
    assert begun.exists()
    dropped(copy)
    assert left(copy) == set()


@SHORT_VERSIONS
@pytest.mark.parametrize("step", ["take the metadata table out of use", "delete files"])
def test_nothing_goes_when_the_claim_is_lost(unpack: Unpack, version: str, step: str) -> None:
    copy = unpack(version, TABLE)
    files = sum(1 for path in copy.meta.rglob("*.log.*"))
    with pytest.raises(Conflict, match="taken over"):
        dropped(copy, monitor=At(step, lambda: take_over(copy)))
    assert metadata_table_in_use(copy.table) is (step != "delete files")
    assert sum(1 for path in copy.meta.rglob("*.log.*")) == files


def gone_by_hand(copy: Copy) -> Path:
    shutil.rmtree(copy.meta / "metadata")
    update_properties(copy.table.storage, {"hoodie.table.metadata.partitions": ""})
    return copy.path


@SHORT_VERSIONS
def test_a_plan_is_of_these_partitions(unpack: Unpack, version: str) -> None:
    copy = unpack(version, TABLE)
    with pytest.raises(Conflict, match="metadata table: was"):
        dropped(copy, monitor=At("check again", lambda: gone_by_hand(copy)))


@SHORT_VERSIONS
def test_its_fingerprint_has_what_is_asked_for_and_what_is_there(unpack: Unpack, version: str) -> None:
    copy = unpack(version, TABLE)
    made = planned(copy, "record_index").fingerprint
    assert made != planned(copy).fingerprint
    put(copy.meta / "metadata/bloom_filters/.hoodie_partition_metadata")
    assert made != planned(copy, "record_index").fingerprint
    rows = {row.partition: row.state for row in partition_stats(copy.table) or ()}
    assert rows["bloom_filters"] == "not listed"


@pytest.mark.parametrize(("version", "table", "again"), [("v8", "later", True), ("v9", "mor_part", False)])
def test_damaged_definitions_go_with_the_metadata_table_and_without_one(
    version: str, table: str, again: bool, unpack: Unpack
) -> None:
    copy = unpack(version, table)
    path = copy.meta / ".index_defs/index.json"
    sound = path.read_bytes()
    put(path, sound[:-40])
    plan = planned(copy)
    assert "no valid index definitions" in str(plan.definitions_damaged)
    said = drop_lines(plan)
    assert again == any("Create expr_index_idx_day, secondary_index_idx_val again" in line for line in said)
    assert not any("which are kept" in line for line in said)
    dropped(copy)
    assert json.loads(path.read_bytes()) == {"indexDefinitions": {}}
    assert planned(copy).nothing_to_do
    # Hudi fails at them also without a metadata table.
    put(path, sound[:-40])
    assert planned(copy).whole
    dropped(copy)
    assert json.loads(path.read_bytes()) == {"indexDefinitions": {}}
    put(path, sound)
    assert planned(copy).nothing_to_do
