"""``hudictl apply``."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import click

from hudictl.cli.commands.orphans import run_delete_orphans
from hudictl.cli.commands.restore import run_restore
from hudictl.cli.commands.rollback import run_rollback
from hudictl.cli.commands.savepoint import run_create, run_delete
from hudictl.cli.options import (
    ChangeOptions,
    EngineOptions,
    TableOptions,
    engine_options,
    lock_options,
    no_lock_option,
    optional_table_options,
    single_operator_option,
)
from hudictl.errors import NotFound, Unreadable

if TYPE_CHECKING:
    from hudictl.ops.saved_plan import SavedPlan

Options = TypeVar("Options")


@click.command()
@click.argument("file")
@optional_table_options
@engine_options
@single_operator_option
@lock_options
@no_lock_option
def apply(common: TableOptions, engine_options: EngineOptions, file: str, single_operator: bool) -> None:
    """Does what the plan in FILE says (- for standard input), if the table is still what it was; does not ask.

    A plan is what a command prints with --plan --output json. All guards run again.
    """
    from hudictl.ops.fingerprint import refuse_moved
    from hudictl.ops.orphans import OrphanOptions
    from hudictl.ops.restore.plan import RestoreOptions
    from hudictl.ops.rollback.plan import RollbackOptions
    from hudictl.ops.saved_plan import check_orphans, check_restore, check_rollback, decode_saved_plan
    from hudictl.ops.savepoint.plan import SavepointOptions

    saved = decode_saved_plan(_read(file), file)
    common = replace(common, uri=common.uri or saved.table, timezone=common.timezone or saved.timezone)
    agreed = ChangeOptions(plan=False, yes=True, single_operator=single_operator)
    how = (common, engine_options, agreed, saved.target)
    if saved.operation == "restore":
        options = _options(RestoreOptions, saved, file)
        run_restore("apply", *how, options, lambda table, plan: check_restore(table, saved, plan))
    elif saved.operation == "rollback":
        run_rollback(
            "apply",
            *how,
            _options(RollbackOptions, saved, file),
            lambda table, plan: check_rollback(table, saved, plan),
        )
    elif saved.operation == "savepoint create":
        wanted = _options(SavepointOptions, saved, file)
        run_create("apply", *how, wanted, lambda plan: refuse_moved(saved.fingerprint, plan.fingerprint))
    elif saved.operation == "savepoint delete":
        run_delete(
            "apply", common, agreed, saved.target, lambda plan: refuse_moved(saved.fingerprint, plan.fingerprint)
        )
    elif saved.operation == "orphans delete":
        found = _options(OrphanOptions, saved, file)
        run_delete_orphans("apply", common, engine_options, agreed, found, lambda plan: check_orphans(saved, plan))
    else:
        raise Unreadable(f"{file} is a plan of {saved.operation!r}, which is no operation", file=file)


def _options(kind: type[Options], saved: "SavedPlan", file: str) -> Options:
    try:
        return kind(**saved.options)
    except TypeError as error:
        raise Unreadable(f"{file}: {error}", hint="make the plan anew", file=file) from error


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise NotFound(f"{file}: {error.strerror}", hint="a plan is what --plan --output json prints") from error
