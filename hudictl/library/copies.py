"""Copies of a table."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hudictl.formats.layouts import SCRATCH
from hudictl.library import changes
from hudictl.library.opened import Opened
from hudictl.storage import Storage, kind_of
from hudictl.table.table import Table

if TYPE_CHECKING:
    from hudictl.library.change import TableChange
    from hudictl.ops.copy.execute import CopyResult
    from hudictl.ops.copy.plan import CopyOptions, CopyPlan


def copy_target(
    table: Table, to: str, own: Mapping[str, str], given: Mapping[str, str], *, single_operator: bool
) -> Storage:
    """The store of a copy.

    Args:
        own: the options of the table's store, which hold for a copy on the same kind of store.
        given: those of the copy's, which are used alone.

    Raises UsageError, StorageFailed.
    """
    from hudictl.storage.open import open_storage

    options = given or (own if kind_of(to) == kind_of(table.uri) else {})
    return open_storage(to, SCRATCH, options, single_operator=single_operator)


def copy_of(
    table: Opened, to: str, as_of: str, options: "CopyOptions | None", given: Mapping[str, str]
) -> "TableChange[CopyPlan, CopyResult]":
    """A copy of an open table: see ``HudiTable.copy``."""
    from hudictl.ops.copy.plan import CopyOptions

    access = table.access
    target = copy_target(table.core, to, access.storage_options, given, single_operator=access.single_operator)
    return changes.copy(target, as_of, options or CopyOptions()).of(table.beside(target))
