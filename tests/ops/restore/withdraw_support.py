"""What the tests of withdraw share with others."""

from collections.abc import Callable

from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.withdraw import Withdrawn, plan_withdrawal, withdraw_restore
from tests.helpers import Copy, session

TABLES = [("v6", "cow_savepoints"), ("v6", "mor_part"), ("v9", "cow_cluster"), ("v9", "mor_savepoints")]


def withdraw(copy: Copy, monitor: object = None) -> Withdrawn:
    opened = session(copy.table, monitor)
    return withdraw_restore(opened, plan_withdrawal(opened, 0), 0)


def timeline(copy: Copy) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in copy.timeline.iterdir() if entry.name[0].isdigit()}


def oldest(copy: Copy) -> str:
    return copy.savepoints[0] if copy.savepoints else copy.commits[0]


OPTIONS = RestoreOptions(to_instant=True, delete_later_savepoints=True)


def came(copy: Copy) -> Callable[[], None]:
    """A write that comes in beside a restore."""

    def act() -> None:
        for name, content in ((".commit.requested", b""), (".inflight", b"")):
            copy.write(f"20261121050000000{name}", content, old=False)
        end = "" if copy.version == "v6" else "_20261121050000999"
        copy.write(f"20261121050000000{end}.commit", b'{"partitionToWriteStats": {}}', old=False)

    return act
