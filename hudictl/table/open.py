"""From a URI to its table."""

from collections.abc import Mapping

from hudictl.formats.layouts import SCRATCH
from hudictl.storage.open import open_storage
from hudictl.table.beat_rule import ASSUMED, HeartbeatRule
from hudictl.table.salvage import salvaged
from hudictl.table.table import Table, table_at


def open_table(
    uri: str,
    options: Mapping[str, str] | None = None,
    zone: str | None = None,
    *,
    single_operator: bool = False,
    rule: HeartbeatRule = ASSUMED,
    salvage: Mapping[str, str] | None = None,
) -> Table:
    """The table at a URI: see ``open_storage`` and ``table_at``.

    Args:
        salvage: it is opened also where hoodie.properties is damaged or missing, by what is left of it, and by these
            properties.

    Raises NotFound, Unreadable, UsageError, StorageFailed.
    """
    storage = open_storage(uri, SCRATCH, options, single_operator=single_operator)
    return table_at(storage, zone, rule, None if salvage is None else salvaged(storage, salvage))
