"""Why a table service does not do all the work that its settings require."""

from dataclasses import replace

from hudictl.errors import UsageError
from hudictl.state.facts import Signs, read_signs
from hudictl.state.services.blocks import with_remedies
from hudictl.state.services.due import ARCHIVE, MANIFEST, Blocker, Due, due_of, thresholds
from hudictl.state.services.left_manifests import left_manifests, readable_metadata_table
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.timeline.unfinished import RESUME
from hudictl.table.settings import Settings
from hudictl.table.table import Table


def why(table: Table, service: str, settings: Settings, idle_ms: int) -> Due:
    """Whether a service is due, and what blocks it, with the commands that end the blocks.

    Args:
        idle_ms: an instant with activity less than this ago may be running.

    Raises:
        UsageError: thresholds are missing, or Hudi refuses the settings.
        Unreadable, StorageFailed.
    """
    missing = settings.missing(*thresholds(service, settings))
    if missing:
        raise UsageError(
            f"not given: {', '.join(missing)}",
            hint="give the writers' settings with --props or --hoodie-conf, or Hudi's defaults with --assume-defaults",
        )
    signs = read_signs(table)
    due = due_of(service, table, signs.timeline, settings)
    left = _left_manifests(table, signs, idle_ms) if service == ARCHIVE else ()
    return replace(due, blocks=(*left, *with_remedies(table, signs, idle_ms, due.blocks)))


def _left_manifests(table: Table, signs: Signs, idle_ms: int) -> tuple[Blocker, ...]:
    paths = left_manifests(table, readable_metadata_table(table), signs.now_ms, idle_ms)
    because = "a writer died while it archived, and left this file: Hudi fails at it"
    return tuple(
        Blocker(MANIFEST, "", f"{path}: {because}", (Remedy(RESUME, "the file is removed"),)) for path in paths
    )
