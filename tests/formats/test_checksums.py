"""Hadoop's checksum sidecars."""

import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.formats.checksums import matches, sidecar_of
from tests import support


@pytest.mark.parametrize("version", support.VERSIONS)
def test_every_sidecar_of_hudis_matches_its_file(version: str) -> None:
    with tarfile.open(support.TABLES / version / "cow_part.tar.gz") as archive:
        bodies = {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}  # type: ignore[union-attr]
    pairs = [
        (path, str(Path(path).with_name(of))) for path in bodies if (of := sidecar_of(Path(path).name)) is not None
    ]
    assert len(pairs) > 20
    for sidecar, path in pairs:
        assert matches(bodies[sidecar], bodies[path]), path
        if bodies[path]:
            assert not matches(bodies[sidecar], bytes([bodies[path][0] ^ 1]) + bodies[path][1:])


@pytest.mark.parametrize(
    ("name", "of"), [(".a.commit.crc", "a.commit"), ("..a.log.1_0.crc", ".a.log.1_0"), ("a.crc", None), (".crc", None)]
)
def test_the_name_tells_whose_it_is(name: str, of: str | None) -> None:
    assert sidecar_of(name) == of


@pytest.mark.parametrize("sidecar", [b"", b"crc", b"xxx\0\0\0\2\0"])
def test_without_its_head_it_does_not_count(sidecar: bytes) -> None:
    assert matches(sidecar, b"anything")


@given(st.binary(), st.binary())
def test_any_bytes_are_a_sidecar_or_none(sidecar: bytes, body: bytes) -> None:
    assert matches(sidecar, body) in (True, False)
    assert matches(b"crc\0" + sidecar, body) in (True, False)
