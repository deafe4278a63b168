"""The metadata table beside a crash: what it may say while readers use it, and what it is in the end."""

import re
from dataclasses import dataclass
from pathlib import Path

from hudictl.engine.local import LocalEngine
from hudictl.ops.restore.leftovers import plan_leftovers, remove_leftovers
from hudictl.reports.health.check import check_table
from hudictl.reports.metadata_table import NOT_LISTED, verify_listing
from hudictl.table.metadata.listing import listing_table, read_listing
from hudictl.table.open import open_table
from hudictl.table.properties import read_properties
from tests.crash import reader
from tests.helpers import OWN, session, walk

ENGINE = LocalEngine(parallelism=1)
# The sample tables were written before, and no command is run before this day.
_OWN = "20261123"
_LISTED = "hoodie.table.metadata.partitions"


def without_own_times(name: str) -> str:
    """A path, without the times that hudictl has given."""
    return re.sub(r"\d{17,}", lambda found: "T" if found[0] > _OWN else found[0], name)


@dataclass(frozen=True)
class Content:
    """A metadata table: the partitions that are listed, all of its files, and what it lists, as a reader reads it."""

    partitions: str
    building: str
    files: tuple[str, ...]
    listing: dict[str, dict[str, int]] | None


def content(base: Path) -> Content:
    """The metadata table of a table, in use or not."""
    table = open_table(str(base))
    metadata, folder = listing_table(table), base / ".hoodie/metadata"
    listing = read_listing(metadata, []) if metadata is not None else None
    sizes = {
        partition: {without_own_times(name): entry.size for name, entry in files.items()}
        for partition, files in (listing or {}).items()
    }
    names = (name for name, entry in walk(str(folder)) if entry.is_file()) if folder.exists() else ()
    return Content(
        table.properties.get(_LISTED, ""),
        table.properties.get(f"{_LISTED}.inflight", ""),
        tuple(sorted(map(without_own_times, names))),
        sizes if listing is not None else None,
    )


def assert_right_if_listed(base: Path) -> None:
    """If readers use the metadata table: it is one, no listed file is missing, and no committed one is unlisted.

    Beside a half created or half deleted savepoint, readers do not count the metadata table's delta commit of the same
    time (0.15.0 to 1.2.0): so they miss that commit's files, as in each creation of a savepoint by Hudi.
    """
    table = open_table(str(base))
    if "files" in read_properties(table.storage).get(_LISTED, "").split(","):
        assert (base / ".hoodie/metadata/.hoodie/hoodie.properties").exists()
        half = [time for time, action, state in reader.instants(base) if (action, state) == ("savepoint", "INFLIGHT")]
        found = verify_listing(table, ENGINE, [])
        wrong = [
            entry
            for entry in found
            if entry.difference != NOT_LISTED or not any(time in str(entry.name) for time in half)
        ]
        assert wrong == [], wrong


def end_leftovers(base: Path) -> None:
    """What `resume` does when nothing is pending."""
    found = plan_leftovers(session(open_table(str(base))), 0)
    if not found.nothing:
        remove_leftovers(session(open_table(str(base))), found, 0)


# Of the rollbacks that were executed, not of the metadata table.
_TOLD = {"rollbacks-piled-up", "rollback-block-ahead"}


def assert_nothing_left(base: Path, *, folders: bool = False) -> None:
    """Of what an ended operation has set aside, recorded or taken out of use; `hudictl check` finds nothing.

    Args:
        folders: the operation's time is not that of its earlier attempt, and so does not delete that one's folders.
    """
    # The body of a completed restore, if it died just then: the next restore deletes it.
    known = {"claim", "operations", "tmp", "restore"}
    left = {re.sub(r"-?\d+$", "", path.name) for path in (base / OWN).iterdir()} - known
    assert left == set(), left
    names = {path.name for path in (base / ".hoodie").iterdir() if "metadata" in path.name} - {"metadata"}
    assert folders or not names, names
    found = check_table(open_table(str(base)), ENGINE, 600_000).findings
    told = _TOLD | ({"metadata-table-leftover"} if folders else set())
    wrong = [entry for entry in found if entry.finding not in told]
    assert wrong == [], wrong
