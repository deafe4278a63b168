from hudictl.library.change import Planned as Planned
from hudictl.library.change import TableChange as TableChange
from hudictl.library.logs import LogFiles as LogFiles
from hudictl.library.logs import logs_at as logs_at
from hudictl.library.opening import open as open
from hudictl.library.rows import Rows as Rows
from hudictl.library.table import HudiTable as HudiTable
from hudictl.ops.clean_up.orphans import OrphanOptions as OrphanOptions
from hudictl.ops.copy.plan import CopyOptions as CopyOptions
from hudictl.ops.metadata.drop import DropOptions as DropOptions
from hudictl.ops.restore.plan import RestoreOptions as RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions as RollbackOptions
from hudictl.ops.savepoint.plan import PruneOptions as PruneOptions
from hudictl.ops.savepoint.plan import SavepointOptions as SavepointOptions
from hudictl.reports.health.families import FindingSelection as FindingSelection
from hudictl.state.files.retention import Rules as KeepRules
from hudictl.table.settings import Settings as WriterSettings

__all__ = [
    "CopyOptions",
    "DropOptions",
    "FindingSelection",
    "HudiTable",
    "KeepRules",
    "LogFiles",
    "OrphanOptions",
    "Planned",
    "PruneOptions",
    "RestoreOptions",
    "RollbackOptions",
    "Rows",
    "SavepointOptions",
    "TableChange",
    "WriterSettings",
    "__version__",
    "logs_at",
    "open",
]

__version__: str
