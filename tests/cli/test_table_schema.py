"""``table schema`` and ``table properties``, as they are typed."""

import pytest

from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.helpers import put


@pytest.mark.parametrize("version", support.VERSIONS)
def test_fields_for_eyes_and_avro_for_programs(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    said = tell("table", "schema", "-t", copy.path)
    assert (said.code, said.err) == (0, "")
    head, *lines, note = said.out.splitlines()
    assert head.split() == ["name", "type", "nullable"]
    assert [line.split() for line in lines] == [
        *(["id", "long", "no"], ["ts", "long", "no"], ["val", "string", "no"], ["p", "string", "yes"]),
    ]
    assert note == f"The schema of {copy.commits[-1]}."
    result = tell("table", "schema", "-t", copy.path, "-o", "json").json["result"]
    assert result["instant"] == copy.commits[-1]
    assert [field["name"] for field in result["schema"]["fields"]] == ["id", "ts", "val", "p"]
    then = tell("table", "schema", "-t", copy.path, "--as-of", copy.commits[1], "-o", "json").json["result"]
    assert then == {"instant": copy.commits[1], "schema": result["schema"]}


def test_a_table_without_a_schema(unpack: Unpack, tell: Tell) -> None:
    path = unpack("v9", "cow_part").path
    said = tell("table", "schema", "-t", path, "--as-of", "2020")
    assert (said.code, said.out) == (0, "no write has a schema\n")
    assert tell("table", "schema", "-t", path, "--as-of", "2020", "-o", "json").json["result"] is None
    assert tell("table", "schema", "-t", path, "--history").out == "no changes\n"


@pytest.mark.parametrize(
    "options", [("--history", "--as-of", "2026"), ("-o", "json", "--limit", "1"), ("-o", "json", "--where", "name=id")]
)
def test_options_that_do_not_go_together(unpack: Unpack, tell: Tell, options: tuple[str, ...]) -> None:
    said = tell("table", "schema", "-t", unpack("v9", "cow_part").path, *options)
    assert (said.code, said.out) == (2, "")


def test_the_fields_are_a_list_like_others(unpack: Unpack, tell: Tell) -> None:
    path = unpack("v9", "cow_part").path
    said = tell("table", "schema", "-t", path, "-o", "csv", "--where", "nullable=yes", "--columns", "name,type")
    assert said.out.splitlines() == ["name,type", "p,string"]


def test_properties_that_are_not_set_on_request(unpack: Unpack, tell: Tell) -> None:
    path = unpack("v9", "cow_part").path
    rows = tell("table", "properties", "-t", path, "--all", "-o", "json").json["rows"]
    assert list(rows[0]) == ["name", "value", "default", "meaning", "set", "changed"]
    assert tell("table", "properties", "-t", path, "-o", "json").json["rows"] == [row for row in rows if row["set"]]
    assert any(not row["set"] for row in rows)
    assert " set" not in tell("table", "properties", "-t", path).out.splitlines()[0]


def test_14_no_intact_properties(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    put(copy.meta / "hoodie.properties", b"hoodie.table.name=a\nhoodie.table.checksum=1\n")
    for command in ("properties", "schema"):
        said = tell("table", command, "-t", copy.path)
        assert (said.code, said.out) == (14, "")
        assert "hoodie.properties" in said.line
