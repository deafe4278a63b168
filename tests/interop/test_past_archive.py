"""A restore to a savepoint behind which writes are archived: readers see its rows, and Hudi's writers and services go
on from there."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.interop import product
from tests.interop.check_support import slugs
from tests.interop.judge import Judge
from tests.interop.past_archive_support import COW, MOR, ON_COPY_ON_WRITE, ON_MERGE_ON_READ, SHAPES, Written, make
from tests.interop.scenarios import digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]

TYPES = {"cow": (COW, {**SHAPES, **ON_COPY_ON_WRITE}), "mor": (MOR, {**SHAPES, **ON_MERGE_ON_READ})}
CASES = [
    pytest.param(version, kind, shape, id=f"{version}-{kind}-{shape}")
    for version in support.VERSIONS
    for kind, (_, shapes) in TYPES.items()
    for shape in shapes
]


@pytest.mark.full
@pytest.mark.short("v6-mor-compacted")
@pytest.mark.parametrize(("version", "kind", "shape"), CASES)
def test_a_restore_past_the_archive(
    judge: Judges, version: str, kind: str, shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options, shapes = TYPES[kind]
    table = make(judge(version), tmp_path, options, shapes[shape])
    assert product.command(table.path, "restore", table.target, "--delete-later-savepoints", "--plan") == 0
    assert re.search(r" ARCHIVED ", capsys.readouterr().out)
    assert product.command(table.path, "restore", table.target, "--delete-later-savepoints", idle="0s") == 0
    assert read(table) == digest(table.expected.values())
    assert slugs(table.path) == []
    goes_on(table)


def goes_on(table: Written) -> None:
    """Every key is found once; then a delete, cleaning, compaction, archiving, until the archive has passed S."""
    # Else rows of archived commits are not read: see test_history.
    table.options = {**table.options, "hoodie.archive.beyond.savepoint": "false"}
    hudi, path, options = table.hudi, table.path, table.options
    table.number = 100
    table.upsert()
    assert read(table) == digest(table.expected.values())
    hudi.delete(path, [1, 2], options)
    for gone in (1, 2):
        del table.expected[gone]
    if "hoodie.compact.inline" in options:
        hudi.compact(path, options=options)
    hudi.clean(path, options)
    assert read(table) == digest(table.expected.values())
    for _ in range(3):
        table.upsert("ab", range(3, 30))
    hudi.delete_savepoint(path, table.target, options)
    for _ in range(2):
        table.upsert("bc", range(3, 30))
    hudi.archive(path, options)
    assert table.target not in {entry[0] for entry in hudi.timeline(path)}
    assert read(table) == digest(table.expected.values())
    assert slugs(path) == []


def read(table: Written) -> object:
    return table.hudi.both_rows(table.path)
