"""Tables of the real Hudi on a store that both it and hudictl reach by the same URI."""

import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest

from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.rollback.planning import plan_rollback
from hudictl.ops.rollback.run import RollbackResult
from hudictl.ops.savepoint.execute import create_savepoint
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.table.locks.config import NOTHING_SAID, Locking
from hudictl.table.open import open_table
from hudictl.table.table import Table
from tests.crash.inject import Crash, dying
from tests.helpers import HUDIS_OWN, session
from tests.interop.judge import Judge, JudgeError, Rows
from tests.interop.scenarios import MERGE_ON_READ, NO_METADATA, Row, Step, after, batch, digest, write

WAYS = ["hudictl", "hudictl again", "Hudi's restore", "Hudi's rollback of failed writes"]
COMPACTED = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "3"}
RESTORE = RestoreOptions(settle_s=0.0)
ROLLBACK = RollbackOptions(settle_s=0.0, idle_ms=0)


@dataclass(frozen=True)
class LakeTable:
    """A table by its URI, with all rows that readers see after each of its writes, the oldest write first."""

    uri: Any
    rows: Mapping[str, Mapping[int, Row]]

    @property
    def writes(self) -> list[str]:
        return list(self.rows)

    def seen(self, number: int) -> Rows:
        """What a reader sees after a write, by its place in the order."""
        return digest(self.rows[self.writes[number]].values())


@dataclass(frozen=True)
class Lake:
    """A store below a URI, with its options for hudictl, and one release of Hudi that writes there.

    ``pause_s`` parts two writes of a table, where the store tells times in whole seconds. Without ``metadata`` Hudi has
    no metadata table there. ``restoring`` is how hudictl restores.
    """

    judge: Judge
    root: str
    options: Mapping[str, str] = field(default_factory=dict)
    pause_s: float = 0.0
    metadata: bool = True
    restoring: RestoreOptions = RESTORE

    @property
    def writer(self) -> Mapping[str, str]:
        """The settings of all writers."""
        return {} if self.metadata else NO_METADATA

    def make(self, name: str, writes: int = 7) -> LakeTable:
        """A table of one insert, then upserts; merge on read, with a compaction after three writes, if its name says
        mor."""
        uri: Any = f"{self.root}/{self.judge.version}/{name}/table"
        options = {**self.writer, **(COMPACTED if name.startswith("mor") else {})}
        kind = MERGE_ON_READ if name.startswith("mor") else {}
        expected: dict[int, Row] = {}
        rows: dict[str, Mapping[int, Row]] = {}
        for number in range(1, writes + 1):
            step = Step("upsert", batch(range(20), number)) if rows else Step("insert", batch(range(30), number))
            instant = write(self.judge, uri, step, {**options, **({} if rows else kind)}, first=not rows)
            expected = after(expected, step)
            rows[instant] = expected
            time.sleep(self.pause_s)
        return LakeTable(uri, rows)

    def rows(self, uri: Any) -> Rows:
        """What all readers see."""
        return self.judge.both_rows(uri) if self.metadata else self.judge.rows(uri, metadata=False)

    def table(self, uri: str) -> Table:
        return open_table(uri, self.options, rule=HUDIS_OWN)

    def savepoint(self, uri: str, instant: str) -> None:
        table = self.table(uri)
        create_savepoint(session(table), plan_savepoint(session(table), instant))

    def restore(self, uri: str, target: str, monitor: object = None, locking: Locking = NOTHING_SAID) -> None:
        table = self.table(uri)
        plan = plan_restore(session(table, locking=locking), target, self.restoring)
        if not plan.nothing_to_do:
            execute_restore(session(table, monitor, locking=locking), plan)

    def roll_back(self, uri: str, instant: str) -> RollbackResult:
        table = self.table(uri)
        return execute_rollback(session(table), plan_rollback(session(table), instant, ROLLBACK))

    def go_on(
        self, uri: Any, rows: Mapping[int, Row], *, ids: range = range(30), options: Any = None
    ) -> dict[int, Row]:
        """Hudi upserts, and reads all rows right; what they are."""
        step = Step("upsert", batch(ids, 1 + max((row[1] for row in rows.values()), default=0)))
        self.judge.upsert(uri, step.rows, options={**self.writer, **(options or {})})
        changed = after(dict(rows), step)
        assert self.rows(uri) == digest(changed.values())
        return changed


def check_restore(lake: Lake, made: LakeTable, way: str, *, refused: str | None = None) -> None:
    """A restore to the second write, whole, or begun by a hudictl that dies and finished in one of ``WAYS``.

    Hudi executes the stored plans; readers see the savepoint's rows, before and after files go; and Hudi writes on.
    Where Hudi's own restore is ``refused``, by these words, hudictl finishes it all the same.
    """
    target = made.writes[1]
    lake.savepoint(made.uri, target)
    if way == "hudictl":
        lake.restore(made.uri, target)
    else:
        begin_restore(lake, made.uri, target)
        assert lake.rows(made.uri) == made.seen(1)
        if way == "Hudi's restore":
            with pytest.raises(JudgeError, match=refused) if refused else nullcontext():
                lake.judge.restore(made.uri, target, lake.writer)
        elif way == "Hudi's rollback of failed writes":
            lake.judge.rollback_failed(made.uri, lake.writer)
    lake.restore(made.uri, target)
    assert lake.rows(made.uri) == made.seen(1)
    assert plan_restore(session(lake.table(made.uri)), target).nothing_to_do
    lake.go_on(made.uri, made.rows[target])


def begin_restore(lake: Lake, uri: str, target: str) -> None:
    """A restore that dies before the deletion of files."""
    with pytest.MonkeyPatch.context() as patch, dying(None):
        patch.setattr("hudictl.ops.undo.execute.delete_files", _die)
        with pytest.raises(Crash):
            lake.restore(uri, target)


def _die(*_: object) -> None:
    raise Crash("before the deletion of files")
