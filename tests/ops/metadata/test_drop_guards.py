"""What keeps the metadata table from being dropped: each guard when it is planned, and once more under the claim."""

from collections.abc import Callable

import pytest

from hudictl.errors import Conflict, HudictlError, Refused, Unsupported
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.metadata.drop import DropOptions, drop_metadata, plan_metadata_drop
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.render.plans import drop_lines
from hudictl.table.metadata.place import metadata_table_in_use
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import At, Copy, drop, only_listed, put, restore, session, tree, unlisted
from tests.ops.clean_up.orphans_guards_support import in_iceberg, locked, of_a_newer_hudi, restored, rolled
from tests.ops.metadata.drop_support import later
from tests.state.orphans.find_support import LATER, between_commits, lose

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
LAST = "20991231000000000"
Act = Callable[[Copy], object]


def writing(copy: Copy) -> None:
    """A writer has just begun."""
    copy.write(f"{LATER}.commit.requested", old=False)
    copy.write(f"{LATER}.inflight", old=False)


def writing_files(copy: Copy) -> None:
    """Its instant files are old, and a task of it has just written."""
    copy.write(f"{LATER}.commit.requested")
    copy.write(f"{LATER}.inflight")
    like = min((copy.path / "part-1").glob("*.parquet"))
    token = like.name.split("_")[1]
    put(copy.path / f"part-1/deadbeef-0000-4000-8000-000000000000-0_{token}_{LATER}.parquet", b"rows", old=False)


def compacting(copy: Copy, *, old: bool = False) -> None:
    """A table service of the metadata table is at work."""
    folder = copy.meta / "metadata" / copy.timeline.relative_to(copy.path)
    put(folder / f"{LATER}.compaction.requested", b"plan", old=old)


def nested(copy: Copy) -> None:
    only_listed(copy, "part-1/below")


def appearing(copy: Copy) -> None:
    unlisted(copy)


def empty(copy: Copy) -> None:
    """What a writer leaves that died at once, long ago."""
    put(copy.path / unlisted(copy, between_commits(copy)), b"")


def lost(copy: Copy) -> None:
    """The newest base file of a group is gone: queries fail at it, as long as the metadata table lists it."""
    drop(copy.path / max(path for path in copy.data() if copy.commits[-1] in path and path.endswith(".parquet")))


EVERYWHERE: list[tuple[Act, type[HudictlError]]] = [
    (in_iceberg, Unsupported),
    (of_a_newer_hudi, Unsupported),
    (locked, Conflict),
    (restored, Refused),
    (rolled, Refused),
    (writing, Conflict),
    (writing_files, Conflict),
    (compacting, Conflict),
]
WHOLE: list[tuple[Act, type[HudictlError]]] = [(act, Refused) for act in (nested, appearing, empty, lost)]
NAMES = pytest.mark.parametrize("names", [(), ("column_stats",)], ids=["whole", "index"])


def with_index(copy: Copy) -> Copy:
    """One with an index, also below version 8, where writers build none by themselves."""
    from hudictl.table.properties import update_properties

    put(copy.meta / "metadata/column_stats/.hoodie_partition_metadata")
    listed = ",".join(sorted({*copy.table.metadata_partitions, "column_stats"}))
    update_properties(copy.table.storage, {"hoodie.table.metadata.partitions": listed})
    return copy


def refused(copy: Copy, kind: type[HudictlError], *names: str) -> HudictlError:
    before = tree(copy.path)
    with pytest.raises(kind) as caught:
        plan_metadata_drop(session(copy.table), DropOptions(names, 600_000))
    assert tree(copy.path) == before
    return caught.value


def comes_in(copy: Copy, act: Act, kind: type[HudictlError], *names: str) -> HudictlError:
    """Between the plan and its execution: nothing goes."""
    made = plan_metadata_drop(session(copy.table), DropOptions(names, 600_000))
    before = copy.table.metadata_partitions
    with pytest.raises(kind) as caught:
        drop_metadata(session(copy.table, At("check again", lambda: act(copy))), made)
    assert copy.table.metadata_partitions == before
    assert all((copy.meta / "metadata" / name).exists() for name in before)
    return caught.value


