"""Administration of Apache Hudi tables, on Hudi's own files, without a JVM Hudi.

``hudictl.open("s3://…")`` opens a table in Python: lists, plans and changes, as the commands have them.
"""

__version__ = "0.1.0"

_PLACES = {
    "CopyOptions": "ops.copy.plan",
    "DropOptions": "ops.metadata.drop",
    "FindingSelection": "reports.health.families",
    "HudiTable": "library.table",
    "KeepRules": "state.files.retention:Rules",
    "LogFiles": "library.logs",
    "OrphanOptions": "ops.clean_up.orphans",
    "Planned": "library.change",
    "PruneOptions": "ops.savepoint.plan",
    "RestoreOptions": "ops.restore.plan",
    "RollbackOptions": "ops.rollback.plan",
    "Rows": "library.rows",
    "SavepointOptions": "ops.savepoint.plan",
    "TableChange": "library.change",
    "WriterSettings": "table.settings:Settings",
    "logs_at": "library.logs",
    "open": "library.opening",
}
"""Where each name is: it is imported at its first use, because commands need few of them."""


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'hudictl' has no attribute {name!r}")
    from importlib import import_module

    module, _, inside = _PLACES[name].partition(":")
    found = getattr(import_module(f"hudictl.{module}"), inside or name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])
