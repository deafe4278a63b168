"""``check``, also of several tables."""

from collections.abc import Callable, Iterable

from hudictl.library.opened import Opened
from hudictl.reports.health.check import Found, check_table
from hudictl.reports.health.families import FindingSelection
from hudictl.reports.health.tables import Checked, checked
from hudictl.table.settings import Settings

_NEED_FOOTERS = frozenset({"not-parquet", "log-zeros"})


def check(
    table: Opened, settings: Settings, idle_ms: int, selection: FindingSelection | None, *, footers: bool
) -> Found:
    """See ``HudiTable.check``."""
    chosen = selection or FindingSelection()
    return check_table(
        table.core,
        table.engine,
        settings=settings,
        idle_ms=idle_ms,
        note=table.access.note,
        selection=chosen,
        footers=footers or not _NEED_FOOTERS.isdisjoint(chosen.only),
    )


def check_all(looks: Iterable[tuple[str, Callable[[], Found]]]) -> list[Checked]:
    """What is found in each table, by its URI: one that cannot be read has its error, and the others are still checked.

    Args:
        looks: with each URI what checks the table.
    """
    return [checked(uri, look) for uri, look in looks]
