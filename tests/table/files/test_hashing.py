"""The files of consistent hashing: what says that one counts goes first, and what has gone stays gone."""

import os

import pytest

from hudictl.formats.layouts import HASHING_METADATA
from hudictl.table.files.hashing import hashing_files, remove_hashing_metadata
from tests.helpers import ENGINE
from tests.table.conftest import Small, base_of, put

TIME = "20261121000000000"


def test_it_goes_in_an_order_that_a_power_failure_keeps(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """A description without the file that says that it counts is as none; the other way round every write fails."""
    table = small(9)
    folder = base_of(table) / HASHING_METADATA / "part-1"
    for suffix in (".hashing_meta", ".commit"):
        put(table, f"{HASHING_METADATA}/part-1/{TIME}{suffix}")
    log: list[str] = []
    real = os.unlink

    def unlink(name: str, **folder: int) -> None:
        if ".crc" not in name:
            log.append(name)
        real(name, **folder)

    monkeypatch.setattr(os, "unlink", unlink)
    monkeypatch.setattr(os, "fsync", lambda descriptor: log.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    remove_hashing_metadata(table, hashing_files(table, ENGINE, {TIME}))
    assert log == [f"{TIME}.commit", str(folder), f"{TIME}.hashing_meta", str(folder)]
    assert hashing_files(table, ENGINE) == ()
