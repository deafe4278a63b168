"""A restore that keeps the metadata table dies, and a writer builds another one in its place: the rerun never puts that
one to use, nor a half of the one that it keeps."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hudictl.errors import Conflict
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.planning import plan_rollback
from hudictl.state.metadata.record import read_kept
from hudictl.table.open import open_table
from hudictl.table.properties import update_properties
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.crash import reader, restore_support, rollback_support
from tests.crash.inject import Crash, copy, deaths, dying
from tests.crash.kept import assert_nothing_left, assert_right_if_listed, content, end_leftovers
from tests.crash.metadata_kept_support import WAYS, _compacted, _end_restore, _way, store
from tests.helpers import At, in_the_middle, put, session

__all__ = ["store"]
pytestmark = pytest.mark.crash

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
SHORT = pytest.mark.short("v6-moves", "v9-store")
LISTED = "hoodie.table.metadata.partitions"
ANOTHER = "# another\n"
Put = Callable[[Path, Path], None]


def _beside(base: Path, whole: Path, *, over: bool = False) -> None:
    """Another complete metadata table in its place, as the data was before the restore; readers do not use it."""
    folder, other = base / ".hoodie/metadata", whole / ".hoodie/metadata"
    if not over:
        shutil.rmtree(folder, ignore_errors=True)
    for path in sorted(other.rglob("*")):
        if path.is_file():
            # A new file: the copies of a table share theirs.
            (folder / path.relative_to(other)).unlink(missing_ok=True)
            put(folder / path.relative_to(other), path.read_bytes(), old=False)
    properties = folder / ".hoodie/hoodie.properties"
    put(properties, properties.read_bytes() + ANOTHER.encode(), old=False)


def _in_use(base: Path, whole: Path) -> None:
    """The same, and readers use it."""
    _beside(base, whole)
    update_properties(open_table(str(base)).storage, {LISTED: open_table(str(whole)).properties[LISTED]})


def _over(base: Path, whole: Path) -> None:
    """The same, and files of the one that was there are still there."""
    _beside(base, whole, over=True)


def _with_the_times(base: Path, whole: Path) -> None:
    """The same, and its files have the times of those that were there."""
    _beside(base, whole)
    for path in (whole / ".hoodie/metadata").rglob("*"):
        if (base / path.relative_to(whole)).is_file():
            times = path.stat()
            os.utime(base / path.relative_to(whole), ns=(times.st_atime_ns, times.st_mtime_ns))


COMPLETE: dict[str, Put] = {
    "in_use": _in_use,
    "beside": _beside,
    "over": _over,
    "same_times": _with_the_times,
}


def _begin(base: Path) -> None:
    """A writer begins one: a folder, and no properties yet."""
    put(base / ".hoodie/metadata/.hoodie/.temp/begun", old=False)


def _pending(base: Path) -> str | None:
    """The time of a restore that has begun, and is not completed."""
    found = [entry.time for entry in load_timeline(open_table(str(base))).having("restore") if entry.pending]
    return found[0] if len(found) == 1 else None


def _assert_ended(case: restore_support.Case, base: Path, point: object) -> None:
    """The metadata table is the one that was to be kept, as it was to be; or none is there."""
    wanted, found = content(case.base.parents[1] / "done"), content(base)
    assert found == wanted or (found.partitions, found.building, found.files) == ("", "", ()), point
    assert_right_if_listed(base)
    assert_nothing_left(base)
    assert reader.snapshot(base).digest == reader.as_of(base, case.target).digest


def _died(case: restore_support.Case, folder: Path, at: int) -> tuple[Path, bool]:
    """A table on which the restore has died; and whether it knows which metadata table it keeps."""
    base = copy(case.base, folder)
    with dying(at), pytest.raises(Crash):
        restore_support._restore(base, case.target, case.options)
    restore = _pending(base)
    return base, restore is not None and read_kept(open_table(str(base)), restore) is not None


def _points(case: restore_support.Case, folder: Path, every: int) -> Iterator[tuple[int, Path]]:
    """Where it dies while it keeps one."""
    for at in deaths(case.mutations, every):
        base, keeps = _died(case, folder / f"crash-{at}", at)
        if keeps:
            yield at, base


def _another_comes(version: str, kind: str, every: int, folder: Path) -> None:
    case = _way(version, "cow_record_index", WAYS["back"], folder)
    seen = 0
    for at, base in _points(case, folder, every):
        COMPLETE[kind](base, case.base)
        _end_restore(case, base)
        properties = base / ".hoodie/metadata/.hoodie/hoodie.properties"
        assert not properties.exists() or ANOTHER not in properties.read_text()
        _assert_ended(case, base, at)
        seen += 1
    assert seen > 5


@pytest.mark.short("v6-in_use-moves", "v9-beside-store", "v9-over-store")
@VERSIONS
@pytest.mark.parametrize("kind", list(COMPLETE))
def test_another_metadata_table_is_not_taken_for_the_one_that_is_kept(
    version: str, kind: str, store: str, tmp_path: Path
) -> None:
    _another_comes(version, kind, 7, tmp_path)


@pytest.mark.full
@VERSIONS
@pytest.mark.parametrize("kind", list(COMPLETE))
def test_another_metadata_table_comes_at_every_mutation(version: str, kind: str, tmp_path: Path) -> None:
    _another_comes(version, kind, 1, tmp_path)


def _dies_again(version: str, kind: str, first: int, every: int, folder: Path) -> None:
    """Dies twice, with another metadata table in between: the second time at many places."""
    case = _way(version, "cow_record_index", WAYS["back"], folder)
    for at, died in _points(case, folder, first):
        COMPLETE[kind](died, case.base)
        _reruns_die(case, died, folder / f"at-{at}", every)


def _reruns_die(case: restore_support.Case, died: Path, folder: Path, every: int) -> None:
    folder.mkdir(exist_ok=True)
    trial = copy(died, folder / "trial")
    with dying(None) as system:
        _end_restore(case, trial)
    _assert_ended(case, trial, folder)
    for again in deaths(system.count, every):
        base = copy(died, folder / f"crash-{again}")
        with dying(again), pytest.raises(Crash):
            _end_restore(case, base)
        _end_restore(case, base)
        _assert_ended(case, base, (folder, again))


@pytest.mark.short("v6-over-store", "v9-same_times-store", "v9-in_use-moves")
@VERSIONS
@pytest.mark.parametrize("kind", list(COMPLETE))
def test_a_rerun_beside_another_metadata_table_dies_too(version: str, kind: str, store: str, tmp_path: Path) -> None:
    """No half of the kept one comes back."""
    _dies_again(version, kind, 67, 11, tmp_path)


@pytest.mark.full
@VERSIONS
@pytest.mark.parametrize("kind", list(COMPLETE))
def test_a_rerun_beside_another_metadata_table_dies_at_every_mutation(version: str, kind: str, tmp_path: Path) -> None:
    _dies_again(version, kind, 29, 1, tmp_path)


@pytest.mark.full
@VERSIONS
def test_one_that_is_damaged_where_it_was_set_aside_is_deleted(version: str, store: str, tmp_path: Path) -> None:
    """If the rerun dies in the middle of the deletion, its other half does not come back, readable as it is then."""
    case = _way(version, "cow_record_index", WAYS["back"], tmp_path)
    died = copy(case.base, tmp_path / "died")
    table = open_table(str(died))

    def dies() -> None:
        raise Crash

    plan = plan_restore(session(table), case.target, case.options)
    with dying(None), pytest.raises(Crash):
        execute_restore(session(table, At("remove instants", dies)), plan)
    restore = _pending(died)
    folder = died / ".hoodie" / (f".hudictl/metadata-{restore}" if store == "moves" else "metadata")
    for base in (folder / "files").glob("[!.]*.hfile"):
        status = base.stat()
        base.unlink()
        put(base, bytes(status.st_size), old=False)
        os.utime(base, ns=(status.st_atime_ns, status.st_mtime_ns))
    _reruns_die(case, died, tmp_path / "reruns", 1)
    assert content(tmp_path / "reruns/trial").files == ()


# One comes while a command is at work

STEPS = ["write rollback plans", "un-publish instants", "delete files", "verify", "remove instants"]
LATE = ["roll the metadata table back", "publish the restore"]


@pytest.mark.full
@VERSIONS
def test_one_that_comes_between_two_phases_is_not_trusted(version: str, store: str, tmp_path: Path) -> None:
    case = _way(version, "cow_record_index", WAYS["back"], tmp_path)
    for step in (*STEPS, *LATE):
        for kind, comes in COMPLETE.items():
            base = copy(case.base, tmp_path / f"{step} {kind}")
            table = open_table(str(base))
            plan = plan_restore(session(table), case.target, case.options)
            monitor = At(step, lambda base=base, comes=comes: comes(base, case.base))
            if store == "store" and step == LATE[1]:
                # The kept one was ready, and is lost: the rerun goes on without one.
                with pytest.raises(Conflict, match="has built a new metadata table"):
                    execute_restore(session(table, monitor), plan)
                _end_restore(case, base)
            else:
                execute_restore(session(table, monitor), plan)
            _assert_ended(case, base, (step, kind))


@SHORT
@VERSIONS
def test_one_that_comes_at_the_last_moment_stops_the_restore(
    version: str, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 12. If the rerun dies too, no half of the kept one comes back."""
    case = _way(version, "cow_record_index", WAYS["back"], tmp_path)
    stopped = copy(case.base, tmp_path / "stopped")
    with monkeypatch.context() as patch:
        in_the_middle(patch, "hudictl.ops.restore.execute._clear_up", lambda: _beside(stopped, case.base))
        with pytest.raises(Conflict, match="has built a new metadata table") as caught:
            restore_support._restore(stopped, case.target, case.options)
    assert (caught.value.exit_code, _pending(stopped) is not None) == (12, True)
    assert_right_if_listed(stopped)
    _reruns_die(case, stopped, tmp_path, 5)


