"""A metadata table that is built during a rollback: its writer is running, and it may list the files to delete."""

from hudictl.errors import Conflict
from hudictl.formats.layouts import METADATA_TABLE
from hudictl.ops.guards.rollback import metadata_table_can_go
from hudictl.ops.metadata.keep import place_of
from hudictl.ops.rollback.plan import RollbackPlan
from hudictl.state.facts import Signs
from hudictl.state.metadata.record import KeptMetadata
from hudictl.table.metadata.aside import Other
from hudictl.table.table import Table


def no_new_metadata_table(
    table: Table,
    plan: RollbackPlan,
    signs: Signs,
    time: str,
    *,
    retired: bool = False,
    kept: KeptMetadata | None = None,
) -> None:
    """Raises Conflict: a new metadata table, or its beginning, has appeared since planning, or since this rollback took
    the former one out of use.

    Args:
        time: the rollback's own time; "" before it has one.
        retired: whether the rollback has already taken the former one out of use, if the plan says so.
        kept: the former one, if it is set aside.
    """
    takes = plan.undo.metadata_table.takes_it
    if (not retired if takes else plan.metadata_table_found) or place_of(table, time, kept).other is Other.NONE:
        return
    if takes:
        metadata_table_can_go(signs, plan.target, plan.undo.timeline)
    raise Conflict(
        f"a writer is building a new metadata table ({METADATA_TABLE}), which did not exist at planning",
        hint="wait until that writer has ended, or stop it; then run the same command again, or `hudictl resume`",
        folder=METADATA_TABLE,
    )
