"""What each partition has on storage, and whether readers see it: counted here by hand."""

import json
import shutil
from pathlib import Path

import pytest

from hudictl.cli.chosen import RowFilter, chosen
from hudictl.errors import Unreadable
from hudictl.formats.file_names import PARTITION_METAFILE, parse_data_file
from hudictl.reports.partitions import PartitionRow, partition_rows
from hudictl.table.metadata.listing import listing_table, read_listing
from hudictl.table.open import open_table
from tests import support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def rows(copy: Copy) -> dict[str, PartitionRow]:
    return {row.partition: row for row in partition_rows(open_table(str(copy.path), zone="UTC"), ENGINE)}


def counted(folder: Path) -> tuple[int, ...]:
    """File groups, base files with their bytes, logs with theirs."""
    parsed = [(data, path) for path in folder.iterdir() if (data := parse_data_file(path.name)) is not None]
    bases = [path.stat().st_size for data, path in parsed if data.is_base]
    logs = [path.stat().st_size for data, path in parsed if not data.is_base]
    return len({data.file_id for data, _ in parsed}), len(bases), sum(bases), len(logs), sum(logs)


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_the_files_of_each_folder(unpack: Unpack, version: str, name: str) -> None:
    """Every folder with a metafile, and nothing else; listed where the metadata table says so."""
    copy = unpack(version, name)
    found, base = rows(copy), copy.path
    metadata = listing_table(copy.table)
    listed = read_listing(metadata, []) if metadata is not None else {}
    folders = {path.parent for path in base.rglob(f"{PARTITION_METAFILE}*") if ".hoodie" not in path.parts}
    paths = {str(folder.relative_to(base)).removeprefix("."): folder for folder in folders}
    assert paths.keys() <= found.keys() <= paths.keys() | listed.keys()
    for path, folder in paths.items():
        row = found[path]
        assert (row.file_groups, row.base_files, row.base_bytes, row.logs, row.log_bytes) == counted(folder), path
        assert (row.metafile, row.listed, row.problem) == (True, path in listed if metadata else None, None)
        if row.last_write is not None:
            assert row.last_write in copy.commits or row.last_write < min(copy.commits)
            assert (row.last_write_utc or "").startswith(f"{row.last_write[:4]}-") or row.last_write < "1"


@VERSIONS
def test_the_last_write_is_a_completed_one(unpack: Unpack, version: str) -> None:
    """A pending write has left logs in some partitions."""
    copy = unpack(version, "mor_failed_lazy")
    assert {row.last_write for row in rows(copy).values()} == {copy.commits[-1]}


def test_the_last_write_of_an_archived_commit_is_in_the_names(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    newest = rows(copy)["part-1"].last_write
    for instant in copy.commits:
        for path in copy.timeline.glob(f"{instant}[._]*"):
            path.unlink()
    copy.write("20991121040000000.commit.requested")
    found = rows(copy)
    assert {row.last_write for row in found.values()} == {newest}
    assert {row.state for row in found.values()} == {"used"}


def test_a_partition_is_dropped_where_every_file_group_is_replaced(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_cluster")
    before = rows(copy)["part-1"]
    assert 0 < before.replaced_file_groups < before.file_groups
    assert before.state == "used"
    ids = {data.file_id for path in (copy.path / "part-0").iterdir() if (data := parse_data_file(path.name))}
    path = copy.file(copy.having("replacecommit")[-1].split(".")[0], "replacecommit")
    fields = json.loads(path.read_bytes())
    fields["partitionToReplaceFileIds"]["part-0"] = [*ids, "another-0"]
    path.write_text(json.dumps(fields))
    found = rows(copy)
    assert found["part-1"] == before
    assert (found["part-0"].state, found["part-0"].replaced_file_groups) == ("dropped", len(ids))
    assert found["part-0"].file_groups == len(ids)


@VERSIONS
def test_a_partition_without_files_and_one_that_is_not_there(unpack: Unpack, version: str) -> None:
    """Both are still listed; what only commits name is no partition any more."""
    copy = unpack(version, "cow_part")
    for path in (copy.path / "part-0").iterdir():
        if not path.name.startswith(PARTITION_METAFILE):
            path.unlink()
    shutil.rmtree(copy.path / "part-1")
    (copy.path / "part-2" / PARTITION_METAFILE).unlink()
    found = rows(copy)
    told = {path: (row.state, row.metafile, row.listed) for path, row in found.items()}
    assert told["part-0"] == ("empty", True, True)
    assert told["part-1"] == ("missing", False, True)
    assert told["part-2"] == ("used", False, True)
    assert found["part-1"].file_groups == found["part-1"].base_bytes == 0

    plain = unpack(version, "cow_flat_nomdt")
    assert [(row.partition, row.listed) for row in rows(plain).values()] == [("", None)]
    for path in plain.path.iterdir():
        if path.is_file():
            path.unlink()
    assert [(row.state, row.metafile) for row in rows(plain).values()] == [("empty", False)]


@VERSIONS
@pytest.mark.parametrize("what", ["metadata table", "commit"])
def test_damage_is_told_in_the_rows(unpack: Unpack, version: str, what: str) -> None:
    copy = unpack(version, "cow_part")
    before = rows(copy)
    if what == "commit":
        copy.file(copy.commits[0], "commit").write_bytes(b"damaged")
    else:
        for path in copy.meta.joinpath("metadata/files").glob(".*.log.*"):
            path.write_bytes(path.read_bytes()[:-20])
        (copy.meta / "metadata" / ".hoodie" / "hoodie.properties").write_bytes(b"hoodie.table.version=x\n")
    found, shown = list(rows(copy).values()), []
    with pytest.raises(Unreadable, match=f"{len(before)} rows could not be read whole"):
        shown += [shown.append(row) for row in chosen(found, RowFilter())]
    assert shown == found
    for row in found:
        assert row.problem is not None
        assert (row.base_bytes, row.last_write) == (before[row.partition].base_bytes, copy.commits[-1])
        assert row.listed is (None if what == "metadata table" else True)


@VERSIONS
def test_a_table_without_a_completed_write(unpack: Unpack, version: str) -> None:
    """The files are those of a write that is still pending."""
    copy = unpack(version, "cow_part")
    for path in copy.timeline.iterdir():
        if path.name[0].isdigit() and not path.name.endswith(("requested", "inflight")):
            path.unlink()
    assert copy.commits == []
    found = rows(copy)
    assert found
    assert {(row.last_write, row.last_write_utc, row.state) for row in found.values()} == {(None, None, "used")}
