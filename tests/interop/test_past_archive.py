"""A restore to a savepoint behind which writes are archived: readers see its rows, and Hudi's writers and services go
on from there."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hudictl.formats.instants import time_plus_ms
from tests import support
from tests.interop import product, second_reader
from tests.interop.check_support import slugs
from tests.interop.judge import Judge
from tests.interop.make_overlaps import rows
from tests.interop.past_archive_support import (
    ARCHIVES,
    COW,
    METADATA,
    MOR,
    ON_COPY_ON_WRITE,
    ON_MERGE_ON_READ,
    SECOND,
    SHAPES,
    Written,
    make,
)
from tests.interop.scenarios import MERGE_ON_READ, digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]

TYPES = {"cow": (COW, {**SHAPES, **ON_COPY_ON_WRITE}), "mor": (MOR, {**SHAPES, **ON_MERGE_ON_READ})}
CASES = [
    (version, kind, shape) for version in support.VERSIONS for kind, (_, shapes) in TYPES.items() for shape in shapes
]


def varied() -> Iterator[Any]:
    """Each shape meets, on the three versions, each metadata table and each state of the archive."""
    for version, kind, shape in CASES:
        at, turn = [*TYPES[kind][1]].index(shape), support.VERSIONS.index(version)
        metadata = [*METADATA][(at + turn) % 3]
        archive = ARCHIVES[(at // 3 + 2 * turn) % 3]
        yield pytest.param(version, kind, shape, metadata, archive, id=f"{version}-{kind}-{shape}-{metadata}-{archive}")


@pytest.mark.full
@pytest.mark.short("v6-mor-compacted-files-cut")
@pytest.mark.parametrize(("version", "kind", "shape", "metadata", "archive"), [*varied()])
def test_a_restore_past_the_archive(
    judge: Judges,
    version: str,
    kind: str,
    shape: str,
    metadata: str,
    archive: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options, shapes = TYPES[kind]
    table = make(judge(version), tmp_path, {**options, **METADATA[metadata]}, shapes[shape], archive)
    assert product.command(table.path, "restore", table.target, "--delete-later-savepoints", "--plan") == 0
    # A lost write whose files are cleaned is not to be seen.
    assert archive == "cut" or re.search(r" ARCHIVED ", capsys.readouterr().out)
    assert product.command(table.path, "restore", table.target, "--delete-later-savepoints", idle="0s") == 0
    # Where the archive had one file, what was before the target is lost with it.
    fine = ([], ["unowned-files"]) if archive == "cut" else ([],)
    assert slugs(table.path) in fine
    readers_see_the_target(table)
    goes_on(table)
    assert slugs(table.path) in fine


def readers_see_the_target(table: Written) -> None:
    hudi, path, seen = table.hudi, table.path, digest(table.expected.values())
    assert read(table) == seen
    # Hudi itself refuses a time travel to before what a later clean kept.
    assert second_reader.rows(path) == second_reader.rows(path, as_of=table.target) == seen
    # The target's own rows are in logs on merge on read.
    optimised = digest(rows("abc", 1)) if MERGE_ON_READ.items() <= table.options.items() else seen
    assert hudi.rows(path, query="read_optimized") == optimised
    begin = time_plus_ms(table.target, -1)
    query = f"SELECT id FROM hudi_table_changes('{path}', 'latest_state', '{begin}') ORDER BY id"
    assert [int(row[0]) for row in hudi.sql(path, [query])] == [row[0] for row in SECOND]


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


def read(table: Written) -> object:
    return table.hudi.both_rows(table.path)
