"""``hudictl apply``."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import click

from hudictl.cli.change import Change, run_change
from hudictl.cli.commands import metadata, orphans, restore, rollback, savepoint, savepoint_prune
from hudictl.cli.options import PATH, ChangeOptions, EngineOptions, TableOptions, engine_options, optional_table_options
from hudictl.cli.to_copy import keep_given
from hudictl.cli.tree import StrictCommand
from hudictl.cli.writers_options import heartbeat_values, lock_options, no_lock_option, single_operator_option
from hudictl.errors import NotFound, Unreadable, UsageError
from hudictl.formats.limits import PLAN_BYTES

if TYPE_CHECKING:
    from hudictl.ops.saved_plan import SavedPlan
    from hudictl.ops.session import Kind

Options = TypeVar("Options")
_PART_BYTES = 1024 * 1024


@dataclass(frozen=True)
class SavedKind:
    """How the saved plans of one kind are applied: their options, the change that they are, and what compares a new
    plan with the saved one."""

    options: type[Any] | None
    change: "Callable[[SavedPlan, Any], Change[Any, Any]]"
    check: Callable[..., "str | None"]


def kinds() -> "Mapping[Kind, SavedKind]":
    """The kinds of plans that can be applied."""
    from hudictl.ops import saved_plan
    from hudictl.ops.clean_up.orphans import OrphanOptions
    from hudictl.ops.clean_up.service import ServiceOptions
    from hudictl.ops.metadata.drop import DropOptions
    from hudictl.ops.restore.plan import RestoreOptions
    from hudictl.ops.rollback.plan import RollbackOptions
    from hudictl.ops.savepoint.plan import PruneOptions, SavepointOptions
    from hudictl.ops.session import Kind

    name = "apply"
    return {
        Kind.RESTORE: SavedKind(
            RestoreOptions,
            lambda saved, options: restore.restore_change(name, saved.target, options),
            saved_plan.check_restore,
        ),
        Kind.ROLLBACK: SavedKind(
            RollbackOptions,
            lambda saved, options: rollback.rollback_change(name, saved.target, options),
            saved_plan.check_rollback,
        ),
        Kind.SAVEPOINT_CREATE: SavedKind(
            SavepointOptions,
            lambda saved, options: savepoint.create_change(name, saved.target, options),
            saved_plan.check_savepoint,
        ),
        Kind.SAVEPOINT_DELETE: SavedKind(
            None,
            lambda saved, _options: savepoint.delete_change(name, saved.target),
            saved_plan.check_savepoint,
        ),
        Kind.SAVEPOINT_PRUNE: SavedKind(
            PruneOptions,
            lambda _saved, options: savepoint_prune.prune_change(name, options),
            saved_plan.check_prune,
        ),
        Kind.SERVICE_REMOVE: SavedKind(
            ServiceOptions,
            lambda saved, options: rollback.service_change(name, saved.target, options),
            saved_plan.check_service_removal,
        ),
        Kind.METADATA_DROP: SavedKind(
            DropOptions,
            lambda _saved, options: metadata.drop_change(name, options),
            saved_plan.check_metadata_drop,
        ),
        Kind.ORPHANS_DELETE: SavedKind(
            OrphanOptions,
            lambda _saved, options: orphans.delete_change(name, options),
            saved_plan.check_orphans,
        ),
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
    """
    from hudictl.ops.saved_plan import decode_saved_plan, refuse_another_place

    saved = decode_saved_plan(_read(file), file)
    kind = kinds()[saved.kind]
    options = _options(kind.options, saved, file) if kind.options else None

    if not common.uri:
        # Before anything is opened: it may be a copy, or a store that is to see this operator's credentials.
        refuse_another_place(saved)
        _refuse_another(common, saved.table)
        keep_given(click.get_current_context(), {"uri": saved.table})
    zone = common.given_timezone or saved.timezone
    kept = saved.heartbeat_rule
    rule = common.rule if common.rule_said or kept is None or kept.assumed else kept
    common = replace(common, uri=common.uri or saved.table, given_timezone=zone, rule=rule)
    agreed = ChangeOptions(plan=plan, yes=True, single_operator=single_operator)
    run_change(
        kind.change(saved, options),
        common,
        agreed,
        engine_options,
        check=lambda table, plan: kind.check(table, saved, plan),
    )


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


def _options(kind: type[Options], saved: "SavedPlan", file: str) -> Options:
    from hudictl.formats.decode import decode

    try:
        return decode(kind, saved.options)
    except ValueError as error:
        raise Unreadable(
            f"{file}: {error}", hint="create the plan again with --plan --output json", file=file
        ) from error


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
