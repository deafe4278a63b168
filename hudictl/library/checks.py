"""``check`` of several tables."""

from collections.abc import Callable, Iterable

from hudictl.reports.health.check import Found
from hudictl.reports.health.tables import Checked, checked


def check_all(looks: Iterable[tuple[str, Callable[[], Found]]]) -> list[Checked]:
    """What is found in each table, by its URI: one that cannot be read has its error, and the others are still checked.

    Args:
        looks: with each URI what checks the table.
    """
    return [checked(uri, look) for uri, look in looks]
