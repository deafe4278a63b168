"""Makes the demo's table with the real Hudi 1.2.0: ``python -m tests.interop.make_demo``.

``table.tar.gz`` holds the table after three good commits, ``bad_commits.tar.gz`` what two bad ones add to it.
"""

import tarfile
import tempfile
from pathlib import Path

from tests.interop.judge import Judge, start

FOLDER = Path(__file__).parents[2] / "hudictl" / "demo"
CITIES = ("lisbon", "madrid", "rome")
OPTIONS = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.table.name": "trips",
    "hoodie.table.timeline.timezone": "UTC",
    "hoodie.compact.inline": "false",
}


def rows(ids: range, ts: int, text: str) -> list[list[object]]:
    """Trips: a fare as text, in one of three cities."""
    return [[one, ts, f"{text} {one % 7 + 5}.50", CITIES[one % len(CITIES)]] for one in ids]


def files(base: Path) -> set[Path]:
    """All files but Hadoop's sidecars, which Hudi reads without."""
    return {path for path in base.rglob("*") if path.is_file() and not path.name.endswith(".crc")}


def pack(base: Path, names: set[Path], archive: Path) -> None:
    """A tar of files under the table's name, in a stable order and without this machine's user."""

    def anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        return info

    with tarfile.open(archive, "w:gz") as tar:
        for path in sorted(names):
            tar.add(path, f"trips/{path.relative_to(base)}", filter=anonymous)


def make(judge: Judge, base: Path) -> None:
    """Three good commits, then a job that writes wrong fares over all rows and inserts nonsense, twice."""
    judge.create(base, rows(range(300), 1, "fare"), OPTIONS)
    judge.upsert(base, rows(range(0, 300, 3), 2, "fare corrected"), options=OPTIONS)
    judge.upsert(base, rows(range(280, 360), 3, "fare"), options=OPTIONS)
    good = {path: path.stat().st_mtime_ns for path in files(base)}
    pack(base, set(good), FOLDER / "table.tar.gz")
    judge.upsert(base, rows(range(360), 4, "WRONG"), options=OPTIONS)
    judge.upsert(base, rows(range(9000, 9100), 5, "WRONG"), options=OPTIONS)
    bad = {path for path in files(base) if good.get(path) != path.stat().st_mtime_ns}
    assert not {path for path in good if not path.exists()}
    pack(base, bad, FOLDER / "bad_commits.tar.gz")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch, start("v9") as running:
        make(running, Path(scratch, "trips"))
