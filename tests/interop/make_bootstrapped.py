"""Makes tests/bootstrapped with the real Hudi: tables that are bootstrapped from Parquet files, with two upserts
(``python -m tests.interop.make_bootstrapped v6 v8 v9``)."""

import sys
import tempfile
from pathlib import Path

from tests import support
from tests.interop.judge import Judge, Row, start
from tests.interop.make_logs import pack

# With its default, Hudi 1.2.0 fails after a bootstrap of metadata only.
OPTIONS = {"hoodie.metadata.index.column.stats.enable": "false"}
SAMPLES = {"cow_full": ("COPY_ON_WRITE", "full"), "mor_mixed": ("MERGE_ON_READ", "mixed")}


def rows(ids: range, ts: int) -> list[Row]:
    """Rows in the partitions part-0 and part-1."""
    return [[one, ts, f"v{ts}-{one}", f"part-{one % 2}"] for one in ids]


def bootstrap(hudi: Judge, base: Path, kind: str, mode: str, *, again: bool = False) -> None:
    """A table of forty rows of Parquet files, which are in the folder ``source`` beside it; ``again``: they are there
    already."""
    settings = {"hoodie.datasource.write.table.type": kind}
    rest = {"rows": [] if again else rows(range(40), 1), "mode": mode, "options": settings}
    hudi.call("bootstrap", path=base, source=base.parent / "source", **rest)


def upserts(hudi: Judge, base: Path) -> list[str]:
    """Two upserts; their times."""
    changed = (rows(range(0, 10), 9), rows(range(5, 15), 91))
    return [hudi.upsert(base, batch, options=OPTIONS) for batch in changed]


def main(versions: list[str]) -> None:
    """Each version's tables."""
    for version in versions:
        with start(version) as hudi:
            for name, (kind, mode) in SAMPLES.items():
                with tempfile.TemporaryDirectory() as scratch:
                    base = Path(scratch, name, "table")
                    bootstrap(hudi, base, kind, mode)
                    upserts(hudi, base)
                    pack(Path(scratch), name, support.BOOTSTRAPPED / version / f"{name}.tar.gz")


if __name__ == "__main__":
    main(sys.argv[1:])
