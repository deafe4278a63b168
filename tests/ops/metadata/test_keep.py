"""The steps by which a metadata table is kept: what each one does, what it gives up, and that twice is as once."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.errors import Conflict, StorageFailed, Unreadable
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.layouts import METADATA_PROPERTIES
from hudictl.ops.metadata import keep as module
from hudictl.ops.metadata.keep import (
    MetadataOutcome,
    begin_keeping,
    forget_kept,
    place_of,
    put_back_unchanged,
    roll_back_aside,
    take_out_of_use,
    unchanged,
    use_again,
)
from hudictl.state.files.needed import needed_files
from hudictl.state.metadata.record import KeptMetadata, read_kept, record_path
from hudictl.state.metadata.treatment import NO_METADATA_TABLE, dropped, metadata_fate
from hudictl.storage.local import LocalStorage
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.files.sweep import sweep
from hudictl.table.metadata.aside import Other, delete_dropped, look, table_aside
from hudictl.table.metadata.listing import read_listing
from hudictl.table.metadata.place import (
    metadata_table_in_use,
    open_metadata_table,
)
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    ENGINE,
    OWN,
    Copy,
    FailDeletion,
    assert_listed,
    drop,
    files_of,
    metadata_instants,
    metadata_timeline,
    put,
    replace_function,
    session,
    tree,
)
from tests.metadata_edits import block_saying, hfile_block, write
from tests.ops.held_support import holding
from tests.ops.metadata.keep_support import R, kept_of, own, without_newest
from tests.ops.restore.new_metadata_table_support import begin, make_anew
from tests.state.metadata.treatment_support import facts_of

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
SHORT = pytest.mark.parametrize("version", ["v6", "v9"])


@pytest.fixture(params=["moves folders", "object store"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "object store":
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    return str(request.param)


def log_order(log: Path) -> tuple[int, str]:
    """By version, then by instant: each delta commit has a log of its own."""
    data = parse_data_file(log.name)
    assert data is not None
    return data.version, data.instant


# The record.


@VERSIONS
def test_nothing_of_the_metadata_table_changes_before_the_record_is_written(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    before = tree(copy.path, OWN)
    kept = kept_of(copy)
    assert tree(copy.path, OWN) == before
    assert (copy.path / record_path(R)).exists()
    assert kept.aside.properties.encode("latin-1") == (copy.path / METADATA_PROPERTIES).read_bytes()
    # Its own delta commit is newer than all that the operation uses; below version 8 its suffix vouches for it.
    assert kept.aside.sync == ("20261124050000001003" if version == "v6" else "20261124050000001")


@SHORT
def test_the_record_of_an_earlier_attempt_wins(unpack: Unpack, version: str) -> None:
    """The metadata table may be half rolled back: a new plan would be another."""
    copy = unpack(version, "mor_part")
    kept = kept_of(copy)
    other = replace(kept.plan, undone=(), partitions=())
    again = begin_keeping(copy.table, R, "20261124060000000", other)
    assert again is not None
    assert (again.aside, again.plan.instants_undone) == (kept.aside, kept.plan.instants_undone)
    # Also where nothing would be kept any more.
    assert begin_keeping(copy.table, R, R, dropped(copy.table, "late")) == again


@SHORT
def test_a_plan_that_keeps_nothing_has_no_record(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    for plan in (NO_METADATA_TABLE, dropped(copy.table, "why")):
        assert begin_keeping(copy.table, R, R, plan) is None
    assert own(copy) == []


@SHORT
def test_a_metadata_table_that_has_changed_since_planning_is_a_conflict(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    facts = facts_of(copy)
    removed = copy.commits[-1:]
    plan = metadata_fate(facts, removed, needed_files(facts, removed, NOTHING_SAVED), NOTHING_SAVED)
    assert unchanged(copy.table, plan).version == copy.table.version
    put(metadata_timeline(copy) / f"{R}.deltacommit.requested")
    with pytest.raises(Conflict, match="its timeline has changed"):
        begin_keeping(copy.table, R, R, plan)
    drop(copy.path / METADATA_PROPERTIES)
    with pytest.raises(Unreadable, match="properties is lost"):
        unchanged(copy.table, plan)
    assert own(copy) == []


# Out of use, and others'.


@SHORT
def test_it_is_taken_out_of_use_as_often_as_one_likes(unpack: Unpack, store: str, version: str) -> None:
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    for _ in range(2):
        assert take_out_of_use(copy.table, R, kept) is False
        assert look(copy.table, kept.aside).is_aside
        assert copy.table.metadata_partitions == ()
        assert place_of(copy.table, R, kept).other is Other.NONE


@SHORT
def test_without_a_record_it_is_deleted(unpack: Unpack, store: str, version: str) -> None:
    copy = unpack(version, "cow_part")
    assert take_out_of_use(copy.table, R, None) is True
    delete_dropped(copy.table, R)
    assert not metadata_table_in_use(copy.table)
    assert place_of(copy.table, R, None).other is Other.NONE
    begin(copy)
    assert place_of(copy.table, R, None).other is Other.BEGUN


@SHORT
def test_another_one_in_its_place_is_seen_and_gives_way(unpack: Unpack, store: str, version: str) -> None:
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    begin(copy)
    assert place_of(copy.table, R, kept).other is Other.BEGUN
    make_anew(copy)
    assert place_of(copy.table, R, kept).other is Other.MADE
    take_out_of_use(copy.table, R, kept)
    assert place_of(copy.table, R, kept).other is Other.NONE
    assert look(copy.table, kept.aside).is_aside is (store == "moves folders")


# Rolled back, and in use again.


@VERSIONS
@pytest.mark.parametrize("name", ["cow_record_index", "mor_part"])
def test_it_is_rolled_back_where_it_is_set_aside(unpack: Unpack, store: str, version: str, name: str) -> None:
    """And readers see nothing of it before it is put back and listed."""
    copy = unpack(version, name)
    used, first = copy.table.metadata_partitions, metadata_instants(copy)[0]
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    newest, found = without_newest(copy)
    for _ in range(2):
        outcome = roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found)
        assert outcome == MetadataOutcome(kept.plan.kept)
        assert outcome.indexes == tuple(sorted(set(used) - {"files"}))
        assert look(copy.table, kept.aside).is_aside
        assert copy.table.metadata_partitions == ()
    for _ in range(2):
        assert use_again(copy.table, kept, outcome) == outcome
        assert copy.table.metadata_partitions == used
    assert_listed(copy.path)
    instants = metadata_instants(copy)
    assert (instants[0], newest in instants) == (first, False)
    assert [path for path in (copy.meta / "metadata").rglob(f"*{newest}*") if path.is_file()] == []
    forget_kept(copy.table, R)
    assert own(copy) == []
    assert metadata_table_in_use(copy.table)


@SHORT
def test_without_a_record_nothing_is_rolled_back(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    held, before = holding(copy.table), tree(copy.path)
    outcome = roll_back_aside(session(copy.table), held, None, (), sweep(copy.table, ENGINE, set()))
    assert outcome == MetadataOutcome()
    assert use_again(copy.table, None, outcome) == MetadataOutcome()
    assert tree(copy.path) == before


@SHORT
def test_what_it_has_lost_is_listed_again_and_what_it_has_too_much_is_not(unpack: Unpack, version: str) -> None:
    """By a delta commit of its own. Files of other programs, which it lists, are not looked for."""
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    newest, found = without_newest(copy)
    path = min(file.path for file in files_of(found) if file.data.instant == copy.commits[0])
    partition, _, name = path.rpartition("/")
    body = (copy.path / path).read_bytes()
    drop(copy.path / path)
    found = sweep(copy.table, ENGINE, set())
    assert roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found).kept
    listing = read_listing(table_aside(copy.table, kept.aside), [], copy.table)
    assert name not in listing[partition]
    # A size never shrinks where readers merge two records: one that is larger than on storage is given up.
    put(copy.path / path, body + b"more")
    found = sweep(copy.table, ENGINE, set())
    assert roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found).kept
    listing = read_listing(table_aside(copy.table, kept.aside), [], copy.table)
    # The delta commit of the earlier attempt is removed, and another one is written.
    assert listing[partition][name].size == len(body) + 4
    put(copy.path / path, body[:-1])
    found = sweep(copy.table, ENGINE, set())
    assert path in str(roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found).given_up)


@SHORT
def test_files_that_it_has_not_listed_stay_hidden(unpack: Unpack, version: str) -> None:
    """A dead writer's, under a completed instant."""
    copy = unpack(version, "cow_part")
    like = min(path for path in copy.data() if copy.commits[0] in path)
    strange = like.replace(like.rpartition("/")[2][:8], "deadbeef")
    put(copy.path / strange, b"rows")
    kept = kept_of(copy)
    assert strange in kept.plan.hidden
    take_out_of_use(copy.table, R, kept)
    newest, found = without_newest(copy)
    assert roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found).kept
    partition, _, name = strange.rpartition("/")
    assert name not in read_listing(table_aside(copy.table, kept.aside), [], copy.table)[partition]


