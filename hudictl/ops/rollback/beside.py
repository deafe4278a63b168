"""A metadata table that is made beside a rollback: its writer is at work, and it may list what goes next."""

from hudictl.errors import Conflict
from hudictl.formats.layouts import METADATA_TABLE
from hudictl.ops.guards.rollback import metadata_table_can_go
from hudictl.ops.rollback.plan import MetadataStep, RollbackPlan
from hudictl.state.facts import Signs
from hudictl.table.metadata_table import metadata_table_made
from hudictl.table.table import Table


def no_new_metadata_table(table: Table, plan: RollbackPlan, signs: Signs, time: str, *, retired: bool = False) -> None:
    """Raises Conflict: there is a metadata table, or its beginning, that was not there at planning, or not since this
    rollback took the one there was out of use.

    Args:
        time: the rollback's own; "" before it has one.
        retired: whether the one there was is out of use by now, where it is to be.
    """
    drops = plan.metadata_step is MetadataStep.DELETE
    if (not retired if drops else plan.metadata_table_found) or not metadata_table_made(table, time):
        return
    if drops:
        metadata_table_can_go(signs, plan.target, plan.timeline)
    raise Conflict(
        f"{METADATA_TABLE} has come since planning: a writer is making a metadata table beside the rollback",
        hint="wait until that writer has ended, or stop it; then run the same command again, or `hudictl resume`",
        folder=METADATA_TABLE,
    )