@NAMES
@VERSIONS
@pytest.mark.parametrize(("state", "kind"), EVERYWHERE)
def test_none_is_planned(
    unpack: Unpack, version: str, state: Act, kind: type[HudictlError], names: tuple[str, ...]
) -> None:
    copy = with_index(unpack(version, "cow_part"))
    state(copy)
    refused(copy, kind, *names)


@NAMES
@VERSIONS
@pytest.mark.parametrize(("state", "kind"), EVERYWHERE[1:])
def test_none_goes_where_it_came_since_planning(
    unpack: Unpack, version: str, state: Act, kind: type[HudictlError], names: tuple[str, ...]
) -> None:
    comes_in(with_index(unpack(version, "cow_part")), state, kind, *names)


@VERSIONS
@pytest.mark.parametrize(("state", "kind"), WHOLE)
def test_readers_see_the_same_rows_or_it_stays(
    unpack: Unpack, version: str, state: Act, kind: type[HudictlError]
) -> None:
    """An index may go all the same: readers have the listing."""
    copy = with_index(unpack(version, "cow_part"))
    state(copy)
    refused(copy, kind)
    assert plan_metadata_drop(session(copy.table), DropOptions(("column_stats",))).names[0] == "column_stats"


@VERSIONS
@pytest.mark.parametrize(("state", "kind"), WHOLE)
def test_so_it_does_where_that_came_since_planning(
    unpack: Unpack, version: str, state: Act, kind: type[HudictlError]
) -> None:
    comes_in(with_index(unpack(version, "cow_part")), state, kind)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_first_write_that_failed_does_not_come_back_as_rows(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "first_write_failed")
    failed = support.history_facts(version, "first_write_failed")["instants"]["failed"]
    error = refused(copy, Refused)
    assert (error.fields["instant"], "failed-writes clean" in error.hint) == (failed, True)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_nor_where_the_metadata_table_cannot_be_read(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "first_write_failed")
    for file in (copy.meta / "metadata/files").glob("[0-9a-f]*.hfile"):
        put(file, file.read_bytes()[:-1])
    assert "older than every completed write" in refused(copy, Refused).message


@VERSIONS
def test_an_empty_file_of_a_pending_write_is_not_in_the_way(unpack: Unpack, version: str) -> None:
    """Hudi leaves it out when it builds the metadata table."""
    copy = unpack(version, "cow_part")
    path = unlisted(copy, LATER)
    put(copy.path / path, b"")
    assert refused(copy, Refused).fields["files"] == [path]
    copy.write(f"{LATER}.commit.requested")
    copy.write(f"{LATER}.inflight")
    assert plan_metadata_drop(session(copy.table), DropOptions()).whole


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_partition_inside_another_is_named_with_its_way_out(unpack: Unpack, version: str) -> None:
    error = refused(unpack(version, "nested_partitions"), Refused)
    assert "listings do not find it" in error.message
    assert error.hint == "have Hudi move these rows into a partition that is not inside another"


@pytest.mark.parametrize("version", ["v8", "v9"])
@pytest.mark.parametrize("names", [(), ("secondary_index_idx_val",)], ids=["whole", "index"])
def test_not_beside_an_indexing_that_is_the_newest_instant(
    unpack: Unpack, version: str, names: tuple[str, ...]
) -> None:
    """Hudi would give what it builds next the time of the indexing, and leave it empty."""
    copy = unpack(version, "later")
    assert "indexing" in refused(copy, Refused, *names).message

    def complete(copy: Copy) -> None:
        for name in (f"{LAST}.indexing.requested", f"{LAST}.indexing.inflight", f"{LAST}_{LAST}.indexing"):
            copy.write(name)

    comes_in(later(copy), complete, Refused, *names)


@VERSIONS
def test_an_index_stays_that_a_pending_instant_of_the_metadata_table_may_need(unpack: Unpack, version: str) -> None:
    """The next writer would fail to finish it; the whole metadata table may go with it."""
    copy = with_index(unpack(version, "cow_part"))
    compacting(copy, old=True)
    error = refused(copy, Refused, "column_stats")
    assert "compaction" in error.message
    assert "`hudictl metadata drop`" in error.hint
    assert plan_metadata_drop(session(copy.table), DropOptions((), 600_000)).whole


