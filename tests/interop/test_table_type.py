"""A table whose type was changed: what Hudi's readers see, what its own restore does, and what hudictl's does."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hudictl.errors import Refused
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.open import open_table
from hudictl.table.properties import update_properties
from hudictl.table.table import COPY_ON_WRITE, MERGE_ON_READ, TYPE
from tests import support
from tests.interop import product
from tests.interop.judge import Judge, JudgeError, Rows
from tests.interop.scenarios import MERGE_ON_READ as AS_MERGE_ON_READ
from tests.interop.scenarios import NO_METADATA, batch, digest
from tests.retyped import retype

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
BY_HAND = {"hoodie.compact.inline": "false", "hoodie.clean.automatic": "false", "hoodie.parquet.small.file.limit": "0"}
COMPACTED = BY_HAND | {"hoodie.compact.inline.max.delta.commits": "1"}
PAYLOAD = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
KEEP_ONE = {"hoodie.cleaner.commits.retained": "1"}
TO_INSTANT = RestoreOptions(to_instant=True, idle_ms=0, delete_later_savepoints=True)
TYPE_TOO = replace(TO_INSTANT, table_type=MERGE_ON_READ)
ALL = batch(range(60), 60)


@dataclass(frozen=True)
class Retyped:
    """A table that is copy on write now, and its delta commits with what readers saw after each."""

    base: Path
    options: dict[str, str]
    seen: dict[str, Rows]
    savepoint: str
    now: Rows


def made(hudi: Judge, folder: Path, *, compacts: bool, metadata: bool) -> Retyped:
    """Two delta commits, perhaps a compaction, two more, of which one has a file group of its own, and a third; perhaps
    a compaction again; then two writes of copy on write."""
    base, more = folder / "retyped" / "table", {} if metadata else NO_METADATA
    options, compacted, seen = BY_HAND | more, COMPACTED | more, {}

    def read(time: str) -> None:
        seen[time] = hudi.both_rows(base)

    read(hudi.create(base, batch(range(30), 1), options | AS_MERGE_ON_READ))
    read(hudi.upsert(base, batch(range(0, 30, 2), 2), options=options))
    if compacts:
        hudi.compact(base, options=compacted)
    read(hudi.upsert(base, batch(range(20, 40), 3), options=options))
    read(hudi.upsert(base, batch(range(50, 60), 3), "insert", options=options))
    savepoint = [*seen][-1]
    hudi.savepoint(base, savepoint)
    read(hudi.upsert(base, batch(range(10, 30), 4), options=options))
    if compacts:
        hudi.compact(base, options=compacted)
    retype(base, COPY_ON_WRITE)
    hudi.upsert(base, batch(range(45), 6), options=options)
    hudi.upsert(base, batch(range(10), 7), options=options)
    return Retyped(base, options, seen, savepoint, hudi.both_rows(base))


def goes_on(hudi: Judge, base: Path, options: dict[str, str]) -> None:
    """Hudi's next writes and services are right."""
    hudi.upsert(base, ALL, options=options)
    assert hudi.both_rows(base) == digest(ALL)
    hudi.delete(base, [1, 2, 3], options=options)
    left = digest(row for row in ALL if row[0] not in (1, 2, 3))
    assert hudi.both_rows(base) == left
    if hudi.properties(base)[TYPE] == MERGE_ON_READ:
        hudi.compact(base, options=options | COMPACTED)
    hudi.clean(base, options | KEEP_ONE)
    assert hudi.both_rows(base) == left
    hudi.upsert(base, batch(range(60), 61), options=options)
    assert hudi.both_rows(base) == digest(batch(range(60), 61))


@pytest.mark.full
@pytest.mark.short("v9-compacts-metadata")
@pytest.mark.parametrize("metadata", [True, False], ids=["metadata", "listing"])
@pytest.mark.parametrize("compacts", [True, False], ids=["compacts", "plain"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_type_comes_back(judge: Judges, version: str, compacts: bool, metadata: bool, tmp_path: Path) -> None:
    hudi = judge(version)
    table = made(hudi, tmp_path, compacts=compacts, metadata=metadata)
    for number, (target, seen) in enumerate(table.seen.items()):
        base = tmp_path / str(number) / "table"
        shutil.copytree(table.base, base)
        with pytest.raises(Refused, match="copy on write now"):
            product.restore(base, target, TO_INSTANT)
        assert hudi.both_rows(base) == table.now
        assert product.restore(base, target, TYPE_TOO)
        assert (hudi.properties(base)[TYPE], hudi.both_rows(base)) == (MERGE_ON_READ, seen)
        if number in (1, 3):
            goes_on(hudi, base, table.options)


@pytest.mark.full
@pytest.mark.short("v6")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_hudis_own_restore_fails_at_a_delta_commit(judge: Judges, version: str, tmp_path: Path) -> None:
    """It cannot roll it back on copy on write."""
    hudi = judge(version)
    table = made(hudi, tmp_path, compacts=False, metadata=True)
    with pytest.raises(JudgeError, match="Unsupported action in rollback"):
        hudi.restore(table.base, table.savepoint)


@pytest.mark.full
@pytest.mark.short("stays-v6", "back-v9")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", [None, COPY_ON_WRITE], ids=["stays", "back"])
def test_merge_on_read_sees_what_copy_on_write_has_written(
    judge: Judges, version: str, kind: str | None, tmp_path: Path
) -> None:
    """The other way round, nothing is hidden: with the type that it has now, and with the one that it had."""
    hudi, base = judge(version), tmp_path / "back" / "table"
    hudi.create(base, batch(range(30), 1), BY_HAND)
    target = hudi.upsert(base, batch(range(20, 40), 2), options=BY_HAND)
    seen = hudi.both_rows(base)
    hudi.upsert(base, batch(range(10), 3), options=BY_HAND)
    retype(base, MERGE_ON_READ)
    if version == "v6":
        # 0.15.0 reads no log without it, and does not write it into the properties of a copy-on-write table.
        update_properties(open_table(str(base)).storage, {"hoodie.compaction.payload.class": PAYLOAD})
    hudi.upsert(base, batch(range(45), 4), options=BY_HAND)
    hudi.upsert(base, batch(range(40, 50), 5), "insert", options=BY_HAND)
    hudi.upsert(base, batch(range(5), 7), options=BY_HAND)
    assert product.restore(base, target, RestoreOptions(to_instant=True, idle_ms=0, table_type=kind))
    assert hudi.both_rows(base) == seen
    assert hudi.properties(base)[TYPE] == (kind or MERGE_ON_READ)
    hudi.upsert(base, ALL, options=BY_HAND)
    assert hudi.both_rows(base) == digest(ALL)
    hudi.delete(base, [1, 2, 3], options=BY_HAND)
    assert hudi.both_rows(base)["count"] == 57
