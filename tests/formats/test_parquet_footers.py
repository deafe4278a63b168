"""Statistics in footers that pyarrow writes; tests/reports/indexes has those of the real Hudi."""

import base64
import io
import multiprocessing
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from pyarrow.parquet import encryption

from hudictl.errors import Unreadable
from hudictl.formats.column_stats import Statistics
from hudictl.formats.parquet_footers import column_statistics, own_entries, problem_in_footer, read_footer

EPOCH = date(1970, 1, 1)


def written(values: Sequence[Any], kind: pyarrow.DataType, rows: int = 3) -> Statistics:
    """The statistics of a column that was written in row groups of so many rows."""
    out = io.BytesIO()
    parquet.write_table(pyarrow.table({"c": pyarrow.array(values, kind)}), out, row_group_size=rows)
    return column_statistics(footer_of(out.getvalue()))["c"]


def footer_of(body: bytes) -> Any:
    return read_footer(lambda offset, length: body[offset : offset + length], len(body))


def expected(values: Sequence[Any]) -> Statistics:
    known = [value for value in values if value is not None]
    return Statistics(min(known, default=None), max(known, default=None), len(values) - len(known), len(values))


@pytest.mark.slow
@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12))
def test_numbers(values: list[int | None]) -> None:
    assert written(values, pyarrow.int64()) == expected(values)


@pytest.mark.slow
@given(st.lists(st.none() | st.text(st.characters(max_codepoint=0xD7FF), max_size=9), min_size=1, max_size=12))
def test_text(values: list[str | None]) -> None:
    assert written(values, pyarrow.string()) == expected(values)


@pytest.mark.slow
@given(st.lists(st.none() | st.decimals("-99999", "99999", places=3), min_size=1, max_size=12))
def test_decimals(values: list[Decimal | None]) -> None:
    assert written(values, pyarrow.decimal128(12, 3)) == expected(values)


@pytest.mark.slow
@given(st.lists(st.none() | st.dates(), min_size=1, max_size=12))
def test_dates_are_days(values: list[date | None]) -> None:
    days = [None if value is None else (value - EPOCH).days for value in values]
    assert written(values, pyarrow.date32()) == expected(days)


def test_some_columns_and_hudis_entries() -> None:
    out = io.BytesIO()
    table = pyarrow.table({"a": [1], "b": [{"x": 2}]}).replace_schema_metadata({"org.apache.hudi.bloomfilter": "AAA="})
    parquet.write_table(table, out)
    footer = footer_of(out.getvalue())
    assert column_statistics(footer, {"b.x"}) == {"b.x": Statistics(2, 2, 0, 1)}
    assert own_entries(footer)["org.apache.hudi.bloomfilter"] == "AAA="


@pytest.mark.parametrize("body", [b"", b"PAR1" * 8, b"x" * 100])
def test_a_damaged_footer_is_unreadable(body: bytes) -> None:
    with pytest.raises(Unreadable):
        footer_of(body)


class Keys(encryption.KmsClient):  # type: ignore[misc]
    """Wraps keys by nothing."""

    def __init__(self, _: Any) -> None:
        encryption.KmsClient.__init__(self)

    def wrap_key(self, key_bytes: bytes, _: str) -> bytes:
        return base64.b64encode(key_bytes)


@pytest.mark.parametrize("plain", [False, True])
def test_an_encrypted_file_is_not_damaged(plain: bool) -> None:
    """With an encrypted footer, or with an encrypted column."""
    wanted = encryption.EncryptionConfiguration(footer_key="f", column_keys={"c": ["b"]}, plaintext_footer=plain)
    crypto = encryption.CryptoFactory(Keys).file_encryption_properties(encryption.KmsConnectionConfig(), wanted)
    out = io.BytesIO()
    table = pyarrow.table({"a": ["x"], "b": ["y"], "c": ["z"]})
    with parquet.ParquetWriter(out, table.schema, encryption_properties=crypto) as writer:
        writer.write_table(table)
    body = out.getvalue()
    assert body.endswith(b"PAR1" if plain else b"PARE")
    assert problem_in_footer(lambda offset, length: body[offset : offset + length], len(body)) == ""
    with pytest.raises(Unreadable, match="is encrypted"):
        footer_of(body)


def read_each_damaged_one() -> None:
    """A footer with each byte in turn another."""
    columns = {"a": [1, 2], "b": ["x", None], "c": [1.5, 2.5], "d": [EPOCH] * 2, "e": [[1], [2, 3]], "f": [True, False]}
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns | {"g": [Decimal("1.5")] * 2, "h": [{"x": 1}] * 2}), out)
    body, refused = out.getvalue(), 0
    length = int.from_bytes(body[-8:-4], "little")
    for at in range(len(body) - 8 - length, len(body) - 8):
        for bits in (1, 2, 4, 128, 255):
            try:
                footer = footer_of(body[:at] + bytes([body[at] ^ bits]) + body[at + 1 :])
                own_entries(footer)
                column_statistics(footer)
            except Unreadable:
                refused += 1
    assert refused > length // 2


@pytest.mark.slow
def test_a_damaged_footer_does_not_end_the_process() -> None:
    """pyarrow's objects for columns do, where levels, types or bounds do not fit."""
    process = multiprocessing.get_context("spawn").Process(target=read_each_damaged_one)
    process.start()
    process.join()
    assert process.exitcode == 0
