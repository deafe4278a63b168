"""What others have un-published is not published again by a withdrawal, and nothing that readers saw stays hidden; nor
does a table come out of it whose metadata table Hudi cannot build again."""

from dataclasses import replace
from typing import Any

import pytest

from hudictl.errors import Conflict, Refused
from hudictl.formats.instants import RESTORE
from hudictl.ops.restore import withdraw as withdraw_module
from hudictl.ops.rollback.discard import plan_discard
from hudictl.state.facts import read_signs
from hudictl.state.timeline.unfinished import WITHDRAW, way_out_of_restore
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, assert_ended, assert_listed, attempt, die, drop, restore, roll_back, session, tree
from tests.ops.put_back.undo_support import executes
from tests.ops.restore.metadata_table_support import TO_INSTANT
from tests.ops.restore.withdraw_support import OPTIONS, oldest, timeline, withdraw
from tests.ops.rollback.execute_support import died as rollback_died


@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_another_rollback_has_un_published_stays_so(unpack: Unpack, version: str) -> None:
    """It has changed the metadata table, too: published again, readers of that table would miss the commit's rows."""
    copy = unpack(version, "mor_part")
    target, between, newest = copy.commits[-3:]
    rollback_died(copy, newest, "delete files")
    before, backup = timeline(copy), tree(copy.meta / ".rollback_backup")
    die(copy, target, "delete files", OPTIONS)
    withdrawn = withdraw(copy)
    assert withdrawn.published_again == (between,)
    assert withdrawn.metadata_table == ("set aside" if version == "v6" else "put back")
    assert (timeline(copy), tree(copy.meta / ".rollback_backup")) == (before, backup)
    assert plan_discard(session(copy.table), 0).rollbacks == ()
    roll_back(copy, newest)
    assert_listed(copy.path)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_was_completed_and_has_no_copy_cannot_come_back(unpack: Unpack, version: str) -> None:
    """As where Hudi has gone on with the restore: the write would stay as a failed one."""
    copy = unpack(version, "cow_part")
    newest = copy.commits[-1]
    die(copy, oldest(copy), "delete files", OPTIONS)
    for path in (copy.meta / ".rollback_backup").glob(f"{newest}*"):
        drop(path)
    before = timeline(copy)
    with pytest.raises(Refused, match=f"{newest} was completed, and .hoodie/.rollback_backup has no copy of it"):
        withdraw(copy)
    assert timeline(copy) == before


@pytest.mark.parametrize("version", ["v8", "v9"])
@pytest.mark.parametrize("later", [False, True], ids=["indexing last", "commit last"])
def test_a_deleted_metadata_table_cannot_be_built_after_an_indexing(unpack: Unpack, version: str, later: bool) -> None:
    """Hudi's next write would make an empty record index of it (1.2.0), or fail (1.0.2)."""
    copy = unpack(version, "later")
    if later:
        for path in copy.timeline.glob("*indexing*"):
            drop(path)
    target, options = copy.commits[0], replace(TO_INSTANT, metadata="delete", idle_ms=0)
    die(copy, target, "un-publish instants", options)
    before, offered = timeline(copy), _hint(copy)
    assert (WITHDRAW in offered) is later
    if later:
        assert withdraw(copy).metadata_table == "deleted"
        return
    with pytest.raises(Refused, match=r"instant would be .* indexing: Hudi could not build it again"):
        withdraw(copy)
    assert timeline(copy) == before


def _hint(copy: Copy) -> str:
    (restore,) = read_signs(copy.table).planned_restores
    return way_out_of_restore(copy.table, restore)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_one_that_is_kept_comes_back_also_after_an_indexing(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "later")
    die(copy, copy.commits[0], "un-publish instants", replace(TO_INSTANT, idle_ms=0))
    assert WITHDRAW in _hint(copy)
    assert withdraw(copy).metadata_table == "put back"


@pytest.mark.parametrize("version", ["v6", "v9"])
@pytest.mark.parametrize("dies", [False, True])
def test_a_writer_that_executes_a_rollback_at_the_last_moment(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, dies: bool
) -> None:
    """After the look for missing files, before its rollbacks are gone: the restore is not withdrawn, but finished."""
    copy = unpack(version, "cow_savepoints")
    target = oldest(copy)
    die(copy, target, "delete files", OPTIONS)
    real = withdraw_module.remove_traces

    def executed(*given: Any) -> None:
        executes(copy, dies=dies)
        real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(withdraw_module, "remove_traces", executed)
        error = attempt(lambda: withdraw(copy))
    assert isinstance(error, Refused if dies else Conflict)
    assert dies or "another process has executed it" in error.message
    assert [entry.pending for entry in load_timeline(copy.table).having(RESTORE)] == [True]
    restore(copy, target, options=OPTIONS)
    assert copy.commits[-1] == target
    if dies:
        assert_ended(copy, target)
