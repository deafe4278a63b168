"""What of a metadata table can go back with the data table; the listing that is left is read as a reader reads it."""

import shutil
from collections.abc import Iterator

import pytest

from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import HFILE_DATA, INSTANT_TIME, encode_block, encode_rollback_block
from hudictl.formats.log_contents import encode_hfile
from hudictl.state.metadata.undo import MetadataPlan, Mode
from hudictl.state.timeline.removed import instants_after, own_rule
from hudictl.table.metadata.listing import listing_table, read_listing
from hudictl.table.properties import update_properties
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, put
from tests.metadata_edits import hfile_block, newest_log
from tests.state.metadata.undo_support import LISTED, first_logs, planned, reasons

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def after(copy: Copy, target: str) -> list[str]:
    """The instants that a restore to a commit removes."""
    table, timeline = copy.table, load_timeline(copy.table)
    commit = next(entry for entry in timeline.completed_writes() if entry.time == target)
    return [entry.time for entry in instants_after(table, timeline, commit, own_rule(table))]


def undo(copy: Copy, plan: MetadataPlan) -> None:
    """Does what the plan says, by hand."""
    metadata = copy.meta / "metadata"
    for entry in plan.partitions:
        for file in entry.files:
            drop(metadata / file.path)
    timeline = metadata / ".hoodie" if copy.version == "v6" else metadata / ".hoodie/timeline"
    for instant in plan.undone:
        for name in instant.names:
            drop(timeline / name)


def listed(copy: Copy) -> set[str]:
    metadata = listing_table(copy.table)
    assert metadata is not None
    return {f"{partition}/{name}" for partition, names in read_listing(metadata, []).items() for name in names}


def cases() -> Iterator[tuple[str, str]]:
    """Tables whose data files are named by the instants that wrote them."""
    for version in support.VERSIONS:
        for name in ("cow_cleaned", "cow_cluster", "cow_record_index", "cow_savepoints", "mor_part", "mor_savepoints"):
            if version != "v6" or name.startswith("cow"):
                yield version, name


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), list(cases()))
def test_what_is_left_lists_the_files_of_the_target(unpack: Unpack, version: str, name: str) -> None:
    """To each commit of the table that has a later one; the indexes can go back, too."""
    whole = unpack(version, name)
    commits = whole.commits
    for number, target in enumerate(commits[:-1]):
        copy = Copy(version, name, whole.path.parent / f"to-{number}")
        shutil.copytree(whole.path, copy.path)
        removed = after(copy, target)
        plan = planned(copy, removed)
        assert (plan.mode, plan.reason, reasons(plan)) == (Mode.UNDO, None, {})
        assert plan.kept == set(copy.table.metadata_partitions)
        assert {entry.time for entry in plan.undone} >= set(removed)
        undo(copy, plan)
        kept = set(commits) - set(removed)
        stored = {
            path for path in copy.data() if (data := parse_data_file(path.rpartition("/")[2])) and data.instant in kept
        }
        assert listed(copy) & copy.data() == stored


