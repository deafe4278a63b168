"""Rows of blocks, against what the real Hudi read in the same logs; and which logs of a table are meant."""

from pathlib import Path
from typing import Any

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.errors import NotFound
from hudictl.reports.logs.blocks import BlockRow, LogSelection, Totals, counted, inspect_logs, select_logs
from hudictl.reports.logs.slices import files_of_table, slice_rows
from hudictl.table.logs.paths import find_logs
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack

SAMPLES = [(version, name) for version in support.VERSIONS for name in support.log_names(version)]


def inspected(base: Path, logs: list[str]) -> dict[str, list[BlockRow]]:
    found, notes = find_logs([str(base / log) for log in logs])
    assert notes == []
    rows: dict[str, list[BlockRow]] = {log: [] for log in logs}
    for row in inspect_logs(found, notes):
        rows[row.file].append(row)
    assert all("fates of blocks are shown as" in note for note in notes)
    return rows


def told(row: BlockRow) -> dict[str, Any]:
    """In the words of the facts."""
    return {
        "type": row.block_type,
        "header": row.header,
        "footer": row.footer,
        "content_offset": row.content_offset,
        "content_bytes": row.content_bytes,
    }


@pytest.mark.parametrize(("version", "name"), SAMPLES)
def test_rows_are_what_hudi_reads(tmp_path: Path, version: str, name: str) -> None:
    """Each kind of block, with its place, header and number of records; and no row that a query sees is of a block that
    does not count."""
    facts = support.log_facts(version)[name]
    base = support.unpack_logs(version, name, tmp_path)
    rows = inspected(base, list(facts["logs"]))
    for log, expected in facts["logs"].items():
        wanted = [{key: value for key, value in block.items() if key != "records"} for block in expected]
        assert [told(row) for row in rows[log]] == wanted
        assert [row.record_count for row in rows[log]] == [len(block["records"] or ()) for block in expected]
        assert [row.index for row in rows[log]] == list(range(len(expected)))
        assert sum(row.block_bytes for row in rows[log]) == (base / log).stat().st_size
    by_fate: dict[str, set[str | None]] = {}
    for row in (row for found in rows.values() for row in found if row.target_instant is None):
        by_fate.setdefault(row.fate, set()).add(row.instant)
    # Some states no query of that release can show.
    seen = {row[0] for row in facts.get("state", {}).get("rows", ())}
    assert seen.isdisjoint(by_fate.get("rolled back", set()) | by_fate.get("uncommitted", set()))
    expected_fate = {"failed": "uncommitted", "rolled_back": "rolled back"}.get(name)
    assert expected_fate is None or by_fate[expected_fate]
    # Up to 1.0.2 a query reads the block of a log compaction, and those that it repeats as well.
    assert ("replaced" in by_fate) == (version == "v9" and name.startswith("log_compacted"))


@pytest.mark.parametrize(("version", "name"), [("v6", "mor_parquet_logs"), ("v8", "mor_part"), ("v9", "cow_cdc")])
def test_counts_are_those_of_decoding(unpack: Unpack, version: str, name: str) -> None:
    """Data tables and metadata tables: what Hudi counted by decoding every record."""
    copy = unpack(version, name)
    expected = support.log_counts(version)[name]
    found, _ = find_logs([str(copy.path / log) for log in expected])
    rows: dict[str, list[list[Any]]] = {}
    for row in inspect_logs(found, []):
        path = Path(str(row.table).removeprefix("file://")) / row.file
        rows.setdefault(str(path.relative_to(copy.path)), []).append([row.block_type, row.instant, row.record_count])
    assert rows == expected


class NoEngine(LocalEngine):
    """One that nobody may use."""

    def start(self) -> None:
        raise AssertionError("no engine is needed")

    def gather(self, label: str, function: object, items: object) -> Any:
        raise AssertionError("no engine is needed")


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_an_engine_works_only_where_all_partitions_are_listed(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A completed instant's metadata name its partitions; of a failed one nobody knows them."""
    monkeypatch.setattr("hudictl.table.files.sweep._ENOUGH_FILES", 0)
    copy = unpack(version, "mor_failed_lazy")
    table = copy.table
    timeline = load_timeline(table)
    pending = next(entry.time for entry in timeline.writes() if entry.pending)
    idle = NoEngine()
    for partition in ("part-4", "part-4/", "/part-4", "./part-4"):
        assert {log.folder for log in select_logs(table, LogSelection(partition), idle)} == {"part-4"}
    assert len(select_logs(table, LogSelection("part-4", instant=pending), idle)) == 1
    assert len(select_logs(table, LogSelection(instant=copy.commits[1]), idle)) == 8
    with pytest.raises(AssertionError, match="no engine"):
        select_logs(table, LogSelection(instant=pending), idle)
    logs = select_logs(table, LogSelection(instant=pending), LocalEngine(2))
    assert [(log.folder, log.size > 0) for log in logs] == [("part-4", True), ("part-5", True)]
    with pytest.raises(NotFound, match="file id 'x'"):
        select_logs(table, LogSelection("part-4", "x"), idle)
    # A base file is no log.
    with pytest.raises(NotFound):
        select_logs(table, LogSelection(instant=copy.commits[0]), idle)


def test_totals(tmp_path: Path) -> None:
    base = support.unpack_logs("v6", "rolled_back", tmp_path)
    logs, notes = find_logs([str(base)])
    totals = Totals()
    rows = list(counted(inspect_logs(logs, notes), totals))
    assert (totals.blocks, totals.uncounted, totals.corrupt) == (len(rows), 0, [])
    assert totals.fates == {"valid": 3, "rolled back": 1}
    assert 0 < totals.valid_records < totals.records == sum(row.record_count or 0 for row in rows)


def test_bytes_that_belong_to_no_block_are_a_note(tmp_path: Path) -> None:
    """A few at a log's end, where a write ended at once, are no corrupt block: Hudi passes over them."""
    base = support.unpack_logs("v6", "rolled_back", tmp_path)
    logs, _ = find_logs([str(base)])
    for log, tail in zip(logs, (b"#HUD", b"#HUDI"), strict=False):
        with (base / log.name).open("ab") as file:
            file.write(tail)
    notes: list[str] = []
    rows = list(inspect_logs(find_logs([str(base)])[0], notes))
    assert {row.damage for row in rows} == {None}
    assert [note for note in notes if "fates of blocks" not in note] == [
        f"{logs[0].uri}: 4 bytes at {logs[0].size:,} belong to no block",
        f"{logs[1].uri}: 5 bytes at {logs[1].size:,} belong to no block",
    ]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_slices_of_a_log_compaction(tmp_path: Path, version: str) -> None:
    """Its log lies in the slice with those that it replaces."""
    base = support.unpack_logs(version, "log_compacted", tmp_path)
    table = open_table(str(base))
    timeline = load_timeline(table)
    (row,) = slice_rows(table, files_of_table(table, timeline, LocalEngine(2)), timeline, None)
    assert row.log_files == len([path for path in base.glob(".*.log.*") if path.suffix != ".crc"])
    assert (row.compaction, row.opened_by_compaction) == ("next", False)
