"""The real Hudi and hudictl on the same tables on S3 (moto's), which Hudi reaches by Hadoop's S3A."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from hudictl.formats.instants import ROLLBACK, State
from hudictl.formats.rollback import decode_plan
from hudictl.ops.restore import execute
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.savepoint.execute import create_savepoint
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.table.table import Table, open_table
from hudictl.table.timeline import load_timeline, read_instant
from tests import support
from tests.helpers import session
from tests.interop import scenarios
from tests.interop.judge import Judge, JudgeError, start
from tests.s3 import BUCKET, S3

pytestmark = [pytest.mark.hudi, pytest.mark.full]

OPTIONS = RestoreOptions(settle_s=0.0)
WAYS = ["hudictl", "hudictl again", "Hudi's restore", "Hudi's rollback of failed writes"]


@dataclass(frozen=True)
class Lake:
    """A judge that knows the S3."""

    judge: Judge
    s3: S3

    def make(self, name: str) -> tuple[str, str, Any]:
        """A table of seven writes by Hudi; its URI, the second write, and what readers saw then."""
        uri: Any = f"s3a://{BUCKET}/{self.judge.version}/{name}/table"
        merge = scenarios.MERGE_ON_READ if name.startswith("mor") else {}
        compact = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "3"} if merge else {}
        self.judge.create(uri, scenarios.batch(range(30), 1), {**merge, **compact})
        instant, seen = "", None
        for number in range(2, 8):
            # The completion times of version 6 are told in whole seconds.
            time.sleep(1.1)
            written = self.judge.upsert(uri, scenarios.batch(range(20), number), options=compact)
            if number == 2:
                instant, seen = written, self.judge.both_rows(uri)
        return uri, instant, seen

    def table(self, uri: str) -> Table:
        return open_table(uri, self.s3.options)

    def restore(self, uri: str, target: str) -> None:
        table = self.table(uri)
        plan = plan_restore(session(table), target, OPTIONS)
        if not plan.nothing_to_do:
            execute_restore(session(table), plan)


@pytest.fixture(scope="module", params=support.VERSIONS)
def lake(request: pytest.FixtureRequest, s3: S3) -> Iterator[Lake]:
    with start(request.param, s3.endpoint) as judge:
        yield Lake(judge, s3)


@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("way", WAYS)
def test_a_restore_is_hudis(lake: Lake, monkeypatch: pytest.MonkeyPatch, kind: str, way: str) -> None:
    """Whole, or begun by hudictl and finished by either: Hudi executes the stored plans, whose paths are the writers'
    own URIs; readers see the savepoint's rows, before and after files go; and Hudi writes on."""
    uri, target, seen = lake.make(f"{kind}-{WAYS.index(way)}")
    judge: Any = lake.judge
    table = lake.table(uri)
    planned = plan_savepoint(session(table), target)
    create_savepoint(session(table), planned)
    if way == "hudictl":
        lake.restore(uri, target)
    else:
        with monkeypatch.context() as patch:
            patch.setattr(execute, "delete_files", _die)
            with pytest.raises(KeyboardInterrupt):
                lake.restore(uri, target)
        assert judge.both_rows(uri) == seen
        if way == "Hudi's restore":
            judge.restore(uri, target)
        elif way == "Hudi's rollback of failed writes":
            judge.rollback_failed(uri)
    lake.restore(uri, target)
    assert judge.both_rows(uri) == seen
    assert plan_restore(session(lake.table(uri)), target).nothing_to_do
    judge.upsert(uri, scenarios.batch(range(30), 9))
    assert judge.both_rows(uri)["count"] == 30


def test_hudis_own_plans_are_recognised(lake: Lake) -> None:
    """Hudi's listing names a store's files without the scheme: //bucket/key."""
    uri, _, _ = lake.make("cow-own")
    judge: Any = lake.judge
    with suppress(JudgeError):  # 1.2.0 refuses what its metadata table has compacted: after it has written the plan
        judge.rollback(uri, max(entry[0] for entry in judge.timeline(uri) if entry[1] == "commit"))
    table = lake.table(uri)
    (instant,) = load_timeline(table).having(ROLLBACK)
    requested = instant.file(State.REQUESTED)
    assert requested is not None
    requests = decode_plan(read_instant(table, requested), requested.name).requests
    starts = {path.partition(BUCKET)[0] for request in requests for path in request.files}
    assert starts == {"//"}


def _die(*_: object) -> None:
    raise KeyboardInterrupt