# Given up.


def assert_given_up(copy: Copy, kept: KeptMetadata, outcome: MetadataOutcome, *words: str) -> None:
    assert outcome.kept == frozenset()
    for word in words:
        assert word in str(outcome.given_up)
    assert use_again(copy.table, kept, outcome) == outcome
    assert copy.table.metadata_partitions == ()
    assert not (copy.meta / "metadata/.hoodie/hoodie.properties").exists()
    assert [name for name in own(copy) if name != f"metadata-{R}.json"] == []
    forget_kept(copy.table, R)
    assert own(copy) == []


@SHORT
def test_one_that_is_lost_is_given_up(unpack: Unpack, store: str, version: str) -> None:
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    moves = store == "moves folders"
    shutil.rmtree(copy.path / OWN / f"metadata-{R}" if moves else copy.meta / "metadata")
    newest, found = without_newest(copy)
    outcome = roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found)
    # Where it could not be moved, the folder is there for all that one can tell, and empty.
    assert_given_up(copy, kept, outcome, "has deleted or replaced it" if moves else "the timeline folder")


@SHORT
def test_a_file_of_it_that_cannot_be_deleted_gives_it_up(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    stuck = next(file.data.name for fate in kept.plan.partitions for file in fate.files)
    take_out_of_use(copy.table, R, kept)
    newest, found = without_newest(copy)
    with monkeypatch.context() as patch:
        FailDeletion(stuck).install(patch)
        outcome = roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found)
    assert_given_up(copy, kept, outcome, stuck)


