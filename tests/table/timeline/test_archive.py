"""The archived timeline of a table."""

import io
import json
import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hudictl.errors import Unreadable
from hudictl.storage.base import FileStatus
from hudictl.storage.local import LocalStorage
from hudictl.table.timeline.archive import (
    archive_ranges,
    archived_after,
    archived_completions,
    archived_files,
    archived_in_order,
    newest_archived,
)
from tests import support
from tests.table.conftest import Real, Small, put

ARCHIVE = ".hoodie/timeline/history"
UPGRADED = Path(__file__).parent / "upgraded"
"""Has the file that Hudi 1.2.0 made of the archive of cow_cleaned, in one log, when it upgraded it from version 6."""


@pytest.mark.parametrize("version", support.VERSIONS)
def test_real_archives(real: Real, version: str) -> None:
    """Everything after a time and nothing before it; Hudi's rows say which commits there were."""
    table = real(version, "cow_cleaned")
    rows = [*support.facts(version, "cow_cleaned")["rows"]]
    archived = [time for time in rows if time in {entry.time for entry in archived_after(table, "")}]
    assert archived == rows[: len(archived)]
    assert len(archived) in (7, 8)
    for time in ("", archived[2], archived[-1]):
        found = {entry.time for entry in archived_after(table, time) if entry.action == "commit"}
        assert found == {entry for entry in archived if entry > time}


@pytest.mark.parametrize("version", [6, 9])
def test_no_archive(small: Small, version: int) -> None:
    """A young table has no folder; that is an empty archive."""
    assert list(archived_after(small(version), "")) == []


def test_only_the_manifests_files_count(small: Small, real: Real) -> None:
    """The version file names the manifest; leftovers beside it, and files that it does not list, are not live."""
    live = real("v9", "cow_cleaned").storage
    names = [entry.name for entry in live.list(ARCHIVE) if entry.name.endswith(".parquet")]
    table = small(9)
    for name in names:
        put(table, f"{ARCHIVE}/{name}", live.read(f"{ARCHIVE}/{name}"))
    for number, listed in ((1, names[:1]), (2, names[:2]), (3, names)):
        body = '{"files": [' + ", ".join(f'{{"fileName": "{name}", "fileLen": 1}}' for name in listed) + "]}"
        put(table, f"{ARCHIVE}/manifest_{number}", body.encode())
    put(table, f"{ARCHIVE}/manifest_9.tmp", b"")
    put(table, f"{ARCHIVE}/manifest_4.6f9619ff-8b86-d011-b42d-00c04fc964ff", b"")

    def files() -> int:
        times = {entry.time for entry in archived_after(table, "")}
        return sum(name.partition("_")[0] in times for name in names)

    assert files() == len(names)
    for version, expected in ((b"1", 1), (b"2", 2), (b"2\n", 2), (b"x", len(names))):
        put(table, f"{ARCHIVE}/_version_", version)
        assert files() == expected, version
    put(table, f"{ARCHIVE}/_version_", b"77")
    with pytest.raises(Unreadable, match="manifest_77"):
        files()


def test_a_file_is_opened_whatever_its_name_says(small: Small) -> None:
    """An upgrade to version 8 names it by instants that are not the first and the last in time (1.0.2)."""
    table = small(9)
    put(table, f"{ARCHIVE}/manifest_1", b'{"files": [{"fileName": "10_20_0.parquet"}]}')
    put(table, f"{ARCHIVE}/10_20_0.parquet", b"damaged")
    with pytest.raises(Unreadable):
        list(archived_after(table, "20"))


