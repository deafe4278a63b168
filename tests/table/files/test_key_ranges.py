"""Folders listed by the order of an object store's keys: the same listings as folder by folder, in few requests."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.engine.local import LocalEngine
from hudictl.storage import FileStatus, Storage
from hudictl.table.files.key_ranges import RangeTask, begin_range, key_ranges, list_range
from hudictl.table.files.sweep import Sweep, sweep
from hudictl.table.table import Table
from hudictl.workers import Folder, Listing, ListTask, Packed, list_tree, pack


@dataclass(frozen=True)
class Keys:
    """An object store: keys with their sizes. It lists single folders, too."""

    keys: Mapping[str, int]
    files_in_one_listing: int = 1000

    def list(self, folder: str) -> list[FileStatus]:
        inside = f"{folder}/" if folder else ""
        found: dict[str, FileStatus] = {}
        for key, size in self.keys.items():
            name, slash, _ = key.removeprefix(inside).partition("/")
            if key.startswith(inside) and name:
                found[name] = FileStatus(name, bool(slash), 0 if slash else size, 0 if slash else size)
        if not any(key.startswith(inside) for key in self.keys):
            raise FileNotFoundError(folder)
        return sorted(found.values())

    def files_between(self, first: str, last: str) -> Iterator[tuple[str, FileStatus]]:
        for key in sorted(self.keys):
            if f"{first}/" <= key and (key <= f"{last}/" or key.startswith(f"{last}/")):
                assert not key.startswith(".hoodie/")
                yield key, FileStatus(key.rpartition("/")[2], False, self.keys[key], self.keys[key])

    def sync(self, folder: str) -> None:
        """A put is durable."""

    def behind_link(self, folder: str) -> bool:
        return False


def store(keys: Mapping[str, int], at_once: int = 1000) -> Storage:
    return cast(Storage, Keys(keys, at_once))


def table_of(storage: Storage) -> Table:
    """A sweep needs no more of it."""

    return cast(Table, SimpleNamespace(storage=storage))


NAMES = st.sampled_from(["a", "a+-1", "a-1", "a.b", "b", "p=1", ".a", ".hoodie", "!x", "é", "\U0001f600"])
FILES = st.sampled_from([".hoodie_partition_metadata", "f.parquet", ".f.log.1_0-1-0", "a", "z", ".z.parquet.crc"])
# A folder has no name of a file; a key that ends with a slash is the folder's own.
FOLDERS = st.lists(NAMES, min_size=1, max_size=3).map(lambda names: "/".join(f"{name}+" for name in names))
KEYS = st.dictionaries(
    st.one_of(
        st.builds("{}/{}".format, FOLDERS, FILES),
        st.builds("{}/".format, FOLDERS),
        st.builds("{}/.hoodie/{}".format, FOLDERS, FILES),
        st.builds(".hoodie/{}".format, FILES),
        st.builds("{}//{}".format, FOLDERS, FILES),
        FILES,
    ),
    st.integers(0, 99),
    min_size=1,
    max_size=40,
)


def in_order(listings: Iterator[Listing]) -> list[tuple[str, Packed, frozenset[str]]]:
    return sorted((listing.path, pack(listing), frozenset(listing.folders)) for listing in listings)


@pytest.mark.slow
@given(KEYS, st.sets(FOLDERS), st.booleans())
def test_ranges_list_what_trees_list(keys: dict[str, int], some: set[str], everything: bool) -> None:
    storage = store(keys)
    within = None if everything else frozenset(some)
    tops = [Folder(entry.name) for entry in storage.list("") if entry.is_dir and entry.name != ".hoodie"]
    tops = [top for top in tops if within is None or top.path in within]
    trees = (listing for top in tops for listing in list_tree(ListTask(storage, top, False, within)))
    ranges = key_ranges(storage, tops, 0, 1, within)
    assert bool(ranges) is (len(tops) > 1)
    if ranges:
        assert in_order(listing for task in ranges for listing in list_range(task)) == in_order(trees)


def everything(found: Sweep) -> tuple[object, ...]:
    listings = found.over("all", lambda place: (place.path, place.listing))
    return sorted(listings), found.partitions, found.linked, found.tables, found.named, found.odd, found.within


@pytest.mark.slow
@pytest.mark.parametrize("enough", [200_000, 20, 1])
def test_a_sweep_finds_the_same(enough: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the driver begins, and the engine goes on."""
    monkeypatch.setattr("hudictl.table.files.sweep._ENOUGH_FILES", enough)

    @given(KEYS, st.sets(FOLDERS), st.one_of(st.none(), st.sets(FOLDERS)))
    def test(keys: dict[str, int], named: set[str], within: set[str] | None) -> None:
        by_keys, by_folders = (
            sweep(table_of(store(keys, at_once)), LocalEngine(), named, within=within) for at_once in (1000, 0)
        )
        assert everything(by_keys) == everything(by_folders)

    test()