@SHORT
def test_where_nothing_of_it_can_be_deleted_it_waits_for_whoever_goes_on(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that cannot move folders deletes file by file."""
    monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    stuck = next(file.data.name for fate in kept.plan.partitions for file in fate.files)
    take_out_of_use(copy.table, R, kept)
    newest, found = without_newest(copy)
    with monkeypatch.context() as patch:
        FailDeletion(stuck).install(patch)
        with pytest.raises(StorageFailed, match=re.escape(stuck)):
            roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found)
    roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found)
    assert copy.table.metadata_partitions == ()


@SHORT
def test_one_that_still_differs_from_storage_is_given_up(
    unpack: Unpack, store: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As readers would see it: the last look is at what was written."""
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    newest, found = without_newest(copy)
    path = min(file.path for file in files_of(found))
    drop(copy.path / path)
    found = sweep(copy.table, ENGINE, set())
    replace_function(monkeypatch, f"{module.__name__}.write_listing", lambda real, *given: None)
    outcome = roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found)
    assert_given_up(copy, kept, outcome, "its listing differs from storage", path)


@SHORT
def test_one_that_cannot_be_read_is_given_up(
    unpack: Unpack, store: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    newest, found = without_newest(copy)

    def unreadable(*_: object) -> None:
        raise Unreadable("a log is damaged")

    monkeypatch.setattr(module, "gather_listing", unreadable)
    outcome = roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found)
    assert_given_up(copy, kept, outcome, "a log is damaged")


@SHORT
def test_another_one_that_comes_at_the_last_moment_is_a_conflict(unpack: Unpack, store: str, version: str) -> None:
    """It is not listed, and stays with its writer; the operation is still pending."""
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    newest, found = without_newest(copy)
    outcome = roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found)
    make_anew(copy)
    with pytest.raises(Conflict, match="has built a new metadata table"):
        use_again(copy.table, kept, outcome)
    assert copy.table.metadata_partitions == ()
    assert (copy.meta / "metadata/.hoodie/.temp/begun").exists()


# Back as it was.


@SHORT
def test_one_that_was_only_set_aside_comes_back_unchanged(unpack: Unpack, store: str, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    used, instants = copy.table.metadata_partitions, metadata_instants(copy)
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    for _ in range(2):
        assert put_back_unchanged(copy.table, kept)
        assert (copy.table.metadata_partitions, metadata_instants(copy)) == (used, instants)
    assert_listed(copy.path)
    take_out_of_use(copy.table, R, kept)
    make_anew(copy)
    assert not put_back_unchanged(copy.table, kept)
    assert copy.table.metadata_partitions == ()


@SHORT
def test_what_is_set_aside_is_forgotten_with_its_record(unpack: Unpack, store: str, version: str) -> None:
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    for _ in range(2):
        forget_kept(copy.table, R)
        assert own(copy) == []
        assert read_kept(copy.table, R) is None
        assert open_metadata_table(copy.table) is None
    assert load_timeline(copy.table).instants


@SHORT
def test_a_listing_with_a_file_that_is_none_of_hudis_stays_as_it_is(unpack: Unpack, version: str) -> None:
    """Its name stands for a file that lies elsewhere."""
    copy = unpack(version, "cow_part")
    newest_first = sorted((copy.meta / "metadata/files").glob(".files*.log.*_*[!c]"), key=log_order, reverse=True)
    # Not the log of the newest commit: that one goes.
    log = newest_first[1]
    write(log, log.read_bytes() + block_saying(hfile_block(log).header, {"part-0": {"theirs.parquet": 7}}))
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    newest, found = without_newest(copy)
    assert roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found).kept
    listing = read_listing(table_aside(copy.table, kept.aside), [], copy.table)
    assert listing["part-0"]["theirs.parquet"].size == 7
