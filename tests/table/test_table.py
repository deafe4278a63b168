"""Opening a table."""

from datetime import datetime, timedelta

import pytest

from hudictl.errors import Unreadable, UsageError
from hudictl.table.open import open_table
from hudictl.table.table import zone_named
from tests import support
from tests.table.conftest import Real, Small


@pytest.mark.parametrize(("version", "layout"), [("v6", 1), ("v8", 2), ("v9", 2)])
def test_real_tables(real: Real, version: str, layout: int) -> None:
    """Version, layout, type and what readers may use, from Hudi's own properties."""
    for name in ("cow_part", "mor_flat_nomdt"):
        table = real(version, name)
        assert (table.name, table.version, table.layout.version) == (name, int(version[1:]), layout)
        assert table.is_cow is name.startswith("cow")
        assert table.rules.has_completion_times is (layout == 2)
        assert ("files" in table.metadata_partitions) is ("nomdt" not in name)
        assert table.partition_fields == (("p",) if "part" in name else ())


@pytest.mark.parametrize("key", ["table_version", "timeline_layout_version"])
def test_a_version_that_is_no_number(small: Small, key: str) -> None:
    """The later line of a key wins, and this one makes the file unreadable (14)."""
    with pytest.raises(Unreadable, match="not a number"):
        small(9, **{key: "nine"})


@pytest.mark.parametrize("name", ["..", "../x", "a/../../x", "a/b", "."])
@pytest.mark.parametrize("key", ["table_metadata_partitions", "table_metadata_partitions_inflight"])
def test_a_metadata_partition_is_one_name(small: Small, key: str, name: str) -> None:
    """It becomes a folder that is deleted; refused before the first write."""
    with pytest.raises(Unreadable, match=r"not the name of one file or folder|no path inside the table"):
        small(9, **{key: f"files,{name}"})


@pytest.mark.parametrize(
    ("version", "key"), [(9, "timeline_path"), (9, "timeline_history_path"), (6, "archivelog_folder")]
)
def test_the_folders_of_a_timeline_are_in_the_table(small: Small, version: int, key: str) -> None:
    with pytest.raises(Unreadable, match="no path inside the table"):
        small(version, **{key: "../../elsewhere"})


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "Europe"])
def test_a_zone_that_is_none(small: Small, zone: str) -> None:
    with pytest.raises(UsageError, match="no such time zone"):
        small(9, zone=zone)


def test_file_uri_and_path_are_the_same_table(real: Real) -> None:
    table = real("v9", "cow_flat_nomdt")
    assert table.uri.startswith("file:///")
    assert open_table(table.uri.removeprefix("file://")).uri == table.uri
    assert support.facts("v9", "cow_flat_nomdt")["name"] == table.name


@pytest.mark.parametrize(
    ("text", "minutes"), [("UTC-05:00", -300), ("UTC+08:00", 480), ("+05:30", 330), ("-00:30", -30), ("UTC", 0)]
)
def test_a_zone_by_its_offset(text: str, minutes: int) -> None:
    """As the hint about another zone writes it."""
    assert zone_named(text).utcoffset(None if text != "UTC" else datetime(2026, 1, 1)) == timedelta(minutes=minutes)


@pytest.mark.parametrize("text", ["UTC-5", "UTC+25:00", "+08:60", "08:00", "UTC+08:00x", "\u0661\u0662:00"])
def test_no_offset(text: str) -> None:
    with pytest.raises(UsageError, match="no such time zone"):
        zone_named(text)
