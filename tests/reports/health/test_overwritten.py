"""Pending clusterings whose input was overwritten, and two file groups of one bucket."""

import shutil

import pytest

from hudictl.formats.file_names import parse_data_file
from hudictl.reports.health.finding import ERROR
from hudictl.table.timeline.active import load_timeline
from tests.fixtures import Unpack
from tests.helpers import Copy, first_command
from tests.reports.health.check_support import VERSIONS, brief, check
from tests.reports.health.services_support import follow, scheduled
from tests.state.orphans.find_support import LATER
from tests.state.timeline.dropped_support import groups, replaced


def told(copy: Copy, finding: str) -> list[tuple[str, str, str]]:
    return [brief(entry) for entry in check(copy) if entry.finding == finding]


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("inflight", [False, True])
def test_a_clustering_whose_input_was_replaced_is_an_error_and_goes(
    unpack: Unpack, version: str, inflight: bool
) -> None:
    copy = unpack(version, "cow_part")
    _, (path, *_) = scheduled(copy, "clustering")
    if inflight:
        copy.write(f"{LATER}.{'replacecommit' if version == 'v6' else 'clustering'}.inflight")
    assert told(copy, "clustering-overwritten") == []
    partition, _, name = path.rpartition("/")
    data = parse_data_file(name)
    assert data is not None
    by = replaced(copy, partition, [data.file_id], "INSERT_OVERWRITE")
    (found,) = [entry for entry in check(copy) if entry.finding == "clustering-overwritten"]
    assert found.severity == ERROR
    assert found.subject.startswith(LATER)
    assert f"that {by} has changed since, in {partition!r}" in found.meaning
    assert first_command(found) == f"hudictl rollback {LATER}"
    assert follow(copy, first_command(found)) == 0
    assert told(copy, "clustering-overwritten") == []


@VERSIONS
def test_a_compaction_whose_input_was_replaced_is_harmless(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    assert list(load_timeline(copy.table).having("compaction"))
    replaced(copy, "part-0", groups(copy, "part-0"), "INSERT_OVERWRITE")
    assert told(copy, "clustering-overwritten") == []


@pytest.mark.slow
@VERSIONS
def test_two_groups_of_a_bucket(unpack: Unpack, version: str) -> None:
    """The second one has come with another UUID behind the number of its bucket."""
    copy = unpack(version, "cow_part")
    (path,) = sorted((copy.path / "part-0").glob("*.parquet"))[:1]
    first = path.name.split("_")[0]
    for file in list((copy.path / "part-0").glob(f"{first}*")):
        file.rename(file.with_name(file.name.replace(first, f"00000003{first[8:]}")))
    assert told(copy, "bucket-twice") == []
    newest = max((copy.path / "part-0").glob("00000003*.parquet"), key=lambda file: file.name.rpartition("_")[2])
    shutil.copy2(newest, newest.with_name(f"00000003-1111{newest.name[13:]}"))
    (found,) = [entry for entry in check(copy) if entry.finding == "bucket-twice"]
    assert (found.severity, found.subject) == (ERROR, "part-0 bucket 00000003")


def test_names_that_share_a_uuid_are_no_twins(unpack: Unpack) -> None:
    """One writer numbers its file groups behind the same UUID, which may begin with digits."""
    copy = unpack("v9", "cow_part")
    newest = max((copy.path / "part-0").glob("*.parquet"), key=lambda file: file.name.rpartition("_")[2])
    group = newest.name.split("_")[0]
    for other in ("12345678" + group[8:-1] + "0", "12345678" + group[8:-1] + "1"):
        shutil.copy2(newest, newest.with_name(newest.name.replace(group, other)))
    assert told(copy, "bucket-twice") == []
