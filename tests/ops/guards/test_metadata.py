"""What readers see when the metadata table has gone is what they saw through it, or it does not go."""

import shutil
from pathlib import Path

import pytest

from hudictl.errors import HudictlError
from hudictl.formats.file_names import log_file_name, parse_data_file
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import AVRO_DATA, INSTANT_TIME, encode_block
from hudictl.formats.savepoint import SavepointMetadata, encode
from hudictl.ops.clean_up.orphans import OrphanOptions, plan_orphan_deletion
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.reports.metadata_table import verify_listing
from hudictl.table.metadata.place import metadata_table_in_use
from tests import support
from tests.crash import reader
from tests.fixtures import Unpack
from tests.helpers import (
    ENGINE,
    NEVER,
    Copy,
    assert_listed,
    attempt,
    die,
    drop,
    only_listed,
    pending_restore,
    plan,
    put,
    required,
    restore,
    roll_back,
    rollback_of,
    session,
    step_of,
    tree,
    unlisted,
)
from tests.metadata_edits import newest_log, say
from tests.state.orphans.find_support import LATER, between, listed, listed_orphan, rolled_back, stray
from tests.state.orphans.find_support import delete as delete_orphans

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
METAFILE = ".hoodie_partition_metadata"
ANY = RestoreOptions(to_instant=True)
FATES = pytest.mark.parametrize("metadata", ["keep", "delete"])


def refused(copy: Copy, *words: str, options: RestoreOptions | None = None) -> HudictlError:
    """A restore to the table's savepoint, that is planned, and changes nothing."""
    before = tree(copy.path)
    error = attempt(lambda: plan(copy, copy.savepoints[-1], options))
    assert error is not None
    assert error.exit_code == 13
    assert tree(copy.path) == before
    for word in words:
        assert word in error.message
    return error


def seen(copy: Copy, path: str) -> bool:
    """Whether whoever lists folders reads the file group of a file."""
    partition, _, name = path.rpartition("/")
    return (partition, name.partition("_")[0]) in reader.snapshot(copy.path).groups


@VERSIONS
@FATES
def test_a_partition_that_the_metadata_table_alone_knows_gets_its_metafile(
    unpack: Unpack, version: str, metadata: str
) -> None:
    """Also where it is kept: readers list folders while it is set aside."""
    copy = unpack(version, "cow_savepoints")
    path = only_listed(copy, "old/one")
    target, options = copy.savepoints[-1], RestoreOptions(metadata=metadata)
    assert plan(copy, target, options).undo.partition_metafiles_made == ("old/one",)
    restore(copy, target, options=options)
    assert metadata_table_in_use(copy.table) == (metadata == "keep")
    assert_listed(copy.path)
    assert {f"commitTime={target}", "partitionDepth=2"} <= set((copy.path / "old/one" / METAFILE).read_text().split())
    assert seen(copy, path)


@pytest.mark.parametrize("version", ["v6", "v8"])
def test_a_first_write_that_failed_does_not_come_back_as_rows(unpack: Unpack, version: str) -> None:
    """Readers that list folders take what is older than the first completed write for archived. The releases that keep
    a pending write which overlaps the target."""
    copy = unpack(version, "first_write_failed")
    instants = support.history_facts(version, "first_write_failed")["instants"]
    before = tree(copy.path)
    error = attempt(lambda: plan(copy, instants["first"], ANY))
    assert error is not None
    assert (error.exit_code, error.fields["instant"]) == (13, instants["failed"])
    assert tree(copy.path) == before
    roll_back(copy, instants["failed"])
    restore(copy, instants["first"], options=ANY)
    assert reader.snapshot(copy.path).count == 30


@VERSIONS
@FATES
def test_so_it_does_where_a_rollback_takes_the_metadata_table_out_of_use(
    unpack: Unpack, version: str, metadata: str
) -> None:
    copy = unpack(version, "cow_part")
    path = only_listed(copy, "old")
    options = RollbackOptions(metadata=metadata)
    made = rollback_of(copy, copy.commits[-1], options)
    takes = version == "v6" or metadata == "delete"
    assert made.undo.metadata_table.takes_it is takes
    assert made.undo.partition_metafiles_made == (("old",) if takes else ())
    roll_back(copy, copy.commits[-1], options=options)
    assert metadata_table_in_use(copy.table) == (metadata == "keep")
    assert seen(copy, path) is takes


