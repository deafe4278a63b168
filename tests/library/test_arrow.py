"""Rows as Arrow tables and data frames: nothing is lost, and nothing ends in an error."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hudictl
from hudictl.errors import HudictlError
from hudictl.library.arrow import arrow_table
from hudictl.library.rows import Rows
from hudictl.library.table import HudiTable
from hudictl.render.json import plain
from hudictl.reports.services import SERVICES
from tests.cli.conftest import Unpack
from tests.cli.every_command import first


class Colour(Enum):
    RED = 1


@dataclass(frozen=True)
class Inner:
    name: str
    count: int | None


@dataclass(frozen=True)
class Row:
    """A field of each kind that rows have, or could have."""

    number: int
    share: float | None
    flag: bool | None
    text: str
    body: bytes | None
    colour: Colour
    some: tuple[str, ...]
    pair: tuple[str, int]
    names: frozenset[str]
    inner: Inner | None
    inners: tuple[Inner, ...]
    header: Mapping[str, str]
    record: Mapping[str, Any]
    either: int | str | None
    anything: Any


def lists(table: HudiTable, instant: str) -> dict[str, Rows[Any]]:
    """Every list that a table has."""
    named = {
        f"{room}.{name}": getattr(getattr(table, room), name)
        for room in ("metadata", "services", "files", "writers")
        for name in dir(getattr(table, room))
        if not name.startswith("_")
    }
    given = {
        **dict.fromkeys(("metadata.listed_files", "metadata.columns"), ("part-0",)),
        "metadata.lookup": (["17"],),
        "files.history": ("part-0/x-0_0-1-2_20261121.parquet",),
        "writers.markers_of": (instant,),
    }
    no_lists = (
        "delete",
        "drop",
        "remove",
        "repair",
        "quarantine",
        "archive",
        "unschedule",
        "prune",
        "validate",
        "discard",
        "break",
        "verify_indexes",
        "explain",
        "unused",
        "locks",
        "ignored",
    )
    found = {
        name: method(*given.get(name, ()))
        for name, method in named.items()
        if callable(method) and not name.partition(".")[2].startswith(no_lists) and name != "services.files"
    }
    found |= {f"services.files {name}": table.services.files(name, instant) for name in SERVICES}
    for name in (
        *("properties", "fields", "schema_changes", "timeline", "timeline_pairs", "commits", "checkpoints", "phases"),
        *("amplification", "partitions", "slices", "savepoints", "history", "undos"),
    ):
        found[name] = getattr(table, name)()
    found["commit_files"] = table.commit_files(instant)
    found["commit_partitions"] = table.commit_partitions(instant)
    found["commit_differences"] = table.commit_differences(table)
    found["savepoint_files"] = table.savepoint_files(instant)
    found["records.find"] = table.records.find("17")
    found["records.duplicates"] = table.records.duplicates(everywhere=True)
    found["records.history"] = table.records.history("17")
    found["log.blocks"], found["log.records"] = table.log().blocks(), table.log().records()
    found["log.merged"] = table.log().merged()
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), [("v9", "mor_savepoints"), ("v6", "mor_failed_lazy")])
def test_every_list_of_a_table(unpack: Unpack, version: str, name: str) -> None:
    """The schema is that of the dataclass, also without rows; each text of it is the one of JSON."""
    copy = unpack(version, name)
    full = 0
    with hudictl.open(copy.path, engine="local") as table:
        for what, rows in lists(table, (copy.savepoints or [first(copy)])[0]).items():
            names = [field.name for field in fields(rows.type)]
            empty = arrow_table(rows.type, [])
            assert empty.schema.names == names, what
            try:
                kept = rows.kept()
            except HudictlError:
                # Of what this table has not, as an index.
                continue
            made = kept.to_arrow()
            assert made.schema == empty.schema, what
            for found, row in zip(made.to_pylist(maps_as_pydicts="strict"), kept.to_dicts(), strict=True):
                if "record" in row:
                    row["record"] = {key: in_text(value) for key, value in row["record"].items()}
                assert list(found.values()) == list(row.values()), what
            full += made.num_rows > 0
            frame = kept.to_pandas()
            assert list(frame.columns) == names
            assert len(frame) == made.num_rows
    assert full >= 20


def in_text(value: Any) -> Any:
    """A value of a record: its column has values of all types."""
    return value if isinstance(value, str) or value is None else json.dumps(value)


TEXTS = st.text(st.characters(codec="utf-8"), max_size=4) | st.just("part-\udcff")
INTS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**63, -(10**30)])
ANY = st.recursive(
    st.none() | st.booleans() | INTS | st.floats() | TEXTS | st.binary(max_size=3) | st.just(Colour.RED),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2) | st.tuples(inner, inner),
    max_leaves=4,
)
INNER = st.builds(Inner, name=TEXTS, count=st.none() | INTS)
ROWS = st.builds(
    Row,
    number=INTS,
    share=st.none() | st.floats(allow_nan=False),
    flag=st.none() | st.booleans(),
    text=TEXTS,
    body=st.none() | st.binary(max_size=3),
    colour=st.just(Colour.RED),
    some=st.lists(TEXTS, max_size=2).map(tuple),
    pair=st.tuples(TEXTS, INTS),
    names=st.frozensets(TEXTS, max_size=3),
    inner=st.none() | INNER,
    inners=st.lists(INNER, max_size=2).map(tuple),
    header=st.dictionaries(TEXTS, TEXTS, max_size=2),
    record=st.dictionaries(TEXTS, ANY, max_size=2),
    either=st.none() | INTS | TEXTS,
    anything=ANY,
)


def escaped(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


@pytest.mark.slow
@given(st.lists(ROWS, max_size=3))
def test_no_value_is_lost(rows: list[Row]) -> None:
    made = arrow_table(Row, rows)
    assert made.num_rows == len(rows)
    for name in made.schema.names:
        for found, row in zip(made[name].to_pylist(), rows, strict=True):
            assert same(found, getattr(row, name)), (name, made.schema.field(name).type)


def same(found: Any, value: Any) -> bool:
    """Whether a value of Arrow says what a row has: as itself, or as text."""
    if isinstance(value, str) and not isinstance(value, Enum):
        return bool(found == escaped(value))
    if isinstance(found, str):
        said = plain(value)
        return found == escaped(said if isinstance(said, str) else json.dumps(said))
    if isinstance(value, Inner):
        return same(found["name"], value.name) and same(found["count"], value.count)
    if isinstance(value, Mapping):
        return len(found) == len(value) and all(
            same(key, name) and same(entry, value[name]) for (key, entry), name in zip(found, value, strict=True)
        )
    if isinstance(value, frozenset):
        return sorted(found) == sorted(map(escaped, value))
    if isinstance(value, tuple):
        return len(found) == len(value) and all(map(same, found, value))
    return bool(found == value) and type(found) is type(value)


def test_types_of_a_table_without_rows() -> None:
    kinds = dict(zip(arrow_table(Row, []).schema.names, arrow_table(Row, []).schema.types, strict=True))
    inner = pyarrow.struct([("name", pyarrow.string()), ("count", pyarrow.int64())])
    assert kinds["number"] == pyarrow.int64()
    assert kinds["flag"] == pyarrow.bool_()
    assert kinds["names"] == pyarrow.list_(pyarrow.string())
    assert kinds["pair"] == kinds["body"] == kinds["either"] == pyarrow.string()
    assert kinds["inners"] == pyarrow.list_(inner)
    assert kinds["header"] == pyarrow.map_(pyarrow.string(), pyarrow.string())


def test_a_frame_keeps_all_digits_beside_a_missing_number() -> None:
    """By default pandas makes floats of such a column."""
    rows = [Inner("a", 2**60 + 1), Inner("b", None)]
    frame = Rows(Inner, lambda: rows).to_pandas()
    assert frame["count"].dtype == "Int64"
    assert int(frame["count"][0]) == 2**60 + 1
    assert frame["count"].isna().tolist() == [False, True]


def test_without_pandas_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    rows: list[Inner] = []
    with pytest.raises(HudictlError, match="pandas is not installed"):
        Rows(Inner, lambda: rows).to_pandas()
