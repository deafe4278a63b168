"""Logs that a writer has left open on HDFS, in slices that get a rollback block."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hudictl.errors import Conflict
from hudictl.formats.log_blocks import encode_rollback_block
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.rollback.planning import plan_rollback
from hudictl.table.open import open_table
from hudictl.table.table import Table
from tests import support
from tests.crash.inject import Crash, dying
from tests.helpers import session
from tests.storage.name_node import Answer, NameNode, Request, refusal, serving

OPTIONS = RestoreOptions(settle_s=0.0, to_instant=True)
RECOVERY = refusal("org.apache.hadoop.hdfs.protocol.RecoveryInProgressException", "Try again later.")


@dataclass(frozen=True)
class Lake:
    """A version 6 table of merge on read, whose last delta commits have logs on slices that a restore keeps."""

    node: NameNode
    base: Path

    @property
    def table(self) -> Table:
        path = self.base.relative_to(self.node.folder)
        return open_table(f"webhdfs:{self.node.address.removeprefix('http:')}/{path}")

    @property
    def logs(self) -> list[Path]:
        return sorted(path for path in self.base.rglob(".*.log.*") if ".hoodie" not in path.parts)

    def leave_open(self) -> None:
        self.node.open_files.update(f"/{path.relative_to(self.node.folder)}" for path in self.logs)

    def files(self) -> set[str]:
        return {path for path in self.node.files if "/.hudictl/" not in path}

    def restore(self) -> None:
        execute_restore(session(self.table), plan_restore(session(self.table), self.target, OPTIONS))

    def roll_back(self, **more: int) -> None:
        last = max(support.facts("v6", "mor_savepoints")["rows"])
        options = RollbackOptions(settle_s=0.0, **more)
        execute_rollback(session(self.table), plan_rollback(session(self.table), last, options))

    @property
    def target(self) -> str:
        return sorted(support.facts("v6", "mor_savepoints")["rows"])[-2]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    folder = tmp_path / "hdfs"
    base = support.unpack("v6", "mor_savepoints", folder)
    for sidecar in [*base.rglob(".*.crc")]:
        sidecar.unlink()
    with serving(NameNode(folder)) as node:
        yield Lake(node, base)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["restore", "roll_back"])
def test_a_living_writer_stops_it(lake: Lake, way: str) -> None:
    """Before the first change."""
    before = lake.files()
    lake.leave_open()
    with pytest.raises(Conflict, match="lease is currently owned") as caught:
        getattr(lake, way)()
    assert "wait a minute" in caught.value.hint
    assert lake.files() == before
    lake.node.open_files.clear()
    getattr(lake, way)()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["restore", "roll_back"])
def test_the_writes_of_a_dead_one_are_ended(lake: Lake, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setattr("hudictl.storage.hdfs._RECOVERY_PAUSES_S", (0, 0))
    lake.leave_open()

    def recover(request: Request) -> Answer | None:
        if request.op != "APPEND":
            return None
        lake.node.open_files.discard(request.path)
        return RECOVERY

    lake.node.before = recover
    getattr(lake, way)()
    assert lake.node.asked("APPEND")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["restore", "roll_back"])
def test_a_log_of_a_kept_slice_grows_when_it_is_closed(lake: Lake, way: str) -> None:
    """The plan has counted its bytes: nothing is changed, and the next plan counts them again."""
    before = lake.files()
    lake.node.before = Growing(lake.node, {f"/{path.relative_to(lake.node.folder)}": b"tail" for path in lake.logs})
    with pytest.raises(Conflict, match="has grown since planning"):
        getattr(lake, way)()
    assert lake.files() == before
    getattr(lake, way)()


@pytest.mark.slow
def test_a_log_of_a_failed_write_grows_when_it_is_closed(lake: Lake) -> None:
    """What its writer had not flushed is there then, behind an earlier rollback block, which does not hide it."""
    last = max(support.facts("v6", "mor_savepoints")["rows"])
    (lake.base / ".hoodie" / f"{last}.deltacommit").unlink()
    rows = {path: path.read_bytes() for path in lake.logs}
    for path, body in rows.items():
        path.write_bytes(body + encode_rollback_block(last, last))
    lake.node.before = Growing(lake.node, {f"/{path.relative_to(lake.node.folder)}": rows[path] for path in rows})
    lake.roll_back(idle_ms=0)
    assert set(lake.logs) - rows.keys()


@dataclass
class Growing:
    """Logs get these tails when they are closed."""

    node: NameNode
    tails: dict[str, bytes]

    def __call__(self, request: Request) -> Answer | None:
        if request.op == "GET_BLOCK_LOCATIONS":
            path = self.node.local(request.path)
            path.write_bytes(path.read_bytes() + self.tails.pop(request.path, b""))
        return None


@pytest.mark.slow
def test_a_writer_that_lives_stops_the_rest_of_a_restore(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The restore stays pending, and is finished when the log is closed."""
    with monkeypatch.context() as patch, dying(None):
        patch.setattr("hudictl.ops.undo.execute.write_blocks", _die)
        with pytest.raises(Crash):
            lake.restore()
    lake.leave_open()
    pending = lake.files()
    with pytest.raises(Conflict, match="lease is currently owned"):
        lake.restore()
    assert lake.files() == pending
    lake.node.open_files.clear()
    lake.restore()
    assert plan_restore(session(lake.table), lake.target, OPTIONS).nothing_to_do


def _die(*_: object) -> None:
    raise Crash
