"""hudi-rs, a second reader: in Rust, with no code of Hudi's own."""

from pathlib import Path

import pytest

from tests.interop.judge import Rows
from tests.interop.scenarios import digest


def rows(path: Path, as_of: str | None = None) -> Rows:
    """A snapshot of (id, ts, val), as ``Judge.rows``. Skips the test where hudi-rs is not installed."""
    hudi = pytest.importorskip("hudi", reason="the extra hudi-rs is not installed: pip install '.[hudi-rs]'")
    options = hudi.HudiReadOptions(projection=["id", "ts", "val"])
    if as_of is not None:
        options = options.with_as_of_timestamp(as_of)
    table = hudi.HudiTableBuilder.from_base_uri(str(path)).build()
    found = (row for part in table.read(options) for row in part.to_pylist())
    return digest([row["id"], row["ts"], row["val"]] for row in found)
