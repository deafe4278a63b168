"""The ends of base files: what is whole, and what was cut."""

from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from hudictl.formats.base_files import END_BYTES, has_known_end, problem_at_end
from hudictl.formats.file_names import BASE_FORMATS
from tests import support

LANCE = [("v9", "lance_cow"), ("v9", "lance_mor")]


def problem(name: str, body: bytes) -> str:
    return problem_at_end(name, len(body), body[-END_BYTES:])


def whole_files(version: str, name: str, folder: Path) -> list[Path]:
    """The base files of a real table, but that of a writer that died: nothing is in it."""
    extension = name.split("_")[0]
    base = support.unpack(version, name, folder)
    return [path for path in base.glob(f"[abc]/*.{extension}") if path.stat().st_size]


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


@pytest.mark.parametrize(("version", "name"), support.base_tables())
def test_base_files_of_real_tables(version: str, name: str, tmp_path: Path) -> None:
    """Whole, and without a few or many of their last bytes. An HFile of HBase without three bytes ends as one of Hudi's
    own writer."""
    paths = whole_files(version, name, tmp_path)
    assert len(paths) >= 3
    for path in paths:
        body = path.read_bytes()
        assert problem(path.name, body) == ""
        cuts = [*range(1, 60), *range(60, len(body), len(body) // 50), len(body)]
        passed = [cut for cut in cuts if not problem(path.name, body[:-cut])]
        assert passed == ([3] if (version, name) == ("v6", "hfile_mor") else [])


@pytest.mark.parametrize(("version", "name"), LANCE)
def test_a_lance_footer_that_does_not_fit(version: str, name: str, tmp_path: Path) -> None:
    """The end of one file behind less than its beginning."""
    body = whole_files(version, name, tmp_path)[0].read_bytes()
    assert problem("a.lance", body[1:]) == "not a Lance file (its footer does not fit)"
    assert problem("a.lance", body[-40:]) == "not a Lance file (its footer does not fit)"
    assert problem("a.lance", body[:-1]) == "not a Lance file (its end is missing)"
    assert problem("a.lance", b"LANC") == "not a Lance file (its end is missing)"


def test_every_known_extension_has_a_known_end() -> None:
    assert all(has_known_end(f"a{extension}") for extension in BASE_FORMATS)
    assert not has_known_end("a.avro")
