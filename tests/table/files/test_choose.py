"""What is chosen of the files of a partition, where they are listed."""

import pytest

from hudictl import workers
from hudictl.formats.layouts import SCRATCH
from hudictl.storage.local import LocalStorage
from hudictl.table.files.choose import is_base_of, is_empty, is_log_of, is_trace, scan_partition, unlisted
from hudictl.table.files.listed import ListedNames
from hudictl.table.files.slices import StoredFile, stored_files
from hudictl.table.files.sweep import Partition
from hudictl.workers import Listing, LogTask, Packed, pack

BASE, EMPTY, LATER = "a-0_0-1-1_100.parquet", ".a-0_100.log.1_0-1-1", ".a-0_200.log.1_0-1-1"
CHANGES = ".a-0_300.log.1_0-1-1.cdc"
LISTING: Packed = pack(
    Listing("p", ((BASE, 7, 0), (EMPTY, 0, 0), (LATER, 7, 0), (CHANGES, 7, 0), ("stranger", 7, 0)), ())
)
FILES = stored_files("p", LISTING)


def names(files: list[StoredFile] | None) -> set[str]:
    return {file.data.name for file in files or ()}


def test_each_choice_is_of_these_files_and_no_others() -> None:
    assert names([file for file in FILES if is_empty(file)]) == {EMPTY}
    assert names([file for file in FILES if is_base_of({"100", "200"}, file)]) == {BASE}
    assert names([file for file in FILES if is_log_of("100", file)]) == {EMPTY}
    assert names([file for file in FILES if is_trace({"100"}, {("p", LATER), ("q", CHANGES)}, file)]) == {
        *(BASE, EMPTY, LATER)
    }


def test_of_a_partition_that_no_list_has_all_files_are_unlisted() -> None:
    assert names(unlisted(Partition("p", LISTING))) == {BASE, EMPTY, LATER, CHANGES}
    assert names(unlisted(Partition("p", LISTING, listed=[ListedNames(f"{BASE}/{EMPTY}")]))) == {LATER, CHANGES}
    assert unlisted(Partition("p", LISTING, listed=[ListedNames("/".join((BASE, EMPTY, LATER, CHANGES)))])) is None
    assert unlisted(Partition("p", None, listed=[ListedNames(BASE)])) is None


def test_only_logs_that_stay_are_searched_for_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Change logs have none."""
    tasks: list[tuple[object, LogTask]] = []
    monkeypatch.setattr(workers, "scan_logs", lambda *task: tasks.append(task) or [("400", LATER)])
    storage, instants = LocalStorage("/nowhere", SCRATCH), frozenset({"400"})
    assert scan_partition(storage, {"100"}, instants, Partition("p", LISTING)) == ("p", [("400", LATER)])
    assert tasks == [(instants, LogTask(storage, "p", ((LATER, 7),)))]
    assert scan_partition(storage, {"100", "200"}, instants, Partition("p", LISTING)) is None
    assert len(tasks) == 1