@VERSIONS
def test_a_partition_below_another_one_is_not_given_up(unpack: Unpack, version: str) -> None:
    """Whether it has its metafile or not. A rollback that keeps the metadata table may go on."""
    copy = unpack(version, "cow_savepoints")
    only_listed(copy, "part-1/below")
    refused(copy, "'part-1/below'", "'part-1'")
    put(copy.path / "part-1/below" / METAFILE)
    refused(copy, "'part-1/below'", "'part-1'")
    if version == "v6":
        error = attempt(lambda: rollback_of(copy, copy.commits[-1]))
        assert error is not None
        assert "part-1/below" in error.message
    else:
        assert step_of(rollback_of(copy, copy.commits[-1])) == "rolled back in its place"


@VERSIONS
def test_a_partition_below_another_one_hinders_nothing_where_only_removed_instants_have_written(
    unpack: Unpack, version: str
) -> None:
    """Nothing of it is needed then. Its file goes: the metadata table's record of its instant names the partition."""
    copy = unpack(version, "cow_savepoints")
    path = unlisted(copy, copy.commits[-1], "part-1/below")
    name = path.rpartition("/")[2]
    say(copy.path, {"__all_partitions__": {"part-1/below": 0}, "part-1/below": {name: 5}})
    target = copy.savepoints[-1]
    assert not plan(copy, target).undo.files_kept
    restore(copy, target)
    assert not (copy.path / path).exists()
    assert not seen(copy, path)


@pytest.mark.parametrize(("version", "name"), [(v, "cow_savepoints") for v in support.VERSIONS])
def test_a_metafile_is_not_made_where_it_hides_what_is_below(unpack: Unpack, version: str, name: str) -> None:
    """Without the metadata table listings see the lower one now, and would not then."""
    copy = unpack(version, name)
    path = only_listed(copy, "part-1/below")
    put(copy.path / "part-1/below" / METAFILE)
    drop(copy.path / "part-1" / METAFILE)
    assert seen(copy, path)
    refused(copy, "'part-1/below'")


@pytest.mark.slow
@VERSIONS
def test_files_that_it_keeps_from_readers_do_not_come_back(unpack: Unpack, version: str) -> None:
    """They may be orphans: the way out is to delete them while the metadata table is there."""
    copy = unpack(version, "cow_cleaned")
    rolled_back(copy, between(copy))
    path = unlisted(copy, between(copy), "part-0")
    assert seen(copy, path)
    target = copy.commits[-2]
    error = attempt(lambda: plan(copy, target, ANY))
    assert error is not None
    assert (error.exit_code, error.fields["files"]) == (13, [path])
    assert "orphans" in error.hint
    delete_orphans(copy)
    restore(copy, target, options=ANY)
    assert not seen(copy, path)


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("partition", ["old", "part-1/below"])
@FATES
def test_orphans_that_readers_find_through_it_alone_stay(
    unpack: Unpack, version: str, partition: str, metadata: str
) -> None:
    """The archive does not know their instant, and has lost something."""
    copy = unpack(version, "cow_cleaned")
    path = only_listed(copy, partition, between(copy))
    rolled_back(copy, between(copy))
    other = f"part-0/{path.rpartition('/')[2]}"
    made = plan_orphan_deletion(session(copy.table), OrphanOptions(0))
    assert ([entry.path for entry in made.files], [entry.path for entry in made.files_left]) == ([], [path])
    put(copy.path / other, (copy.path / path).read_bytes())
    listed(copy, other)
    error = attempt(lambda: delete_orphans(copy, metadata=metadata))
    if metadata == "keep":
        assert error is None
        assert (path in copy.data(), other in copy.data()) == (True, False)
        # It has no metafile, as before.
        found = [(row.difference, row.partition) for row in verify_listing(copy.table, ENGINE, [])]
        assert found == [("partition missing", partition)]
    elif partition == "old":
        assert error is None
        assert seen(copy, path)
    else:
        assert error is not None
        assert (error.exit_code, error.fields["partitions"]) == (13, [partition])


