"""``hudictl apply``."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from hudictl.cli.change import ChangeCommand, run_change
from hudictl.cli.commands import metadata, orphans, restore, rollback, savepoint, savepoint_prune
from hudictl.cli.options import PATH, ChangeOptions, EngineOptions, TableOptions, engine_options, optional_table_options
from hudictl.cli.to_copy import keep_given
from hudictl.cli.tree import StrictCommand
from hudictl.cli.writers_options import heartbeat_values, lock_options, no_lock_option, single_operator_option
from hudictl.errors import Conflict, NotFound, Refused, Unreadable, UsageError
from hudictl.formats.limits import PLAN_BYTES

if TYPE_CHECKING:
    from hudictl.ops.session import Kind

_PART_BYTES = 1024 * 1024


def kinds() -> "Mapping[Kind, Callable[..., ChangeCommand[Any, Any]]]":
    """How a command speaks of the changes that saved plans are: by the command's name, and ``ReadPlan.arguments``."""
    from hudictl.ops.session import Kind

    return {
        Kind.RESTORE: restore.restore_change,
        Kind.ROLLBACK: rollback.rollback_change,
        Kind.SAVEPOINT_CREATE: savepoint.create_change,
        Kind.SAVEPOINT_DELETE: savepoint.delete_change,
        Kind.SAVEPOINT_PRUNE: savepoint_prune.prune_change,
        Kind.SERVICE_REMOVE: rollback.service_change,
        Kind.METADATA_DROP: metadata.drop_change,
        Kind.ORPHANS_DELETE: orphans.delete_change,
    }


@click.command(cls=StrictCommand)
@click.argument("file", type=PATH)
@click.option("--plan", "--dry-run", "plan", is_flag=True, help="Show the plan, and whether it can still be applied.")
@click.option("--yes", is_flag=True, expose_value=False, help="Accepted without effect: apply does not ask.")
@optional_table_options
@engine_options
@single_operator_option
@lock_options
@heartbeat_values
@no_lock_option
def apply(common: TableOptions, engine_options: EngineOptions, file: str, single_operator: bool, plan: bool) -> None:
    """Execute the saved plan in FILE (- for standard input). It does not ask; --plan only shows.

    If the table has changed since, nothing is executed (exit code 12). To save a plan, run a command with --plan
    --output json > FILE. All safety checks run again.

    Plans of these commands can be applied: restore, rollback, resume, clean discard, savepoint create, savepoint
    delete, savepoint prune, orphans delete, metadata drop. Others are run with --yes.
    """
    from hudictl.library.saved import read_plan

    read = read_plan(_read(file), file)
    saved = read.saved

    if not common.uri:
        # Before anything is opened: it may be a copy, or a store that is to see this operator's credentials.
        read.refuse_another_place()
        _refuse_another(common, saved.table)
        keep_given(click.get_current_context(), {"uri": saved.table})
    zone = common.given_timezone or saved.timezone
    kept = saved.heartbeat_rule
    rule = common.rule if common.rule_said or kept is None or kept.assumed else kept
    common = replace(common, uri=common.uri or saved.table, given_timezone=zone, rule=rule)
    agreed = ChangeOptions(common, plan, yes=True, single_operator=single_operator, engine=engine_options)
    core = agreed.open()
    try:
        run_change(kinds()[read.kind]("apply", *read.arguments), agreed, read.check, core)
    except (NotFound, Conflict, Refused, Unreadable) as error:
        # A copy may be meant: what does not fit is refused, and then it is told.
        if core.uri != saved.table:
            error.hint = "; ".join(filter(None, (f"the plan names another table: {saved.table}", error.hint)))
        raise


def _refuse_another(common: TableOptions, table: str) -> None:
    """Raises UsageError: --profile is another table's: its lock would protect nothing."""
    from hudictl.formats.layouts import SCRATCH
    from hudictl.storage.open import open_storage

    profile = common.profile
    if profile is None or not profile.uri:
        return
    options = common.storage_options
    if open_storage(profile.uri, SCRATCH, options).uri != open_storage(table, SCRATCH, options).uri:
        raise UsageError(
            f"the plan is for {table}, but the profile {profile.name} is for {profile.uri}",
            hint="use the profile of the plan's table; with -t the plan is applied to another path",
        )


def _read(file: str) -> bytes:
    if file == "-":
        return _read_all(sys.stdin.buffer, file)
    try:
        with open(file, "rb") as stream:
            return _read_all(stream, file)
    except OSError as error:
        raise NotFound(f"{file}: {error.strerror}", hint="create the plan with --plan --output json > FILE") from error


def _read_all(stream: BinaryIO, file: str) -> bytes:
    """Raises Unreadable: it has more bytes than a plan, or does not end."""
    parts: list[bytes] = []
    left = PLAN_BYTES
    while part := stream.read(_PART_BYTES):
        left -= len(part)
        if left < 0:
            raise Unreadable(f"{file} is not a plan: it has more than {PLAN_BYTES:,} bytes", file=file)
        parts.append(part)
    return b"".join(parts)
