"""The ends of base files: what is whole, and what was cut."""

from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from hudictl.formats.base_files import END_BYTES, has_known_end, problem_at_end
from tests import support


def problem(name: str, body: bytes) -> str:
    return problem_at_end(name, len(body), body[-END_BYTES:])


def parquet() -> bytes:
    out = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pa.table({"a": [1, 2, 3]}), out)
    return bytes(out.getvalue().to_pybytes())


def orc() -> bytes:
    out = pa.BufferOutputStream()
    pyarrow.orc.write_table(pa.table({"a": [1, 2, 3]}), out)
    return bytes(out.getvalue().to_pybytes())


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_a_whole_file(kind: str) -> None:
    body = {"parquet": parquet, "orc": orc}[kind]()
    assert has_known_end(f"a.{kind}")
    assert problem(f"a.{kind}", body) == ""


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_no_cut_file_is_whole(kind: str) -> None:
    body = {"parquet": parquet, "orc": orc}[kind]()
    assert all(problem(f"a.{kind}", body[:length]) for length in range(len(body)))


def test_a_footer_that_is_longer_than_its_file() -> None:
    """As the end of another file behind this one's beginning."""
    body = b"PAR1" + (1).to_bytes(4, "little") + b"PAR1"
    assert problem("a.parquet", body) == "not a Parquet file (its footer of 1 bytes does not fit)"
    assert problem("a.parquet", b"." + body) == ""
    assert problem("a.parquet", b"PAR1" + bytes(8)) == "not a Parquet file (its end is missing)"


def test_an_encrypted_footer_is_one() -> None:
    assert problem("a.parquet", bytes(20) + (4).to_bytes(4, "little") + b"PARE") == ""


@pytest.mark.parametrize("version", support.VERSIONS)
def test_hfiles(version: str, tmp_path: Path) -> None:
    """Those of a real metadata table."""
    bodies = [path.read_bytes() for path in support.unpack(version, "mor_part", tmp_path).rglob("*.hfile")]
    assert any(bodies)
    for body in filter(None, bodies):
        assert problem("a.hfile", body) == ""
        assert problem("a.hfile", body[:-1])
        assert problem("a.hfile", b"")


def test_an_unknown_format_has_no_known_end() -> None:
    assert not has_known_end("a.lance")
