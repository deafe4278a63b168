"""A metadata table beside a restore: one that an eager writer makes anew goes out of use again; one that is just being
made is a writer at work, and the restore stops with 12."""

from pathlib import Path

import pytest

from hudictl.errors import Conflict
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata_table import metadata_table_in_use
from hudictl.table.timeline import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import OWN, At, Copy, assert_ended, die, in_the_middle, put, restore

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
SHORT = pytest.mark.short("moves folders-v9")
TABLES = pytest.mark.parametrize("name", ["cow_part", "cow_flat_nomdt"])
TO_INSTANT = RestoreOptions(to_instant=True)
COME = "is building a new metadata table"
STEPS = pytest.mark.parametrize(
    "step",
    ["take the metadata table out of use", "write rollback plans", "un-publish instants", "delete files", "verify"],
)


@pytest.fixture(params=["moves folders", "object store"], autouse=True)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the storage renames a folder in one step."""
    if request.param == "object store":
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    return str(request.param)


def begin(copy: Copy) -> Path:
    """A writer begins a metadata table: its folder, and no properties yet."""
    return put(copy.meta / "metadata/.hoodie/.temp/begun", old=False)


def make_anew(copy: Copy) -> None:
    begin(copy)
    put(copy.meta / "metadata/.hoodie/hoodie.properties", "hoodie.table.name=t_metadata\n", old=False)


def stops(copy: Copy, target: str, monitor: object = None) -> None:
    """With 12; what the writer has made is there, and the restore is pending."""
    with pytest.raises(Conflict, match=COME) as caught:
        restore(copy, target, monitor, TO_INSTANT)
    assert (caught.value.exit_code, "hudictl resume" in caught.value.hint) == (12, True)
    assert (copy.meta / "metadata/.hoodie/.temp/begun").exists()
    (found,) = load_timeline(copy.table).having("restore")
    assert found.pending


def ends(copy: Copy, target: str) -> None:
    """The writer was stopped, and what it has left goes."""
    restore(copy, target, options=TO_INSTANT)
    assert_ended(copy, target)
    assert not metadata_table_in_use(copy.table)
    assert [path.name for path in copy.meta.iterdir() if "metadata" in path.name] == []
    assert list((copy.path / OWN).glob("retired-*")) == []


@SHORT
@VERSIONS
@STEPS
def test_one_that_begins_where_there_was_none(unpack: Unpack, version: str, step: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    target = copy.commits[0]
    stops(copy, target, At(step, lambda: begin(copy)))
    ends(copy, target)


@SHORT
@VERSIONS
@pytest.mark.parametrize("step", ["write rollback plans", "un-publish instants", "delete files", "verify"])
def test_one_that_begins_when_the_other_is_out_of_use(unpack: Unpack, version: str, step: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[0]
    stops(copy, target, At(step, lambda: begin(copy)))
    ends(copy, target)


@SHORT
@VERSIONS
@TABLES
@pytest.mark.parametrize("work", ["_request_rollbacks", "_unpublish", "write_blocks", "delete_files", "verify_data"])
def test_one_that_begins_while_a_step_is_at_work(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, name: str, work: str
) -> None:
    copy = unpack(version, name)
    target = copy.commits[0]
    with monkeypatch.context() as patch:
        in_the_middle(patch, f"hudictl.ops.restore.execute.{work}", lambda: begin(copy))
        stops(copy, target)
    ends(copy, target)


@SHORT
@VERSIONS
@TABLES
def test_one_that_begins_beside_the_rest_of_a_restore(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    target = copy.commits[0]
    die(copy, target, "un-publish instants", TO_INSTANT)
    stops(copy, target, At("delete files", lambda: begin(copy)))
    ends(copy, target)


@SHORT
@VERSIONS
@TABLES
@pytest.mark.parametrize("step", ["un-publish instants", "delete files", "verify", "remove instants"])
def test_one_that_is_made_anew_goes_out_of_use_again(unpack: Unpack, version: str, name: str, step: str) -> None:
    """By an eager writer that executes the rollbacks before it notices the restore (Hudi 0.15.0 to 1.2.0)."""
    copy = unpack(version, name)
    target = copy.commits[0]
    restore(copy, target, At(step, lambda: make_anew(copy)), TO_INSTANT)
    assert_ended(copy, target)
    assert [path.name for path in copy.meta.iterdir() if "metadata" in path.name] == []


@SHORT
@VERSIONS
@STEPS
def test_what_this_restore_took_out_of_use_is_no_others(unpack: Unpack, version: str, step: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[0]
    die(copy, target, step, TO_INSTANT)
    ends(copy, target)
