"""An undo in a walk: what is not as before is told."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from tests import support
from tests.walks import undone
from tests.walks.probe import AT_ONCE, Probe
from tests.walks.shape import by_chance
from tests.walks.table import Table
from tests.walks.undone import _different, is_undone

SEEDS = range(1, 9)


class Hudi:
    """A Hudi whose readers count the files of data."""

    version = "v9"

    def rows(self, base: Path, metadata: bool) -> dict[str, int]:
        return {"count": len([*base.rglob("*.parquet")])}


def _probe(folder: Path, seed: int) -> Probe:
    base = support.unpack("v9", "cow_cluster", folder)
    table = Table(cast(Any, Hudi()), base, by_chance(Random(1)))
    return Probe(table, table, Random(seed), folder)


def _newest(base: Path) -> str:
    return max(path.name.partition("_")[0] for path in (base / ".hoodie/timeline").glob("*commit"))


def _undone(folder: Path, seeds: range) -> list[Probe]:
    """The probes in which a rollback of the newest commit was done and undone."""
    probes = []
    for seed in seeds:
        probe = _probe(folder / str(seed), seed)
        is_undone(probe, ["rollback", _newest(probe.table.base), *AT_ONCE], "rolled back")
        probes += [probe] if probe.undone or probe.problems else []
    return probes


@pytest.mark.slow
def test_all_is_as_before(tmp_path: Path) -> None:
    found = _undone(tmp_path, SEEDS)
    assert found
    assert [probe.problems for probe in found] == [[]] * len(found)


def _lose_a_time(base: Path) -> None:
    path = next(base.rglob("*.parquet"))
    path.write_bytes(path.read_bytes())


def _lose_a_file(base: Path) -> None:
    next(base.rglob("*.parquet")).unlink()


@pytest.mark.slow
@pytest.mark.parametrize(("harm", "told"), [(_lose_a_time, "has another time"), (_lose_a_file, "is gone")])
def test_what_is_not_is_told(
    harm: Callable[[Path], None], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undo = undone._undo

    def harming(probe: Probe, *arguments: Any) -> bool:
        ended = undo(probe, *arguments)
        harm(probe.table.base)
        return ended

    monkeypatch.setattr(undone, "_undo", harming)
    found = _undone(tmp_path, SEEDS)
    assert found
    for probe in found:
        (problem,) = probe.problems
        assert told in problem


@pytest.mark.slow
def test_the_chances_of_a_probe_stay(tmp_path: Path) -> None:
    for seed in SEEDS:
        probe = _probe(tmp_path / str(seed), seed)
        is_undone(probe, ["rollback", _newest(probe.table.base), *AT_ONCE], "rolled back")
        assert probe.chance.random() == Random(seed).random()


def test_each_difference_is_named() -> None:
    before = {"same": (b"1", 1), "gone": (b"1", 1), "body": (b"1", 1), "time": (b"1", 1)}
    now = {"same": (b"1", 1), "new": (b"1", 1), "body": (b"2", 1), "time": (b"1", 2)}
    assert _different(before, now) == ["body is changed", "gone is gone", "new is new", "time has another time"]
