"""Beside a resize of consistent hashing that is pending, a writer's rows go into the new buckets, too, whose logs carry
the clustering's name: they go with the write."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import Refused, Unsupported
from hudictl.formats.file_names import data_path
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.files.borrowed import borrowed_logs
from hudictl.table.timeline.active import load_timeline
from hudictl.table.writers.markers import read_markers
from tests import support
from tests.helpers import ENGINE, Copy, attempt, die, drop, plan, restore, roll_back, rollback_of
from tests.ops.rollback.execute_support import STEPS, died

VERSIONS = pytest.mark.parametrize("version", ["v8", "v9"])
AT_ONCE = RollbackOptions(idle_ms=0)
TO_INSTANT = RestoreOptions(to_instant=True, idle_ms=0)


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], Copy]:
    return lambda version: Copy(version, "resizing", support.unpack(version, "resizing", tmp_path))


def times(copy: Copy) -> tuple[str, str, str]:
    """The clustering, the write beside it, and the one that died."""
    resize, beside, failed = sorted(entry.time for entry in load_timeline(copy.table).writes())[2:]
    return resize, beside, failed


def marked(copy: Copy, time: str) -> set[str]:
    folder = read_markers(copy.table, time)
    assert folder is not None
    return {marker.path for marker in folder.markers}


@VERSIONS
@pytest.mark.parametrize("step", [None, *STEPS[1:]])
def test_those_of_a_failed_write_are_deleted(made: Callable[[str], Copy], version: str, step: str | None) -> None:
    """By its markers, or by the plan of a rollback that died; and no other file is."""
    copy = made(version)
    resize, _, failed = times(copy)
    own, before = marked(copy, failed), copy.data()
    borrowed = {path for path in own if resize in path}
    assert borrowed
    assert borrowed < own <= before
    if step is not None:
        died(copy, failed, step, AT_ONCE)
    assert {file.path for file in rollback_of(copy, failed, AT_ONCE).removal.files} <= own
    roll_back(copy, failed, options=AT_ONCE)
    assert before - copy.data() == own


@VERSIONS
@pytest.mark.parametrize("step", [None, *STEPS[1:]])
def test_those_of_a_completed_write_are_deleted(made: Callable[[str], Copy], version: str, step: str | None) -> None:
    """Hudi's rollback leaves them (1.0.2, 1.2.0)."""
    copy = made(version)
    resize, beside, failed = times(copy)
    roll_back(copy, failed, options=AT_ONCE)
    assert any(resize in path for path in copy.data())
    if step is not None:
        died(copy, beside, step, AT_ONCE)
    roll_back(copy, beside, options=AT_ONCE)
    assert not any(resize in path or beside in path for path in copy.data())


@VERSIONS
@pytest.mark.parametrize("step", [None, "un-publish instants", "delete files", "remove instants"])
def test_a_restore_behind_the_resize_deletes_them(made: Callable[[str], Copy], version: str, step: str | None) -> None:
    copy = made(version)
    removed = times(copy)
    target = max(time for time in copy.commits if time < removed[0])
    kept = {path for path in copy.data() if not any(time in path for time in removed)}
    if step is not None:
        die(copy, target, step, TO_INSTANT)
    restore(copy, target, options=TO_INSTANT)
    assert copy.data() == kept


@VERSIONS
def test_a_rollback_of_another_write_names_none_of_its_own(made: Callable[[str], Copy], version: str) -> None:
    copy = made(version)
    resize, beside, failed = times(copy)
    own = {path for path in marked(copy, failed) if resize in path}
    died(copy, failed, "un-publish the instant", AT_ONCE)
    facts = read_facts(copy.table, ENGINE, read_signs(copy.table))
    found = borrowed_logs(facts, {beside: facts.timeline.at(beside)}, {})
    paths = {data_path(partition, name) for partition, names in found.items() for name in names}
    assert paths
    assert not paths & own


@VERSIONS
def test_a_resize_that_another_write_built_on_stays(made: Callable[[str], Copy], version: str) -> None:
    copy = made(version)
    resize, _, failed = times(copy)
    roll_back(copy, failed, options=AT_ONCE)
    assert isinstance(attempt(lambda: roll_back(copy, resize, options=AT_ONCE)), Refused)


@VERSIONS
def test_without_the_pending_clustering_their_name_is_anothers(made: Callable[[str], Copy], version: str) -> None:
    """Of which nothing is known: neither to be deleted nor to be left."""
    copy = made(version)
    resize, beside, failed = times(copy)
    roll_back(copy, failed, options=AT_ONCE)
    for file in copy.timeline.glob(f"{resize}*"):
        drop(file)
    before = copy.data()
    assert isinstance(attempt(lambda: rollback_of(copy, beside, AT_ONCE)), Unsupported)
    assert isinstance(attempt(lambda: plan(copy, min(copy.commits), TO_INSTANT)), Unsupported)
    assert copy.data() == before
