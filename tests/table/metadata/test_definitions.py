"""The definitions of indexes beside the metadata table."""

import json
import re
from pathlib import Path

import pytest

from hudictl.errors import Unreadable
from hudictl.table.metadata.definitions import check_definitions, damaged_definitions, drop_definitions, reset_damaged
from hudictl.table.open import open_table
from tests import support
from tests.helpers import drop, put, tree

VERSIONS = pytest.mark.parametrize("version", ["v8", "v9"])


@pytest.fixture
def base(version: str, tmp_path: Path) -> Path:
    return support.unpack(version, "later", tmp_path)


@VERSIONS
def test_those_that_create_index_has_made_go_with_their_partitions_and_the_others_stay(base: Path) -> None:
    """As with DROP INDEX: queries fail where an expression index is defined and not there."""
    path = base / ".hoodie/.index_defs/index.json"
    before = json.loads(path.read_text())
    before["indexDefinitions"]["column_stats"] = {"indexName": "column_stats"}
    put(path, json.dumps(before))
    names = ["expr_index_idx_day", "column_stats", "expr_index_none"]
    drop_definitions(open_table(str(base)), names)
    del before["indexDefinitions"]["expr_index_idx_day"]
    assert json.loads(path.read_text()) == before
    seen = tree(base)
    drop_definitions(open_table(str(base)), ["expr_index_idx_day"])
    assert tree(base) == seen


@VERSIONS
def test_those_that_cannot_be_read_are_an_error_and_those_elsewhere_are_left_alone(base: Path) -> None:
    put(base / ".hoodie/.index_defs/index.json", b"{")
    with pytest.raises(Unreadable, match="has no valid index definitions"):
        drop_definitions(open_table(str(base)), ["expr_index_idx_day"])
    properties = base / ".hoodie/hoodie.properties"
    put(properties, properties.read_text().replace(".hoodie/.index_defs", ".hoodie/../../elsewhere"))
    drop_definitions(open_table(str(base)), ["expr_index_idx_day"])


@VERSIONS
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"indexDefinitions": []}', b'{"indexDefinitions": {"a": 1}}'])
def test_damaged_definitions_are_an_error(base: Path, body: bytes) -> None:
    check_definitions(open_table(str(base)))
    put(base / ".hoodie/.index_defs/index.json", body)
    with pytest.raises(Unreadable, match=r"\.hoodie/\.index_defs/index\.json"):
        check_definitions(open_table(str(base)))


@VERSIONS
def test_definitions_of_another_version_are_an_error_and_those_without_one_are_not(base: Path) -> None:
    """1.0.2 writes none; 1.2.0 fails at one that it does not know."""
    path = base / ".hoodie/.index_defs/index.json"
    found = json.loads(path.read_text())
    for version, known in ((None, True), ("V1", True), ("V2", True), ("V3", False)):
        for definition in found["indexDefinitions"].values():
            definition["version"] = version
            if version is None:
                del definition["version"]
        put(path, json.dumps(found))
        if known:
            check_definitions(open_table(str(base)))
        else:
            with pytest.raises(Unreadable, match="unknown version 'V3'"):
                check_definitions(open_table(str(base)))


@VERSIONS
def test_definitions_that_are_gone_are_an_error_while_there_are_indexes(base: Path) -> None:
    """Queries with a condition fail (1.2.0)."""
    drop(base / ".hoodie/.index_defs/index.json")
    with pytest.raises(Unreadable, match="does not exist"):
        check_definitions(open_table(str(base)))
    properties = base / ".hoodie/hoodie.properties"
    put(properties, re.sub(r"(?m)^hoodie\.table\.metadata\.partitions=.*$", "", properties.read_text()))
    check_definitions(open_table(str(base)))


@VERSIONS
def test_a_text_after_the_definitions_is_not_read_as_in_hudi(base: Path) -> None:
    path = base / ".hoodie/.index_defs/index.json"
    for after in (path.read_bytes(), b" \xff"[:1] + b"{"):
        put(path, path.read_bytes() + after)
        check_definitions(open_table(str(base)))


@VERSIONS
def test_only_what_cannot_be_read_is_taken_out(base: Path) -> None:
    path = base / ".hoodie/.index_defs/index.json"
    sound = json.loads(path.read_text())
    seen = tree(base)
    reset_damaged(open_table(str(base)))
    assert tree(base) == seen
    later = json.loads(path.read_text())
    later["indexDefinitions"]["secondary_index_idx_val"]["version"] = "V3"
    put(path, json.dumps(later))
    reset_damaged(open_table(str(base)))
    del sound["indexDefinitions"]["secondary_index_idx_val"]
    assert json.loads(path.read_text()) == sound
    for body in (b"", b"{", b"[]"):
        put(path, body)
        assert damaged_definitions(open_table(str(base)))
        reset_damaged(open_table(str(base)))
        assert json.loads(path.read_text()) == {"indexDefinitions": {}}
    drop(path)
    reset_damaged(open_table(str(base)))
    assert damaged_definitions(open_table(str(base))) is None
