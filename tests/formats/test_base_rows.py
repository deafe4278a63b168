"""Rows of base files: what is read of each format, and what is refused by its name."""

import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pytest

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats import base_rows
from hudictl.formats.base_rows import read_rows
from tests import support


def body(table: pa.Table, **options: int) -> bytes:
    out = pa.BufferOutputStream()
    pyarrow.orc.write_table(table, out, **options)
    return bytes(out.getvalue().to_pybytes())


def read(name: str, content: bytes, columns: list[str] | None = None) -> list[base_rows.Row]:
    return list(read_rows(name, lambda at, length: content[at : at + length], len(content), columns))


def test_values_of_orc() -> None:
    rows = [
        {
            "id": 1,
            "p": "a",
            "d": datetime.date(2026, 1, 2),
            "n": Decimal("1.20"),
            "b": b"x",
            "l": [1, 2],
            "s": {"x": 1},
        },
        {"id": 2, "p": None, "d": None, "n": None, "b": None, "l": [], "s": None},
    ]
    content = body(pa.Table.from_pylist(rows))
    assert read("a.orc", content) == rows
    assert read("a.orc", content, ["id", "missing"]) == [{"id": 1}, {"id": 2}]


@pytest.mark.slow
def test_rows_of_many_stripes_come_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_rows, "_BATCH_ROWS", 7)
    content = body(pa.table({"id": list(range(50_000)), "v": ["x" * 100] * 50_000}), stripe_size=65_536)
    assert pyarrow.orc.ORCFile(pa.BufferReader(content)).nstripes > 1
    assert [row["id"] for row in read("a.orc", content, ["id"])] == list(range(50_000))


@pytest.mark.parametrize(
    "kind",
    [
        pa.timestamp("us"),
        pa.list_(pa.timestamp("us")),
        pa.struct([("x", pa.timestamp("us"))]),
        pa.map_(pa.string(), pa.timestamp("us")),
    ],
    ids=str,
)
def test_timestamps_in_orc_are_refused_where_they_are_read(kind: pa.DataType) -> None:
    content = body(pa.table({"id": pa.array([1]), "at": pa.array([None], kind)}))
    assert read("a.orc", content, ["id"]) == [{"id": 1}]
    with pytest.raises(Unsupported, match="the column at is a timestamp"):
        read("a.orc", content)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a/b.lance", "a Lance file"), ("a/b.hfile", "an HFile"), ("a/b.avro", "of an unknown format")],
)
def test_other_formats_are_named(name: str, kind: str) -> None:
    with pytest.raises(
        Unsupported, match=f"^{name} is {kind}: hudictl reads the rows of Parquet and ORC base files only$"
    ):
        read(name, b"")


def test_damaged_orc() -> None:
    content = body(pa.table({"id": [1, 2, 3]}))
    for wrong in (b"", content[:-1], content[:3] + bytes(len(content) - 3)):
        with pytest.raises(Unreadable, match="the ORC file cannot be decoded"):
            read("a.orc", wrong)


@pytest.mark.parametrize(("version", "name"), [table for table in support.base_tables() if table[1] == "orc_cow"])
def test_orc_of_hudi(version: str, name: str, tmp_path: Path) -> None:
    """The rows of the first commit."""
    base, first = support.unpack(version, name, tmp_path), support.base_facts(version, name)["instants"]["first"]
    found = [row for path in base.glob(f"[abc]/*_{first}.orc") for row in read(path.name, path.read_bytes())]
    assert sorted((row["id"], row["val"]) for row in found) == [(one, f"v1-{one}") for one in range(30)]
    assert {row["_hoodie_record_key"] for row in found} == {str(one) for one in range(30)}