@VERSIONS
def test_a_table_without_metadata_table(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    assert planned(copy, copy.commits[-1:]) == MetadataPlan(Mode.NONE, None, (), ())


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_compaction_since_is_undone_and_the_slice_before_it_is_used(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    metadata = listing_table(copy.table)
    assert metadata is not None
    (compaction,) = load_timeline(metadata).having("commit")
    # It ran in the last commit before it, which is a target that keeps it.
    *_, target, own = (time for time in copy.commits if time < compaction.time)
    assert compaction not in planned(copy, after(copy, own)).undone
    plan = planned(copy, after(copy, target))
    assert compaction in plan.undone
    bases = [file for entry in plan.partitions for file in entry.files if file.data.is_base]
    assert {file.data.instant for file in bases} == {compaction.time}
    # The twin: where the slice before it was cleaned, the partition cannot go back.
    for log in first_logs(copy, "column_stats"):
        drop(log)
    plan = planned(copy, after(copy, target))
    assert plan.mode is Mode.UNDO
    assert "was cleaned" in reasons(plan)["column_stats"]
    # It rests on the other.
    assert reasons(plan)["partition_stats"] == "it depends on column_stats, which is deleted"


@VERSIONS
def test_a_listing_that_cannot_go_back_goes_forward(unpack: Unpack, version: str) -> None:
    """With what belongs to single files; an index of keys would answer wrongly."""
    copy = unpack(version, "cow_record_index")
    for file in [*(copy.meta / "metadata/files").glob("[!.]*.hfile"), *first_logs(copy, "files")]:
        drop(file)
    plan = planned(copy, copy.commits[-1:])
    assert (plan.mode, plan.undone) == (Mode.FORWARD, ())
    assert plan.kept == {"files", "column_stats"} & set(copy.table.metadata_partitions)
    assert "cannot be rolled back" in reasons(plan)["record_index"]
    (record_index,) = [entry for entry in plan.partitions if entry.partition == "record_index"]
    assert {file.data.name for file in record_index.files} >= {
        path.name for path in (copy.meta / "metadata/record_index").glob("*.hfile")
    }


@VERSIONS
def test_a_file_that_a_kept_write_names_is_missing(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    logs = sorted((copy.meta / "metadata/record_index").glob(".record-index-0000-*.log.*"))
    metadata = listing_table(copy.table)
    assert metadata is not None
    first = copy.commits[0]
    log = next(path for path in logs if first in path.name or path.name.rpartition(".log.")[2].startswith("2_"))
    drop(log)
    plan = planned(copy, copy.commits[-1:])
    assert reasons(plan) == {"record_index": f"{log.name} of {first} is missing"}


@VERSIONS
def test_a_log_of_a_kept_write_is_cut(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    first = copy.commits[0]
    logs = sorted((copy.meta / "metadata/record_index").glob(".record-index-0000-*.log.*"))
    log = next(path for path in logs if first in path.name or path.name.rpartition(".log.")[2].startswith("2_"))
    body = log.read_bytes()
    put(log, body + b"grown")
    assert reasons(planned(copy, copy.commits[-1:])) == {}
    put(log, body[:-1])
    said = f"{log.name} of {first} has {len(body) - 1:,} bytes, not {len(body):,}"
    assert reasons(planned(copy, copy.commits[-1:])) == {"record_index": said}


@VERSIONS
@pytest.mark.parametrize("change", [b"", b"more"])
def test_a_base_file_of_a_kept_write_has_another_size(indexed: Unpack, version: str, change: bytes) -> None:
    copy = indexed(version, "mor")
    bases = (copy.meta / "metadata/bloom_filters").glob("bloom-filters-0000-*.hfile")
    base = max(bases, key=lambda path: path.name.rpartition("_")[2])
    size = base.stat().st_size
    put(base, base.read_bytes() + change if change else b"")
    said = reasons(planned(copy, copy.commits[-1:]))["bloom_filters"]
    assert said.startswith(base.name)
    assert said.endswith(f" bytes, not {size:,}")


@VERSIONS
def test_a_partition_that_is_not_built_to_its_end(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    others = ",".join(name for name in copy.table.metadata_partitions if name != "record_index")
    update_properties(copy.table.storage, {LISTED: others, f"{LISTED}.inflight": "record_index"})
    assert reasons(planned(copy, copy.commits[-1:])) == {"record_index": "it is not built to its end"}
    update_properties(copy.table.storage, {f"{LISTED}.inflight": ""})
    assert "not listed" in reasons(planned(copy, copy.commits[-1:]))["record_index"]


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_an_index_that_was_built_since_is_not_trusted(unpack: Unpack, version: str) -> None:
    """It has the keys of the removed instants, and no delta commit of theirs."""
    copy = unpack(version, "cow_record_index")
    metadata = copy.meta / "metadata/.hoodie/timeline"
    builds = sorted(metadata.glob("000000000000000*.deltacommit"))
    late = str(int(copy.commits[-1]) + 1)
    moved = builds[-1]
    time = moved.name.partition("_")[0]
    moved.rename(moved.with_name(f"{time}_{late}.deltacommit"))
    plan = planned(copy, copy.commits[-1:])
    assert time in {entry.time for entry in plan.undone}
    (lost,) = [name for name in reasons(plan) if name != "partition_stats"] or ["partition_stats"]
    assert "left" in reasons(plan)[lost] or "was cleaned" in reasons(plan)[lost]


@VERSIONS
def test_a_pending_service_of_its_own_leaves_nothing(unpack: Unpack, version: str) -> None:
    """Unless it must be undone as well."""
    copy = unpack(version, "cow_savepoints")
    timeline = copy.meta / ("metadata/.hoodie" if version == "v6" else "metadata/.hoodie/timeline")
    early, late = f"{copy.commits[0]}", f"{int(copy.commits[-1]) + 5}"
    put(timeline / f"{late}.compaction.requested", b"")
    assert planned(copy, copy.commits[-1:]).mode is Mode.UNDO
    put(timeline / f"{int(early) + 1}.compaction.requested", b"")
    plan = planned(copy, copy.commits[-1:])
    assert (plan.mode, plan.reason) == (Mode.DELETE, f"its compaction {int(early) + 1} is pending")
    assert set(reasons(plan)) == set(copy.table.metadata_partitions)


@VERSIONS
def test_an_instant_to_undo_that_is_archived_leaves_nothing(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "cow_savepoints")
    last = copy.commits[-1]
    monkeypatch.setattr("hudictl.state.metadata.facts.archived_writes_after", lambda table, time: [last])
    plan = planned(copy, [last])
    assert (plan.mode, plan.reason) == (Mode.DELETE, f"its instant {last} must be undone, and is archived")


@pytest.mark.parametrize(("version", "other"), [("v6", "8"), ("v9", "6"), ("v9", "99")])
def test_versions_that_do_not_fit_leave_nothing(unpack: Unpack, version: str, other: str) -> None:
    copy = unpack(version, "cow_savepoints")
    properties = copy.meta / "metadata/.hoodie/hoodie.properties"
    lines = [line for line in properties.read_text().splitlines() if not line.startswith("hoodie.table.checksum")]
    old = next(line for line in lines if line.startswith("hoodie.table.version="))
    text = "\n".join(f"hoodie.table.version={other}" if line == old else line for line in lines)
    layout = {"6": "1", "8": "2", "99": "2"}[other]
    put(
        properties,
        "\n".join(
            f"hoodie.timeline.layout.version={layout}" if line.startswith("hoodie.timeline.layout") else line
            for line in text.splitlines()
        )
        + "\n",
    )
    if other != "99":
        shutil.rmtree(copy.meta / "metadata/.hoodie/timeline", ignore_errors=True)
        (copy.meta / "metadata/.hoodie/timeline").mkdir()
    plan = planned(copy, copy.commits[-1:])
    assert plan.mode is Mode.DELETE
    assert "version" in str(plan.reason)


# What is left of instants that are gone.


def with_block_of(copy: Copy, time: str, *, taken_back: bool) -> None:
    """The record index has a log of an instant that is gone; with the log of its rollback, if so."""
    log = newest_log(copy.path, "record_index")
    data = parse_data_file(log.name)
    assert data is not None
    stem = log.name.rpartition(".log.")[0]
    header = {**hfile_block(log).header, INSTANT_TIME: time}
    block = encode_block(HFILE_DATA, header, encode_hfile([], header["SCHEMA"]))
    put(log.with_name(f"{stem}.log.{(data.version or 0) + 1}_0-1-1"), block)
    if taken_back:
        mark = encode_rollback_block(f"{time}006", time)
        put(log.with_name(f"{stem}.log.{(data.version or 0) + 2}_0-2-2"), mark)


@pytest.mark.parametrize("taken_back", [True, False])
def test_version_6_a_block_that_is_rolled_back_is_not_in_the_way(unpack: Unpack, taken_back: bool) -> None:
    """Below version 8 the block stays in its log. Without a rollback block it may be of a write that is archived."""
    copy = unpack("v6", "cow_record_index")
    with_block_of(copy, time_plus_ms(copy.commits[0], 1), taken_back=taken_back)
    found = reasons(planned(copy, copy.commits[-1:]))
    assert list(found) == ([] if taken_back else ["record_index"])
    assert taken_back or found["record_index"].endswith("which is archived")


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_an_index_that_was_built_again_needs_no_file_from_before(unpack: Unpack, version: str) -> None:
    """Hudi drops the index with its files, and builds it under the same names. Commits from before name them still."""
    copy = unpack(version, "cow_record_index")
    before, after_it = copy.commits[0], copy.commits[1]
    for log in (copy.meta / "metadata/record_index").glob(f".*_{before}.log.*"):
        log.unlink()
    assert "is missing" in reasons(planned(copy, copy.commits[-1:]))["record_index"]
    timeline = copy.meta / "metadata/.hoodie/timeline"
    built = parse_data_file(first_logs(copy, "record_index")[0].name)
    assert built is not None
    (build,) = timeline.glob(f"{built.instant}_*.deltacommit")
    build.rename(timeline / f"{built.instant}_{int(after_it) - 1}.deltacommit")
    assert reasons(planned(copy, copy.commits[-1:])) == {}
