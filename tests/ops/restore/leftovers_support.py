"""What the tests of leftovers share with others."""

from hudictl.formats import savepoint as savepoint_format
from hudictl.formats.savepoint import SavepointMetadata
from tests.helpers import (
    At,
    Copy,
    restore,
)

COMMENT = "hudictl: protects the target of restore 20261121040000000"


def remnant(copy: Copy, states: tuple[str, ...]) -> str:
    """Restores to the newest savepoint, and puts back the rollback of the newest instant that was removed."""
    target = copy.savepoints[-1]
    kept: dict[str, bytes] = {}

    def keep() -> None:
        for name in copy.having("rollback"):
            kept[name] = (copy.timeline / name).read_bytes()

    restore(copy, target, At("delete files", keep))
    time = min(kept).partition(".")[0]
    for state in states:
        copy.write(f"{time}.rollback.{state}", kept[f"{time}.rollback.{state}"])
    return time


def own(copy: Copy, time: str) -> None:
    """As a restore leaves it that somebody else has finished."""
    body = savepoint_format.encode(SavepointMetadata("hudictl", 1, COMMENT, {}))
    copy.write(f"{time}.savepoint.inflight")
    copy.write(f"{time}.savepoint" if copy.version == "v6" else f"{time}_20261121040000000.savepoint", body)
