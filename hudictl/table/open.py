"""From a URI to its table."""

from collections.abc import Mapping

from hudictl.formats.layouts import SCRATCH
from hudictl.storage.open import open_storage
from hudictl.table.beat_rule import ASSUMED, HeartbeatRule
from hudictl.table.table import Table, table_at


def open_table(
    uri: str,
    options: Mapping[str, str] | None = None,
    zone: str | None = None,
    *,
    single_operator: bool = False,
    rule: HeartbeatRule = ASSUMED,
) -> Table:
    """The table at a URI: see ``open_storage`` and ``table_at``. Raises NotFound, Unreadable, UsageError,
    StorageFailed."""
    return table_at(open_storage(uri, SCRATCH, options, single_operator=single_operator), zone, rule)
