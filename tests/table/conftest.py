"""Tables for these tests: real ones to look at, and small ones to change."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from hudictl.table.open import open_table
from hudictl.table.table import Table
from tests import support
from tests.fixtures import unpack

__all__ = ["unpack"]

Real = Callable[..., Table]
Small = Callable[..., Table]


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Real:
    """``real("v6", "mor_part")``: a real table, unpacked once and shared; look, and change nothing."""
    folder = tmp_path_factory.mktemp("real")

    @cache
    def get(version: str, name: str) -> Table:
        return open_table(str(support.unpack(version, name, folder / version)), zone="UTC")

    return get


@pytest.fixture
def small(tmp_path: Path) -> Small:
    """``small(9, {"20261121000000000.commit.requested": b""})``: a table of a version with these timeline files."""

    def make(version: int = 9, files: dict[str, bytes] | None = None, zone: str | None = "UTC", **more: str) -> Table:
        layout = 1 if version < 8 else 2
        base = tmp_path / "table"
        timeline = base / ".hoodie" / ("timeline" if layout == 2 else "")
        timeline.mkdir(parents=True, exist_ok=True)
        lines = [
            "hoodie.table.name=t",
            f"hoodie.table.version={version}",
            f"hoodie.timeline.layout.version={layout}",
            *(f"hoodie.{key.replace('_', '.')}={value}" for key, value in more.items()),
        ]
        (base / ".hoodie/hoodie.properties").write_text("\n".join(lines) + "\n")
        for name, body in (files or {}).items():
            (timeline / name).write_bytes(body)
        return open_table(str(base), zone=zone)

    return make


def base_of(table: Table) -> Path:
    """The table's folder."""
    return Path(table.storage.absolute(""))


def put(table: Table, path: str, body: bytes = b"") -> Path:
    """Writes a file of the table behind hudictl's back."""
    target = base_of(table) / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(body)
    return target
