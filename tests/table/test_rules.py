"""What table versions mean."""

from collections.abc import Callable

import pytest

from hudictl.formats.releases import V0_15, V1_0, V1_2
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.rules import WRITABLE_VERSIONS, Rules, rules_of
from tests.table.conftest import Small, put

VERSIONS = (5, 6, 7, 8, 9, 10)
BY_LAYOUT: dict[str, Callable[[Rules], bool]] = {
    "instants have completion times in their names": lambda rules: rules.has_completion_times,
    "the archive is a tree of sorted files": lambda rules: rules.archive_is_lsm,
    "a log is named by its writer": lambda rules: rules.logs_named_by_writer,
    "a log does not grow": lambda rules: not rules.logs_grow,
    "a later block hides nothing": lambda rules: not rules.later_blocks_hide,
}
BY_VERSION: dict[str, tuple[Callable[[Rules], object], tuple[object, ...]]] = {
    "known": (lambda rules: rules.known, (True, True, True, True, True, False)),
    "read as by": (lambda rules: rules.reads_as, (V0_15, V0_15, V0_15, V1_0, V1_2, V1_2)),
    "needs rollback blocks": (lambda rules: rules.needs_rollback_blocks, (True, True, False, False, False, False)),
    "the data table vouches for its metadata table": (
        lambda rules: rules.metadata_is_vouched_for,
        (True, True, True, False, False, False),
    ),
    "a restore removes what was completed later": (
        lambda rules: rules.restores_by_completion,
        (False, False, False, False, True, True),
    ),
    "no index is built beside a pending instant": (
        lambda rules: rules.builds_indexes_alone,
        (True, True, True, False, False, False),
    ),
    "rollbacks beat": (lambda rules: rules.rollbacks_beat, (False, False, False, False, True, True)),
    "a clean without a commit retains the last write": (
        lambda rules: rules.commitless_clean_retains_last,
        (False, False, False, False, True, True),
    ),
}


@pytest.mark.parametrize("layout", [0, 1, 2, 3])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("fact", BY_LAYOUT)
def test_what_names_tell_goes_by_the_layout_whatever_the_version(fact: str, version: int, layout: int) -> None:
    """An interrupted upgrade leaves a version with another's layout."""
    assert BY_LAYOUT[fact](rules_of(version, layout)) is (layout >= 2)


@pytest.mark.parametrize("layout", [1, 2])
@pytest.mark.parametrize(("version", "number"), [(version, number) for number, version in enumerate(VERSIONS)])
@pytest.mark.parametrize("fact", BY_VERSION)
def test_what_readers_and_writers_do_goes_by_the_version(fact: str, version: int, number: int, layout: int) -> None:
    """Version 7 is read as 6, and one that hudictl does not know as the last that it knows."""
    look, expected = BY_VERSION[fact]
    assert look(rules_of(version, layout)) == expected[number]


@pytest.mark.parametrize(("version", "layout"), WRITABLE_VERSIONS.items())
def test_what_is_written_is_known(version: int, layout: int) -> None:
    rules = rules_of(version, layout)
    assert rules.known
    assert rules.has_completion_times is (version >= 8)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_table_has_the_rules_of_its_version_and_layout(small: Small, version: int) -> None:
    assert small(version).rules == rules_of(version, 1 if version < 8 else 2)


def test_a_metadata_table_has_rules_of_its_own(small: Small) -> None:
    """An upgrade may have died between the two; looking at one's rules first changes nothing for the other."""
    table = small(6)
    assert table.rules.reads_as == V0_15
    put(
        table,
        ".hoodie/metadata/.hoodie/hoodie.properties",
        b"hoodie.table.name=t_metadata\nhoodie.table.version=8\nhoodie.timeline.layout.version=2\n",
    )
    metadata = open_metadata_table(table)
    assert metadata is not None
    assert metadata.rules == rules_of(8, 2)
