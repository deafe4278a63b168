"""A restore and a rollback behind a resize of consistent hashing's buckets die at any change to the file system: no
writer that comes then takes buckets for valid that go, or fails; and the same command finishes it."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.crash import reader, restore_support, rollback_support
from tests.crash.inject import Crash, copy, deaths, dying

pytestmark = pytest.mark.crash

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
SHORT = pytest.mark.short("v9")
FOLDER = ".hoodie/.bucket_index/consistent_hashing_metadata"
OPTIONS = RestoreOptions(to_instant=True, settle_s=0.0)
Run = Callable[[Path], None]


def _names(base: Path) -> dict[str, set[str]]:
    """The instants of the files of consistent hashing, by their suffix and folder."""
    found: dict[str, set[str]] = {}
    for path in (base / FOLDER).rglob("*.*"):
        if path.suffix != ".crc":
            found.setdefault(f"{path.parent.name}{path.suffix}", set()).add(path.stem)
    return found


def _check(base: Path, resize: str) -> None:
    names = _names(base)
    found = load_timeline(open_table(str(base))).find(resize, "replacecommit", "clustering")
    # A writer may execute it.
    armed = any(action == "rollback" and state != "COMPLETED" for _, action, state in reader.instants(base))
    for folder in ("a", "b"):
        committed = names.get(f"{folder}.commit", set())
        # Hudi 1.0.2 and 1.2.0 fail at a .commit alone.
        assert committed <= names[f"{folder}.hashing_meta"]
        if armed or found is None or found.pending:
            assert resize not in committed
        if found is None:
            assert resize not in names[f"{folder}.hashing_meta"]


def _die_everywhere(base: Path, resize: str, run: Run, state: Callable[[Path], frozenset[str]]) -> None:
    done = copy(base, base.parent / "done")
    with dying(None) as system:
        run(done)
    assert resize not in " ".join(" ".join(times) for times in _names(done).values())
    for at in deaths(system.count):
        died = copy(base, base.parent / f"died-{at}")
        with dying(at), pytest.raises(Crash):
            run(died)
        _check(died, resize)
        run(died)
        assert state(died) == state(done), at


def _made(version: str, folder: Path) -> tuple[Path, str, str]:
    """A table, its resize, and the write before it; with what says that the resize counts also on version 6."""
    base = support.unpack(version, "resized", folder)
    times = sorted(entry.time for entry in load_timeline(open_table(str(base))).completed_writes())
    for path in list((base / FOLDER).rglob(f"{times[2]}.hashing_meta")):
        path.with_suffix(".commit").touch()
    return base, times[2], times[1]


@SHORT
@VERSIONS
def test_a_restore_dies_anywhere(version: str, tmp_path: Path) -> None:
    base, resize, target = _made(version, tmp_path)
    _die_everywhere(base, resize, partial(_restore, target), restore_support._state)


@SHORT
@VERSIONS
def test_a_rollback_dies_anywhere(version: str, tmp_path: Path) -> None:
    base, resize, _ = _made(version, tmp_path)
    newest = rollback_support._newest(base)
    assert re.fullmatch(r"\d{17}", newest)
    rollback_support._roll_back(base, newest, rollback_support.OPTIONS)
    _die_everywhere(base, resize, partial(_roll_back, resize), rollback_support._state)


def _restore(target: str, base: Path) -> None:
    restore_support._restore(base, target, OPTIONS)


def _roll_back(resize: str, base: Path) -> None:
    rollback_support._roll_back(base, resize, RollbackOptions(settle_s=0.0))


CONFIGS = ".hoodie/.bucket_index/partition_bucket_index_meta/configs"


@pytest.mark.parametrize("kind", ["restore", "rollback"])
def test_numbers_of_buckets_at_any_death(kind: str, tmp_path: Path) -> None:
    """The folder is never empty, and no file of a removed instant is in it: it would count."""
    base = support.unpack("v9", "rescaled", tmp_path)
    times = sorted(entry.time for entry in load_timeline(open_table(str(base))).completed_writes())
    if kind == "rollback":
        rollback_support._roll_back(base, times[-1], rollback_support.OPTIONS)
    run, state = (
        (partial(_restore, times[1]), restore_support._state)
        if kind == "restore"
        else (partial(_roll_back, times[2]), rollback_support._state)
    )
    done = copy(base, base.parent / "done")
    with dying(None) as system:
        run(done)
    assert not (done / CONFIGS).exists()
    for at in deaths(system.count):
        died = copy(base, base.parent / f"died-{at}")
        with dying(at), pytest.raises(Crash):
            run(died)
        left = {path.stem for path in (died / CONFIGS).glob("*.hashing_config")}
        there = load_timeline(open_table(str(died))).find(times[2], "replacecommit")
        assert left == {times[2]} or (not (died / CONFIGS).exists() and (there is None or there.pending)), at
        assert left == set() or there is not None, at
        run(died)
        assert state(died) == state(done), at
        assert not (died / CONFIGS).exists()
