"""The type that a restore gives the table (``--table-type``), if it was changed since the target.

Such a restore is planned and executed as one of a merge-on-read table, which has all kinds of files. The property
changes while the instants are un-published: readers never see delta commits beside later commits of copy on write.
"""

from dataclasses import replace

from hudictl.errors import Refused
from hudictl.formats.commit_metadata import COMPACT
from hudictl.formats.instants import COMPACTION, DELTACOMMIT
from hudictl.formats.layouts import PROPERTIES
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.session import Session
from hudictl.state.facts import Signs
from hudictl.state.pending import planned_as
from hudictl.state.timeline.unfinished import restores_to
from hudictl.table.operations import begun_plan, read_operation
from hudictl.table.properties import read_properties, update_properties
from hudictl.table.table import COPY_ON_WRITE, MERGE_ON_READ, TYPE, Table


def type_before(table: Table, signs: Signs, target: str, options: RestoreOptions) -> str | None:
    """The table's type before the restore, if the restore changes it. Raises Refused: a restore to the target has begun
    without this change; or another one is pending."""
    found, _ = restores_to(table, signs.planned_restores, target)
    wanted = options.table_type
    if found is None or not found.begun:
        return None if wanted in (None, table.type) else table.type
    begun = begun_plan(read_operation(table.storage, found.instant.time))
    if wanted not in (None, begun.options.table_type):
        raise Refused(
            f"the restore {found.instant.time} was begun without --table-type {wanted}",
            hint="finish it without this option",
            restore=found.instant.time,
        )
    return begun.table_type_before


def goes_with_a_restore(target: str, before: str | None, *, restores: bool) -> None:
    """Raises Refused: the type would change, and nothing is restored."""
    if before is not None and not restores:
        raise Refused(
            f"the table is already at {target}: --table-type changes the type only together with the commits",
            hint=f"stop all writers, then change the line {TYPE}={before} in {PROPERTIES} yourself",
        )


def as_merge_on_read(session: Session, before: str | None) -> Session:
    """The session of a restore that changes the type from ``before``; the same one, if it changes none."""
    return session if before is None else replace(session, table=planned_as(session.table, before))


def is_of(kind: str, action: str, operation: str) -> bool:
    """Whether a write is one of a table of this type."""
    of_logs = action in (DELTACOMMIT, COMPACTION) or operation == COMPACT
    return of_logs == (kind == MERGE_ON_READ)


def set_type(table: Table, kind: str) -> None:
    """Changes the property on storage, unless it is changed. Raises Conflict, Unreadable, StorageFailed."""
    update_properties(table.storage, {TYPE: kind})


def type_on_storage(table: Table) -> str:
    """The type in the properties as they are now. Raises Unreadable, StorageFailed."""
    return read_properties(table.storage).get(TYPE, COPY_ON_WRITE)
