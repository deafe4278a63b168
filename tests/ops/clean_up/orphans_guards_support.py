"""What the tests of orphans guards share with others."""

from hudictl.formats.instants import time_plus_ms
from hudictl.table.properties import update_properties
from tests.helpers import (
    Copy,
    put,
    rollback_plan,
)
from tests.state.orphans.find_support import (
    LATER,
)


def in_iceberg(copy: Copy) -> None:
    update_properties(copy.table.storage, {"hoodie.table.format": "iceberg"})


def of_a_newer_hudi(copy: Copy) -> None:
    copy.write(f"{LATER}.rewrite.requested")


def locked(copy: Copy) -> None:
    put(copy.meta / "lock", "{}")


def restored(copy: Copy) -> None:
    """It died before its plan was written."""
    copy.write(f"{LATER}.restore.requested")


def rolled(copy: Copy) -> None:
    copy.write(f"{time_plus_ms(LATER, 9)}.rollback.requested", rollback_plan(copy.commits[-1]))
