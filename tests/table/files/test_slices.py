"""Which files of uncommitted writes hide logs of committed ones: from table version 8 on, seen with 1.0.2 and 1.2.0."""

from collections.abc import Sequence

import pytest

from hudictl.formats.file_names import log_file_name, parse_data_file
from hudictl.table.files.slices import Committed, StoredFile, hiding
from hudictl.table.rules import rules_of

ONE, TWO, THREE, FOUR, FIVE = (f"2026112103000{number:04}" for number in range(1, 6))
BASES = {time: f"a-0_0-1-2_{time}.parquet" for time in (ONE, TWO, THREE, FOUR)}
LOGS = {time: log_file_name("a-0", time, 1, "0-1-2") for time in (ONE, TWO, THREE, FOUR)}
CHANGES = f"{LOGS[THREE]}.cdc"


def found(names: Sequence[str], *, compaction: str | None = None, version: int = 9, **committed: str) -> set[str]:
    """The hiding ones of one group's files; ``committed`` are completion times by the written-out number."""
    times = {"one": ONE, "two": TWO, "three": THREE, "four": FOUR}
    done = Committed({times[name]: ended for name, ended in committed.items()}, ONE)
    files = [StoredFile("", data, 7) for name in names if (data := parse_data_file(name)) is not None]
    assert len(files) == len(names)
    return {file.data.name for file in hiding(rules_of(version, 1 if version < 8 else 2), files, done, compaction)}


def test_a_base_file_that_began_before_a_writer_was_done() -> None:
    names = [BASES[ONE], BASES[TWO], BASES[THREE], LOGS[TWO]]
    assert found(names, one=ONE, two=THREE) == {BASES[THREE]}
    assert found([BASES[ONE], BASES[THREE], LOGS[TWO]], one=ONE, two=TWO) == set()
    assert found([BASES[ONE], BASES[TWO], BASES[THREE], LOGS[FOUR]], one=ONE, four=FIVE) == {BASES[TWO], BASES[THREE]}


def test_not_where_readers_take_a_later_one() -> None:
    """A committed base file, or the slice of a pending compaction, which is read with the one before."""
    names = [BASES[ONE], BASES[TWO], LOGS[THREE], BASES[FOUR]]
    assert found(names, one=ONE, three=THREE, four=FOUR) == set()
    assert found(names[:3], one=ONE, three=THREE, compaction=TWO) == set()
    assert found(names[:3], one=ONE, three=THREE) == {BASES[TWO]}


def test_logs_before_the_first_committed_one_of_a_group_without_base_file() -> None:
    names = [LOGS[ONE], LOGS[TWO], LOGS[THREE], LOGS[FOUR]]
    assert found(names, three=FOUR) == {LOGS[ONE], LOGS[TWO]}
    assert found(names, one=TWO, three=FOUR) == set()
    assert found([LOGS[TWO], LOGS[THREE], BASES[ONE]], one=ONE, three=THREE) == set()
    assert found(names, three=FOUR, compaction=TWO) == set()


@pytest.mark.parametrize("ended", [THREE, FOUR])
def test_behind_a_base_file_that_goes_there_may_be_a_log(ended: str) -> None:
    """An uncommitted log lies in the newest slice: it begins one only where no base file has."""
    names = [LOGS[ONE], LOGS[THREE], BASES[FOUR]]
    assert found(names, three=ended) == ({LOGS[ONE], BASES[FOUR]} if ended == FOUR else set())


def test_change_logs_have_no_rows_of_the_table() -> None:
    assert found([BASES[ONE], BASES[TWO], CHANGES], one=ONE, three=THREE) == set()


def test_below_table_version_8_names_tell_the_slice() -> None:
    assert found([BASES[ONE], BASES[TWO], LOGS[THREE]], version=6, one=ONE, three=THREE) == set()
