"""Delta commits that hudictl adds to a metadata table's listing, read back as readers read them."""

from pathlib import Path

import pytest

from hudictl.errors import StorageFailed, Unreadable
from hudictl.formats import commit_metadata
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import State
from hudictl.table.metadata import writer as metadata_writer
from hudictl.table.metadata.listing import FILES, Listing, listing_table, merged_slices, read_listing
from hudictl.table.metadata.writer import Template, find_template, listing_time, remove_listing, write_listing
from hudictl.table.open import open_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline, read_instant
from tests import support
from tests.helpers import tree
from tests.table.conftest import base_of

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
# Without and with a compaction of the metadata table.
TABLES = pytest.mark.parametrize("name", ["cow_part", "mor_part"])
NOW = "20261124050000000"
Sizes = dict[str, dict[str, int]]


def unpack(version: str, name: str, folder: Path) -> Table:
    """The metadata table of a sample."""
    metadata = listing_table(open_table(str(support.unpack(version, name, folder)), zone="UTC"))
    assert metadata is not None
    return metadata


def template_of(metadata: Table) -> Template:
    found = find_template(metadata, load_timeline(metadata))
    assert found is not None
    return found


def write(metadata: Table, changes: dict[str, dict[str, int | None]], time: str = NOW) -> str:
    written = listing_time(metadata, time)
    write_listing(metadata, template_of(metadata), written, changes)
    return written


def sizes(listing: Listing) -> Sizes:
    return {path: {name: entry.size for name, entry in files.items()} for path, files in listing.items()}


def listed(metadata: Table) -> Sizes:
    return sizes(read_listing(metadata, []))


def base_file(time: str) -> str:
    return f"0a1b2c3d-0000-1111-2222-333344445555-0_0-1-2_{time}.parquet"


@VERSIONS
@TABLES
def test_files_are_added_changed_and_taken_out(version: str, name: str, tmp_path: Path) -> None:
    metadata = unpack(version, name, tmp_path)
    before = listed(metadata)
    partition, files = sorted(before.items())[0]
    gone, grown, *_ = sorted(files)
    time = write(metadata, {partition: {gone: None, grown: files[grown] + 7, base_file(NOW): 11}})
    expected = {path: dict(names) for path, names in before.items()}
    expected[partition][grown] += 7
    expected[partition][base_file(NOW)] = 11
    del expected[partition][gone]
    assert listed(metadata) == expected
    assert read_listing(metadata, [])[partition][grown].by == time


@VERSIONS
@TABLES
@pytest.mark.parametrize("partition", ["part-9", "a/b", ""], ids=["new", "nested", "unpartitioned"])
def test_a_new_partition_is_listed(version: str, name: str, partition: str, tmp_path: Path) -> None:
    metadata = unpack(version, name, tmp_path)
    before = listed(metadata)
    write(metadata, {partition: {base_file(NOW): 11}})
    assert listed(metadata) == {**before, partition: {base_file(NOW): 11}}


@VERSIONS
def test_a_partition_of_which_only_files_go_stays_listed_as_it_was(version: str, tmp_path: Path) -> None:
    """Also one that is not listed: it is not added for files that are gone."""
    metadata = unpack(version, "cow_part", tmp_path)
    before = listed(metadata)
    partition, files = sorted(before.items())[0]
    write(metadata, {partition: dict.fromkeys(files), "part-9": {base_file(NOW): None}})
    assert listed(metadata) == {**before, partition: {}}


@VERSIONS
@TABLES
def test_one_after_the_other(version: str, name: str, tmp_path: Path) -> None:
    """A later one is merged with the one before it; each has its own log."""
    metadata = unpack(version, name, tmp_path)
    before = listed(metadata)
    logs = len([file for files in merged_slices(metadata, FILES) for file in files])
    write(metadata, {"part-9": {base_file(NOW): 11, base_file("1"): 5}})
    write(metadata, {"part-9": {base_file(NOW): None}}, "20261124050000001")
    assert listed(metadata) == {**before, "part-9": {base_file("1"): 5}}
    assert len([file for files in merged_slices(metadata, FILES) for file in files]) == logs + 2


