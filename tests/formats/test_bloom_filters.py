"""Hudi's bloom filters exclude no key of their files, and most others; what is not understood excludes none."""

from base64 import b64decode, b64encode
from pathlib import Path

import pytest

from hudictl.formats.base_rows import read_rows
from hudictl.formats.bloom_filters import FILTER, FILTER_TYPE, may_have_key
from hudictl.formats.parquet_footers import own_entries, read_footer
from tests import support

KEY = "_hoodie_record_key"
RANGE = ("hoodie_min_record_key", "hoodie_max_record_key")


def footer(path: Path) -> tuple[dict[str, str], set[str]]:
    """The entries in a base file's footer, and its keys."""
    body = path.read_bytes()

    def read_at(offset: int, length: int) -> bytes:
        return body[offset : offset + length]

    keys = {str(row[KEY]) for row in read_rows(path.name, read_at, len(body), [KEY])}
    return own_entries(read_footer(read_at, len(body))), keys


def one(tmp_path: Path) -> tuple[dict[str, str], set[str]]:
    base = support.unpack("v9", "cow_part", tmp_path)
    return footer(min(base.glob("part-0/*.parquet")))


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_part", "mor_savepoints", "cow_cluster", "mor_flat_nomdt"])
def test_of_hudi(tmp_path: Path, version: str, name: str) -> None:
    files = [path for path in support.unpack(version, name, tmp_path).rglob("*.parquet") if ".hoodie" not in path.parts]
    assert files
    for path in files:
        entries, keys = footer(path)
        assert all(may_have_key(entries, key) for key in keys)
        alone = {name: value for name, value in entries.items() if name not in RANGE}
        assert all(may_have_key(alone, key) for key in keys)
        others = [f"another key {number}" for number in range(500)]
        assert sum(may_have_key(alone, key) for key in others) < 5
        assert not any(may_have_key(entries, key) for key in ("", "~", "\U0001f600"))


def test_a_dynamic_filter_has_what_one_of_its_parts_has(tmp_path: Path) -> None:
    entries, keys = one(tmp_path)
    simple = b64decode(entries[FILTER])
    empty = simple[:13] + bytes(len(simple) - 13)
    for parts in ((simple, empty), (empty, simple)):
        body = simple[:13] + (60).to_bytes(4, "big") * 2 + len(parts).to_bytes(4, "big") + b"".join(parts)
        dynamic = {FILTER: b64encode(body).decode(), FILTER_TYPE: "DYNAMIC_V0"}
        assert all(may_have_key(dynamic, key) for key in keys)
        assert not may_have_key(dynamic, "another key")


def test_a_damaged_filter_excludes_nothing(tmp_path: Path) -> None:
    entries, _ = one(tmp_path)
    body = b64decode(entries[FILTER])
    assert not may_have_key({FILTER: entries[FILTER]}, "another key")
    many = body[:4] + b"\x7f\xff\xff\xff" + body[8:]
    for damaged in (b"", body[:12], body[:-1], body + b"\0", many, body[:8] + b"\0" + body[9:], b"\0" + body[1:]):
        assert may_have_key({FILTER: b64encode(damaged).decode()}, "another key")
    assert may_have_key({FILTER: "no base64!"}, "another key")
    assert may_have_key({}, "another key")
    for grown in (body, body[:13] + bytes(12)):
        assert may_have_key({FILTER: b64encode(grown).decode(), FILTER_TYPE: "DYNAMIC_V0"}, "another key")
