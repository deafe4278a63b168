"""One listing of all partitions: what it says of folders, and looks at the files where they were listed."""

from collections.abc import Sequence
from functools import partial

import pytest

from hudictl import workers
from hudictl.engine.base import TaskResult, values
from hudictl.engine.local import LocalEngine
from hudictl.errors import StorageFailed
from hudictl.storage import Storage
from hudictl.table.files.choose import is_empty
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.sweep import Partition, Sweep, other_table, sweep
from hudictl.table.table import Table
from tests.helpers import files_of
from tests.table.conftest import Small, base_of, put

FIRST, SECOND = "a-0_0-1-1_100.parquet", "a-0_0-1-1_200.parquet"
OTHER, LOG = "b-0_0-1-1_100.parquet", ".b-0_150.log.1_0-1-1"


@pytest.fixture
def table(small: Small) -> Table:
    """Two partitions, and a folder without metafile."""
    table = small(9)
    for path, size in ((f"p/{FIRST}", 1), (f"p/{SECOND}", 2), (f"q/{OTHER}", 4), (f"q/{LOG}", 0), (f"bare/{FIRST}", 8)):
        put(table, path, b"x" * size)
    for partition in "pq":
        put(table, f"{partition}/.hoodie_partition_metadata", b"x" * 16)
    return table


def swept(table: Table, *named: str) -> Sweep:
    return sweep(table, LocalEngine(), named)


def paths(files: Sequence[StoredFile]) -> list[str]:
    return [file.path for file in files]


def of_instant(times: Sequence[str], file: StoredFile) -> bool:
    return file.data.instant in times


def count(place: Partition[int]) -> tuple[str, int | None, int | None]:
    """How many files a partition has, and what was given for it."""
    return place.path, None if place.listing is None else len([*place.listing.files]), place.given


def test_a_look_is_at_each_partition_that_is_listed_or_given(table: Table) -> None:
    """A folder that does not count is as one that is not there."""
    given = {"p": 1, "bare": 2, "gone": 3}
    found = sorted(swept(table).over("count", count, given=given.items()))
    assert found == [("bare", None, 2), ("gone", None, 3), ("p", 3, 1), ("q", 3, None)]
    assert ("bare", 1, 2) in swept(table, "bare").over("count", count, given=given.items())


def test_files_are_chosen_in_order(table: Table) -> None:
    found = swept(table)
    assert paths(found.select("choose", is_empty)) == [f"q/{LOG}"]
    times = ("100", "200")
    everywhere = [f"p/{FIRST}", f"p/{SECOND}", f"q/{OTHER}"]
    for naming in (None, times):
        assert paths(found.select("choose", partial(of_instant, times), naming)) == everywhere
    assert paths(found.select("choose", partial(of_instant, times), ["200"])) == [f"p/{FIRST}", f"p/{SECOND}"]
    assert found.select("choose", partial(of_instant, times), []) == []


def test_files_are_found_by_their_groups_and_by_their_names(table: Table) -> None:
    found = swept(table)
    assert paths(found.of_groups([("p", "a-0"), ("q", "a-0"), ("gone", "a-0")])) == [f"p/{FIRST}", f"p/{SECOND}"]
    assert found.of_groups([]) == []
    names = {"p": [FIRST, OTHER], "bare": [FIRST], "gone": [FIRST], "q": []}
    assert found.absent(names) == [f"bare/{FIRST}", f"gone/{FIRST}", f"p/{OTHER}"]
    assert found.absent({"q": []}) == []
    assert found.bytes_of({"p": [FIRST, SECOND, OTHER], "q": [OTHER], "gone": [FIRST]}) == 7


def test_another_table_is_told_though_it_has_a_metafile(table: Table) -> None:
    """Nothing in it is listed: its files would be missed."""
    (base_of(table) / "q/.hoodie").mkdir()
    for named in ((), ("q",)):
        found = swept(table, *named)
        assert (found.tables, found.partitions) == ({"q"}, {"p"})
        assert paths(files_of(found)) == [f"p/{FIRST}", f"p/{SECOND}"]
        assert [other_table(path, found) for path in ("q", "q/below", "p")] == ["q", "q", None]


def test_what_is_behind_a_link_is_told(table: Table) -> None:
    (base_of(table) / "q").rename(base_of(table).parent / "elsewhere")
    (base_of(table) / "q").symlink_to(base_of(table).parent / "elsewhere")
    found = swept(table)
    assert (found.linked, found.partitions) == ({"q"}, {"p", "q"})


@pytest.mark.parametrize("first", [True, False], ids=["by the driver", "by the engine"])
def test_only_some_partitions_are_listed_with_the_folders_above(
    small: Small, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else there is, and whatever is known of it. What is below a partition counts as ever."""
    table = small(9)
    for partition in ("2026/11", "2026/11/below", "2026/12", "2025/11"):
        put(table, f"{partition}/{FIRST}", b"x")
        put(table, f"{partition}/.hoodie_partition_metadata", b"x")
    asked: list[str] = []
    real = workers.list_folder

    def listing(storage: Storage, place: workers.Folder, sync: bool) -> workers.Listing | None:
        asked.append(place.path)
        return real(storage, place, sync)

    monkeypatch.setattr(workers, "list_folder", listing)
    if not first:
        # The driver lists the root alone.
        monkeypatch.setattr("hudictl.table.files.sweep._ENOUGH_FILES", 0)
    found = sweep(table, LocalEngine(), {"2025/11"}, within={"2026/11", "2026/11/below", "gone/13"})
    assert sorted(asked) == ["", "2026", "2026/11", "2026/11/below"]
    assert (found.partitions, found.odd) == ({"2026/11"}, set())
    assert paths(found.select("all", bool)) == [f"2026/11/{FIRST}"]
    given = dict.fromkeys(("2026/11", "2026/12", "2025/11", "gone/13"), 1)
    assert sorted(found.over("count", count, given=given.items())) == [("2026/11", 2, 1), ("gone/13", None, 1)]


def test_no_value_is_lost_and_no_error() -> None:
    """An empty value is one; None is none."""
    assert values([TaskResult(0), TaskResult(None), TaskResult({})], "look") == [0, {}]
    with pytest.raises(StorageFailed, match=r"cannot look: no answer \(and 1 more\)") as caught:
        values([TaskResult(0), TaskResult(None, "no answer"), TaskResult(None, "no disk")], "look")
    assert caught.value.fields["failed"] == 2