@VERSIONS
def test_so_it_does_where_one_is_pending_since_planning(unpack: Unpack, version: str) -> None:
    copy = with_index(unpack(version, "cow_part"))
    comes_in(copy, lambda copy: compacting(copy, old=True), Refused, "column_stats")


@VERSIONS
def test_an_index_stays_that_hudi_does_not_build_beside_what_is_pending(unpack: Unpack, version: str) -> None:
    """Hudi 0.15.0 would leave the next write out of the listing; without any of it readers list folders."""
    copy = with_index(unpack(version, "cow_part"))
    copy.write(f"{LATER}.commit.requested")
    if version == "v6":
        error = refused(copy, Refused, "column_stats")
        assert (error.fields["instant"], f"hudictl rollback {LATER}" in error.hint) == (LATER, True)
    else:
        assert not plan_metadata_drop(session(copy.table), DropOptions(("column_stats",), 0)).whole
    assert plan_metadata_drop(session(copy.table), DropOptions((), 0)).whole


def test_nor_where_it_is_pending_since_planning(unpack: Unpack) -> None:
    copy = with_index(unpack("v6", "cow_part"))
    comes_in(copy, lambda copy: copy.write(f"{LATER}.commit.requested"), Refused, "column_stats")


@pytest.mark.parametrize("names", [(), ("record_index",)], ids=["whole", "index"])
def test_a_record_index_that_could_not_be_built_again_stays(unpack: Unpack, names: tuple[str, ...]) -> None:
    """Hudi 0.15.0 fails beside a pending compaction; 1.0.2 and 1.2.0 do not."""
    without = unpack("v6", "mor_pending_compaction")
    plan = without.file_of("compaction.requested")
    copy = unpack("v6", "cow_record_index")
    comes_in(copy, lambda copy: copy.write(f"{LATER}.compaction.requested", plan), Refused, *names)
    error = refused(copy, Refused, *names)
    assert (error.fields["instant"], f"hudictl rollback {LATER}" in error.hint) == (LATER, True)
    assert plan_metadata_drop(session(without.table), DropOptions((), 0)).whole


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_from_version_8_on_it_can(unpack: Unpack, version: str) -> None:
    plan = unpack(version, "mor_pending_compaction").file_of("compaction.requested")
    copy = unpack(version, "cow_record_index")
    copy.write(f"{LATER}.compaction.requested", plan)
    assert plan_metadata_drop(session(copy.table), DropOptions((), 0)).whole


@VERSIONS
def test_a_rollback_that_a_completed_restore_has_left_is_not_in_the_way(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    done = restore(copy, copy.commits[-2], options=RestoreOptions(to_instant=True))
    copy.write(f"{time_plus_ms(str(done.restore), 1)}.rollback.requested", b"garbage")
    made = plan_metadata_drop(session(copy.table), DropOptions())
    assert (made.whole, made.nothing_to_do) == (True, False)


@VERSIONS
def test_a_dead_write_may_stay(unpack: Unpack, version: str) -> None:
    """Its files are hidden from readers that list folders, too."""
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.commit.requested")
    copy.write(f"{LATER}.inflight")
    drop_metadata(session(copy.table), plan_metadata_drop(session(copy.table), DropOptions((), 600_000)))
    assert not metadata_table_in_use(copy.table)


@VERSIONS
def test_what_is_lost_is_accepted_by_the_operator_alone(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    lost(copy)
    error = refused(copy, Refused)
    assert "without a word" in str(error)
    made = plan_metadata_drop(session(copy.table), DropOptions((), 0, accept_loss=True))
    assert made.files_lost == tuple(error.fields["files"])
    assert "without the rows of lost files" in " ".join(drop_lines(made))


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_listed_file_of_an_archived_commit_counts_and_one_with_a_newer_file_does_not(
    unpack: Unpack, version: str
) -> None:
    """No commit of the timeline names the first, and no reader opens the second."""
    copy = unpack(version, "cow_part")
    first, last = copy.commits[0], copy.commits[-1]
    drop(copy.path / min(path for path in copy.data() if first in path and path.endswith(".parquet")))
    assert plan_metadata_drop(session(copy.table), DropOptions((), 0)).whole
    lost(copy)
    records.archive(copy, last)
    lose(copy, last)
    assert "1 required file missing" in str(refused(copy, Refused))
