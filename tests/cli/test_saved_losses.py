"""A saved plan takes no more than a person has seen in it: what else is lost or deleted since is 12."""

import json
from pathlib import Path

import pytest

from hudictl.errors import Conflict, StorageFailed
from hudictl.ops.metadata.drop import DropOptions, drop_metadata, plan_metadata_drop
from hudictl.table.properties import update_properties
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.helpers import OWN, At, Copy, drop, only_listed, pending_restore, put, restore, savepoint, session, tree
from tests.ops.savepoint.pruning_support import save as save_one
from tests.ops.savepoint.pruning_support import save_all
from tests.ops.undo.hashing_support import TO_INSTANT, before, resize_of
from tests.state.orphans.find_support import between_commits, listed, orphan

LOCAL = ("--engine", "local", "--idle", "0")
FOLDER = ".hoodie/.bucket_index/partition_bucket_index_meta/configs"


def save(tell: Tell, copy: Copy, *command: str, name: str = "plan") -> Path:
    said = tell(*command, "-t", copy.path, "--plan", "-o", "json")
    assert said.code == 0, said.err
    return put(copy.path.parent / f"{name}.json", said.out)


def newest_files(copy: Copy) -> list[str]:
    """Of each file group the file that readers see."""
    groups: dict[tuple[str, str], str] = {}
    for path in sorted(copy.data(), key=lambda path: path.rpartition("_")[2]):
        folder, _, file = path.rpartition("/")
        groups[folder, file.partition("_")[0]] = path
    return list(groups.values())


