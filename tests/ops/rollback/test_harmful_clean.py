"""Removing a pending clean that would delete what the table or a savepoint needs."""

from pathlib import Path

import pytest

from hudictl.errors import Conflict, HudictlError, Refused
from hudictl.ops.clean_up.service import (
    ServiceRemoval,
    execute_service_removal,
    plan_service_removal,
    removed_already,
)
from hudictl.ops.metadata.drop import DropOptions, drop_metadata, plan_metadata_drop
from hudictl.ops.session import Silent
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import OWN, At, Copy, drop, first_command, put, session, tree
from tests.metadata_edits import newest_log
from tests.ops.clean_up.service_support import left
from tests.ops.rollback.harmful_clean_support import harmful, newest
from tests.reports.health.check_support import check, one
from tests.state.orphans.find_support import LATER

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def oldest(copy: Copy) -> str:
    """A file that nobody needs any more."""
    return min((path for path in copy.data() if copy.commits[0] in path), default="")


def remove(copy: Copy, monitor: object = None) -> ServiceRemoval:
    made = plan_service_removal(session(copy.table), LATER)
    return execute_service_removal(session(copy.table, monitor or Silent()), made)  # type: ignore[arg-type]


def refused(copy: Copy, error: type[HudictlError], says: str) -> None:
    before = tree(copy.path)
    with pytest.raises(error, match=says):
        plan_service_removal(session(copy.table), LATER)
    assert tree(copy.path) == before


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("begun", [False, True])
def test_it_is_removed_as_check_says(unpack: Unpack, version: str, begun: bool) -> None:
    copy = unpack(version, "cow_part")
    before = tree(copy.path)
    harmful(copy, begun=begun)
    assert first_command(one(copy)) == f"hudictl clean discard {LATER}"
    done = remove(copy)
    assert done.reason == "it would delete 1 file required by the table"
    assert done.files == (*((f"{LATER}.clean.inflight",) if begun else ()), f"{LATER}.clean.requested")
    assert tree(copy.path, OWN) == {path: entry for path, entry in before.items() if not path.startswith(OWN)}
    assert removed_already(copy.table, LATER)
    assert not check(copy)


@pytest.mark.slow
@VERSIONS
def test_what_it_has_deleted_the_metadata_table_still_lists(unpack: Unpack, version: str) -> None:
    """Each reader and clean that goes by the listing would miss it."""
    copy = unpack(version, "cow_part")
    harmful(copy, begun=True, also=(oldest(copy),))
    drop(copy.path / oldest(copy))
    refused(copy, Refused, "1 file of its plan .* are deleted already, but the metadata table still lists them")
    found = next(entry for entry in check(copy) if entry.finding == "clean-in-the-way")
    assert first_command(found) == "hudictl metadata drop"
    assert found.meaning.endswith("Drop the metadata table first, then remove this clean")
    drop_metadata(session(copy.table), plan_metadata_drop(session(copy.table), DropOptions()))
    assert first_command(one(copy)) == f"hudictl clean discard {LATER}"


@VERSIONS
def test_of_a_whole_partition_too(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    harmful(copy, begun=True, partitions=("part-2",))
    for path in (copy.path / "part-2").glob("*.parquet"):
        drop(path)
    refused(copy, Refused, "of its plan .* are deleted already, but the metadata table still lists them")


@VERSIONS
def test_without_a_metadata_table_nothing_lists_what_it_has_deleted(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    harmful(copy, begun=True, also=(oldest(copy),))
    drop(copy.path / oldest(copy))
    remove(copy)
    assert left(copy) == []


@VERSIONS
def test_a_metadata_table_that_cannot_be_read_may_list_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    harmful(copy)
    for file in (*(copy.meta / "metadata/files").glob("*.hfile"), newest_log(copy.path)):
        put(file, b"damaged")
    refused(copy, Refused, "its deleted files cannot be determined")


@VERSIONS
def test_one_that_deletes_what_nobody_needs_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.clean.requested", records.clean_plan([oldest(copy)], base=str(copy.path)))
    refused(copy, Refused, "has a plan that deletes no required file")


@VERSIONS
def test_a_clean_that_begins_since_planning_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    harmful(copy)
    with pytest.raises(Conflict, match="changed since planning"):
        remove(copy, At("check again", lambda: harmful(copy, begun=True)))
    assert len(left(copy)) == 2


@VERSIONS
def test_a_clean_that_is_finished_since_planning_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    harmful(copy)

    def finish() -> None:
        harmful(copy, begun=True)
        name = f"{LATER}.clean" if version == "v6" else f"{LATER}_{LATER}.clean"
        copy.write(name, records.clean_metadata([newest(copy)]))

    with pytest.raises(Conflict, match="no longer pending"):
        remove(copy, At("check again", finish))
    assert len(left(copy)) == 3


@VERSIONS
def test_a_clean_that_deletes_since_planning_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    harmful(copy, begun=True, also=(oldest(copy),))
    with pytest.raises(Refused, match="are deleted already, but the metadata table still lists them"):
        remove(copy, At("check again", lambda: drop(copy.path / oldest(copy))))
    assert len(left(copy)) == 2


@VERSIONS
def test_a_damaged_savepoint_hides_no_harm(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    harmful(copy)
    put(next(copy.timeline.glob(f"{copy.savepoints[0]}*.savepoint")), b"garbage")
    assert "clean-in-the-way" in {entry.finding for entry in check(copy)}
    assert plan_service_removal(session(copy.table), LATER).reason.startswith("it would delete 1 file")


@VERSIONS
def test_a_clean_of_the_folder_from_which_the_table_was_moved(unpack: Unpack, version: str) -> None:
    """Its plan has whole paths: Hudi deletes the files there, and none here."""
    copy = unpack(version, "cow_part")
    before = tree(copy.path)
    copy.write(f"{LATER}.clean.requested", records.clean_plan([oldest(copy)], base="file:/lake/former"))
    (found,) = [row for row in check(copy) if row.finding == "clean-in-the-way"]
    assert "it would delete files below file:/lake/former, where the table was" in found.meaning
    assert first_command(found) == f"hudictl clean discard {LATER}"
    remove(copy)
    assert {path: body for path, body in tree(copy.path).items() if OWN not in path} == before


@VERSIONS
def test_a_clean_that_was_planned_through_a_link_stays(unpack: Unpack, version: str, tmp_path: Path) -> None:
    copy = unpack(version, "cow_part")
    link = tmp_path / "link"
    link.symlink_to(copy.path)
    copy.write(f"{LATER}.clean.requested", records.clean_plan([oldest(copy)], base=f"file:{link}"))
    assert [row for row in check(copy) if row.finding == "clean-in-the-way"] == []
    refused(copy, Refused, "deletes no required file")
