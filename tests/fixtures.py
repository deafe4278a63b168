"""Fixtures of the tests that work on copies of real tables; a folder takes them by its conftest."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.helpers import Copy

Unpack = Callable[[str, str], Copy]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for the disk, or for a timeline to settle, proves nothing here, and takes most of the time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(time, "sleep", support.short_sleep)


@pytest.fixture
def unpack(tmp_path: Path) -> Unpack:
    """Unpacks a real table: ``unpack("v9", "mor_part")``."""
    return lambda version, name: Copy(version, name, support.unpack(version, name, tmp_path))


@pytest.fixture
def overlap(tmp_path: Path) -> Unpack:
    """The same with a table of tests/overlaps: ``overlap("v9", "cow_clustering")``."""
    return lambda version, name: Copy(version, name, support.unpack(version, name, tmp_path))


@pytest.fixture
def indexed(tmp_path: Path) -> Unpack:
    """The same with a table of tests/indexed, which has all indexes: ``indexed("v9", "mor")``."""
    return lambda version, name: Copy(version, name, support.unpack_indexed(version, name, tmp_path))
