"""A metadata table that a writer makes beside a rollback is never taken from under it: the rollback stops with 12."""

from collections.abc import Callable

import pytest

from hudictl.errors import Conflict
from hudictl.ops.undo import execute as undo_steps
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import OWN, At, Copy, drop, in_the_middle, put, roll_back, rollback_of, step_of
from tests.ops.rollback.beside_support import FIRST, STEPS, conflict
from tests.ops.rollback.execute_support import died, newest, own_files
from tests.ops.rollback.metadata_support import DELETING, forget
from tests.ops.rollback.new_metadata_table_support import begin, make_anew, without_metadata_table

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
SHORT = pytest.mark.short("object store-v6")
COME = "is building a new metadata table"


@pytest.fixture(params=["moves folders", "object store"], autouse=True)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the storage renames a folder in one step."""
    if request.param == "object store":
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    return str(request.param)


@VERSIONS
def test_one_that_died_at_its_own_properties(unpack: Unpack, version: str) -> None:
    """They are empty, and no partition is listed: nobody reads it, and Hudi's next writer begins again."""
    copy = without_metadata_table(unpack, version, "cow_failed_direct")
    target = newest(copy)
    put(copy.meta / "metadata/.hoodie/hoodie.properties")
    roll_back(copy, target)
    assert own_files(copy, target) == set()
    assert not metadata_table_in_use(copy.table)


def finish(copy: Copy, target: str) -> None:
    """The writer is gone; the same command ends the rollback, and nothing is left that lists its files."""
    (copy.meta / "metadata/.hoodie/.temp/begun").unlink(missing_ok=True)
    roll_back(copy, target)
    assert own_files(copy, target) == set()
    assert not metadata_table_in_use(copy.table)


@SHORT
@VERSIONS
@STEPS
@pytest.mark.parametrize("name", ["cow_part", "cow_failed_direct"])
def test_one_that_begins_where_there_was_none(unpack: Unpack, version: str, step: str, name: str) -> None:
    copy = without_metadata_table(unpack, version, name)
    target = newest(copy)
    conflict(copy, target, step, lambda: begin(copy), COME)
    assert (copy.meta / "metadata/.hoodie/.temp/begun").exists()
    (found,) = load_timeline(copy.table).having("rollback")
    assert found.pending
    finish(copy, target)


@SHORT
@VERSIONS
@FIRST
def test_one_that_begins_before_the_rollback(unpack: Unpack, version: str, step: str) -> None:
    copy = without_metadata_table(unpack, version, "cow_part")
    before = copy.data()
    conflict(copy, newest(copy), step, lambda: begin(copy), COME)
    assert begin(copy).exists()
    assert (copy.having("rollback"), copy.data()) == ([], before)


@pytest.mark.slow
@SHORT
@VERSIONS
@STEPS
def test_one_that_begins_beside_the_rest_of_a_rollback(unpack: Unpack, version: str, step: str) -> None:
    copy = without_metadata_table(unpack, version, "cow_part")
    target = newest(copy)
    died(copy, target, "delete files")
    conflict(copy, target, step, lambda: begin(copy), COME)
    assert (copy.meta / "metadata/.hoodie/.temp/begun").exists()
    finish(copy, target)


@SHORT
@VERSIONS
@pytest.mark.parametrize(
    "work",
    [
        *("rollback.execute._prepare", "rollback.execute._hide"),
        *("undo.execute.write_blocks", "undo.execute.delete_files", "undo.execute.verify_data"),
    ],
)
def test_one_that_begins_while_a_step_is_at_work(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, work: str
) -> None:
    copy = without_metadata_table(unpack, version, "cow_part")
    target = newest(copy)
    with monkeypatch.context() as patch:
        in_the_middle(patch, f"hudictl.ops.{work}", lambda: begin(copy))
        with pytest.raises(Conflict, match=COME):
            roll_back(copy, target)
    assert (copy.meta / "metadata/.hoodie/.temp/begun").exists()
    finish(copy, target)


@SHORT
@VERSIONS
def test_at_the_very_end_it_is_left_alone(unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """After the last look: the files are gone, and what lists the folders now does not find them."""
    copy = without_metadata_table(unpack, version, "cow_part")
    in_the_middle(monkeypatch, "hudictl.ops.undo.instants.rollback_result", lambda: begin(copy))
    assert roll_back(copy, newest(copy)).metadata_table == "none"
    assert (copy.meta / "metadata/.hoodie/.temp/begun").exists()


# Where the metadata table is to go, one that comes back is another's.


def to_drop(unpack: Unpack, version: str) -> tuple[Copy, str]:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    forget(copy, target)
    assert step_of(rollback_of(copy, target, DELETING)) == "deleted"
    return copy, target


@SHORT
@VERSIONS
@pytest.mark.parametrize("act", [begin, make_anew])
@pytest.mark.parametrize("step", ["delete files", "verify", "publish the rollback"])
def test_one_that_is_made_anew(unpack: Unpack, version: str, step: str, act: Callable[[Copy], object]) -> None:
    copy, target = to_drop(unpack, version)
    conflict(copy, target, step, lambda: act(copy), COME, DELETING)
    assert metadata_table_in_use(copy.table)
    finish(copy, target)


@SHORT
@VERSIONS
@pytest.mark.parametrize("act", [begin, make_anew])
def test_one_that_comes_back_while_the_instant_is_unpublished(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, act: Callable[[Copy], object]
) -> None:
    """It was made with the instant in it: readers that use it would miss what goes next."""
    copy, target = to_drop(unpack, version)
    files = own_files(copy, target)
    with monkeypatch.context() as patch:
        in_the_middle(patch, "hudictl.ops.undo.instants.unpublish", lambda: act(copy))
        patch.setattr(undo_steps, "delete_files", None)
        with pytest.raises(Conflict, match=COME):
            roll_back(copy, target, At("delete files", pytest.fail), DELETING)
    assert own_files(copy, target) == files
    finish(copy, target)


@SHORT
@VERSIONS
@pytest.mark.parametrize("step", STEPS.args[1])
def test_what_this_rollback_took_out_of_use_is_no_others(unpack: Unpack, version: str, step: str) -> None:
    copy, target = to_drop(unpack, version)
    died(copy, target, step, DELETING)
    finish(copy, target)
    assert [path.name for path in copy.meta.iterdir() if "metadata" in path.name] == []
    assert list((copy.path / OWN).glob("dropped-*")) == []


# The claim.


@pytest.mark.parametrize("name", ["cow_part", "cow_failed_direct"])
def test_a_claim_that_is_lost_while_blocks_are_written(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """On version 9 there are no blocks, but files to delete."""
    copy = unpack("v9", name)
    before, target = copy.data(), newest(copy)
    in_the_middle(
        monkeypatch,
        "hudictl.ops.undo.execute.write_blocks",
        lambda: put(copy.path / OWN / "claim-2", "{}", old=False),
    )
    with pytest.raises(Conflict, match="taken over"):
        roll_back(copy, target)
    assert copy.data() == before
    drop(copy.path / OWN / "claim-2")
