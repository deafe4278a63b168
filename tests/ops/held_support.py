"""A table that is held, for steps of an operation by themselves."""

from dataclasses import replace

from hudictl.fence import claim_links
from hudictl.table.locks.claim import Claim, current_owner
from hudictl.table.locks.hold import Hold
from hudictl.table.table import Table
from tests.helpers import OWN


def holding(table: Table) -> Hold:
    """The hold of an operation that goes on, and that nobody ends; of a process that is dead to the next operation."""
    held = Claim(
        table.storage, max(claim_links(table.storage), default=0) + 1, replace(current_owner("test"), pid=2**22 + 1)
    )
    table.storage.create(f"{OWN}/claim-{held.number}", b"-" * held.fence.size)
    return Hold(held, None)
