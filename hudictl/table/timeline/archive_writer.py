"""Taking writes out of the archive that a restore removes.

Left there, they would come back: their times are asked of the archive where the timeline does not have them.
"""

from collections.abc import Collection, Iterator

from hudictl.formats import archived_timeline as fmt
from hudictl.formats.limits import INSTANT_BYTES
from hudictl.storage import read_whole
from hudictl.table.table import Table
from hudictl.table.timeline.archive import archived_after


def take_out_of_archive(table: Table, times: Collection[str]) -> None:
    """Takes the writes of some times out of the archive, one file after the other. Each is replaced at once, so that
    readers find the archive whole, and a rerun goes on. Raises Unreadable, StorageFailed."""
    for path, body in archive_without(table, times):
        if body:
            table.storage.replace(path, body)
        else:
            table.storage.delete([path])


def archive_without(table: Table, times: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """The files of the archive that have writes of some times: the path, and the bytes without them; none where nothing
    is left of a log. Raises Unreadable: a file is damaged, or has what hudictl would not write again."""
    if not times:
        return
    without = fmt.lsm_without if table.rules.archive_is_lsm else fmt.log_without
    found = {entry.file for entry in archived_after(table, min(times)[:-1]) if entry.time in times}
    for name in sorted(found):
        path = f"{table.layout.archive}/{name}"
        body = read_whole(table.storage, path, INSTANT_BYTES)
        left = without(body, name, times)
        if left != body:
            yield path, left
