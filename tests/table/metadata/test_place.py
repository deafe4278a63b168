"""Whether the metadata table is in use, and as a table of its own."""

from dataclasses import replace

import pytest

from hudictl.errors import StorageFailed, Unreadable
from hudictl.formats.layouts import METADATA_PROPERTIES
from hudictl.table.metadata.place import metadata_table_in_use, open_metadata_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.formats import real_files
from tests.table.conftest import Real, Small, put


@pytest.mark.parametrize("what", ["partitions", "inflight", "folder"])
def test_in_use(small: Small, what: str) -> None:
    """Each alone is enough: readers take the listed ones, writers take up the folder."""
    keys = {
        "partitions": {"table_metadata_partitions": "files"},
        "inflight": {"table_metadata_partitions_inflight": "f"},
    }
    table = small(9, **keys.get(what, {}))
    if what == "folder":
        put(table, ".hoodie/metadata/files/f")
    assert metadata_table_in_use(table)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_real_tables(real: Real, version: str) -> None:
    """In use where Hudi keeps one."""
    assert metadata_table_in_use(real(version, "mor_part"))
    assert not metadata_table_in_use(real(version, "mor_flat_nomdt"))


@pytest.mark.parametrize("version", support.VERSIONS)
def test_it_is_a_table_of_its_own(real: Real, version: str) -> None:
    """Merge on read, of its own name and of the data table's version, with a deltacommit for each write."""
    table = real(version, "cow_part")
    metadata = open_metadata_table(table)
    assert metadata is not None
    assert (metadata.version, metadata.layout.version, metadata.zone) == (
        table.version,
        table.layout.version,
        table.zone,
    )
    assert (metadata.type, metadata.name != table.name) == ("MERGE_ON_READ", True)
    writes = {entry.time for entry in load_timeline(table).completed_writes()}
    assert writes <= {entry.time for entry in load_timeline(metadata).having("deltacommit")}
    assert open_metadata_table(real(version, "mor_flat_nomdt")) is None


def test_a_folder_without_properties_is_no_table(small: Small) -> None:
    table = small(9)
    put(table, ".hoodie/metadata/files/f", b"x")
    assert open_metadata_table(table) is None


@pytest.mark.parametrize("version", ["nine", "", "9.0"])
@pytest.mark.parametrize("damaged", [False, True])
def test_its_properties_are_told_from_the_tables_own(small: Small, version: str, damaged: bool) -> None:
    table = small(9)
    body = real_files.files("v9", "cow_part")[METADATA_PROPERTIES]
    assert b"hoodie.table.version=9" in body
    changed = body.replace(b"hoodie.table.version=9", f"hoodie.table.version={version}".encode())
    put(table, METADATA_PROPERTIES, changed[:40] if damaged else changed)
    assert open_metadata_table(table) is None
    table = replace(table, properties=dict(table.properties) | {"hoodie.table.metadata.partitions": "files"})
    with pytest.raises(Unreadable, match=r"^\.hoodie/metadata: "):
        open_metadata_table(table)


def test_properties_that_may_not_be_read_are_told_from_the_tables_own(small: Small) -> None:
    table = small(9)
    put(table, f"{METADATA_PROPERTIES}/f", b"x")
    with pytest.raises(StorageFailed, match=r"^\.hoodie/metadata: cannot read .*not a regular file") as caught:
        open_metadata_table(table)
    assert caught.value.fields["path"] == METADATA_PROPERTIES
