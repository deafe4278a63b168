"""Savepoints with tags are Hudi's own, and what pruning gives back its cleaning and archiving take."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.helpers import HUDIS_OWN, Copy, walk
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.savepoint_support import savepoint_file
from tests.ops.savepoint.pruning_support import planned

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
OPTIONS = {"hoodie.metadata.enable": "false", "hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
# Both names: 1.x has renamed it.
CLEANED = OPTIONS | dict.fromkeys(("hoodie.cleaner.commits.retained", "hoodie.clean.commits.retained"), "1")
ARCHIVED = CLEANED | {"hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "4"}
SHOW = "CALL show_savepoints(table => 'judged')"


def shown(hudi: Judge, base: Path) -> list[str]:
    """The savepoints that Hudi's procedure shows, oldest first."""
    return sorted(str(row[0]) for row in hudi.sql(base, [SHOW]))


def data(base: Path) -> dict[str, int]:
    """The data files, with their sizes."""
    found = {name: entry.stat().st_size for name, entry in walk(str(base)) if entry.is_file()}
    return {name: size for name, size in found.items() if name.endswith(".parquet") and not name.startswith(".")}


def on_timeline(base: Path) -> set[str]:
    return {entry.time for entry in load_timeline(open_table(str(base))).completed_writes()}


@pytest.mark.parametrize("version", support.VERSIONS)
def test_tagged_savepoints_are_hudis_own_and_pruned_ones_are_cleaned(
    judge: Judges, version: str, tmp_path: Path
) -> None:
    hudi, base = judge(version), tmp_path / "table"
    commits, rows = [], {}
    for number in range(7):
        written = [[key, number, f"v{number}", f"p{key % 2}"] for key in range(20)]
        write = hudi.upsert if number else hudi.create
        commits.append(write(base, written, options=OPTIONS))
        rows[commits[-1]] = hudi.read(base, metadata=False)
        if number < 4:
            made = ("savepoint", "create", "--tag=hourly" if number == 1 else "--tag=nightly", "--comment=of the night")
            assert product.command(base, *made) == 0
    saved = commits[:4]
    assert shown(hudi, base) == saved
    read = hudi.decode(savepoint_file(base, saved[0]), "HoodieSavepointMetadata")
    assert read["comments"] == "[nightly] of the night"

    # Each tool restores it.
    for number, restore in enumerate((_by_procedure, lambda hudi, table, time: product.restore(table, time))):
        copy = Path(shutil.copytree(base, tmp_path / f"restored-{number}"))
        for time in saved[:0:-1]:
            hudi.delete_savepoint(copy, time)
        restore(hudi, copy, saved[0])
        assert hudi.read(copy, metadata=False) == rows[saved[0]]

    # Pruned, of the nightly ones the newest is left; Hudi's services then take what the plan says.
    pruned = Path(shutil.copytree(base, tmp_path / "pruned"))
    plan = planned(Copy(version, "pruned", pruned, HUDIS_OWN))
    assert plan.savepoints_to_delete == (saved[0], saved[2])
    assert product.command(pruned, "savepoint", "prune", "--tag=nightly", "--keep-last=1") == 0
    assert shown(hudi, pruned) == [saved[1], saved[3]]
    for table in (base, pruned):
        hudi.clean(table, CLEANED)
    kept, left = data(base), data(pruned)
    assert left.items() < kept.items()
    assert sum(size for name, size in kept.items() if name not in left) == plan.bytes_freed > 0
    for table in (base, pruned):
        hudi.archive(table, ARCHIVED)
    assert saved[0] in on_timeline(base)
    assert on_timeline(base) - on_timeline(pruned) == {saved[0]}
    assert plan.instants_freed == 1

    # What is left is as good as before.
    hudi.delete_savepoint(pruned, saved[3])
    _by_procedure(hudi, pruned, saved[1])
    assert hudi.read(pruned, metadata=False) == rows[saved[1]]


def _by_procedure(hudi: Judge, base: Path, time: str) -> None:
    hudi.sql(base, [f"CALL rollback_to_savepoint(table => 'judged', instant_time => '{time}')"], OPTIONS)
