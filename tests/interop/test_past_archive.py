"""A restore to a savepoint behind which writes are archived: readers see its rows, also where it has died and another
command has ended it, and Hudi's writers and services go on from there."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hudictl.formats.instants import time_plus_ms
from tests import support
from tests.crash.inject import Crash, dying
from tests.helpers import is_data, walk
from tests.interop import product, second_reader
from tests.interop.check_support import slugs
from tests.interop.judge import Judge
from tests.interop.make_overlaps import rows
from tests.interop.past_archive_support import (
    ARCHIVES,
    CHANGES,
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
    for number, (version, kind, shape) in enumerate(CASES):
        at, turn = [*TYPES[kind][1]].index(shape), support.VERSIONS.index(version)
        metadata = [*METADATA][(at + turn) % 3]
        archive = ARCHIVES[(at // 3 + 2 * turn) % 3]
        name = f"{version}-{kind}-{shape}-{metadata}-{archive}"
        yield pytest.param(version, kind, shape, metadata, archive, number, id=name)


@pytest.mark.full
@pytest.mark.short("v6-mor-compacted-files-cut")
@pytest.mark.parametrize(("version", "kind", "shape", "metadata", "archive", "number"), [*varied()])
def test_a_restore_past_the_archive(
    judge: Judges,
    version: str,
    kind: str,
    shape: str,
    metadata: str,
    archive: str,
    number: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options, shapes = TYPES[kind]
    table = make(judge(version), tmp_path, {**options, **METADATA[metadata]}, shapes[shape], archive)
    assert product.command(table.path, "restore", table.target, "--delete-later-savepoints", "--plan") == 0
    # A lost write whose files are cleaned is not to be seen.
    assert archive == "cut" or re.search(r" ARCHIVED ", capsys.readouterr().out)
    # Hudi's readers rewrite properties in place: no hard links.
    copies = [shutil.copytree(table.path, tmp_path / name) for name in ("again", "resumed")]
    with dying(None) as whole:
        assert restore(table.path, table.target) == 0
    done = files(table.path)
    # Where the archive had one file, what was before the target is lost with it.
    fine = ([], ["unowned-files"]) if archive == "cut" else ([],)
    assert slugs(table.path) in fine
    readers_see_the_target(table)
    # Half a restore is between the two deaths; the golden ratio spreads those of all cells.
    share = number * 0.618 % 1
    command = "--withdraw" if number % 3 == 0 else "resume"
    dies_and_is_ended(copies[0], table.target, int(share * whole.count), "restore")
    dies_and_is_ended(copies[1], table.target, 1 + int((share + 0.5) % 1 * (whole.count - 1)), command)
    for path in copies:
        assert files(path) == done
        assert table.hudi.both_rows(path) == second_reader.rows(path) == digest(table.expected.values())
    goes_on(table)
    assert slugs(table.path) in fine


def restore(path: Path, target: str) -> int:
    return product.command(path, "restore", target, "--delete-later-savepoints", idle="0s")


def dies_and_is_ended(path: Path, target: str, at: int, command: str) -> None:
    """A restore dies before one of its changes. What has not begun, or is withdrawn, is done by a restore."""
    before = request(path)
    with dying(at), pytest.raises(Crash):
        restore(path, target)
    begun = request(path) != before
    withdrawn = command == "--withdraw" and product.resume(path, command) == 0
    if command != "restore" and not withdrawn:
        # One that is only requested has no consent yet.
        assert product.resume(path, "--delete-later-savepoints") == 0
    if command == "restore" or withdrawn or not begun:
        assert restore(path, target) == 0


def request(path: Path) -> Path | None:
    """Of the last restore that has begun."""
    return product.newest(path, "restore.inflight")


def files(path: Path) -> list[tuple[str, int]]:
    """All but hudictl's own, without the times that its last restore has given; data files with their sizes."""
    begun = request(path)
    assert begun is not None
    own = begun.name[:17]

    def known(name: str) -> str:
        return re.sub(r"\d{17}", lambda time: time[0] if time[0] < own else "T", name)

    return sorted(
        (known(name), entry.stat().st_size if is_data(name) else 0)
        for name, entry in walk(str(path))
        if entry.is_file() and not name.startswith(".hoodie/.hudictl/")
    )


def readers_see_the_target(table: Written) -> None:
    hudi, path, seen = table.hudi, table.path, digest(table.expected.values())
    assert read(table) == seen
    # Hudi itself refuses a time travel to before what a later clean kept.
    assert second_reader.rows(path) == second_reader.rows(path, as_of=table.target) == seen
    # The target's own rows are in logs on merge on read.
    first, logs = rows("abc", 1), MERGE_ON_READ.items() <= table.options.items()
    assert hudi.rows(path, query="read_optimized") == (digest(first) if logs else seen)
    filters_find(table)
    begin, second = time_plus_ms(table.target, -1), [row[:3] for row in SECOND]
    assert changed(table, begin) == second
    # Where those before the target are archived, 0.15.0 reads none of them, 1.0.2 no log; a cut archive has lost them.
    whole = [row[:3] for row in (first if logs and hudi.version == "v8" else table.expected.values())]
    assert changed(table, "earliest") in (second, sorted(whole))
    if CHANGES.items() <= table.options.items():
        values = ", ".join(f"get_json_object({image}, '$.val')" for image in ("before", "after"))
        query = f"SELECT op, {values} FROM hudi_table_changes('{path}', 'cdc', '{begin}')"
        assert sorted(hudi.sql(path, [query])) == sorted(["u", f"v1-{row[0]}", row[2]] for row in SECOND)


def changed(table: Written, begin: str) -> list[list[Any]]:
    query = f"SELECT id, ts, val FROM hudi_table_changes('{table.path}', 'latest_state', '{begin}') ORDER BY id"
    return table.hudi.sql(table.path, [query])


def filters_find(table: Written) -> None:
    """What is there, and nothing that was written and removed, by keys, values and statistics."""
    there = sorted(row[:3] for row in table.expected.values())
    key, _, value = there[5]
    asked = {
        f"id = {key}": there[5:6],
        f"val = '{value}'": there[5:6],
        "ts > 1": [row for row in there if row[1] > 1],
        "id >= 30": [row for row in there if row[0] >= 30],
    }
    assert table.hudi.call("filtered", path=table.path, conditions=[*asked]) == [*asked.values()]


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
    filters_find(table)


def read(table: Written) -> object:
    return table.hudi.both_rows(table.path)