@pytest.mark.parametrize("initial", ["6", "8"])
def test_the_name_of_an_upgraded_file_does_not_tell_its_times(small: Small, initial: str) -> None:
    """The log had commits first and last, and a clean that is newer than them. 1.0.2 sets the initial version to 8."""
    table = small(9, archivelog_folder="archived", table_initial_version=initial)
    (file,) = UPGRADED.iterdir()
    put(table, f"{ARCHIVE}/{file.name}", file.read_bytes())
    put(table, f"{ARCHIVE}/20261121025340746_20261121025340746_0.parquet", b"damaged")
    listed = [{"fileName": name} for name in (file.name, "20261121025340746_20261121025340746_0.parquet")]
    put(table, f"{ARCHIVE}/manifest_1", json.dumps({"files": listed[:1]}).encode())
    clean, commit = "20261121025340153", "20261121025339290"
    assert file.name[:35] == f"20261121025331524_{commit}"
    assert [entry.action for entry in archived_in_order(table, clean, clean)] == ["clean"]
    assert [entry.action for entry, _, _ in archived_files(table, clean)] == ["clean"]
    assert archived_files(table, "20261121025340154") == []
    assert archived_completions(table, [commit]) == {commit: "20261121025340123"}
    assert archive_ranges(table) == {file.name: ("20261121025331524", clean)}
    assert newest_archived(table, archive_ranges(table)) == clean
    put(table, f"{ARCHIVE}/manifest_1", json.dumps({"files": listed}).encode())
    # A damaged file may have any time.
    assert newest_archived(table, archive_ranges(table)) == "~"
    with pytest.raises(Unreadable):
        archived_files(table, "20261121025340154")


def test_a_table_that_was_not_upgraded_is_known_by_names_alone(small: Small) -> None:
    table = small(9, archivelog_folder="history", table_initial_version="8")
    put(table, f"{ARCHIVE}/manifest_1", b'{"files": [{"fileName": "10_20_0.parquet"}]}')
    assert archive_ranges(table) == {"10_20_0.parquet": ("10", "20")}
    assert archived_files(table, "21") == []


def test_a_file_of_the_manifest_that_is_gone(small: Small) -> None:
    """Unreadable (14): what was in it may be younger than the savepoint."""
    table = small(9)
    put(table, f"{ARCHIVE}/manifest_1", b'{"files": [{"fileName": "10_20_0.parquet"}]}')
    with pytest.raises(Unreadable):
        list(archived_after(table, ""))


def test_a_cleaning_of_the_archive_while_it_is_read(small: Small, real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compaction of the archive put a file's instants into another one and took the file away: read again."""
    live = real("v9", "cow_cleaned").storage
    name = next(entry.name for entry in live.list(ARCHIVE) if entry.name.endswith(".parquet"))
    table = small(9)
    put(table, f"{ARCHIVE}/manifest_1", b'{"files": [{"fileName": "10_20_0.parquet"}]}')
    look = LocalStorage.stat

    def cleaned(self: LocalStorage, path: str) -> FileStatus | None:
        if path.endswith("/10_20_0.parquet"):
            put(table, f"{ARCHIVE}/manifest_2", b'{"files": [{"fileName": "10_30_1.parquet"}]}')
            put(table, f"{ARCHIVE}/10_30_1.parquet", live.read(f"{ARCHIVE}/{name}"))
        return look(self, path)

    monkeypatch.setattr(LocalStorage, "stat", cleaned)
    assert name.partition("_")[0] in {entry.time for entry in archived_after(table, "")}


@pytest.mark.parametrize("seed", range(8))
def test_instants_come_in_order_out_of_files_that_overlap(small: Small, seed: int) -> None:
    """Hudi's levels, and several writers: each instant once, from whichever end they are read."""
    chance = random.Random(seed)
    table, names, times = small(9), [], set()
    for level in range(6):
        start = chance.randrange(900)
        part = sorted(chance.sample(range(start, start + 100), chance.randint(1, 9)))
        texts = [f"{time:04d}" for time in part]
        times.update(texts)
        out = io.BytesIO()
        columns = {"instantTime": texts, "completionTime": texts, "action": ["commit"] * len(texts)}
        parquet.write_table(pa.table(columns), out)
        names.append(f"{texts[0]}_{texts[-1]}_{level}.parquet")
        put(table, f"{ARCHIVE}/{names[-1]}", out.getvalue())
    put(table, f"{ARCHIVE}/manifest_1", json.dumps({"files": [{"fileName": name} for name in names]}).encode())
    for since, until in (("", "~"), ("0300", "0700~"), (min(times), min(times))):
        wanted = sorted(time for time in times if since <= time <= until)
        assert [entry.time for entry in archived_in_order(table, since, until)] == wanted
        assert [entry.time for entry in archived_in_order(table, since, until, newest_first=True)] == wanted[::-1]