@pytest.mark.full
@VERSIONS
@pytest.mark.parametrize("step", [*STEPS[:-1], LATE[1]])
def test_one_that_begins_while_a_restore_works_stops_it(version: str, step: str, store: str, tmp_path: Path) -> None:
    """With 12, until what has begun is gone, or complete."""
    case = _way(version, "cow_record_index", WAYS["back"], tmp_path)
    base = copy(case.base, tmp_path / "begun")
    begun = base / ".hoodie/metadata/.hoodie/.temp/begun"
    for act in (At(step, lambda: _begin(base)), None, None):
        table = open_table(str(base))
        with pytest.raises(Conflict, match="is building a new metadata table") as caught:
            execute_restore(session(table, act), plan_restore(session(table), case.target, case.options))
        assert (caught.value.exit_code, begun.exists(), _pending(base) is not None) == (12, True, True)
    gone, complete = copy(base, tmp_path / "gone"), copy(base, tmp_path / "complete")
    shutil.rmtree(gone / ".hoodie/metadata" / ("" if store == "moves" else ".hoodie/.temp"))
    _beside(complete, case.base)
    for left in (gone, complete):
        _end_restore(case, left)
        _assert_ended(case, left, step)
    # It was only begun: the kept one is there.
    assert content(gone).listing is not None


