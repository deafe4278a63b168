"""The steps that bring single partitions back."""

import json

import pytest

from hudictl.errors import Refused
from hudictl.reports.partition_back import partitions_back
from tests import support
from tests.cli.conftest import Tell, _plain, tell
from tests.fixtures import Unpack, no_waiting, unpack
from tests.helpers import put, tree

__all__ = ["_plain", "no_waiting", "tell", "unpack"]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_steps(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[1]
    found = partitions_back(copy.table, target, ("part-0", "part-1"))
    place = f"{copy.path}-as-of-{target}"
    assert found.copy.split() == [
        *("hudictl", "copy", f"--table={copy.table.uri}", f"--as-of={target}"),
        *("--partition=part-0", "--partition=part-1", f"--to={place}"),
    ]
    create, first, second, drop = found.statements
    assert create == f"CREATE TABLE hudictl_copy USING hudi LOCATION '{place}'"
    assert first == (
        "INSERT OVERWRITE `cow_part` PARTITION (`p`='part-0') SELECT `id`, `ts`, `val` FROM hudictl_copy "
        "WHERE `p`='part-0'"
    )
    assert "part-1" in second
    assert drop == "DROP TABLE hudictl_copy"
    (moved,) = found.warnings
    assert "`_hoodie_partition_path` NOT IN ('part-0', 'part-1')" in moved


def test_columns_that_have_come_and_gone(unpack: Unpack) -> None:
    """INSERT takes today's columns, each by its place; names in other letters are the same to Spark."""
    copy = unpack("v6", "cow_part")
    file = copy.file(copy.commits[-1], "commit")
    metadata = json.loads(file.read_bytes())
    schema = json.loads(metadata["extraMetadata"]["schema"])
    (value,) = (field for field in schema["fields"] if field["name"] == "val")
    value["name"] = "value"
    schema["fields"] = [{"name": "more", "type": "string"}, *schema["fields"]]
    metadata["extraMetadata"]["schema"] = json.dumps(schema).replace('"ts"', '"TS"')
    file.write_text(json.dumps(metadata))
    found = partitions_back(copy.table, copy.commits[1], ("part-0",))
    assert "SELECT NULL AS `more`, `id`, `TS`, NULL AS `value` FROM" in found.statements[1]
    assert [text.rpartition(": ")[2] for text in found.warnings[:2]] == ["more, value", "val"]


def test_values_that_are_encoded_in_the_path(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    file = copy.meta / "hoodie.properties"
    put(file, file.read_text() + "hoodie.datasource.write.partitionpath.urlencode=true\n")
    (copy.path / "part-0").rename(copy.path / "a%2Fb")
    found = partitions_back(copy.table, copy.commits[1], ("a%2Fb",))
    assert "--partition=a%2Fb " in found.copy
    assert found.statements[1].endswith(" FROM hudictl_copy WHERE `p`='a/b'")
    assert " PARTITION (`p`='a/b') " in found.statements[1]
    assert "NOT IN ('a%2Fb')" in found.warnings[0]


def test_what_sql_cannot_name(unpack: Unpack) -> None:
    """Two folders for one field; the way is the copy, and a job."""
    copy = unpack("v9", "cow_part")
    with pytest.raises(Refused, match="how SQL names the partition a/b") as caught:
        partitions_back(copy.table, copy.commits[1], ("a/b",))
    assert "--partition=a/b" in str(caught.value.hint)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_13_for_a_partition_that_had_no_rows(unpack: Unpack, tell: Tell, version: str) -> None:
    """As of this commit, or at all: the copy would be refused, too."""
    copy = unpack(version, "cow_savepoints")
    before = tree(copy.path)
    for partition in ("part-3", "no-such"):
        for command in (("restore", copy.savepoints[0]), ("copy", "--as-of", copy.savepoints[0], "--to", "/tmp/none")):
            said = tell(*command, "--partition", partition, "-t", copy.path, "--engine", "local", "--plan")
            assert (said.code, said.out) == (13, "")
            assert f"there are no rows as of {copy.savepoints[0]} in {partition}" in said.line
            assert "`hudictl partition list --table=" in said.line
    assert tree(copy.path) == before


def test_without_plan_it_is_refused(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    before = tree(copy.path)
    said = tell("restore", copy.commits[1], "--partition", "part-0", "-t", copy.path, "--yes")
    assert (said.code, "with --plan" in said.line) == (13, True)
    said = tell("restore", copy.commits[1], "--partition", "part-0", "-t", copy.path, "--plan")
    assert (said.code, "hudictl copy" in said.out, "Warning: records that have moved" in said.out) == (0, True, True)
    assert said.err == ""
    assert tree(copy.path) == before
