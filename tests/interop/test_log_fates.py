"""Hudi's readers see the records of exactly those blocks that hudictl calls valid."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hudictl.formats.log_blocks import encode_rollback_block
from hudictl.reports.logs.blocks import BlockRow, inspect_logs
from hudictl.table.logs.paths import find_logs
from hudictl.table.logs.reader import in_slices
from tests.helpers import drop, put
from tests.interop.judge import RELEASES, Judge

pytestmark = pytest.mark.hudi

OPTIONS = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.metadata.enable": "false",
    "hoodie.compact.inline": "false",
    "hoodie.parquet.small.file.limit": "0",
}
LATER = "29990101000000000"


@dataclass(frozen=True)
class Slice:
    """One file slice: a base file of four records, and four logs, each with a newer version of one of them."""

    hudi: Judge
    path: Path
    instants: tuple[str, ...]

    @property
    def logs(self) -> list[Path]:
        """Oldest first."""
        logs, _ = find_logs([str(self.path / "a")])
        return [Path(log.uri) for members, _ in in_slices(logs) for log in members]

    def append(self, number: int, body: bytes) -> None:
        """Writes behind what a log holds."""
        path = self.logs[number]
        put(path, path.read_bytes() + body)

    def blocks(self) -> list[BlockRow]:
        logs, _ = find_logs([str(self.path / "a")])
        return list(inspect_logs(logs, []))

    def seen(self) -> set[str]:
        """The instants of the logs whose records a query sees."""
        rows = self.hudi.read(self.path, metadata=False, columns=("_hoodie_commit_time", "id"))
        assert len(rows) == 4
        return {str(row[0]) for row in rows} & set(self.instants)

    def valid(self) -> set[str]:
        return {str(row.instant) for row in self.blocks() if row.fate == "valid" and row.record_count}


Change = Callable[[Slice], None]


def nothing(one: Slice) -> None:
    """As Hudi wrote it."""


def rolled_back(one: Slice) -> None:
    """A rollback block of the instant's own time, in a later log; its instant is completed all the same."""
    one.append(2, encode_rollback_block(one.instants[1], one.instants[1]))


def rolled_back_before(one: Slice) -> None:
    """A rollback block before the block that it names takes nothing back."""
    one.append(0, encode_rollback_block(one.instants[1], one.instants[1]))


def ahead(one: Slice) -> None:
    """A rollback block with a time after the last commit's."""
    one.append(1, encode_rollback_block(LATER, one.instants[0]))


def uncommitted(one: Slice) -> None:
    """The completed file of an instant has gone: it is in flight."""
    folder = one.path / ".hoodie" / ("" if one.hudi.version == "v6" else "timeline")
    (completed,) = [path for path in folder.glob(f"{one.instants[2]}*.deltacommit") if not path.name.startswith(".")]
    drop(completed)


def torn(one: Slice) -> None:
    """Half a block at the end of a log."""
    one.append(1, encode_rollback_block(one.instants[0], one.instants[0])[:60])


def damaged(one: Slice) -> None:
    """The last byte of a log's only block."""
    path = one.logs[1]
    put(path, path.read_bytes()[:-1] + b"\x00")


@pytest.fixture(scope="module")
def made(judge: Callable[[str], Judge], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Slice]:
    """A slice of each version, made once."""
    known: dict[str, Slice] = {}

    def get(version: str) -> Slice:
        if version not in known:
            hudi, base = judge(version), tmp_path_factory.mktemp(version) / "table"
            hudi.create(base, [(number, 1, "first", "a") for number in range(4)], OPTIONS)
            times = [hudi.upsert(base, [(number, 2, "later", "a")], options=OPTIONS) for number in range(4)]
            known[version] = Slice(hudi, base, tuple(times))
        return known[version]

    return get


EXPECTED: dict[Change, dict[str, list[int]]] = {
    nothing: {"v6": [0, 1, 2, 3], "v9": [0, 1, 2, 3]},
    rolled_back: {"v6": [0, 2, 3], "v9": [0, 2, 3]},
    rolled_back_before: {"v6": [0, 1, 2, 3], "v9": [0, 1, 2, 3]},
    ahead: {"v6": [0, 1], "v9": [1, 2, 3]},
    uncommitted: {"v6": [0, 1, 3], "v9": [0, 1, 3]},
    torn: {"v6": [0, 1, 2, 3], "v9": [0, 1, 2, 3]},
    damaged: {"v6": [0, 2, 3], "v9": [0, 2, 3]},
}


@pytest.mark.short("v9", "v6-rolled_back", "v6-ahead")
@pytest.mark.parametrize("change", EXPECTED, ids=lambda change: change.__name__)
@pytest.mark.parametrize("version", RELEASES)
def test_queries_see_what_valid_blocks_hold(
    made: Callable[[str], Slice], tmp_path: Path, version: str, change: Change
) -> None:
    source = made(version)
    shutil.copytree(source.path, tmp_path / "table")
    one = Slice(source.hudi, tmp_path / "table", source.instants)
    change(one)
    seen = one.seen()
    assert one.valid() == seen, [(row.file, row.fate, row.damage) for row in one.blocks()]
    expected = EXPECTED[change].get(version, EXPECTED[change]["v9"])
    assert seen == {one.instants[number] for number in expected}
