"""The metadata of consistent hashing goes with the resize that made it, by a restore and by a rollback."""

from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import Conflict, Incomplete, StorageFailed
from hudictl.ops.undo import execute as undo_steps
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.helpers import OWN, At, Copy, FailDeletion, plan, put, restore, roll_back, rollback_of
from tests.ops.rollback.execute_support import STEPS, died
from tests.ops.undo.hashing_support import METADATA, TO_INSTANT, before, commit_all, hashing, resize_of, table

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LATER = "20261122235900000"


@VERSIONS
def test_a_restore_names_and_deletes_it(version: str, tmp_path: Path) -> None:
    copy = table(version, tmp_path)
    resize, target, kept = resize_of(copy), before(copy), hashing(copy, "0000")
    own = hashing(copy, resize)
    assert len(own) == (2 if version == "v6" else 4)
    made = plan(copy, target, TO_INSTANT)
    assert (set(made.undo.hashing_metadata_removed), "undo.hashing_metadata_removed" in made.shown) == (own, True)
    restore(copy, target, options=TO_INSTANT)
    assert (hashing(copy), bool(kept)) == (kept, True)


@VERSIONS
def test_a_rollback_names_and_deletes_it(version: str, tmp_path: Path) -> None:
    copy = table(version, tmp_path)
    resize, kept = resize_of(copy), hashing(copy, "0000")
    assert rollback_of(copy, copy.commits[-1]).undo.hashing == ()
    roll_back(copy, copy.commits[-1])
    commit_all(copy, resize)
    assert len(rollback_of(copy, resize).undo.hashing_metadata_removed) == 4
    roll_back(copy, resize)
    assert hashing(copy) == kept


@VERSIONS
def test_what_says_that_it_counts_goes_before_a_writer_can_execute_the_rollback(version: str, tmp_path: Path) -> None:
    """Hudi's own rollback of it would leave the files: from the request on they must be worth nothing without it."""
    copy = table(version, tmp_path)
    resize = resize_of(copy)
    roll_back(copy, copy.commits[-1])
    commit_all(copy, resize)
    seen: list[set[str]] = []
    roll_back(copy, resize, At("request the rollback", lambda: seen.append(hashing(copy, resize))))
    assert [{path.rpartition(".")[2] for path in paths} for paths in seen] == [{"hashing_meta"}]


@VERSIONS
@pytest.mark.parametrize("step", STEPS)
def test_the_rest_of_a_rollback_deletes_what_is_left(version: str, step: str, tmp_path: Path) -> None:
    copy = table(version, tmp_path)
    resize, kept = resize_of(copy), hashing(copy, "0000")
    roll_back(copy, copy.commits[-1])
    died(copy, resize, step)
    # A writer has loaded the buckets meanwhile.
    for folder in ("a", "b"):
        put(copy.path / METADATA / folder / f"{resize}.hashing_meta")
        put(copy.path / METADATA / folder / f"{resize}.commit")
    roll_back(copy, resize)
    assert hashing(copy) == kept


@VERSIONS
def test_the_rest_of_a_restore_deletes_what_is_left(version: str, tmp_path: Path) -> None:
    """Its instants may be gone from the timeline: the restore's own plan names them."""
    copy = table(version, tmp_path)
    resize, target, kept = resize_of(copy), before(copy), hashing(copy, "0000")

    def die() -> None:
        raise StorageFailed("the process dies here")

    with pytest.raises(StorageFailed, match="dies here"):
        restore(copy, target, At("publish the restore", die), TO_INSTANT)
    assert load_timeline(copy.table).find(resize, "replacecommit") is None
    put(copy.path / METADATA / "a" / f"{resize}.hashing_meta")
    restore(copy, target, options=TO_INSTANT)
    assert hashing(copy) == kept


@pytest.mark.parametrize("suffix", ["commit", "hashing_meta"])
def test_what_cannot_be_deleted_keeps_the_restore_pending(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A .commit alone would end every write."""
    copy = table("v9", tmp_path)
    resize, target = resize_of(copy), before(copy)
    with monkeypatch.context() as patch:
        FailDeletion(f"b/{resize}.{suffix}").install(patch)
        with pytest.raises(StorageFailed, match=rf"b/{resize}\.{suffix}"):
            restore(copy, target, options=TO_INSTANT)
    commits = {path for path in hashing(copy) if path.endswith(".commit")}
    assert {path.removesuffix("commit") + "hashing_meta" for path in commits} <= hashing(copy)
    restore(copy, target, options=TO_INSTANT)
    assert hashing(copy, resize) == set()


@pytest.mark.parametrize("kind", ["restore", "rollback"])
def test_what_comes_back_keeps_it_pending(kind: str, tmp_path: Path) -> None:
    copy = table("v9", tmp_path)
    resize, target = resize_of(copy), before(copy)
    back = At("verify", lambda: put(copy.path / METADATA / "a" / f"{resize}.hashing_meta"))
    if kind == "rollback":
        roll_back(copy, copy.commits[-1])
    with pytest.raises(Incomplete, match=f"{resize}.hashing_meta") as caught:
        restore(copy, target, back, TO_INSTANT) if kind == "restore" else roll_back(copy, resize, back)
    assert caught.value.exit_code == 3


@VERSIONS
def test_only_names_of_removed_instants_go(version: str, tmp_path: Path) -> None:
    copy = table(version, tmp_path)
    resize = resize_of(copy)
    others = {
        f"{METADATA}/a/{LATER}.hashing_meta",
        f"{METADATA}/a/{resize}.hashing_meta.bak",
        f"{METADATA}/a/x{resize}.commit",
        f".hoodie/.bucket_index/{resize}.hashing_meta",
        f"a/{resize}.commit",
    }
    for path in others:
        put(copy.path / path)
    restore(copy, before(copy), options=TO_INSTANT)
    assert [path for path in sorted(others) if not (copy.path / path).exists()] == []


def test_without_consistent_hashing_there_is_none(tmp_path: Path) -> None:
    copy = Copy("v9", "cow_part", support.unpack("v9", "cow_part", tmp_path))
    assert plan(copy, copy.commits[0], TO_INSTANT).undo.hashing == ()


def test_a_table_without_partitions_has_it_at_the_top(tmp_path: Path) -> None:
    copy = Copy("v9", "cow_flat_nomdt", support.unpack("v9", "cow_flat_nomdt", tmp_path))
    path = put(copy.path / METADATA / f"{copy.commits[-1]}.hashing_meta")
    roll_back(copy, copy.commits[-1])
    assert not path.exists()


# The claim, while blocks are written: for the restore as for the rollback (rollback/test_new_metadata_table.py).


@VERSIONS
def test_a_claim_that_is_lost_while_a_restore_writes_blocks(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = table(version, tmp_path)
    files = copy.data()
    real = undo_steps.write_blocks

    def late(*arguments: Any) -> Any:
        written = real(*arguments)
        put(copy.path / OWN / "claim-2", "{}", old=False)
        return written

    monkeypatch.setattr(undo_steps, "write_blocks", late)
    with pytest.raises(Conflict, match="taken over"):
        restore(copy, before(copy), options=TO_INSTANT)
    assert files <= copy.data()