def test_of_folders_that_are_larger_than_the_first_ones_the_engine_lists_the_rest() -> None:
    """Each range is begun by the driver, up to its share of 200,000 files."""
    keys = {f"p{number:03}/f{file}": 1 for number in range(100) for file in range(1 if number < 50 else 200)}
    task = RangeTask(store(keys), tuple(Folder(f"p{number:03}") for number in range(40, 100)))
    found, left = begin_range(task, 500)
    assert [path for path, _ in found] == [f"p{number:03}" for number in range(40, 53)]
    assert [folder.path for folder in left] == [f"p{number:03}" for number in range(53, 100)]
    assert begin_range(task, 10**9)[1] == ()


def test_many_small_folders_take_few_requests() -> None:
    """A thousand of six files are listed in six ranges."""
    folders = [Folder(f"p{number:04}") for number in range(1000)]
    ranges = key_ranges(store({}), folders, 0, 6, None)
    assert len(ranges) == 6
    assert [folder for task in ranges for folder in task.folders] == folders


@pytest.mark.slow
def test_no_more_ranges_than_requests_are_in_flight() -> None:
    folders = [Folder(f"p{number:06}") for number in range(100_000)]
    ranges = key_ranges(store({}), folders, 0, 100, frozenset({"p000001"}))
    assert len(ranges) == 16
    assert {task.within for task in ranges} == {frozenset({"p000001"})}


def test_folders_are_listed_by_themselves_where_it_is_cheaper() -> None:
    """Few, or large ones; few of many; or the store has no such listing."""
    folders = [Folder(f"p{number:04}") for number in range(100)]
    assert key_ranges(store({}), folders, 0, 499, None)
    assert not key_ranges(store({}), folders, 0, 501, None)
    assert key_ranges(store({}), folders, 4_900, 10, None)
    assert not key_ranges(store({}), folders, 5_100, 10, None)
    assert not key_ranges(store({}), folders[:1], 0, 1, None)
    assert not key_ranges(store({}, 0), folders, 0, 1, None)


def test_of_very_many_partitions_a_few_are_listed_by_themselves() -> None:
    """Between them are too many others."""

    class Folders(Keys):
        def files_between(self, first: str, last: str) -> Iterator[tuple[str, FileStatus]]:
            raise AssertionError(f"from {first} to {last}")

    names = [f"p{number:04}" for number in range(3000)]
    storage = cast(Storage, Folders({f"{name}/f.parquet": 1 for name in names}))
    found = sweep(table_of(storage), LocalEngine(), (), within=names[::400])
    assert found.within == {*names[::400]}


def test_a_folder_that_is_gone_is_not_listed() -> None:
    task = RangeTask(store({"a/x": 1, "c/x": 1}), (Folder("a"), Folder("b"), Folder("c")))
    assert [listing.path for listing in list_range(task)] == ["a", "c"]


def test_what_is_known_of_a_folder_counts_for_those_below() -> None:
    task = RangeTask(store({"a/b/x": 1}), (Folder("a", hidden=True),))
    assert [(listing.path, listing.hidden) for listing in list_range(task)] == [("a", True), ("a/b", True)]