@VERSIONS
def test_a_copied_partition_does_not_come_back(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    shutil.copytree(copy.path / "part-1", copy.path / "part-1.bak")
    refused(copy, "part-1.bak/")
    shutil.rmtree(copy.path / "part-1.bak")
    plan(copy, copy.savepoints[-1])


@VERSIONS
def test_a_rollback_below_version_8_keeps_them_from_readers_too(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = unlisted(copy)
    error = attempt(lambda: rollback_of(copy, copy.commits[-1]))
    assert (error.fields.get("files") if error else None) == ([path] if version == "v6" else None)


@VERSIONS
def test_what_a_commit_or_the_savepoint_names_is_no_stranger(unpack: Unpack, version: str) -> None:
    """A metadata table that is behind, or has lost something."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    says: dict[str, dict[str, int | None]] = {}
    for path in required(copy.table, plan(copy, target).undo.case):
        partition, _, name = path.rpartition("/")
        says.setdefault(partition, {})[name] = None
    say(copy.path, says)
    assert verify_listing(copy.table, ENGINE, [])
    plan(copy, target)


@VERSIONS
def test_what_readers_pass_over_may_stay(unpack: Unpack, version: str) -> None:
    """Of an instant that nobody has completed, or behind a newer slice."""
    copy = unpack(version, "cow_savepoints")
    unlisted(copy, time_plus_ms(copy.commits[0], 1))
    stray(copy, NEVER)
    plan(copy, copy.savepoints[-1])


@pytest.mark.parametrize("committed", [True, False])
def test_a_log_below_version_8_counts_by_its_blocks(unpack: Unpack, committed: bool) -> None:
    copy = unpack("v6", "mor_savepoints")
    target = copy.savepoints[-1]
    log = next(path for path in sorted(required(copy.table, plan(copy, target).undo.case)) if ".log." in path)
    data = parse_data_file(Path(log).name)
    assert data is not None
    name = log_file_name(data.file_id, data.instant, 90, "1-0-1")
    time = NEVER if committed else time_plus_ms(copy.commits[0], 1)
    put((copy.path / log).with_name(name), encode_block(AVRO_DATA, {INSTANT_TIME: time}, b""))
    if committed:
        refused(copy, name)
    else:
        plan(copy, target)


@pytest.mark.slow
@VERSIONS
def test_what_hudictl_has_begun_goes_on_and_what_hudi_has_begun_is_looked_at(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    pending_restore(copy, LATER, target, begun=True)
    path = unlisted(copy)
    refused(copy, path)
    drop(copy.path / path)
    for file in copy.timeline.glob(f"{LATER}*"):
        file.unlink()
    die(copy, target, "take the metadata table out of use")
    unlisted(copy)
    assert restore(copy, target).target == target


@VERSIONS
def test_metafiles_are_made_by_whoever_resumes(unpack: Unpack, version: str) -> None:
    """The first attempt died before."""
    copy = unpack(version, "cow_savepoints")
    path = only_listed(copy, "old")
    target = copy.savepoints[-1]
    die(copy, target, "prepare")
    assert not (copy.path / "old" / METAFILE).exists()
    restore(copy, target)
    assert seen(copy, path)


@VERSIONS
def test_a_metadata_table_that_cannot_be_read_may_go(unpack: Unpack, version: str) -> None:
    """To delete it is the remedy; the plan says that it was not looked at."""
    copy = unpack(version, "cow_savepoints")
    for file in (*(copy.meta / "metadata/files").glob("*.hfile"), newest_log(copy.path)):
        put(file, b"damaged")
    made = plan(copy, copy.savepoints[-1])
    assert made.undo.metadata_table.fate == "deleted"
    assert made.undo.metadata_table_unread == made.undo.metadata_table.reason
    restore(copy, made.target)
    assert not metadata_table_in_use(copy.table)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_orphans_wait_where_an_indexing_is_the_newest_instant(unpack: Unpack, version: str) -> None:
    """Hudi 1.0.2 and 1.2.0 would make a metadata table that lists what it does not hold."""
    copy = unpack(version, "cow_part")
    listed_orphan(copy, time_plus_ms(copy.commits[0], 1))
    late = "20261121235959900"
    for name in (f"{late}.indexing.requested", f"{late}.indexing.inflight", f"{late}_{late[:-1]}1.indexing"):
        copy.write(name)
    before = tree(copy.path)
    for metadata in ("keep", "delete"):
        error = attempt(lambda chosen=metadata: delete_orphans(copy, metadata=chosen))
        assert error is not None
        assert (error.exit_code, late in error.message) == (13, True)
        assert tree(copy.path) == before


@pytest.mark.parametrize("saved", [False, True], ids=["alone", "savepointed since"])
def test_an_indexing_is_the_newest_by_its_completion_too(unpack: Unpack, saved: bool) -> None:
    """A savepoint, which has its commit's time, is no newer instant."""
    copy = unpack("v9", "cow_part")
    listed_orphan(copy, time_plus_ms(copy.commits[0], 1))
    late, newest = "20261121235959900", copy.commits[-1]
    time = time_plus_ms(newest, -1)
    for name in (f"{time}.indexing.requested", f"{time}.indexing.inflight", f"{time}_{late[:-1]}1.indexing"):
        copy.write(name)
    if saved:
        copy.write(f"{newest}.savepoint.inflight")
        copy.write(f"{newest}_{late[:-1]}2.savepoint", encode(SavepointMetadata("u", 0, "", {})))
    error = attempt(lambda: delete_orphans(copy, metadata="delete"))
    assert error is not None
    assert (error.exit_code, f"{time} indexing" in error.message) == (13, True)
