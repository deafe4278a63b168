"""The definitions of indexes beside the metadata table."""

import json
from pathlib import Path

import pytest

from hudictl.errors import Unreadable
from hudictl.table.index_definitions import drop_definitions
from hudictl.table.table import open_table
from tests import support
from tests.helpers import put, tree

VERSIONS = pytest.mark.parametrize("version", ["v8", "v9"])


@pytest.fixture
def base(version: str, tmp_path: Path) -> Path:
    return support.unpack_indexes(version, "later", tmp_path)


@VERSIONS
def test_that_of_an_expression_index_goes_with_its_partition_and_the_others_stay(base: Path) -> None:
    """Hudi's queries fail where it is left, and build a secondary index anew from its own."""
    path = base / ".hoodie/.index_defs/index.json"
    before = json.loads(path.read_text())
    drop_definitions(open_table(str(base)), ["expr_index_idx_day", "secondary_index_idx_val", "expr_index_none"])
    del before["indexDefinitions"]["expr_index_idx_day"]
    assert json.loads(path.read_text()) == before
    seen = tree(base)
    drop_definitions(open_table(str(base)), ["expr_index_idx_day"])
    assert tree(base) == seen


@VERSIONS
def test_those_that_cannot_be_read_are_an_error_and_those_elsewhere_are_left_alone(base: Path) -> None:
    put(base / ".hoodie/.index_defs/index.json", b"{")
    with pytest.raises(Unreadable, match="holds no index definitions"):
        drop_definitions(open_table(str(base)), ["expr_index_idx_day"])
    properties = base / ".hoodie/hoodie.properties"
    put(properties, properties.read_text().replace(".hoodie/.index_defs", ".hoodie/../../elsewhere"))
    drop_definitions(open_table(str(base)), ["expr_index_idx_day"])
