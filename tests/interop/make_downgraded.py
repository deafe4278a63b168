"""Makes the tables of tests/downgraded with the real Hudi: ``python -m tests.interop.make_downgraded``.

1.2.0 has made them as version 9; merge on read has logs on ``S``, copy on write a metadata table that is compacted. It
has downgraded them to version 6, which compacts merge on read (``compaction``), and has written ``L``. 0.15.0 cannot
read the logs of 1.2.0. ``facts.json`` has the ``instants`` of each by name, and the ``rows`` that a reader saw once
each had completed.
"""

import tempfile
from pathlib import Path
from typing import Any

from tests import support
from tests.interop.judge import Judge, start
from tests.interop.make_history import FILES_ALONE
from tests.interop.make_logs import pack, write_json
from tests.interop.make_overlaps import BY_HAND, MOR, Table, rows

# What keeps 1.2.0 from upgrading a table.
AS_VERSION_6 = {"hoodie.write.table.version": "6", "hoodie.write.auto.upgrade": "false"}


TABLES = {"downgraded_mor": MOR, "downgraded_cow": BY_HAND}


def convert(hudi: Judge, base: Path, way: str, version: str) -> None:
    """An ``upgrade`` or ``downgrade``, to "SIX", "EIGHT" or "NINE"."""
    hudi.sql(base, [f"CALL {way}_table(table => 'judged', to_version => '{version}')"])


def make(hudi: Judge, name: str, options: dict[str, str]) -> dict[str, Any]:
    """Makes a table; its facts."""
    with tempfile.TemporaryDirectory() as scratch:
        table = Table(hudi, Path(scratch, name, "table"), {**options, **FILES_ALONE})
        table.insert("first", rows("abc", 1))
        table.upsert("second", rows("ab", 2, range(0, 30, 2)))
        table.upsert("S", rows("bc", 3))
        before = table.times()
        convert(hudi, table.path, "downgrade", "SIX")
        table.instants |= dict.fromkeys(["compaction"], *(table.times() - before)) if options is MOR else {}
        table.options = {**table.options, **AS_VERSION_6}
        table.upsert("L", rows("ab", 4))
        pack(Path(scratch), name, support.DOWNGRADED / "v6" / f"{name}.tar.gz")
        return {"instants": table.instants, "rows": table.rows}


def main() -> None:
    with start("v9") as hudi:
        facts = {name: make(hudi, name, options) for name, options in TABLES.items()}
    write_json(support.DOWNGRADED / "facts.json", facts)


if __name__ == "__main__":
    main()
