"""``hudictl record``, as it is typed."""

import csv
from shutil import copyfile

import pytest

from tests.cli.conftest import Tell, Unpack
from tests.helpers import put


def test_find(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    document = tell("record", "find", "17", "-t", copy.path, "-o", "json").json
    (row,) = document["rows"]
    assert (row["key"], row["deleted"], row["problem"]) == ("17", False, None)
    assert (copy.path / row["partition"] / row["file"]).exists()
    assert document["notes"][0].startswith("Looked at ")
    said = tell("record", "find", "17", "-t", copy.path)
    assert (said.code, said.err) == (0, "")
    assert row["file"] in said.out
    columns = tell("record", "find", "17", "-t", copy.path, "--columns", "file,instant", "-o", "csv").out
    assert list(csv.DictReader(columns.splitlines())) == [{"file": row["file"], "instant": row["instant"]}]


def test_find_a_key_that_is_not_there(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v8", "cow_part")
    said = tell("record", "find", "nobody", "-t", copy.path)
    assert (said.code, said.out.splitlines()[0]) == (0, "no record has this key")
    assert said.out.splitlines()[1].startswith("Looked at ")
    document = tell("record", "find", "nobody", "-t", copy.path, "-o", "json").json
    assert document["rows"] == []
    assert document["notes"]


def test_10_an_empty_partition_is_none_of_a_partitioned_table(unpack: Unpack, tell: Tell) -> None:
    given = ("--partition", "", "--engine", "local", "-t")
    for version, name, code in (("v9", "cow_part", 10), ("v9", "cow_flat_nomdt", 0)):
        for command in (("record", "find", "1"), ("file", "slices")):
            assert tell(*command, *given, unpack(version, name).path).code == code


@pytest.mark.parametrize(
    ("command", "none"),
    [
        (("record", "find", "9"), "no record has this key in the files that are left of"),
        (("record", "duplicates"), "no duplicates in the files that are left of"),
        (("file", "slices"), "no file slices in the files that are left of"),
    ],
)
def test_as_of_an_instant_whose_files_are_gone(unpack: Unpack, tell: Tell, command: tuple[str, ...], none: str) -> None:
    """Nobody can say that there was nothing."""
    arguments = (*command, "-t", unpack("v9", "cow_cleaned").path, "--as-of", "20261121030328017")
    said = tell(*arguments).out.splitlines()
    assert said[:2] == [f"{none} 20261121030328017", tell(*arguments, "-o", "json").json["notes"][0]]
    assert "rows may be missing" in said[1]


def test_find_beside_damage(unpack: Unpack, tell: Tell) -> None:
    """What was not read may have the record: a row says so, and the exit code."""
    copy = unpack("v9", "cow_flat_nomdt")
    for file in copy.path.glob("*.parquet"):
        put(file, b"damaged")
    said = tell("record", "find", "1", "-t", copy.path, "-o", "json")
    assert said.code == 14
    assert all(row["problem"] and row["file_id"] in row["problem"] for row in said.json["rows"])


@pytest.mark.slow
def test_history(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_part")
    said = tell("record", "history", "17", "-t", copy.path)
    assert (said.code, said.err) == (0, "")
    rows = tell("record", "history", "17", "-t", copy.path, "-o", "json").json["rows"]
    assert [line.split()[0] for line in said.out.splitlines()[1:-1]] == [row["instant"] for row in rows]
    assert said.out.splitlines()[-1].startswith("No version is missing from ")
    turned = tell("record", "history", "17", "-t", copy.path, "--asc", "--limit", "2", "-o", "json").json["rows"]
    assert turned == rows[:2][::-1]
    since = rows[1]["instant"]
    assert tell("record", "history", "17", "-t", copy.path, "--since", since, "-o", "json").json["rows"] == rows[:2]
    said = tell("record", "history", "nobody", "-t", copy.path)
    assert (said.code, said.out) == (0, "no file has this key\n")


def test_history_beside_damage(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v8", "cow_part")
    file = min(copy.path.glob("part-0/*.parquet"))
    put(file, b"damaged")
    said = tell("record", "history", "17", "-t", copy.path, "-o", "json")
    assert said.code == 14
    assert [row["file"] for row in said.json["rows"] if row["problem"]] == [file.name]


def test_duplicates(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    said = tell("record", "duplicates", "-t", copy.path)
    assert (said.code, said.out.splitlines()[0], said.err) == (0, "no duplicates", "")
    file = min(copy.path.glob("part-0/*.parquet"))
    copyfile(file, file.with_name("f" * 8 + file.name[8:]))
    said = tell("record", "duplicates", "-t", copy.path, "-o", "json")
    assert (said.code, said.error["slug"]) == (3, "findings")
    rows = said.json["rows"]
    assert {row["partition"] for row in rows} == {"part-0"}
    assert rows[0]["repair_sql"] in said.json["notes"][2]
    in_text = tell("record", "duplicates", "-t", copy.path)
    assert in_text.code == 3
    assert "repair_sql" not in in_text.out.splitlines()[0]
    alone = tell("record", "duplicates", "-t", copy.path, "--partition", "part-1", "-o", "json")
    assert (alone.code, alone.json["rows"]) == (0, [])
    assert tell("record", "duplicates", "-t", copy.path, "--partition", "part-1", "--global").code == 2
