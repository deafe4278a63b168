"""Column statistics; tests/reports/indexes compares those of the real Hudi with footers."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.errors import Unreadable
from hudictl.formats.column_stats import (
    ColumnEntry,
    Statistics,
    Value,
    agree,
    combine_entries,
    decode_column_entry,
    same_value,
)

NAMES = "org.apache.hudi.avro.model."


def record(least: Any = None, greatest: Any = None, **fields: Any) -> dict[str, Any]:
    found = {"fileName": "f", "columnName": "c", "minValue": least, "maxValue": greatest}
    return {"type": 3, "ColumnStatsMetadata": found | {"nullCount": 0, "valueCount": 1, "isDeleted": False} | fields}


def entry(least: Value | None, greatest: Value | None, nulls: int = 0, values: int = 1, **fields: bool) -> ColumnEntry:
    known = {"deleted": False, "exact": False} | fields
    return ColumnEntry("f", "c", statistics=Statistics(least, greatest, nulls, values), **known)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("BooleanWrapper", True, True),
        ("IntWrapper", 3, 3),
        ("DoubleWrapper", 0.5, 0.5),
        ("BytesWrapper", b"x", b"x"),
        ("StringWrapper", "x", "x"),
        ("LocalDateWrapper", 9, 9),
        ("TimestampMicrosWrapper", 7, 7),
        ("DecimalWrapper", (-2005 * 10**12).to_bytes(9, "big", signed=True), Decimal("-2.005")),
    ],
)
def test_wrappers(kind: str, value: object, expected: Value) -> None:
    wrapped = (NAMES + kind, {"value": value})
    assert decode_column_entry(record(wrapped, wrapped)).statistics[:2] == (expected, expected)


def test_an_unknown_wrapper_is_named() -> None:
    with pytest.raises(Unreadable, match="ArrayWrapper"):
        decode_column_entry(record((f"{NAMES}ArrayWrapper", {"wrappedValues": []})))


@pytest.mark.parametrize("wrong", [{}, {"type": 5}, {"type": 3, "ColumnStatsMetadata": None}, record(3), record("xy")])
def test_other_records_are_unreadable(wrong: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        decode_column_entry(wrong)


def test_later_records_add_to_earlier_ones() -> None:
    """HoodieTableMetadataUtil.mergeColumnStatsRecords."""
    one, other = entry(1, 5, 2, 10), entry(3, None, 1, 4)
    assert combine_entries(one, other) == entry(1, 5, 3, 14)
    assert combine_entries(one, entry(None, None, deleted=True)).deleted
    assert combine_entries(entry(None, None, deleted=True), other) == other
    exact = entry(3, 4, 1, 4, exact=True)
    assert combine_entries(one, exact) == exact
    # Text by UTF-16: a character beyond the basic plane comes before U+FF5E.
    assert combine_entries(entry("\U0001d11e", "\U0001d11e"), entry("\uff5e", "\uff5e", 0, 0)) == entry(
        "\U0001d11e", "\uff5e"
    )
    # Bytes as signed numbers.
    assert combine_entries(entry(b"\x7f", b"\x7f"), entry(b"\x80", b"\x80", 0, 0)) == entry(b"\x80", b"\x7f")


@given(st.integers(-(10**30), 10**30), st.integers(0, 18))
def test_decimals_as_bytes_have_the_scale_of_their_value_type(number: int, scale: int) -> None:
    """From 1.1 on; a compaction of 0.15.0 writes bytes without a type, with 15 digits behind the point."""
    body = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    wrapped = (f"{NAMES}BytesWrapper", {"value": body})
    typed = {"valueType": {"typeOrdinal": 10, "additionalInfo": f"38,{scale}"}}
    value = Decimal(f"{number}E-{scale}")
    assert decode_column_entry(record(wrapped, wrapped, **typed)).statistics[:2] == (value, value)
    (untyped,) = {decode_column_entry(record(wrapped, wrapped)).statistics.least}
    assert untyped == body
    assert same_value(untyped, Decimal(f"{number}E-15"))
    assert not same_value(untyped, Decimal(f"{number + 1}E-15"))


def test_values_that_are_the_same() -> None:
    assert same_value(math.nan, math.nan)
    assert same_value("é".encode(), "é")
    assert same_value(Decimal("2.005000"), Decimal("2.005"))
    assert not same_value(None, 0)
    assert not same_value(1, None)


def test_nulls_that_the_footer_does_not_have_are_not_compared() -> None:
    assert agree(Statistics(1, 2, 7, 9), Statistics(1, 2, None, 9))
    assert not agree(Statistics(1, 2, 7, 9), Statistics(1, 2, 6, 9))
    assert not agree(Statistics(1, 2, 7, 9), Statistics(1, 2, 7, 8))