@VERSIONS
@TABLES
def test_it_has_the_form_of_hudis_own(version: str, name: str, tmp_path: Path) -> None:
    """The metadata of the delta commit has the same fields; it names its log, with its size."""
    metadata = unpack(version, name, tmp_path)
    template = template_of(metadata)
    time = write(metadata, {"part-9": {base_file(NOW): 11}})
    instant = load_timeline(metadata).find(time, "deltacommit")
    assert instant is not None
    done = instant.file(State.COMPLETED)
    assert done is not None
    body = read_instant(metadata, done)
    fields = commit_metadata.read_record(body, done.name).fields
    model = commit_metadata.read_record(template.body, template.name).fields
    assert {key: value for key, value in fields.items() if key != "partitionToWriteStats"} == {
        key: value for key, value in model.items() if key != "partitionToWriteStats"
    }
    ((stat,),) = fields["partitionToWriteStats"].values()
    assert set(stat) == set(model["partitionToWriteStats"][FILES][0])
    log = metadata.storage.stat(stat["path"])
    assert log is not None
    assert (stat["fileSizeInBytes"], stat["totalWriteBytes"]) == (log.size, log.size)
    data = parse_data_file(stat["path"].rpartition("/")[2])
    assert data is not None
    assert (stat["fileId"], stat["logVersion"], stat["logFiles"]) == (data.file_id, data.version, [data.name])
    assert stat["prevCommit"] == data.instant
    # All partitions, and the new one.
    assert stat["numWrites"] == 2
    assert {file.state.name for file in instant.files} == {"REQUESTED", "INFLIGHT", "COMPLETED"}


@VERSIONS
def test_what_readers_do_not_count_is_not_listed(version: str, tmp_path: Path) -> None:
    """It counts when it is completed, and not before."""
    metadata = unpack(version, "cow_part", tmp_path)
    before = listed(metadata)
    time = write(metadata, {"part-9": {base_file(NOW): 11}})
    instant = load_timeline(metadata).find(time, "deltacommit")
    assert instant is not None
    done = instant.file(State.COMPLETED)
    assert done is not None
    folder = base_of(metadata) / ".hoodie" / ("" if version == "v6" else "timeline")
    (folder / done.name).unlink()
    assert listed(metadata) == before


@pytest.mark.parametrize(("version", "time"), [("v6", f"{NOW}003"), ("v8", NOW), ("v9", NOW)])
def test_its_time_counts_although_the_data_table_has_none_like_it(version: str, time: str, tmp_path: Path) -> None:
    """Below version 8 by its suffix."""
    assert listing_time(unpack(version, "cow_part", tmp_path), NOW) == time


@VERSIONS
@TABLES
def test_it_is_removed_without_a_trace(version: str, name: str, tmp_path: Path) -> None:
    """As often as one likes; others stay."""
    metadata = unpack(version, name, tmp_path)
    other = write(metadata, {"part-8": {base_file("1"): 5}})
    before = tree(base_of(metadata))
    time = write(metadata, {"part-9": {base_file(NOW): 11}}, "20261124050000001")
    assert tree(base_of(metadata)) != before
    for _ in range(2):
        remove_listing(metadata, time)
        assert tree(base_of(metadata)) == before
    remove_listing(metadata, other)
    assert "part-8" not in listed(metadata)


@VERSIONS
@pytest.mark.parametrize("at", ["write_logs", "completion_now"])
def test_one_that_has_died_is_removed(version: str, at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its log is written, or before it is completed; then it can be written again."""
    metadata = unpack(version, "cow_part", tmp_path)
    before, files = listed(metadata), tree(base_of(metadata))

    def dies(*_: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        patch.setattr(metadata_writer, at, dies)
        with pytest.raises(StorageFailed):
            write(metadata, {"part-9": {base_file(NOW): 11}})
    assert listed(metadata) == before
    remove_listing(metadata, listing_time(metadata, NOW))
    assert tree(base_of(metadata)) == files
    write(metadata, {"part-9": {base_file(NOW): 11}})
    assert listed(metadata) == {**before, "part-9": {base_file(NOW): 11}}


@VERSIONS
def test_the_template_is_the_newest_delta_commit_of_the_listing(version: str, tmp_path: Path) -> None:
    metadata = unpack(version, "mor_part", tmp_path)
    timeline = load_timeline(metadata)
    *_, newest = (entry for entry in timeline.having("deltacommit") if entry.completed)
    done = newest.file(State.COMPLETED)
    assert done is not None
    assert template_of(metadata).name == done.name
    times = {entry.time for entry in timeline.instants}
    assert find_template(metadata, timeline.without(times)) is None
    # One that is not completed is none, and so is one without content.
    folder = base_of(metadata) / ".hoodie" / ("" if version == "v6" else "timeline")
    (folder / done.name).write_bytes(b"")
    assert template_of(metadata).name < done.name


@VERSIONS
def test_a_listing_without_a_file_group_is_told(version: str, tmp_path: Path) -> None:
    metadata = unpack(version, "cow_part", tmp_path)
    template = template_of(metadata)
    for path in (base_of(metadata) / FILES).iterdir():
        path.unlink()
    before = tree(base_of(metadata))
    with pytest.raises(Unreadable, match="0 file groups"):
        write_listing(metadata, template, NOW, {"part-9": {base_file(NOW): 11}})
    assert tree(base_of(metadata)) == before
