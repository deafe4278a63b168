"""Savepoints: each guard by itself, what is read of one that is there, and what a saved plan rests on."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from hudictl.errors import Conflict, HudictlError, Refused, StorageFailed, Unreadable, Unsupported
from hudictl.formats import savepoint as fmt
from hudictl.formats.file_names import PARTITION_METAFILE
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.savepoint.deletion import delete_savepoint, plan_deletion
from hudictl.ops.savepoint.execute import create_savepoint
from hudictl.ops.savepoint.plan import SavepointOptions, SavepointPlan
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.ops.savepoint.verify import verify_savepoint
from hudictl.reports.health.finding import WARNING
from hudictl.state.files.savepoints import PROTECTION_COMMENT
from hudictl.table.locks.config import Locking
from hudictl.table.properties import update_properties
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import (
    NEVER,
    At,
    Copy,
    attempt,
    drop,
    only_listed,
    plan,
    put,
    restore,
    rollback_plan,
    savepoint,
    session,
    tree,
    unlisted,
)
from tests.ops.restore.strangers_support import without_metadata_table
from tests.ops.savepoint.pruning_support import plant
from tests.reports.health.check_support import check
from tests.state.orphans.find_support import LONG_AGO, delete, rolled_back

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
LATER = "20991231000000000"
OPTIONS = SavepointOptions("ann", "before the load", idle_ms=0)


def planned(copy: Copy, instant: str, options: SavepointOptions = OPTIONS) -> SavepointPlan:
    return plan_savepoint(session(copy.table), instant, options)


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("log", [False, True])
def test_an_empty_file_that_a_restore_refuses_is_said(unpack: Unpack, version: str, later: bool, log: bool) -> None:
    """Of a write that is on no timeline, or of one that the restore removes; also beside an older savepoint."""
    copy = unpack(version, "mor_part")
    *_, target, last = copy.commits
    writer = last if later else time_plus_ms(copy.commits[0], 1)
    like = min((copy.path / "part-1").glob("*.parquet")).name
    file_id, token, _ = like.split("_")
    name = f".{file_id}_{writer}.log.99_{token}" if log else f"{'d' * 8}{file_id[8:]}_{token}_{writer}.parquet"
    put(copy.path / "part-1" / name)
    for _ in range(2):
        said = any(name in text for text in planned(copy, target).warnings)
        assert said == (not later and (version == "v9" if log else True))
        assert said == isinstance(attempt(lambda: plan(copy, target, RestoreOptions(to_instant=True))), Refused)
        savepoint(copy, target, OPTIONS)


@pytest.mark.parametrize("beyond", ["true", "false"])
def test_writers_that_archive_beyond_savepoints_are_said(unpack: Unpack, beyond: str) -> None:
    copy = unpack("v9", "cow_part")
    locking = Locking({"hoodie.archive.beyond.savepoint": beyond})
    made = plan_savepoint(replace(session(copy.table), locking=locking), copy.commits[-1], OPTIONS)
    assert any("hoodie.archive.beyond.savepoint" in text for text in made.warnings) == (beyond == "true")


def edit(copy: Copy, target: str, change: Callable[[dict[str, tuple[str, ...]]], None], comment: str = "") -> None:
    """Changes what a savepoint names; and its comment, perhaps."""
    done = copy.file(target, "savepoint")
    metadata = fmt.decode(done.read_bytes(), done.name)
    files = dict(metadata.files)
    change(files)
    put(done, fmt.encode(replace(metadata, files=files, comment=comment or metadata.comment)))


def in_iceberg(copy: Copy) -> None:
    update_properties(copy.table.storage, {"hoodie.table.format": "iceberg"})


def of_a_newer_hudi(copy: Copy) -> None:
    copy.write(f"{LATER}.rewrite.requested")


def locked(copy: Copy) -> None:
    put(copy.meta / "lock", "{}")


@VERSIONS
@pytest.mark.parametrize(
    ("state", "kind"), [(in_iceberg, Unsupported), (of_a_newer_hudi, Unsupported), (locked, Conflict)]
)
def test_none_is_planned_and_no_deletion(
    unpack: Unpack, version: str, state: Callable[[Copy], None], kind: type[HudictlError]
) -> None:
    copy = unpack(version, "cow_savepoints")
    target, newest = copy.savepoints[-1], copy.commits[-1]
    state(copy)
    before = tree(copy.path)
    with pytest.raises(kind):
        planned(copy, newest)
    with pytest.raises(kind):
        plan_deletion(session(copy.table), target)
    assert tree(copy.path) == before


# Creating one.


def test_a_name_without_letters_is_not_the_newest_commit(unpack: Unpack) -> None:
    """As an empty variable of a script gives it."""
    with pytest.raises(Refused, match="is not a commit on the active timeline"):
        planned(unpack("v9", "cow_part"), "")


@VERSIONS
def test_a_restore_that_died_before_its_plan_was_written_comes_first(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.restore.requested")
    with pytest.raises(Refused, match="restore is pending"):
        planned(copy, copy.commits[-1])


def test_none_stands_on_a_commit_that_was_completed_twice(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    done = copy.file(copy.commits[-1], "commit")
    copy.write(f"{copy.commits[-1]}_{LATER}.commit", done.read_bytes())
    with pytest.raises(Unreadable, match="several completed files"):
        planned(copy, copy.commits[-1])


@VERSIONS
def test_pending_writes_that_are_newer_are_none_of_its_business(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.commit.requested", old=False)
    assert planned(copy, copy.commits[-1]).target == copy.commits[-1]


@VERSIONS
def test_the_pending_rollback_of_another_instant_is_not_in_the_way(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    copy.write(f"{LATER}.rollback.requested", rollback_plan(copy.commits[-1]))
    assert planned(copy, copy.commits[0]).target == copy.commits[0]
    assert plan_deletion(session(copy.table), target).exists


@VERSIONS
def test_a_rollback_that_a_completed_restore_has_left_is_not_in_the_way(unpack: Unpack, version: str) -> None:
    """Whatever it was to take back, the restore has ended it."""
    copy = unpack(version, "cow_part")
    done = restore(copy, copy.commits[-2], options=RestoreOptions(to_instant=True))
    copy.write(f"{time_plus_ms(str(done.restore), 1)}.rollback.requested", b"garbage")
    assert planned(copy, copy.commits[-1]).target == copy.commits[-1]


@VERSIONS
def test_a_partition_that_looks_like_another_table_is_refused(unpack: Unpack, version: str) -> None:
    """Nobody has looked into it: its files would not be in the savepoint."""
    copy = unpack(version, "cow_part")
    (copy.path / "part-0/.hoodie").mkdir()
    with pytest.raises(Refused, match="'part-0' cannot be listed"):
        planned(copy, copy.commits[-1])


@VERSIONS
def test_one_way_back_is_enough(overlap: Unpack, version: str) -> None:
    """By the other files are missing, which a clean has taken."""
    copy = overlap(version, "cow_clustering_cleaned")
    made = planned(copy, copy.savepoints[-1])
    assert made.exists


@VERSIONS
@pytest.mark.parametrize("damaged", [True, False])
def test_the_metadata_of_what_every_way_back_removes_is_not_read(unpack: Unpack, version: str, damaged: bool) -> None:
    copy = unpack(version, "cow_part")
    put(copy.file(copy.commits[-1] if damaged else copy.commits[0], "commit"), b"garbage", old=False)
    if damaged:
        assert planned(copy, copy.commits[0]).files
    else:
        with pytest.raises(Unreadable):
            planned(copy, copy.commits[0])


@VERSIONS
def test_it_names_what_only_the_metadata_table_knows(unpack: Unpack, version: str) -> None:
    """Readers see it, too. One that is there, and names it not, gets it."""
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    savepoint(copy, target, OPTIONS)
    path = only_listed(copy, "old")
    named = path.rpartition("/")[2]
    added = planned(copy, target)
    assert (added.exists, added.files_added, added.file_names["old"]) == (True, 1, (named,))
    assert verify_savepoint(session(copy.table), target, RestoreOptions(idle_ms=0)).unprotected == (path,)
    for file in copy.timeline.glob(f"{target}*savepoint*"):
        file.unlink()
    assert planned(copy, target).file_names["old"] == (named,)


@VERSIONS
def test_a_partition_without_metafile_is_looked_into_before_it_is_withdrawn(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    drop(copy.path / "part-0" / PARTITION_METAFILE)
    made = planned(copy, copy.commits[-1])
    assert made.file_names["part-0"]
    create_savepoint(session(copy.table), made)
    assert copy.savepoints == [copy.commits[-1]]


@VERSIONS
def test_a_clean_that_goes_on_meanwhile_withdraws_it(unpack: Unpack, version: str) -> None:
    """It was pending at planning, and would take nothing of the savepoint; what it took nobody knows."""
    copy = unpack(version, "cow_part")
    clean = time_plus_ms(copy.commits[-1], 1)
    copy.write(f"{clean}.clean.requested", records.clean_plan([], retained=copy.commits[0]))
    made = planned(copy, copy.commits[-1])
    done = f"{clean}.clean" if version == "v6" else f"{clean}_{LATER}.clean"
    goes_on = At("write the savepoint", lambda: copy.write(done, records.clean_metadata([]), old=False))
    with pytest.raises(Conflict) as caught:
        create_savepoint(session(copy.table, goes_on), made)
    assert [clean in entry for entry in caught.value.fields["cleans"]] == [True]
    assert copy.having("savepoint") == []


@VERSIONS
def test_its_plan_counts_the_partitions_that_have_files(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    before = planned(copy, copy.commits[-1])
    put(copy.path / "empty" / PARTITION_METAFILE, b"commitTime=1\n")
    after = planned(copy, copy.commits[-1])
    assert after.file_names == {**before.file_names, "empty": ()}
    assert after.partitions == before.partitions


@VERSIONS
def test_it_says_when_it_was_made(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    before = int(time.time() * 1000)
    savepoint(copy, copy.commits[-1], OPTIONS)
    done = copy.file(copy.commits[-1], "savepoint")
    assert before <= fmt.decode(done.read_bytes(), done.name).saved_at_ms <= int(time.time() * 1000)


# One that is there.


@VERSIONS
def test_one_that_is_there_keeps_its_user_and_comment(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    savepoint(copy, target, OPTIONS)
    edit(copy, target, lambda files: files.update({"part-0": files["part-0"][1:]}))
    made = planned(copy, target, SavepointOptions("bob", "another", idle_ms=0))
    assert (made.user, made.comment, made.files_added, made.chosen) == ("ann", "before the load", 1, False)
    assert made.bytes == sum((copy.path / f"{p}/{n}").stat().st_size for p, ns in made.file_names.items() for n in ns)
    create_savepoint(session(copy.table), made)
    done = copy.file(target, "savepoint")
    found = fmt.decode(done.read_bytes(), done.name)
    assert (found.saved_by, found.comment, found.files) == ("ann", "before the load", made.file_names)
    assert plan_savepoint(session(copy.table), None, OPTIONS).chosen


@VERSIONS
def test_a_restores_own_savepoint_is_none(unpack: Unpack, version: str) -> None:
    """It goes at the restore's end, and with it what it would protect."""
    copy = unpack(version, "cow_savepoints")
    edit(copy, copy.savepoints[-1], lambda files: None, comment=f"{PROTECTION_COMMENT}{LATER}")
    with pytest.raises(Refused, match="temporary one of hudictl"):
        planned(copy, copy.savepoints[-1])


