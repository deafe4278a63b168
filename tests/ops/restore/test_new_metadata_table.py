"""A metadata table beside a restore: one that an eager writer makes anew goes out of use again; one that is just being
made is a writer at work, and the restore stops with 12."""

import shutil

import pytest

from hudictl.errors import Conflict
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    OWN,
    At,
    Copy,
    assert_ended,
    assert_kept,
    die,
    in_the_middle,
    metadata_instants,
    restore,
)
from tests.ops.restore.new_metadata_table_support import begin, make_anew

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
SHORT = pytest.mark.short("moves folders-v9")
TABLES = pytest.mark.parametrize("name", ["cow_part", "cow_flat_nomdt"])
TO_INSTANT = RestoreOptions(to_instant=True)
COME = "is building a new metadata table"
STEPS = pytest.mark.parametrize(
    "step",
    ["take the metadata table out of use", "write rollback plans", "un-publish instants", "delete files", "verify"],
)


KEPT = pytest.mark.parametrize("metadata", ["keep", "delete"])


def to_instant(metadata: str) -> RestoreOptions:
    return RestoreOptions(to_instant=True, metadata=metadata)


@pytest.fixture(params=["moves folders", "object store"], autouse=True)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the storage renames a folder in one step. Where it does not, what a writer makes anew is in the place of
    the one that was set aside, which is lost then."""
    if request.param == "object store":
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    return str(request.param)


def stops(copy: Copy, target: str, monitor: object = None, metadata: str = "keep") -> None:
    """With 12; what the writer has made is there, and the restore is pending."""
    with pytest.raises(Conflict, match=COME) as caught:
        restore(copy, target, monitor, to_instant(metadata))
    assert (caught.value.exit_code, "hudictl resume" in caught.value.hint) == (12, True)
    assert (copy.meta / "metadata/.hoodie/.temp/begun").exists()
    (found,) = load_timeline(copy.table).having("restore")
    assert found.pending


def ends(copy: Copy, target: str, first: list[str], *, kept: bool) -> None:
    """The writer was stopped, and what it has left goes. ``kept``: the metadata table that was set aside comes back,
    with its ``first`` instant, and not before what was begun in its place is gone: its writer may be at work."""
    if kept and (copy.meta / "metadata/.hoodie/.temp/begun").exists():
        with pytest.raises(Conflict, match="is building a new metadata table"):
            restore(copy, target, options=TO_INSTANT)
        shutil.rmtree(copy.meta / "metadata")
    done = restore(copy, target, options=TO_INSTANT)
    assert_ended(copy, target)
    assert_back(copy, first, done.instants, kept=kept)
    assert (done.metadata_table == "rolled back") is kept
    assert done.metadata_table_given_up is None or not kept


def assert_back(copy: Copy, first: list[str], removed: tuple[str, ...], *, kept: bool) -> None:
    if kept:
        assert_kept(copy, *first, removed)
    else:
        assert not metadata_table_in_use(copy.table)
        assert [path.name for path in copy.meta.iterdir() if "metadata" in path.name] == []
    assert list((copy.path / OWN).glob("dropped-*")) == []
    assert list((copy.path / OWN).glob("*metadata-*")) == []


@SHORT
@VERSIONS
@STEPS
def test_one_that_begins_where_there_was_none(unpack: Unpack, version: str, step: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    target = copy.commits[0]
    stops(copy, target, At(step, lambda: begin(copy)))
    ends(copy, target, [], kept=False)


@pytest.mark.slow
@SHORT
@VERSIONS
@KEPT
@pytest.mark.parametrize("step", ["write rollback plans", "un-publish instants", "delete files", "verify"])
def test_one_that_begins_when_the_other_is_out_of_use(
    unpack: Unpack, version: str, step: str, metadata: str, store: str
) -> None:
    copy = unpack(version, "cow_part")
    target, first = copy.commits[0], metadata_instants(copy)[:1]
    stops(copy, target, At(step, lambda: begin(copy)), metadata)
    ends(copy, target, first, kept=metadata == "keep" and store == "moves folders")


@pytest.mark.slow
@SHORT
@VERSIONS
@KEPT
@TABLES
@pytest.mark.parametrize(
    "work",
    [
        *("restore.execute._request_rollbacks", "restore.execute._unpublish"),
        *("undo.execute.write_blocks", "undo.execute.delete_files", "undo.execute.verify_data"),
    ],
)
def test_one_that_begins_while_a_step_is_at_work(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, name: str, work: str, metadata: str, store: str
) -> None:
    copy = unpack(version, name)
    target, first = copy.commits[0], metadata_instants(copy)[:1]
    with monkeypatch.context() as patch:
        in_the_middle(patch, f"hudictl.ops.{work}", lambda: begin(copy))
        stops(copy, target, metadata=metadata)
    ends(copy, target, first, kept=bool(first) and metadata == "keep" and store == "moves folders")


@pytest.mark.slow
@SHORT
@VERSIONS
@KEPT
@TABLES
def test_one_that_begins_beside_the_rest_of_a_restore(
    unpack: Unpack, version: str, name: str, metadata: str, store: str
) -> None:
    copy = unpack(version, name)
    target, first = copy.commits[0], metadata_instants(copy)[:1]
    die(copy, target, "un-publish instants", to_instant(metadata))
    stops(copy, target, At("delete files", lambda: begin(copy)))
    ends(copy, target, first, kept=bool(first) and metadata == "keep" and store == "moves folders")


@SHORT
@VERSIONS
@KEPT
@TABLES
@pytest.mark.parametrize("step", ["un-publish instants", "delete files", "verify", "remove instants"])
def test_one_that_is_made_anew_goes_out_of_use_again(
    unpack: Unpack, version: str, name: str, step: str, metadata: str, store: str
) -> None:
    """By an eager writer that executes the rollbacks before it notices the restore (Hudi 0.15.0 to 1.2.0)."""
    copy = unpack(version, name)
    target, first = copy.commits[0], metadata_instants(copy)[:1]
    done = restore(copy, target, At(step, lambda: make_anew(copy)), to_instant(metadata))
    assert_ended(copy, target)
    kept = metadata == "keep" and store == "moves folders"
    assert_back(copy, first, done.instants, kept=bool(first) and kept)


@pytest.mark.slow
@SHORT
@VERSIONS
@KEPT
@STEPS
def test_what_this_restore_took_out_of_use_is_no_others(unpack: Unpack, version: str, step: str, metadata: str) -> None:
    copy = unpack(version, "cow_part")
    target, first = copy.commits[0], metadata_instants(copy)[:1]
    die(copy, target, step, to_instant(metadata))
    ends(copy, target, first, kept=metadata == "keep")
