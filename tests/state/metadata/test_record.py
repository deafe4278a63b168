"""The record of a metadata table that is kept: what a rerun reads in it is what was planned."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.errors import Unreadable
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import group_instants, parse_instant_file
from hudictl.state.metadata.record import (
    KeptMetadata,
    encode_record,
    kept_metadata,
    left_aside,
    read_kept,
    record_path,
)
from hudictl.state.metadata.undo import MetadataPlan, Mode, PartitionFate
from hudictl.table.files.slices import StoredFile
from hudictl.table.metadata.aside import Aside
from hudictl.table.open import open_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import OWN, Copy, put

R, SYNC = "20261121000009000", "20261121000009001"
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
TIMES = st.integers(20260101000000000, 20261231235959999).map(str)
LISTED = "hoodie.table.metadata.partitions"
PARTITIONS = st.sampled_from(["files", "record_index", "column_stats", "secondary_index_idx_ü"])


@st.composite
def instant_names(draw: st.DrawFn) -> list[str]:
    time = draw(TIMES)
    kind = draw(st.sampled_from(["deltacommit", "compaction"]))
    done = {"deltacommit": "deltacommit", "compaction": "commit"}[kind]
    names = [f"{time}.{kind}.requested", f"{time}.{kind}.inflight", f"{time}_{draw(TIMES)}.{done}"]
    return names[: draw(st.integers(1, 3))]


@st.composite
def fates(draw: st.DrawFn) -> list[PartitionFate]:
    found = []
    for name in draw(st.lists(PARTITIONS, unique=True)):
        files = draw(st.dictionaries(st.tuples(TIMES, st.booleans()), st.integers(0, 2**40), max_size=3))
        stored = []
        for (time, base), size in files.items():
            data = parse_data_file(f"p-0000-0_0-1-2_{time}.hfile" if base else f".p-0000-0_{time}.log.1_0-1-2")
            assert data is not None
            stored.append(StoredFile(name, data, size))
        found.append(PartitionFate(name, draw(st.none() | st.text()), tuple(stored)))
    return found


@st.composite
def plans(draw: st.DrawFn) -> MetadataPlan:
    names = [name for group in draw(st.lists(instant_names(), max_size=3)) for name in group]
    files = (parse_instant_file(name, 2) for name in dict.fromkeys(names))
    instants = group_instants([file for file in files if file is not None])
    return MetadataPlan(
        draw(st.sampled_from([Mode.UNDO, Mode.FORWARD])),
        draw(st.none() | st.text()),
        tuple(sorted(instants, key=lambda entry: entry.time, reverse=True)),
        tuple(draw(fates())),
        frozenset(draw(st.lists(st.text()))),
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return open_table(str(support.unpack("v9", "cow_part", tmp_path_factory.mktemp("record"))))


def recorded(table: Table, kept: KeptMetadata) -> KeptMetadata | None:
    """Written, and read again."""
    table.storage.replace(record_path(kept.aside.time), encode_record(kept))
    return read_kept(table, kept.aside.time)


@pytest.mark.slow
@given(plan=plans(), properties=st.binary(), used=st.sets(PARTITIONS))
def test_what_is_written_is_read(table: Table, plan: MetadataPlan, properties: bytes, used: set[str]) -> None:
    listed = {LISTED: ",".join(sorted(used)), "hoodie.table.metadata.partitions.inflight": ""}
    fates = tuple(replace(fate, in_use=fate.partition in used) for fate in plan.partitions)
    plan = replace(plan, partitions=fates)
    kept = KeptMetadata(Aside(R, SYNC, properties.decode("latin-1")), plan, listed)
    again = recorded(table, kept)
    assert again == kept
    assert again is not None
    assert again.aside.properties.encode("latin-1") == properties


@VERSIONS
def test_the_instants_of_a_real_one_are_read_with_all_their_files(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    timeline = load_timeline(open_table(str(copy.meta / "metadata")))
    plan = MetadataPlan(Mode.UNDO, None, tuple(reversed(timeline.writes())), ())
    again = recorded(copy.table, KeptMetadata(Aside(R, SYNC, ""), plan, {}))
    assert again is not None
    assert [entry.names for entry in again.plan.undone] == [entry.names for entry in plan.undone]
    assert again.plan.instants_undone == plan.instants_undone


@VERSIONS
def test_it_has_what_lists_the_metadata_table(unpack: Unpack, version: str) -> None:
    """And puts the kept partitions into the order in which they were listed."""
    copy = unpack(version, "cow_record_index")
    fate = (PartitionFate("record_index", None), PartitionFate("files", None), PartitionFate("column_stats", "lost"))
    kept = kept_metadata(copy.table, R, SYNC, MetadataPlan(Mode.UNDO, None, (), fate), b"\xff=1\n")
    assert kept.listed[LISTED] == ",".join(copy.table.metadata_partitions)
    assert kept.partitions == "files,record_index"
    assert kept.aside == Aside(R, SYNC, "\xff=1\n")


def test_without_a_record_nothing_is_kept(table: Table) -> None:
    assert read_kept(table, "20200101000000000") is None
    assert read_kept(table, None) is None


def cut(body: dict[str, Any]) -> object:
    return json.dumps(body)[:-1]


def of_a_later_release(body: dict[str, Any]) -> object:
    return {**body, "schema_version": 2}


def with_an_unknown_field(body: dict[str, Any]) -> object:
    return {**body, "more": 1}


def without_a_field(body: dict[str, Any]) -> object:
    return {key: value for key, value in body.items() if key != "aside"}


def of_an_unknown_mode(body: dict[str, Any]) -> object:
    return {**body, "mode": "lost"}


def with_a_folder_elsewhere(body: dict[str, Any]) -> object:
    return {**body, "partitions": [{"partition": "../../../elsewhere", "reason": "x", "files": {}}]}


def of_another_operation(body: dict[str, Any]) -> object:
    return {**body, "aside": {**body["aside"], "time": "../../../elsewhere"}}


def of_no_delta_commit(body: dict[str, Any]) -> object:
    return {**body, "aside": {**body["aside"], "sync": "/"}}


def of_other_bytes(good: dict[str, Any]) -> None:
    """Properties are bytes, decoded as Latin-1."""
    good["aside"]["properties"] = "\u2028"


def nested(_body: dict[str, Any]) -> object:
    return "[" * 100_000


def no_object(_body: dict[str, Any]) -> object:
    return []


@pytest.mark.parametrize(
    "damage",
    [
        *(cut, of_a_later_release, with_an_unknown_field, without_a_field, of_an_unknown_mode, no_object),
        *(with_a_folder_elsewhere, of_another_operation, of_no_delta_commit, nested, of_other_bytes),
    ],
)
def test_a_damaged_record_is_told(unpack: Unpack, damage: Callable[[dict[str, Any]], object]) -> None:
    copy = unpack("v9", "cow_part")
    plan = MetadataPlan(Mode.UNDO, None, (), (PartitionFate("files", None),))
    good = json.loads(encode_record(KeptMetadata(Aside(R, SYNC, ""), plan, {})))
    bad = damage(good)
    put(copy.path / record_path(R), bad if isinstance(bad, str) else json.dumps(bad))
    with pytest.raises(Unreadable) as caught:
        read_kept(copy.table, R)
    assert (caught.value.exit_code, caught.value.fields["file"]) == (14, record_path(R))
    assert "move this file out of the table" in str(caught.value.hint)


@VERSIONS
@pytest.mark.parametrize("action", ["restore", "rollback"])
def test_only_records_of_ended_operations_are_left(unpack: Unpack, version: str, action: str) -> None:
    """Not those of pending ones, and no other file of hudictl's folder."""
    copy = unpack(version, "cow_part")
    first, second, pending = "20261121050000001", "20261121050000002", "20261121050000003"
    for time in (first, second, pending):
        put(copy.path / record_path(time), "{}")
    for name in (f"metadata-{first}-files.json", "metadata-x.json", f"restore-{first}", f"{first}.json"):
        put(copy.path / OWN / name, "{}")
    (copy.path / OWN / f"metadata-{second}").mkdir()
    copy.write(f"{pending}.{action}.requested")
    assert left_aside(copy.table, load_timeline(copy.table)) == (second, first)
    for path in (copy.path / OWN).glob("metadata-*.json"):
        path.unlink()
    # Also one whose record has been moved away.
    assert left_aside(copy.table, load_timeline(copy.table)) == (second,)


def test_a_table_without_hudictls_folder_has_none_left(tmp_path: Path) -> None:
    copy = Copy("v9", "cow_part", support.unpack("v9", "cow_part", tmp_path))
    assert left_aside(copy.table, load_timeline(copy.table)) == ()
