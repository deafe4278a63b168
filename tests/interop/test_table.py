"""``table properties``, and what hudictl knows of Hudi's properties, against each Hudi."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.reports.table_properties import property_rows
from hudictl.table.open import open_table
from hudictl.table.properties_known import known_properties
from tests import support
from tests.interop.judge import RELEASES, Judge

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
IN_THE_FILE = {"ZERO": "0", "EIGHT": "8", "NINE": "9"}
"""Table versions, which HoodieTableConfig has as an enumeration."""


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", RELEASES)
def test_the_properties_and_defaults_of_each_release(judge: Judges, version: str) -> None:
    known = {name: default for name, (_, default) in known_properties(int(version[1:])).items()}
    theirs = judge(version).call("table_config")
    assert known == {name: IN_THE_FILE.get(str(default), default) for name, default in theirs.items()}


@pytest.mark.short("v8-mor_part")
@pytest.mark.parametrize("name", ["cow_part", "mor_part", "cow_flat_nomdt"])
@pytest.mark.parametrize("version", RELEASES)
def test_table_properties(judge: Judges, tmp_path: Path, version: str, name: str) -> None:
    base = support.unpack(version, name, tmp_path)
    theirs = judge(version).sql(base, ["call show_table_properties(table => 'judged', limit => 1000)"])
    # Read behind it: that the table is registered in a catalog adds properties.
    rows = property_rows(open_table(str(base)), unset=False)
    assert {row.name: row.value for row in rows} == {key: value for key, value, *_ in theirs}