@pytest.mark.full
@VERSIONS
@pytest.mark.parametrize("step", ["delete files", "verify", "roll the metadata table back", "publish the rollback"])
def test_one_that_begins_while_a_rollback_works_stops_it(version: str, step: str, store: str, tmp_path: Path) -> None:
    base = support.unpack(version, "mor_part" if version != "v6" else "cow_part", tmp_path)
    whole = copy(base, tmp_path / "whole")
    target = _compacted(base) if version != "v6" else rollback_support._newest(base)
    done = copy(base, tmp_path / "done")
    rollback_support._roll_back(done, target, rollback_support.OPTIONS)
    for kind in ("begun", *COMPLETE):
        died = copy(base, tmp_path / kind)
        table = open_table(str(died))
        plan = plan_rollback(session(table), target, rollback_support.OPTIONS)
        comes = _begin if kind == "begun" else lambda path, kind=kind: COMPLETE[kind](path, whole)
        with pytest.raises(Conflict, match="is building a new metadata table") as caught:
            execute_rollback(session(table, At(step, lambda died=died, comes=comes: comes(died))), plan)
        assert caught.value.exit_code == 12
        rollback_support._resume(died, target, rollback_support.OPTIONS)
        end_leftovers(died)
        wanted, found = content(done), content(died)
        assert found == wanted or (found.partitions, found.building, found.files) == ("", "", ()), kind
        assert_right_if_listed(died)
        assert_nothing_left(died)
        assert reader.snapshot(died) == reader.snapshot(done)
