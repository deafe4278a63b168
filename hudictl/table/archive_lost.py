"""What repairs of the archive have lost, as a note of them says: a whole archive does not show it."""

import json

from hudictl.errors import Unreadable
from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import OWN
from hudictl.formats.limits import RECORD_BYTES
from hudictl.storage import delete_all, read_whole
from hudictl.table.table import Table

ARCHIVE_REPAIR = "archive repair"
"""The kind of operation that mends an archive."""
LOST_UNTIL = "lost_until"
"""Key of its plan: the greatest requested time of an instant that may be lost; "" if nothing is."""
NOTE = f"{OWN}/archive-lost"
"""What repairs with a loss leave: by the time of each the value of ``LOST_UNTIL``. Only its undo takes it out: neither
its record nor what it has kept must be there."""


def lost_until(table: Table) -> str:
    """The time up to which instants of the archive may be lost by a repair that was not undone; "" if none is. Raises
    Unreadable, StorageFailed."""
    return max(losses(table).values(), default="")


def losses(table: Table) -> dict[str, str]:
    """The same of each repair, by its time. Raises Unreadable, StorageFailed."""
    try:
        body = read_whole(table.storage, NOTE, RECORD_BYTES)
    except FileNotFoundError:
        return {}
    try:
        return {str(time): str(until) for time, until in parse_json(body).items()}
    except (ValueError, AttributeError) as error:
        raise Unreadable(
            f"{NOTE} is damaged: {error}; it says what a repair of the archive has lost",
            hint=f'write {{"R": "T"}} into it, with the time R of each {ARCHIVE_REPAIR} (`hudictl history`) and its '
            f"{LOST_UNTIL}, T: that is in its record",
            file=NOTE,
        ) from error


def note_loss(table: Table, time: str, until: str) -> None:
    """Before the first change of a repair. Raises Unreadable, StorageFailed."""
    table.storage.replace(NOTE, json.dumps({**losses(table), time: until}).encode())


def forget_loss(table: Table, time: str) -> None:
    """Once all that a repair has changed is as it was. Raises Unreadable, StorageFailed."""
    found = losses(table)
    if found.pop(time, None) is None:
        return
    if found:
        table.storage.replace(NOTE, json.dumps(found).encode())
    else:
        delete_all(table.storage, [NOTE])
