"""What keeps orphans from being deleted, each guard by itself; and what a saved plan of the deletion rests on."""

import os
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from hudictl.errors import Conflict, HudictlError, Incomplete, Refused, Unsupported
from hudictl.formats.file_names import PARTITION_METAFILE
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import AVRO_DATA, HFILE_DATA, INSTANT_TIME, encode_block
from hudictl.ops.clean_up.orphans import OrphanOptions, OrphanPlan, delete_orphans, plan_orphan_deletion
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.properties import update_properties
from tests.fixtures import Unpack
from tests.helpers import (
    NEVER,
    At,
    Copy,
    FailDeletion,
    drop,
    only_listed,
    put,
    restore,
    session,
    tree,
    unlisted,
)
from tests.metadata_edits import hfile_block, newest_log, write
from tests.ops.clean_up.orphans_guards_support import in_iceberg, locked, of_a_newer_hudi, restored, rolled
from tests.ops.clean_up.orphans_second_looks_support import visible
from tests.state.orphans.find_support import (
    LATER,
    between_commits,
    delete,
    listed,
    listed_orphan,
    orphan,
    refused,
    rolled_back,
)

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])


def planned(copy: Copy, idle_ms: int = 0, metadata: str = "keep") -> OrphanPlan:
    return plan_orphan_deletion(session(copy.table), OrphanOptions(idle_ms, metadata))


GUARDS: list[tuple[Callable[[Copy], None], type[HudictlError]]] = [
    (in_iceberg, Unsupported),
    (of_a_newer_hudi, Unsupported),
    (locked, Conflict),
    (restored, Refused),
    (rolled, Refused),
]


@VERSIONS
@pytest.mark.parametrize(("state", "kind"), GUARDS)
def test_none_is_planned(unpack: Unpack, version: str, state: Callable[[Copy], None], kind: type[HudictlError]) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    orphan(copy, between_commits(copy))
    state(copy)
    refused(copy, kind)


@VERSIONS
@pytest.mark.parametrize(("state", "kind"), GUARDS[1:])
def test_none_goes_where_it_came_since_planning(
    unpack: Unpack, version: str, state: Callable[[Copy], None], kind: type[HudictlError]
) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    path = orphan(copy, between_commits(copy))
    with pytest.raises(kind):
        delete(copy, At("check again", lambda: state(copy)))
    assert path in copy.data()


@VERSIONS
def test_a_rollback_that_a_completed_restore_has_left_is_not_in_the_way(unpack: Unpack, version: str) -> None:
    """It owns nothing: the restore has ended it."""
    copy = unpack(version, "cow_flat_nomdt")
    done = restore(copy, copy.commits[-2], options=RestoreOptions(to_instant=True))
    copy.write(f"{time_plus_ms(str(done.restore), 1)}.rollback.requested", b"garbage")
    path = orphan(copy, between_commits(copy))
    assert [entry.file.path for entry in planned(copy).orphans] == [path]


@VERSIONS
@pytest.mark.parametrize(("metadata", "fate"), [("keep", "brought forward"), ("delete", "deleted")])
def test_a_pending_write_that_shows_by_its_files_alone_keeps_the_metadata_table(
    unpack: Unpack, version: str, metadata: str, fate: str
) -> None:
    """Its instant files are old, and a task of it has just written."""
    copy = unpack(version, "cow_part")
    path = listed_orphan(copy, between_commits(copy))
    copy.write(f"{LATER}.commit.requested")
    copy.write(f"{LATER}.inflight")
    assert planned(copy, 600_000, metadata).metadata_table.fate == fate
    put(copy.path / path.replace(between_commits(copy), LATER), b"rows", old=False)
    with pytest.raises(Conflict, match="may be running"):
        planned(copy, 600_000, metadata)


@VERSIONS
def test_a_file_from_a_clock_that_is_ahead_stays(unpack: Unpack, version: str) -> None:
    """How long it has been silent nobody can tell."""
    copy = unpack(version, "cow_flat_nomdt")
    path = copy.path / orphan(copy, between_commits(copy))
    ahead = time.time() + 7200
    os.utime(path, (ahead, ahead))
    assert planned(copy, 600_000).orphans == ()


