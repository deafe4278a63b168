"""The records of instants, one after the other."""

import weakref

import pytest

from hudictl.reports.records import Recorded, records_of
from hudictl.reports.timeline import TimelineFilter
from tests import support
from tests.fixtures import Unpack


@pytest.mark.parametrize("version", support.VERSIONS)
def test_no_records_but_those_of_one_instant_are_kept(unpack: Unpack, version: str) -> None:
    """Of both timelines, also where one file of the archive has several instants."""
    copy = unpack(version, "cow_cleaned")
    seen: list[weakref.ref[Recorded]] = []
    most = 0

    def told(entry: Recorded) -> str:
        nonlocal most
        seen.append(weakref.ref(entry))
        most = max(most, sum(ref() is not None for ref in seen))
        return entry.timeline

    found = list(records_of(copy.table, TimelineFilter(archived=True, descending=True), told, plans=True))
    assert len(seen) == len(found)
    assert {"active", "archived"} <= set(found)
    # One that goes while the next comes.
    assert most <= 2
