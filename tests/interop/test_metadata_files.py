"""What hudictl reads in a metadata table is what the real Hudi does, and what Hudi's own work leaves on storage."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.reports.metadata_table import Difference, verify_listing
from hudictl.table.metadata.listing import listing_table, read_listing
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.interop.judge import Judge
from tests.interop.killed import MARKERS, WRITES, data_files, killed_write
from tests.interop.scenarios import AWKWARD, HIVE_STYLE, LEVELS, THREE_LEVELS, Made, batch
from tests.metadata_edits import block_saying, hfile_block, newest_log, write

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
Tables = Callable[..., Made]
PARTITION = "hoodie.datasource.write.partitionpath.field"


def listing(base: Path) -> dict[str, dict[str, int]] | None:
    """By hudictl, in the judge's form; None where readers use no metadata table."""
    metadata = listing_table(open_table(str(base)))
    if metadata is None:
        return None
    found = read_listing(metadata, [])
    return {path: {name: entry.size for name, entry in files.items()} for path, files in found.items()}


def differences(base: Path) -> list[Difference]:
    return verify_listing(open_table(str(base)), LocalEngine(1), [])


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_every_table(judge: Judges, tmp_path: Path, version: str) -> None:
    """Failed writes, interrupted restores and rollbacks among them."""
    read = 0
    for name in support.names(version):
        base = support.unpack(version, name, tmp_path)
        found = listing(base)
        if found is not None:
            assert found == judge(version).listing(base), name
            read += 1
        assert differences(base) == [], name
    assert read == 16


def assert_alike(hudi: Judge, base: Path) -> None:
    """Hudi reads the same in the metadata table, and storage has it."""
    assert listing(base) == hudi.listing(base)
    assert differences(base) == []


@pytest.mark.full
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_writes_that_die_about_the_metadata_tables_commit(
    judge: Judges, tables: Tables, version: str, kind: str, tmp_path: Path
) -> None:
    """What the metadata table says of them does not count, whether its deltacommit is completed or not."""
    for death in ("metadata_half", "metadata_done"):
        table = tables(version, kind, True)
        killed = killed_write(judge(version), table, tmp_path / death, WRITES[death], MARKERS["direct"])
        assert_alike(killed.hudi, killed.path)


@pytest.mark.short("v6-mor", "v9-cow")
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_hudis_own_rollback(judge: Judges, tables: Tables, version: str, kind: str, tmp_path: Path) -> None:
    """On version 6 with rollback blocks in the metadata table, and logs with rollback blocks in the table."""
    table = tables(version, kind, True)
    base = shutil.copytree(table.path, tmp_path / "table")
    assert judge(version).rollback(base, table.instants[-1], options=table.options)
    assert_alike(judge(version), base)


@pytest.mark.short("v6-mor_savepoints", "v9-cow_savepoints")
@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_hudis_own_restore(judge: Judges, version: str, name: str, tmp_path: Path) -> None:
    base = support.unpack(version, name, tmp_path)
    savepoints = [entry.time for entry in load_timeline(open_table(str(base))).savepoints()]
    judge(version).restore(base, savepoints[-1])
    assert_alike(judge(version), base)


@pytest.mark.full
def test_logs_that_hudi_lists_and_nobody_wrote(judge: Judges, tables: Tables, tmp_path: Path) -> None:
    """0.15.0 takes the marker of a writer that died for a log: some queries through the metadata table fail then."""
    death = WRITES["between_files"]
    killed = killed_write(judge("v6"), tables("v6", "mor", True), tmp_path, death, MARKERS["direct"])
    assert differences(killed.path) == []
    assert killed.hudi.rollback_failed(killed.path, killed.options)
    assert listing(killed.path) == killed.hudi.listing(killed.path)
    found = differences(killed.path)
    assert {entry.difference for entry in found} == {"missing"}
    assert {f"{entry.partition}/{entry.name}" for entry in found} == set(killed.hudi.files(killed.path)) - data_files(
        killed.path
    )


@pytest.mark.short("v6-hive", "v9-levels")
@pytest.mark.parametrize("options", [{PARTITION: ""}, HIVE_STYLE, THREE_LEVELS], ids=["flat", "hive", "levels"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_partition_paths(judge: Judges, version: str, options: dict[str, str], tmp_path: Path) -> None:
    """None, encoded ones, and nested ones."""
    hudi, base = judge(version), tmp_path / "t" / "table"
    partitions = {"": [("x",)], "p,q,r": LEVELS}.get(options.get(PARTITION, "p"), AWKWARD)
    hudi.create(base, batch(range(12), 1, partitions), options)
    hudi.upsert(base, batch(range(6), 2, partitions), options=options)
    found = listing(base)
    assert found is not None
    assert len(found) == len(partitions)
    assert_alike(hudi, base)


@pytest.mark.short("v6-mor_part", "v9-cow_cleaned")
@pytest.mark.parametrize("name", ["cow_cleaned", "mor_part"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_logs_and_base_files_say_of_the_same(judge: Judges, version: str, name: str, tmp_path: Path) -> None:
    """Files that come, grow and go, twice and in turns, in logs over a base file: merged in the same order."""
    base = support.unpack(version, name, tmp_path)
    before = listing(base)
    assert before is not None
    log = newest_log(base)
    header = hfile_block(log).header
    first, second, third, *_ = sorted(before["part-0"])
    said = [
        {"part-0": {first: None, second: 1, third: 9_999_999, "new": None}, "__all_partitions__": {"part-2": None}},
        {"part-0": {first: None, second: None, third: 5, "new": 7}, "part-1": {"new": None}},
        {"part-0": {first: 3, "new": 4}, "part-1": {"new": None}, "part-2": {"late": 2}, "part-9": {"alone": 1}},
    ]
    write(log, log.read_bytes() + b"".join(block_saying(header, says) for says in said))
    found = listing(base)
    assert found == judge(version).listing(base)
    assert found != before
