"""The properties of a table beside Hudi's defaults: what is set, what is not, and no secret."""

import pytest

from hudictl.reports.table_properties import PropertyRow, property_rows
from hudictl.secrets import looks_secret
from hudictl.table.properties import update_properties
from hudictl.table.properties_known import known_properties
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy

NUMBERS = {"v6": 6, "v8": 8, "v9": 9}


def by_name(copy: Copy, *, unset: bool) -> dict[str, PropertyRow]:
    return {row.name: row for row in property_rows(copy.table, unset=unset)}


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_all_that_the_file_says_and_nothing_else(unpack: Unpack, version: str) -> None:
    for name in support.every_name(version):
        copy = unpack(version, name)
        rows = property_rows(copy.table, unset=False)
        assert {row.name: row.value for row in rows} == copy.table.properties
        assert [row.name for row in rows] == sorted(copy.table.properties)
        assert all(row.set for row in rows)
        # What Hudi writes by itself, its own configuration class knows.
        assert [row.name for row in rows if row.meaning is None] == [], name


@pytest.mark.parametrize("version", support.VERSIONS)
def test_all_that_the_release_knows_on_request(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    known = known_properties(NUMBERS[version])
    rows = by_name(copy, unset=True)
    assert rows.keys() == known.keys() | copy.table.properties.keys()
    for name, (meaning, default) in known.items():
        assert (rows[name].meaning, rows[name].default) == (meaning, default)
        assert rows[name].set is (name in copy.table.properties)
        assert (rows[name].value is None) is (name not in copy.table.properties)


def test_a_value_that_may_be_secret_is_not_shown(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    given = {"my.secret.key": "hunter2", "my.source": "hdfs://me:hunter2@host/x", "my.empty.secret": ""}
    update_properties(copy.table.storage, given)
    rows = by_name(copy, unset=True)
    assert [rows[name].value for name in given] == ["***", "hdfs://***@host/x", ""]
    assert not any("hunter2" in str(row) for row in rows.values())
    assert all(rows[name].meaning is None for name in given)


def test_no_property_of_hudi_looks_secret() -> None:
    assert [name for version in (6, 8, 9) for name in known_properties(version) if looks_secret(name)] == []


def test_an_unknown_table_version_has_the_properties_of_the_nearest_older_one() -> None:
    assert known_properties(5) == known_properties(6) == known_properties(7)
    assert known_properties(9) == known_properties(10)
    assert known_properties(8) not in (known_properties(6), known_properties(9))


def test_what_differs_from_the_default_is_changed(unpack: Unpack) -> None:
    """What has no default, or is not set, is not."""
    rows = by_name(unpack("v9", "mor_part"), unset=True)
    assert {name for name, row in rows.items() if row.changed} == {"hoodie.table.type", "hoodie.archivelog.folder"}
    assert all(row.set and row.default is not None for row in rows.values() if row.changed)
