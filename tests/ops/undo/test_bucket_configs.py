"""The numbers of buckets by partition go with the resize that made them: a left file counts for writers and queries."""

from pathlib import Path

import pytest

from hudictl.errors import Incomplete, Refused, StorageFailed
from hudictl.ops.clean_up.orphans import OrphanOptions, delete_orphans, plan_orphan_deletion
from hudictl.ops.restore.withdraw import plan_withdrawal
from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import ERROR
from tests import support
from tests.helpers import ENGINE, At, Copy, FailDeletion, first_command, plan, put, restore, roll_back, session
from tests.ops.rollback.execute_support import STEPS, died
from tests.ops.undo.hashing_support import TO_INSTANT, before, resize_of

FOLDER = ".hoodie/.bucket_index/partition_bucket_index_meta/configs"
OTHER = "20250101000000000"


def rescaled(folder: Path) -> Copy:
    return Copy("v9", "rescaled", support.unpack("v9", "rescaled", folder))


def config(copy: Copy, time: str) -> Path:
    return copy.path / FOLDER / f"{time}.hashing_config"


def found(copy: Copy) -> list[tuple[str, str, str]]:
    return [(one.finding, one.severity, one.subject) for one in check_table(copy.table, ENGINE, 600_000).findings]


def left(copy: Copy) -> str:
    """A resize that Hudi has taken back: as its own restore leaves it."""
    resize = resize_of(copy)
    body = config(copy, resize).read_bytes()
    restore(copy, before(copy), options=TO_INSTANT)
    put(config(copy, resize), body)
    return resize


@pytest.mark.parametrize("earlier", [False, True])
def test_a_restore_names_and_deletes_it(earlier: bool, tmp_path: Path) -> None:
    """The last one with its folder: at an empty folder each read of Hudi fails."""
    copy = rescaled(tmp_path)
    resize = resize_of(copy)
    if earlier:
        put(config(copy, OTHER))
    assert plan(copy, before(copy), TO_INSTANT).undo.hashing_metadata_removed == (f"{FOLDER}/{resize}.hashing_config",)
    restore(copy, before(copy), options=TO_INSTANT)
    assert [path.name for path in copy.path.joinpath(FOLDER).glob("*")] == [f"{OTHER}.hashing_config"] * earlier
    assert (copy.path / FOLDER).exists() is earlier


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_the_rest_of_a_rollback_deletes_it(step: str, tmp_path: Path) -> None:
    copy = rescaled(tmp_path)
    resize = resize_of(copy)
    roll_back(copy, copy.commits[-1])
    assert config(copy, resize).exists()
    died(copy, resize, step)
    roll_back(copy, resize)
    assert not (copy.path / FOLDER).exists()


def test_one_that_cannot_be_deleted_keeps_the_restore_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = rescaled(tmp_path)
    resize, target = resize_of(copy), before(copy)
    put(config(copy, OTHER))
    with monkeypatch.context() as patch:
        FailDeletion(f"{resize}.hashing_config").install(patch)
        with pytest.raises(StorageFailed, match=rf"{resize}\.hashing_config"):
            restore(copy, target, options=TO_INSTANT)
    restore(copy, target, options=TO_INSTANT)
    assert not config(copy, resize).exists()


def test_one_that_comes_back_keeps_it_pending(tmp_path: Path) -> None:
    copy = rescaled(tmp_path)
    resize, target = resize_of(copy), before(copy)
    back = At("verify", lambda: put(config(copy, resize)))
    with pytest.raises(Incomplete, match=f"{resize}.hashing_config"):
        restore(copy, target, back, TO_INSTANT)
    restore(copy, target, options=TO_INSTANT)
    assert not config(copy, resize).exists()


def test_it_is_there_as_long_as_the_restore_can_be_withdrawn(tmp_path: Path) -> None:
    copy = rescaled(tmp_path)
    resize, target = resize_of(copy), before(copy)

    def look() -> None:
        assert config(copy, resize).exists()
        raise StorageFailed("the process dies here")

    with pytest.raises(StorageFailed, match="dies here"):
        restore(copy, target, At("delete files", look), TO_INSTANT)
    assert plan_withdrawal(session(copy.table), 0).instants
    with pytest.raises(StorageFailed, match="dies here"):
        restore(copy, target, At("verify", lambda: (_ for _ in ()).throw(StorageFailed("dies here"))), TO_INSTANT)
    assert not config(copy, resize).exists()
    with pytest.raises(Refused, match="already deleted"):
        plan_withdrawal(session(copy.table), 0)


def test_what_was_left_is_found_and_deleted(tmp_path: Path) -> None:
    copy = rescaled(tmp_path)
    resize = left(copy)
    (one,) = check_table(copy.table, ENGINE, 600_000).findings
    assert (one.finding, one.severity, one.subject) == ("hashing-metadata-left", ERROR, resize)
    assert first_command(one) == "hudictl orphans delete"
    made = plan_orphan_deletion(session(copy.table), OrphanOptions(0))
    assert (made.nothing_to_do, made.hashing_metadata_removed) == (False, (f"{FOLDER}/{resize}.hashing_config",))
    delete_orphans(session(copy.table), made)
    assert not (copy.path / FOLDER).exists()
    assert found(copy) == []


def test_what_no_rollback_names_stays(tmp_path: Path) -> None:
    """Not both reasons: its instant is on no timeline, but nobody says that it was taken back."""
    copy = rescaled(tmp_path)
    unknown = str(int(copy.commits[-1]) + 1)
    put(config(copy, unknown))
    assert plan_orphan_deletion(session(copy.table), OrphanOptions(0)).nothing_to_do
    (one,) = check_table(copy.table, ENGINE, 600_000).findings
    assert (one.finding, one.subject, one.remedy) == ("hashing-metadata-left", unknown, ())


def test_an_instant_that_appears_keeps_it(tmp_path: Path) -> None:
    copy = rescaled(tmp_path)
    resize = left(copy)
    made = plan_orphan_deletion(session(copy.table), OrphanOptions(0))
    appear = At("delete what was left for the buckets", lambda: copy.write(f"{resize}.replacecommit.requested"))
    delete_orphans(session(copy.table, appear), made)
    assert (appear.done, config(copy, resize).exists()) == (True, True)


def test_an_empty_folder_is_found(tmp_path: Path) -> None:
    copy = rescaled(tmp_path)
    for path in (copy.path / FOLDER).iterdir():
        path.unlink()
    assert found(copy) == [("bucket-configs-missing", ERROR, FOLDER)]