@VERSIONS
def test_one_that_is_there_is_proved_by_all_that_it_names(unpack: Unpack, version: str) -> None:
    """Also a file of an older slice, which its commit does not need."""
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    savepoint(copy, target, OPTIONS)
    older = next(path for path in sorted(copy.data()) if path.endswith(f"_{copy.commits[0]}.parquet"))
    partition, _, name = older.rpartition("/")
    edit(copy, target, lambda files: files.update({partition: (*files[partition], name)}))
    assert planned(copy, target).nothing_to_do
    drop(copy.path / older)
    with pytest.raises(Refused, match=name):
        planned(copy, target)


@VERSIONS
def test_a_partition_that_it_alone_names_is_looked_into(unpack: Unpack, version: str) -> None:
    """Without metafile, and no commit of the timeline names it: no listing would come to it."""
    copy = without_metadata_table(unpack(version, "cow_part"))
    target = copy.commits[-1]
    savepoint(copy, target, OPTIONS)
    name = unlisted(copy, NEVER, "old").rpartition("/")[2]
    lacking = f"part-0/{planned(copy, target).file_names['part-0'][0]}"

    def change(files: dict[str, tuple[str, ...]]) -> None:
        files["old"] = (name,)
        files["part-0"] = files["part-0"][1:]

    edit(copy, target, change)
    assert planned(copy, target).files_added == 1
    assert verify_savepoint(session(copy.table), target, RestoreOptions(idle_ms=0)).unprotected == (lacking,)


