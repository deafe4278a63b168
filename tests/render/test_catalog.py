"""How a catalog is to be corrected, as text."""

from hudictl.render.afterwards import catalog_lines
from hudictl.state.files.catalog import NO_GAP, SYNC_ALL, CatalogGap

SYNCED = "UNSET TBLPROPERTIES IF EXISTS ('last_commit_time_sync', 'last_commit_completion_time_sync');"


def test_nothing_is_said_if_the_catalog_is_right() -> None:
    assert catalog_lines(NO_GAP) == []


def test_the_partitions_and_the_ways_to_correct_the_catalog() -> None:
    gap = CatalogGap(("3", "4"), ("1",), ("`t_ro`", "`t_rt`"), ("p",))
    lines = catalog_lines(gap)
    assert lines[:2] == ["Partitions without data afterwards: 2 (3, 4).", "Partitions with data again: 1 (1)."]
    assert SYNC_ALL in lines[2]
    assert lines[3:] == [
        f"  ALTER TABLE `t_ro` {SYNCED}",
        f"  ALTER TABLE `t_rt` {SYNCED}",
        "  ALTER TABLE `t_ro` DROP IF EXISTS PARTITION (`p`='3'), PARTITION (`p`='4');",
        "  ALTER TABLE `t_rt` DROP IF EXISTS PARTITION (`p`='3'), PARTITION (`p`='4');",
    ]


def test_a_statement_is_never_cut() -> None:
    """With too many partitions for one line there is none: JSON has one for each."""
    many = CatalogGap(tuple("123456"), (), ("`t`",), ("p",))
    lines = catalog_lines(many)
    assert lines[0] == "Partitions without data afterwards: 6 (1, 2, 3, 4, 5 and 1 more)."
    assert lines[2:] == [
        f"  ALTER TABLE `t` {SYNCED}",
        "The statements that drop the partitions are in the output with -o json.",
    ]
    assert len(list(many.statements)) == 7


def test_a_partition_whose_value_is_not_known_has_no_statement() -> None:
    gap = CatalogGap(("2024/01/02", "3"), (), ("`t`",), ("p",))
    assert catalog_lines(gap)[-2:] == [
        "  ALTER TABLE `t` DROP IF EXISTS PARTITION (`p`='3');",
        "Drop by hand, as their values in the catalog depend on the key generator, or cannot be quoted: 2024/01/02.",
    ]


def test_only_partitions_that_return() -> None:
    gap = CatalogGap((), ("1",), ("`t`",), ("p",))
    assert not any("DROP" in line or "without data" in line for line in catalog_lines(gap))
    assert catalog_lines(gap)[0] == "Partitions with data again: 1 (1)."
