"""Parquet of a table's history that would cost more than its bytes."""

import io
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from hudictl.formats.guarded_parquet import BYTES, TEXT, read_rows

MEBIBYTE = 1024 * 1024
KINDS = {"time": TEXT, "body": BYTES}


def written(times: Any, bodies: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    columns = pa.table({"time": times, "body": bodies})
    parquet.write_table(columns, out, **{"compression": "zstd", "store_schema": False} | options)
    return out.getvalue()


def read(body: bytes, kinds: dict[str, str] = KINDS, wanted: frozenset[str] | None = None) -> list[Any]:
    return list(read_rows(lambda offset, length: body[offset : offset + length], len(body), kinds, wanted))


def random_times(count: int) -> list[str]:
    return [str(random.Random(number).randrange(10**16, 10**17)) for number in range(count)]


def one_body(body: bytes, count: int) -> Any:
    """The same body in all rows, once in the file."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * count), pa.array([body]))


def of_one_long_body() -> bytes:
    return written(random_times(1000), one_body(bytes(MEBIBYTE), 1000))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: written(["1"] * 1_000_000, pa.nulls(1_000_000, pa.binary())), "bytes cannot have 1,000,000 rows"),
        (lambda: written(["1"], [bytes(64 * MEBIBYTE)]), "bytes cannot have 67,108,868 bytes"),
        (of_one_long_body, "bytes are not enough for its rows"),
        (lambda: written(["1" * 101], [b""]), "a text of 101 characters"),
        (lambda: written([1], [b""]), "no column time of the type string"),
        (lambda: written(["1"], [["1"]]), "no column body of the type binary"),
        (lambda: written(random_times(1001), [b"x"] * 1001, row_group_size=1), "Exceeded size limit"),
    ],
    ids=range(7),
)
def test_what_would_cost_more_than_its_bytes_is_refused(make: Callable[[], bytes], reason: str) -> None:
    with pytest.raises((ValueError, OSError), match=reason):
        read(make())


@pytest.mark.slow
def test_few_long_values_are_decoded_at_a_time() -> None:
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(ValueError, match="are not enough for its rows"):
        read(of_one_long_body())
    assert pa.default_memory_pool().max_memory() < max(before, 512 * MEBIBYTE)


@pytest.mark.parametrize(("place", "byte"), [(3, 1), (5, 1), (5, 127), (6, 0x1D), (4, 0x1C)])
def test_a_page_with_an_impossible_header_is_damaged(place: int, byte: int) -> None:
    """Its sizes: negative, or beyond the column; and values of other types behind them."""
    body = written(["1"], [b""], compression="none", use_dictionary=False, write_statistics=False)
    assert read(body) == [("1", b"")]
    assert (body[4], body[6], body[8]) == (0x15, 0x15, 0x15)
    with pytest.raises(Exception, match=r"page|index|3|instances"):
        read(body[: 4 + place] + bytes([byte]) + body[5 + place :])


@pytest.mark.slow
def test_a_damaged_footer_does_not_end_the_process() -> None:
    """Each byte of it in turn: pyarrow's objects for columns do, where the number of levels does not fit."""
    body = written(["1"], [b""], compression="none")
    length = int.from_bytes(body[-8:-4], "little")
    refused = 0
    for at in range(len(body) - 8 - length, len(body) - 8):
        for bits in (1, 2, 255):
            try:
                read(body[:at] + bytes([body[at] ^ bits]) + body[at + 1 :])
            except Exception:
                refused += 1
    assert refused > length


def test_columns_in_the_place_of_each_other_are_all_judged() -> None:
    """A short column, and a longer one that begins with its bytes."""
    body = written(["1"], [b"a"])
    with pytest.raises(ValueError, match="no column other"):
        read(body, {"time": TEXT, "other": TEXT})
    assert read(body, {"body": BYTES, "time": TEXT}) == [(b"a", "1")]


def test_the_rows_of_some_times_in_all_row_groups() -> None:
    times = random_times(50)
    bodies = [time.encode() for time in times]
    for options in ({}, {"row_group_size": 7, "data_page_version": "2.0", "compression": "gzip"}):
        body = written(times, bodies, **options)
        assert read(body) == [*zip(times, bodies, strict=True)]
        assert read(body, wanted=frozenset(times[3:9])) == [*zip(times[3:9], bodies[3:9], strict=True)]
