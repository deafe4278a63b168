"""Makes the table of tests/downgraded with the real Hudi: ``python -m tests.interop.make_downgraded``.

1.2.0 has made it as version 9, with logs on ``S``; it has downgraded it to version 6, which compacts (``compaction``),
and has written ``L``. 0.15.0 cannot read the logs of 1.2.0. ``facts.json`` has its ``instants`` by name, and the
``rows`` that a reader saw once each had completed.
"""

import tempfile
from pathlib import Path

from tests import support
from tests.interop.judge import Judge, start
from tests.interop.make_history import FILES_ALONE
from tests.interop.make_logs import pack, write_json
from tests.interop.make_overlaps import MOR, Table, rows

# What keeps 1.2.0 from upgrading a table.
AS_VERSION_6 = {"hoodie.write.table.version": "6", "hoodie.write.auto.upgrade": "false"}


def convert(hudi: Judge, base: Path, way: str, version: str) -> None:
    """An ``upgrade`` or ``downgrade``, to "SIX", "EIGHT" or "NINE"."""
    hudi.sql(base, [f"CALL {way}_table(table => 'judged', to_version => '{version}')"])


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch, start("v9") as hudi:
        table = Table(hudi, Path(scratch, "downgraded_mor", "table"), {**MOR, **FILES_ALONE})
        table.insert("first", rows("abc", 1))
        table.upsert("second", rows("ab", 2, range(0, 30, 2)))
        table.upsert("S", rows("bc", 3))
        before = table.times()
        convert(hudi, table.path, "downgrade", "SIX")
        (table.instants["compaction"],) = table.times() - before
        table.options = {**table.options, **AS_VERSION_6}
        table.upsert("L", rows("ab", 4))
        pack(Path(scratch), "downgraded_mor", support.DOWNGRADED / "v6" / "downgraded_mor.tar.gz")
    write_json(support.DOWNGRADED / "facts.json", {"instants": table.instants, "rows": table.rows})


if __name__ == "__main__":
    main()