@VERSIONS
def test_without_orphans_nothing_is_changed_and_nothing_said_to_go(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    made, before = planned(copy), tree(copy.path)
    assert (made.metadata_table.fate, made.indexes_lost) == ("kept", ())
    assert delete_orphans(session(copy.table), made).files_deleted == 0
    assert tree(copy.path) == before


@VERSIONS
def test_an_interrupted_update_of_the_properties_is_ended_first(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    orphan(copy, between_commits(copy))
    backup = put(copy.meta / "hoodie.properties.backup", (copy.meta / "hoodie.properties").read_bytes())
    delete(copy)
    assert not backup.exists()


@VERSIONS
def test_a_metadata_table_that_cannot_be_read_is_told(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    orphan(copy, between_commits(copy))
    assert planned(copy).metadata_table_unread is None
    log = newest_log(copy.path)
    write(log, log.read_bytes() + encode_block(HFILE_DATA, hfile_block(log).header, b"garbage"))
    assert planned(copy).metadata_table_unread


@VERSIONS
@pytest.mark.parametrize("metafile", [True, False], ids=["metafile", "no metafile"])
def test_rows_below_another_partition_that_the_metadata_table_alone_shows_stay(
    unpack: Unpack, version: str, metafile: bool
) -> None:
    """Whoever lists folders stops at the partition above."""
    copy = unpack(version, "cow_part")
    path = only_listed(copy, "part-1/below")
    if metafile:
        put(copy.path / "part-1/below" / PARTITION_METAFILE, b"commitTime=1\n")
    rolled_back(copy, NEVER, partitions=("part-1/below",))
    made = planned(copy)
    assert (made.orphans, [entry.file.path for entry in made.left]) == ((), [path])


@VERSIONS
def test_what_the_metadata_table_does_not_list_goes_from_a_folder_without_metafile(
    unpack: Unpack, version: str
) -> None:
    """It lists other files of the folder, which readers find through it; this one they do not see."""
    copy = unpack(version, "cow_part")
    path = orphan(copy, between_commits(copy))
    rolled_back(copy, NEVER, partitions=("part-1",))
    other = listed(copy, unlisted(copy))
    drop((copy.path / path).parent / PARTITION_METAFILE)
    assert planned(copy).partition_metafiles_made == ()
    made = planned(copy, metadata="delete")
    assert {entry.file.path for entry in made.orphans} == {path, other}
    assert made.partition_metafiles_made == (path.rpartition("/")[0],)


@VERSIONS
def test_where_a_metafile_cannot_be_made_the_metadata_table_stays(unpack: Unpack, version: str) -> None:
    """Without it readers would not find the partition; hudictl does not write metafiles in the base file format."""
    copy = unpack(version, "cow_part")
    path = orphan(copy, between_commits(copy))
    rolled_back(copy, NEVER, partitions=("part-1",))
    listed(copy, unlisted(copy))
    drop((copy.path / path).parent / PARTITION_METAFILE)
    update_properties(copy.table.storage, {"hoodie.partition.metafile.use.base.format": "true"})
    assert path.rpartition("/")[0] in refused(copy, Refused, OrphanOptions(0, "delete")).message
    # Where it stays in use anyway, nothing of this is needed.
    assert planned(copy).metadata_table.fate == "brought forward"


# In which order, and what stays.


@VERSIONS
def test_the_metadata_table_is_out_of_use_before_files_go(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = listed_orphan(copy, between_commits(copy))
    seen: list[tuple[bool, bool]] = []

    def look() -> None:
        seen.append((metadata_table_in_use(copy.table), path in copy.data()))

    delete(copy, At("delete files", look), metadata="delete")
    assert seen == [(False, True)]


@VERSIONS
def test_where_one_that_the_metadata_table_hides_cannot_go_it_stays_in_use(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers would see the rows without it."""
    copy = unpack(version, "cow_part")
    path = visible(copy)
    FailDeletion(path).install(monkeypatch)
    with pytest.raises(Incomplete, match="readers would see it") as caught:
        delete(copy, metadata="delete")
    assert caught.value.fields["files"] == [path]
    assert metadata_table_in_use(copy.table)
    monkeypatch.undo()
    assert delete(copy, metadata="delete").files_deleted == 2


def logs_of(copy: Copy, writer: str, base: str) -> list[str]:
    """Two logs of one slice that hold rows of a writer, which was rolled back."""
    like = next(path for path in sorted(copy.data()) if ".log." in path)
    paths = [f"{like.split('_')[0]}_{base}.log.{number}_9-9-9" for number in (1, 2)]
    for path in paths:
        put(copy.path / path, encode_block(AVRO_DATA, {INSTANT_TIME: writer}, b"rows"))
    return paths


@pytest.mark.parametrize("both", [False, True], ids=["one is hidden", "both are hidden"])
def test_a_log_that_changes_stays_with_its_slice_though_the_metadata_table_hides_it(unpack: Unpack, both: bool) -> None:
    """What goes first is looked at as what goes later: another log of the slice may take back what stands in it."""
    copy = unpack("v6", "mor_part")
    writer = time_plus_ms(between_commits(copy), 1)
    rolled_back(copy, writer)
    path, other = logs_of(copy, writer, between_commits(copy))
    listed(copy, path)
    made = replace(planned(copy, metadata="delete"), kept_from_readers=frozenset({path, other} if both else {path}))
    assert {entry.file.path for entry in made.orphans} == {path, other}
    body = (copy.path / path).read_bytes()
    append = At("take the metadata table out of use", lambda: put(copy.path / path, body + body, old=False))
    assert set(delete_orphans(session(copy.table, append), made).files_left) == {path, other}
    assert {path, other} <= copy.data()


@pytest.mark.parametrize("what", ["size", "time"])
def test_a_log_below_version_8_has_changed_by_its_size_or_by_its_time(unpack: Unpack, what: str) -> None:
    """A store's clock may be coarse, and a log may be copied anew."""
    copy = unpack("v6", "mor_part")
    writer = time_plus_ms(between_commits(copy), 1)
    rolled_back(copy, writer)
    paths = logs_of(copy, writer, between_commits(copy))
    body = (copy.path / paths[0]).read_bytes()
    more, old = (body + body, True) if what == "size" else (body, False)
    change = At("delete files", lambda: put(copy.path / paths[0], more, old=old))
    assert set(delete(copy, change).files_left) == set(paths)
    assert set(paths) <= copy.data()


def test_from_version_8_on_each_log_is_its_own(unpack: Unpack) -> None:
    """Nobody appends to one; one that a commit names by then keeps no other."""
    copy = unpack("v9", "mor_part")
    newest, writer = copy.commits[-1], between_commits(copy)
    rolled_back(copy, writer)
    like = next(name for name in sorted(copy.data()) if newest in name and ".log.1_" in name)
    path = like.replace(newest, writer)
    other = path.replace(".log.1_", ".log.2_")
    for log in (path, other):
        put(copy.path / log, encode_block(AVRO_DATA, {INSTANT_TIME: writer}, b"rows"))
    commit = copy.file(newest, "deltacommit")
    assert like.encode() in commit.read_bytes()

    def meanwhile() -> None:
        put(copy.path / other, (copy.path / other).read_bytes(), old=False)
        put(commit, commit.read_bytes().replace(like.encode(), path.encode()), old=False)

    done = delete(copy, At("delete files", meanwhile))
    assert (done.files_left, done.files_deleted) == ((path,), 1)
    assert other not in copy.data()


def test_a_base_file_that_stays_below_version_8_keeps_no_log_upon_it(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_part")
    writer = time_plus_ms(between_commits(copy), 1)
    rolled_back(copy, writer)
    rolled_back(copy, between_commits(copy))
    logs = logs_of(copy, writer, between_commits(copy))
    folder, name = logs[0].rsplit("/", 1)
    base = f"{folder}/{name.split('_')[0][1:]}_9-9-9_{between_commits(copy)}.parquet"
    put(copy.path / base, b"rows")
    commit = copy.file(copy.commits[-1], "deltacommit")
    like = next(path for path in sorted(copy.data()) if path.encode() in commit.read_bytes())
    edit = At(
        "delete files",
        lambda: put(commit, commit.read_bytes().replace(like.encode(), base.encode()), old=False),
    )
    assert delete(copy, edit).files_left == (base,)
    assert base in copy.data()
    assert not set(logs) & copy.data()


@VERSIONS
def test_what_a_new_commit_has_built_on_stays_and_is_not_counted(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    built, lone = between_commits(copy), time_plus_ms(copy.commits[0], 2)
    path, other = orphan(copy, built), orphan(copy, lone)
    size = (copy.path / other).stat().st_size
    before = copy.commits[0].encode()
    files = [copy.file(time, "commit") for time in copy.commits[1:]]
    commit = next(file for file in files if before in file.read_bytes())
    build = At("delete files", lambda: put(commit, commit.read_bytes().replace(before, built.encode()), old=False))
    done = delete(copy, build)
    assert (done.files_left, done.files_deleted, done.bytes_deleted) == ((path,), 1, size)
    assert path in copy.data()


# What a saved plan rests on.


def grown(copy: Copy, path: str) -> None:
    put(copy.path / path, (copy.path / path).read_bytes() + b"more")


def gone(copy: Copy, path: str) -> None:
    (copy.path / path).unlink()


def another_index(copy: Copy, _path: str) -> None:
    listed = ",".join((*copy.table.metadata_partitions, "bloom_filters"))
    update_properties(copy.table.storage, {"hoodie.table.metadata.partitions": listed})


@VERSIONS
@pytest.mark.parametrize(
    ("move", "moved"), [(grown, "files to delete"), (gone, "files to delete"), (another_index, "metadata table")]
)
def test_a_saved_plan_is_of_these_files_and_this_metadata_table(
    unpack: Unpack, version: str, move: Callable[[Copy, str], None], moved: str
) -> None:
    copy = unpack(version, "cow_part")
    path = listed_orphan(copy, between_commits(copy))
    listed_orphan(copy, time_plus_ms(copy.commits[0], 2))
    before = planned(copy).fingerprint
    assert before == planned(copy).fingerprint
    move(copy, path)
    now = planned(copy).fingerprint
    assert [key for key in before if before[key] != now[key]] == [moved]


def test_a_saved_plan_is_of_what_was_asked_for(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    assert planned(copy, 0).fingerprint["options"] != planned(copy, 1).fingerprint["options"]