def refused(tell: Tell, copy: Copy, file: Path, said: str) -> None:
    """With 12, before anything."""
    left = tree(copy.path, OWN)
    answer = tell("apply", file, "--engine", "local")
    assert (answer.code, said in answer.line) == (12, True), answer.line
    assert tree(copy.path, OWN) == left


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_loss_that_a_drop_has_not_shown(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    shown, *others = newest_files(copy)
    drop(copy.path / shown)
    file = save(tell, copy, "metadata", "drop", "--accept-loss", *LOCAL)
    assert json.loads(file.read_text())["result"]["files_lost"] == [shown]
    drop(copy.path / others[0])
    refused(tell, copy, file, "files lost: was 1 files")


def test_a_loss_between_a_drop_and_its_plan(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    shown, other, *_ = newest_files(copy)
    drop(copy.path / shown)
    made = plan_metadata_drop(session(copy.table), DropOptions(idle_ms=0, accept_loss=True))
    with pytest.raises(Conflict, match="files lost"):
        drop_metadata(session(copy.table, At("check again", lambda: drop(copy.path / other))), made)
    assert copy.table.metadata_partitions


def test_damaged_definitions_that_a_drop_has_not_shown(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_part")
    file = save(tell, copy, "metadata", "drop", *LOCAL)
    path = copy.meta / ".index_defs/index.json"
    put(path, path.read_bytes()[:-40])
    refused(tell, copy, file, "damaged definitions: was absent")


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_loss_that_the_end_of_a_restore_has_not_shown(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    made = tell("savepoint", "show", target, "-t", copy.path, "-o", "json").json
    first, second, *_ = [path for path in sorted(copy.data()) if path.rpartition("/")[2] in json.dumps(made)]
    pending_restore(copy, "20261121040000000", target, begun=True)
    drop(copy.path / first)
    file = save(tell, copy, "resume", "--accept-loss", *LOCAL)
    assert json.loads(file.read_text())["result"]["files_lost"] == [first]
    drop(copy.path / second)
    refused(tell, copy, file, "files lost: was 1 files")


def test_indexes_that_a_restore_has_not_shown(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    file = save(tell, copy, "restore", copy.savepoints[-1], "--metadata", "delete", *LOCAL)
    names = ",".join((*copy.table.metadata_partitions, "bloom_filters"))
    update_properties(copy.table.storage, {"hoodie.table.metadata.partitions": names})
    put(copy.meta / "metadata/bloom_filters/.hoodie_partition_metadata")
    refused(tell, copy, file, "metadata table: was deleted; lost: column_stats, partition_stats, is now")


def rescaled(folder: Path) -> Copy:
    return Copy("v9", "rescaled", support.unpack("v9", "rescaled", folder))


def config(copy: Copy, time: str) -> Path:
    return copy.path / FOLDER / f"{time}.hashing_config"


def test_files_of_buckets_that_a_deletion_has_not_named(tmp_path: Path, tell: Tell) -> None:
    copy = rescaled(tmp_path)
    resize, last = resize_of(copy), copy.commits[-1]
    body = config(copy, resize).read_bytes()
    restore(copy, before(copy), options=TO_INSTANT)
    put(config(copy, last), body)
    file = save(tell, copy, "orphans", "delete", *LOCAL)
    assert json.loads(file.read_text())["result"]["hashing_metadata_removed"] == [f"{FOLDER}/{last}.hashing_config"]
    other = put(config(copy, resize), body)
    refused(tell, copy, file, f"1 file to delete, but not in the plan: {FOLDER}/{resize}.hashing_config")
    drop(other)
    assert tell("apply", file, "--engine", "local").code == 0
    assert not config(copy, last).exists()


def test_files_of_buckets_that_a_restore_has_not_named(tmp_path: Path, tell: Tell) -> None:
    copy = rescaled(tmp_path)
    made = config(copy, resize_of(copy))
    body = made.read_bytes()
    drop(made)
    file = save(tell, copy, "restore", "--to-instant", before(copy), *LOCAL)
    put(made, body)
    refused(tell, copy, file, "1 file to delete, but not in the plan")


def test_14_files_of_buckets_that_were_added_by_hand(tmp_path: Path, tell: Tell) -> None:
    copy = rescaled(tmp_path)
    file = save(tell, copy, "restore", "--to-instant", before(copy), *LOCAL)
    document = json.loads(file.read_text())
    document["result"]["hashing_metadata_removed"] += [f"{FOLDER}/1.hashing_config"]
    put(file, json.dumps(document))
    assert tell("apply", file, "--engine", "local").code == 14


def test_a_deletion_that_died_is_ended_by_its_own_plan_alone(
    unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has left deleted indexes, which another plan has not shown."""
    copy = unpack("v9", "cow_part")
    listed(copy, orphan(copy, between_commits(copy)))
    other = save(tell, copy, "orphans", "delete", *LOCAL, name="other")
    file = save(tell, copy, "orphans", "delete", "--metadata", "delete", *LOCAL)

    def dies(*_: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        patch.setattr("hudictl.ops.clean_up.orphans.delete_dropped", dies)
        assert tell("apply", file, "--engine", "local").code == 15
    refused(tell, copy, other, "1 earlier deletion to delete, but not in the plan")
    assert tell("apply", file, "--engine", "local").code == 0
    assert tell("apply", file, "--engine", "local").out == "no orphans to delete: nothing to do\n"


def test_half_a_savepoint_that_a_prune_has_not_shown(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    first, _, last = save_all(copy, "nightly", "nightly", "nightly")
    prune = ("savepoint", "prune", "--tag", "nightly", "--engine", "local")
    assert tell(*prune, "--keep-last", "1", "--yes", "-t", copy.path).code == 0
    save_one(copy, copy.commits[1])
    file = save(tell, copy, *prune, "--keep-last", "1")
    copy.write(f"{first}.savepoint.inflight")
    assert first not in json.loads(file.read_text())["result"]["savepoints_to_delete"]
    refused(tell, copy, file, f"not in the plan: {first}")
    assert last in copy.savepoints


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_an_older_write_that_a_savepoint_has_not_shown(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    earlier = [f"{copy.commits[-1][:-3]}{number:03}" for number in (0, 1)]
    copy.write(f"{earlier[0]}.commit.requested")
    file = save(tell, copy, "savepoint", "create", copy.commits[-1], "--allow-pending", *LOCAL)
    copy.write(f"{earlier[1]}.commit.requested")
    refused(tell, copy, file, f"older pending writes: was {earlier[0]}, is now {earlier[0]}, {earlier[1]}")


def test_files_that_an_added_savepoint_has_not_shown(unpack: Unpack, tell: Tell) -> None:
    """It is there by then, and would get them."""
    copy = unpack("v9", "cow_part")
    file = save(tell, copy, "savepoint", "create", copy.commits[-1], *LOCAL)
    savepoint(copy, copy.commits[-1])
    assert tell("apply", file, "--engine", "local").code == 0
    only_listed(copy, "old")
    refused(tell, copy, file, "files: was 4 files")
