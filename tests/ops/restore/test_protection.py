"""A restore to an instant without savepoint: what it ends with, and what protects the target while it runs."""

import json

import pytest

from hudictl.errors import Conflict, Refused
from hudictl.formats import savepoint as fmt
from hudictl.formats.clean import decode_metadata
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.savepoint.deletion import plan_deletion
from hudictl.table.timeline.active import load_timeline
from tests import records
from tests.fixtures import Unpack
from tests.helpers import (
    At,
    Copy,
    assert_ended,
    die,
    drop,
    in_the_middle,
    plan,
    required,
    restore,
    savepoint,
    session,
    tree,
)

LATER = "20261121235959999"
TO_INSTANT = RestoreOptions(to_instant=True)
TABLES = [
    (version, name)
    for version in ("v6", "v8", "v9")
    for name in ("cow_part", "cow_cluster", "mor_part", "mor_pending_compaction", "mor_parquet_logs")
]


def ended(copy: Copy) -> tuple[dict[str, int], set[str]]:
    """Data files with their sizes, and the timeline without savepoints and restores."""
    files = {path: (copy.path / path).stat().st_size for path in copy.data()}
    return files, {name for name in copy.instants() if ".restore" not in name and ".savepoint" not in name}


def own_savepoint(copy: Copy, target: str) -> fmt.SavepointMetadata:
    done = copy.file(target, "savepoint")
    return fmt.decode(done.read_bytes(), done.name)


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), TABLES)
def test_it_ends_as_a_restore_to_a_savepoint_does(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    target = copy.commits[-3]
    made = plan(copy, target, TO_INSTANT)
    assert made.protecting_savepoint
    restore(copy, target, options=TO_INSTANT)
    assert copy.having("savepoint") == []
    assert_ended(copy, target)
    without = ended(copy)
    other = Copy(version, name, copy.path.parent.with_name("other") / "table")
    copy.path.parent.rename(other.path.parent)
    copy = unpack(version, name)
    savepoint(copy, target)
    with_savepoint = plan(copy, target)
    assert not with_savepoint.protecting_savepoint
    assert [removal.time for removal in made.undo.removals] == [
        removal.time for removal in with_savepoint.undo.removals
    ]
    assert set(required(copy.table, made.undo.case)) == set(required(copy.table, with_savepoint.undo.case))
    restore(copy, target)
    assert ended(copy) == without


@pytest.mark.parametrize("step", ["take the metadata table out of use", "delete files", "publish the restore"])
@pytest.mark.parametrize(("version", "name"), [("v6", "cow_part"), ("v8", "mor_part"), ("v9", "cow_part")])
def test_a_savepoint_of_its_own_protects_the_target_while_it_runs(
    unpack: Unpack, version: str, name: str, step: str
) -> None:
    copy = unpack(version, name)
    target = copy.commits[1]
    needed = set(required(copy.table, plan(copy, target, TO_INSTANT).undo.case))
    seen: list[fmt.SavepointMetadata] = []
    restore(copy, target, At(step, lambda: seen.append(own_savepoint(copy, target))), TO_INSTANT)
    (requested,) = copy.having("restore.requested")
    assert seen[0].comment == f"hudictl: protects the target of restore {requested.partition('.')[0]}"
    assert {f"{folder}/{name}" for folder, names in seen[0].files.items() for name in names} == needed
    assert copy.having("savepoint") == []


def test_nothing_protects_it_before_the_restore_has_begun(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    seen: list[list[str]] = []
    restore(copy, copy.commits[1], At("prepare", lambda: seen.append(copy.having("savepoint"))), TO_INSTANT)
    assert seen == [[]]


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_the_operators_own_savepoint_on_the_target_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    before = copy.file(target, "savepoint").read_bytes()
    assert not plan(copy, target, TO_INSTANT).protecting_savepoint
    restore(copy, target, options=TO_INSTANT)
    assert copy.file(target, "savepoint").read_bytes() == before
    assert (copy.timeline / f"{target}.savepoint.inflight").exists()


def test_a_savepoint_is_asked_for_unless_the_instant_is_named(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    with pytest.raises(Refused, match=copy.commits[1]) as caught:
        plan(copy, copy.commits[1])
    assert "--to-instant" in caught.value.hint


@pytest.mark.parametrize("damage", ["absent", "pending", "archived"])
def test_only_a_completed_commit_of_the_active_timeline_can_be_the_target(unpack: Unpack, damage: str) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[1] if damage != "absent" else "20260101000000000"
    if damage != "absent":
        drop(copy.file(target, "commit"))
    if damage == "archived":
        drop(copy.timeline / f"{target}.inflight")
        drop(copy.timeline / f"{target}.commit.requested")
        records.archive(copy, target)
    before = tree(copy.path)
    with pytest.raises(Refused, match=target):
        plan(copy, target, TO_INSTANT)
    assert tree(copy.path) == before


# Pitfalls 6: cleans.


def cleaned(copy: Copy) -> set[str]:
    """What the cleans on the timeline say they have taken."""
    taken = set()
    for entry in load_timeline(copy.table).having("clean"):
        done = copy.file(entry.time, "clean")
        deleted = decode_metadata(done.read_bytes(), done.name).deleted
        taken |= {f"{partition}/{name}" for partition, names in deleted.items() for name in names}
    return taken


@pytest.mark.slow
def test_a_file_that_a_clean_took_is_named(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_cleaned")
    oldest, *others = copy.commits
    before = tree(copy.path)
    with pytest.raises(Refused, match=oldest) as caught:
        plan(copy, oldest, TO_INSTANT)
    missing = caught.value.fields["missing"]
    assert set(missing) == {path for path in cleaned(copy) if oldest in path}
    assert missing[0] in caught.value.message
    for target in others:
        assert plan(copy, target, TO_INSTANT).target == target
    assert tree(copy.path) == before


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_file_that_is_gone_is_named(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    target = copy.commits[0]
    lost = sorted(required(copy.table, plan(copy, target, TO_INSTANT).undo.case))[0]
    drop(copy.path / lost)
    with pytest.raises(Refused, match=target) as caught:
        plan(copy, target, TO_INSTANT)
    assert caught.value.fields["missing"] == [lost]


@pytest.mark.parametrize("step", ["prepare", "settled"])
@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_clean_that_comes_in_before_it_sees_the_savepoint(unpack: Unpack, version: str, step: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[1]
    published = copy.commits
    needed = sorted(required(copy.table, plan(copy, target, TO_INSTANT).undo.case))
    clean = f"{LATER}.clean.requested"
    at = {"prepare": "prepare", "settled": "begin the restore"}[step]
    with pytest.raises(Conflict, match=LATER) as caught:
        restore(copy, target, At(at, lambda: copy.write(clean, records.clean_plan(needed[:1]))), TO_INSTANT)
    assert caught.value.exit_code == 12
    assert copy.commits == published
    assert copy.having("restore.inflight")
    assert copy.having("rollback") == []
    drop(copy.timeline / clean)
    restore(copy, target)
    assert copy.having("savepoint") == []
    assert_ended(copy, target)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_clean_that_ends_before_it_could_see_the_savepoint(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not pending any more when the next step looks for one: what it took is not asked for again."""
    copy = unpack(version, "cow_part")
    target, published = copy.commits[1], copy.commits
    clean = f"{LATER}.clean" if version == "v6" else f"{LATER}_{LATER}.clean"
    body = records.clean_metadata([])
    in_the_middle(monkeypatch, "hudictl.ops.restore.protection.completion_now", lambda: copy.write(clean, body))
    with pytest.raises(Conflict, match=LATER):
        restore(copy, target, options=TO_INSTANT)
    assert (copy.commits, bool(copy.having("restore.inflight"))) == (published, True)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_pending_clean_that_was_there_is_discarded_by_the_plan(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[1]
    needed = sorted(required(copy.table, plan(copy, target, TO_INSTANT).undo.case))
    earlier = f"{target[:-3]}001"
    copy.write(f"{earlier}.clean.requested", records.clean_plan(needed[:1]))
    assert dict(plan(copy, target, TO_INSTANT).undo.cleans_discarded) == {earlier: 1}
    restore(copy, target, options=TO_INSTANT)
    assert copy.having("clean") == []
    assert_ended(copy, target)


# A death, and the same command again.


@pytest.mark.slow
@pytest.mark.parametrize("step", ["prepare", "un-publish instants", "delete files", "publish the restore"])
@pytest.mark.parametrize(("version", "name"), [("v6", "mor_part"), ("v8", "cow_part"), ("v9", "mor_part")])
def test_it_is_finished_without_saying_again_that_there_is_no_savepoint(
    unpack: Unpack, version: str, name: str, step: str
) -> None:
    copy = unpack(version, name)
    target = copy.commits[1]
    die(copy, target, step, TO_INSTANT)
    made = plan(copy, target)
    assert made.protecting_savepoint
    restore(copy, target)
    assert copy.having("savepoint") == []
    assert_ended(copy, target)


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_it_is_finished_where_somebody_took_its_savepoint(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[1]
    die(copy, target, "un-publish instants", TO_INSTANT)
    drop(copy.file(target, "savepoint"))
    drop(copy.timeline / f"{target}.savepoint.inflight")
    seen: list[fmt.SavepointMetadata] = []
    restore(copy, target, At("delete files", lambda: seen.append(own_savepoint(copy, target))))
    assert seen
    assert copy.having("savepoint") == []
    assert_ended(copy, target)


def test_a_savepoint_of_its_own_that_was_begun_is_completed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[1]
    die(copy, target, "un-publish instants", TO_INSTANT)
    drop(copy.file(target, "savepoint"))
    restore(copy, target)
    assert copy.having("savepoint") == []
    assert_ended(copy, target)


def test_it_cannot_be_taken_for_the_operators(unpack: Unpack) -> None:
    """`savepoint delete` does not take it from a restore that runs or has died."""
    copy = unpack("v9", "cow_part")
    target = copy.commits[1]
    die(copy, target, "un-publish instants", TO_INSTANT)
    with pytest.raises(Refused, match="pending"):
        plan_deletion(session(copy.table), target)


def test_the_record_says_that_an_instant_was_asked_for(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    result = restore(copy, copy.commits[1], options=TO_INSTANT)
    record = json.loads((copy.meta / ".hudictl" / "operations" / f"{result.restore}.json").read_text())
    assert record["plan"]["options"]["to_instant"] is True


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_clean_that_ends_beside_a_resumed_restore_is_seen(unpack: Unpack, version: str) -> None:
    """It may have been planned before the savepoint, which is there since the first attempt."""
    copy = unpack(version, "cow_part")
    target = copy.commits[1]
    die(copy, target, "un-publish instants", TO_INSTANT)
    assert copy.savepoints == [target]
    clean = f"{LATER}.clean" if version == "v6" else f"{LATER}_{LATER}.clean"
    body = records.clean_metadata([])
    with pytest.raises(Conflict, match=LATER):
        restore(copy, target, At("prepare", lambda: copy.write(clean, body)))
