"""Both timelines side by side."""

from dataclasses import astuple

import pytest

from hudictl.reports.timeline import TimelineFilter
from hudictl.reports.timeline_pairs import timeline_pairs
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack


@pytest.mark.parametrize("version", support.VERSIONS)
def test_each_instant_of_both_tables_stands_once(unpack: Unpack, version: str) -> None:
    table = unpack(version, "mor_part").table
    metadata = open_metadata_table(table)
    assert metadata
    found = timeline_pairs(table, TimelineFilter(descending=True))
    assert [row.time for row in found] == sorted((row.time for row in found), reverse=True)
    own = {(row.time, row.action, row.state) for row in found if row.action}
    assert own == {(entry.time, entry.action, entry.state.name) for entry in load_timeline(table).instants}
    theirs = {(row.time, row.metadata_action, row.metadata_state) for row in found if row.metadata_action}
    assert theirs == {(entry.time, entry.action, entry.state.name) for entry in load_timeline(metadata).instants}
    assert all(row.metadata_state == "COMPLETED" for row in found if row.action and row.time == found[-1].time)


def test_instants_of_an_action_only(unpack: Unpack) -> None:
    table = unpack("v9", "mor_part").table
    found = timeline_pairs(table, TimelineFilter(("commit",)))
    assert {row.action for row in found} == {"commit"}
    assert {row.metadata_action for row in found} == {"deltacommit"}


def test_without_a_metadata_table_its_columns_are_empty(unpack: Unpack) -> None:
    table = unpack("v8", "cow_flat_nomdt").table
    found = timeline_pairs(table, TimelineFilter())
    assert found
    assert {astuple(row)[4:] for row in found} == {(None, None, None)}
