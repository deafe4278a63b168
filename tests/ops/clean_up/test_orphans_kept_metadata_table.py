"""A metadata table that lists none of the orphans is kept, with its indexes."""

import shutil
from pathlib import Path

import pytest

from hudictl.errors import Conflict, Unreadable
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import HFILE_DATA, encode_block
from hudictl.ops.clean_up.orphans import OrphanOptions, plan_orphan_deletion
from tests import support
from tests.fixtures import Unpack
from tests.helpers import At, Copy, assert_listed, session, tree
from tests.metadata_edits import hfile_block, newest_log, write
from tests.state.orphans.find_support import between_commits, delete, listed, orphan

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def metadata(copy: Copy) -> dict[str, object]:
    """All that readers take of the metadata table: its files, and the properties that list it."""
    files = {path: body for path, body in tree(copy.path).items() if path.startswith(".hoodie/metadata/")}
    return {**files, "properties": (copy.meta / "hoodie.properties").read_bytes()}


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_part", "cow_record_index"])
def test_not_a_byte_of_it_is_changed(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    path, before = orphan(copy, between_commits(copy)), metadata(copy)
    plan = plan_orphan_deletion(session(copy.table), OrphanOptions(0))
    assert (plan.metadata_table.fate, plan.indexes_lost) == ("kept", ())
    assert plan.metadata_table.kept == set(copy.table.metadata_partitions)
    result = delete(copy)
    assert (result.files_deleted, result.metadata_table) == (1, "kept")
    assert path not in copy.data()
    assert metadata(copy) == before


@VERSIONS
def test_one_that_lists_a_single_orphan_must_change(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    orphan(copy, between_commits(copy))
    listed(copy, orphan(copy, time_plus_ms(copy.commits[0], 2)))
    plan = plan_orphan_deletion(session(copy.table), OrphanOptions(0))
    assert (plan.metadata_table.fate, plan.metadata_table.reason) == ("brought forward", "it lists 1 file to delete")


@VERSIONS
def test_a_file_that_it_lists_by_now_is_kept(unpack: Unpack, version: str) -> None:
    """A writer built it again since planning, while the file was there."""
    copy = unpack(version, "cow_part")
    path, other = orphan(copy, between_commits(copy)), orphan(copy, time_plus_ms(copy.commits[0], 2))
    done = delete(copy, At("delete files", lambda: listed(copy, path)))
    assert (done.files_left, done.files_deleted) == ((path,), 1)
    assert path in copy.data()
    assert other not in copy.data()
    # The twin: the rerun makes a plan that takes the file out of the listing.
    again = delete(copy)
    assert (again.files_deleted, again.metadata_table) == (1, "brought forward")
    assert_listed(copy.path)


@VERSIONS
def test_a_deleted_file_that_it_lists_by_now_is_told(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = orphan(copy, between_commits(copy))
    file = copy.path / path
    kept = copy.path.parent / file.name
    shutil.copy2(file, kept)

    def list_it() -> None:
        shutil.copy2(kept, file)
        listed(copy, path)
        file.unlink()

    with pytest.raises(Conflict, match="metadata table"):
        delete(copy, At("verify", list_it))


@VERSIONS
def test_one_that_is_being_built_meanwhile_is_told(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    orphan(copy, between_commits(copy))

    def begin() -> None:
        shutil.rmtree(copy.meta / "metadata")
        (copy.meta / "metadata/.hoodie").mkdir(parents=True)

    with pytest.raises(Conflict, match="metadata table"):
        delete(copy, At("verify", begin))


@pytest.mark.parametrize("step", ["delete files", "verify"])
def test_one_that_cannot_be_read_any_more_stops_it(unpack: Unpack, step: str) -> None:
    copy = unpack("v9", "cow_part")
    path = orphan(copy, between_commits(copy))

    def damage() -> None:
        log: Path = newest_log(copy.path)
        write(log, log.read_bytes() + encode_block(HFILE_DATA, hfile_block(log).header, b"garbage"))

    with pytest.raises(Unreadable):
        delete(copy, At(step, damage))
    assert (path in copy.data()) == (step == "delete files")


@VERSIONS
def test_a_saved_plan_says_that_it_is_kept(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = orphan(copy, between_commits(copy))
    other = plan_orphan_deletion(session(copy.table), OrphanOptions(0)).fingerprint
    listed(copy, path)
    now = plan_orphan_deletion(session(copy.table), OrphanOptions(0)).fingerprint
    kept = [name for name in copy.table.metadata_partitions if name in ("files", "column_stats")]
    assert other["metadata table"] == f"kept: {', '.join(sorted(copy.table.metadata_partitions))}"
    assert now["metadata table"] == f"brought forward: {', '.join(sorted(kept))}"
