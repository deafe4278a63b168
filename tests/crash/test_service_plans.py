"""A change of a pending plan that dies: the plan is the old one or the new one, and the same command ends it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.formats.plans import decode_input_groups
from hudictl.table.kept import room_times
from tests import support
from tests.crash.inject import Crash, copy, deaths, dying
from tests.helpers import OWN, Copy, tree
from tests.ops.repair.services_support import (
    back,
    clustering,
    compaction,
    groups_of,
    prune,
    unschedule,
    without_later_logs,
)

pytestmark = pytest.mark.crash

Act = Callable[[Copy], object]


def unscheduled(made: Copy) -> tuple[Path, Act]:
    time, path = compaction(made)
    without_later_logs(made, time)
    named = groups_of(path)[0]
    return path, lambda one: unschedule(one, time, named)


def pruned(made: Copy) -> tuple[Path, Act]:
    time, path = clustering(made)
    (made.path / "/".join(min(decode_input_groups(path.read_bytes(), "it")[0].files))).unlink()
    return path, lambda one: prune(one, time)


def pruned_whole(made: Copy) -> tuple[Path, Act]:
    time, path = clustering(made)
    for inputs in decode_input_groups(path.read_bytes(), "it"):
        (made.path / "/".join(min(inputs.files))).unlink()
    return path, lambda one: prune(one, time)


@pytest.mark.short("v6-pruned", "v9-pruned", "v9-unscheduled")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param("mor_pending_compaction", unscheduled, id="unscheduled"),
        pytest.param("cow_cluster", pruned, id="pruned"),
        pytest.param("cow_cluster", pruned_whole, id="pruned_whole"),
    ],
)
def test_dies_anywhere(version: str, name: str, case: Callable[[Copy], tuple[Path, Act]], tmp_path: Path) -> None:
    made = Copy(version, name, support.unpack(version, name, tmp_path))
    path, act = case(made)
    plan = path.relative_to(made.path)
    before = tree(made.path, OWN)

    def body(base: Path) -> bytes | None:
        return (base / plan).read_bytes() if (base / plan).exists() else None

    done = copy(made.path, tmp_path / "done")
    with dying(None) as system:
        act(Copy(version, name, done))
    assert system.count > 5
    assert body(done) != body(made.path)
    for at in deaths(system.count):
        base = copy(made.path, tmp_path / f"crash-{at}")
        died = Copy(version, name, base)
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            act(died)
        assert body(base) in (body(made.path), body(done), None), at
        assert body(base) is not None or body(done) is None, at
        (*_, last) = ("", *sorted(room_times(died.table)))
        if at % 2 and last:
            back(died, last)
            assert tree(base, OWN) == before, at
        act(died)
        assert body(base) == body(done), at
