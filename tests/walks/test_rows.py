"""The model that says what the rows must be."""

from tests.walks.rows import Instant, Write, later, rows_after
from tests.walks.walk import walk_of

PUT = Write("1", [[1, 1, "a", "p"], [2, 1, "b", "q"]])


def test_a_later_write_of_a_key_replaces_its_row() -> None:
    assert rows_after([PUT, Write("2", [[1, 2, "c", "p"]])]) == {1: [1, 2, "c", "p"], 2: [2, 1, "b", "q"]}


def test_an_emptied_partition_keeps_only_what_the_same_write_puts() -> None:
    assert rows_after([PUT, Write("2", [[3, 2, "c", "p"]], emptied={"p"})]) == {
        2: [2, 1, "b", "q"],
        3: [3, 2, "c", "p"],
    }
    assert rows_after([PUT, Write("2", [[3, 2, "c", "p"]], emptied=None)]) == {3: [3, 2, "c", "p"]}


def test_a_deleted_key_is_gone_until_it_is_written_again() -> None:
    deleted = Write("2", deleted=[1])
    assert set(rows_after([PUT, deleted])) == {2}
    assert set(rows_after([PUT, deleted, PUT])) == {1, 2}


def test_the_rules_differ_where_an_instant_was_requested_before_and_completed_after() -> None:
    slow = Instant("1", "commit", "COMPLETED", "9")
    timeline = [slow, Instant("2", "commit", "COMPLETED", "3"), Instant("4", "commit", "INFLIGHT", "")]
    assert later(timeline, "2", "requested") == set()
    assert later(timeline, "2", "completion") == {"1"}


def test_a_seed_gives_the_same_walk_again() -> None:
    assert walk_of(7) == walk_of(7) != walk_of(8)