@VERSIONS
def test_a_storage_that_fails_is_no_verdict(unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks whether a savepoint can be restored is not told no because nobody could look."""
    copy = unpack(version, "cow_savepoints")

    def fail(*_: object) -> None:
        raise StorageFailed("no answer")

    monkeypatch.setattr("hudictl.ops.savepoint.verify.plan_restore", fail)
    with pytest.raises(StorageFailed):
        verify_savepoint(session(copy.table), copy.savepoints[-1], RestoreOptions())


@VERSIONS
def test_verify_tells_what_a_restore_needs(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    needed = planned(copy, target)
    found = verify_savepoint(session(copy.table), target, RestoreOptions(idle_ms=0))
    assert (found.file_count, found.bytes, found.unprotected) == (needed.files, needed.bytes, ())


# Deleting one.


@VERSIONS
def test_a_deletion_of_what_never_was_is_refused(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    with pytest.raises(Refused, match="no savepoint 20200101000000000"):
        plan_deletion(session(copy.table), "20200101000000000")


@VERSIONS
def test_a_deletion_with_nothing_to_do_changes_nothing(unpack: Unpack, version: str) -> None:
    """The commit is there, and no savepoint on it: it was deleted before."""
    copy = unpack(version, "cow_part")
    before = tree(copy.path)
    made = plan_deletion(session(copy.table), copy.commits[-1])
    assert not made.exists
    delete_savepoint(session(copy.table), made)
    assert tree(copy.path) == before


@VERSIONS
def test_a_deletion_says_how_many_files_it_gives_free(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    done = copy.file(target, "savepoint")
    files = fmt.decode(done.read_bytes(), done.name).files
    assert plan_deletion(session(copy.table), target).files_protected == sum(map(len, files.values()))


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_none_is_made_before_a_commit_that_no_restore_can_take_back(unpack: Unpack, version: str) -> None:
    """After an upgrade: its rows are in a log with the name of one that would stay. A savepoint from before the upgrade
    gets no more files, and `check` tells of it."""
    copy = unpack(version, "upgraded_mor")
    first = support.history_facts(version, "upgraded_mor")["instants"]["v6 first"]
    writes = [time for time in copy.commits if time > first]
    for there in (False, True):
        if there:
            plant(copy, first)
        with pytest.raises(Unsupported, match=rf"{writes[0]} has written into .*_{first}\.log\..*, a log of {first}: "):
            planned(copy, first)
    assert planned(copy, writes[0]).target == writes[0]
    (found,) = [entry for entry in check(copy) if entry.finding == "savepoint-not-restorable"]
    assert (found.severity, found.subject) == (WARNING, first)
    assert f"{writes[0]} has written into " in found.meaning
    little = [entry for entry in check(copy) if entry.finding == "savepoint-protects-too-little"]
    assert little == []


# What a saved plan rests on.


def moved(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return [key for key in {**before, **now} if before.get(key) != now.get(key)]


def test_a_saved_plan_is_of_this_commit_and_these_files(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    target = copy.commits[-1]
    before = planned(copy, target).fingerprint
    assert moved(before, planned(copy, target).fingerprint) == []
    assert moved(before, planned(copy, target, replace(OPTIONS, comment="another")).fingerprint) == ["options"]
    commit = copy.file(target, "commit")
    put(commit, commit.read_bytes() + b"\n")
    assert moved(before, planned(copy, target).fingerprint) == ["commit"]
    put(commit, commit.read_bytes()[:-1])
    assert moved(before, planned(copy, copy.commits[-2]).fingerprint) == ["commit", "files"]


@VERSIONS
def test_a_saved_deletion_is_of_this_very_savepoint(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    before = plan_deletion(session(copy.table), target).fingerprint
    assert moved(before, plan_deletion(session(copy.table), target).fingerprint) == []
    edit(copy, target, lambda files: None, comment="made anew")
    assert moved(before, plan_deletion(session(copy.table), target).fingerprint) == ["savepoint"]


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("metadata_table", [True, False])
def test_a_file_of_a_rolled_back_write_is_not_kept(unpack: Unpack, version: str, metadata_table: bool) -> None:
    """It appeared again, and is older than the timeline: readers that list folders see its rows. In a savepoint no
    command would delete it any more."""
    copy = unpack(version, "cow_cleaned")
    if not metadata_table:
        without_metadata_table(copy)
    like = sorted(path for path in copy.data() if path.endswith(".parquet"))[-1]
    path = f"{like.rpartition('/')[0]}/0d5f2bb4-6a52-4b8e-9a5b-1f2f3a4b5c6d-0_0-1-1_{LONG_AGO}.parquet"
    put(copy.path / path, (copy.path / like).read_bytes())
    partition, _, name = path.rpartition("/")
    assert name in planned(copy, copy.commits[-1]).file_names[partition], "no proof, no refusal"
    rolled_back(copy, LONG_AGO)
    with pytest.raises(Refused, match="1 file of rolled-back writes") as caught:
        planned(copy, copy.commits[-1])
    assert caught.value.fields["files"] == [path]
    assert "orphans delete" in caught.value.hint
    delete(copy)
    planned(copy, copy.commits[-1])
