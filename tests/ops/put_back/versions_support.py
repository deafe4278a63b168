"""A sample table in a bucket that keeps versions, in memory; its restore with kept files, and the undo."""

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from hudictl.formats.layouts import OWN
from hudictl.ops.put_back.execute import UndoResult, execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.storage.s3 import S3Storage
from hudictl.table.open import open_table
from hudictl.table.table import Table
from tests import support
from tests.helpers import session
from tests.storage.bucket import Bucket, upload

KEEPING = RestoreOptions(to_instant=True, keep_files=True, settle_s=0.0, delete_later_savepoints=True)
TABLE = "t"
Seen = dict[str, tuple[str, datetime, bytes]]


@dataclass(frozen=True)
class InBucket:
    """``target`` is the first commit."""

    bucket: Bucket
    table: Table
    target: str

    def restore(self, options: RestoreOptions = KEEPING) -> str:
        result = execute_restore(session(self.table), plan_restore(session(self.table), self.target, options))
        return result.restore

    def undo(self, time: str) -> UndoResult:
        return execute_undo(session(self.table), plan_undo(session(self.table), time, 0), 0)

    def state(self) -> Seen:
        """What is there now, but hudictl's own: version, time and content."""
        found = {key.removeprefix(f"{TABLE}/"): stack[0] for key, stack in self.bucket.stacks.items() if stack}
        return {
            path: (entry.version, entry.at, entry.body)
            for path, entry in found.items()
            if entry.body is not None and not path.startswith(OWN)
        }

    def contents(self) -> dict[str, bytes]:
        return {path: body for path, (_, _, body) in self.state().items()}

    def copy(self) -> "InBucket":
        """The same in another bucket."""
        stacks = {key: [*stack] for key, stack in self.bucket.stacks.items()}
        return on(Bucket(stacks=stacks, written=self.bucket.written), self.table, self.target)


def on(bucket: Bucket, table: Table, target: str) -> InBucket:
    assert isinstance(table.storage, S3Storage)
    return InBucket(bucket, replace(table, storage=replace(table.storage, filesystem=bucket)), target)


def in_bucket(folder: Path, version: str, name: str, bucket: Bucket | None = None) -> InBucket:
    base = support.unpack(version, name, folder)
    bucket = bucket or Bucket()
    table = replace(open_table(str(base)), storage=upload(bucket, base, TABLE))
    return InBucket(bucket, table, sorted(support.facts(version, name)["rows"])[0])
