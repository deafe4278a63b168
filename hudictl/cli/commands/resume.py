"""``hudictl resume``."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from hudictl.cli.change import change_in, opened_table, run_change, table_line, working
from hudictl.cli.commands.restore import How, leftovers_change, restore_change, restore_options, withdrawal_change
from hudictl.cli.commands.rollback import rollback_options, run_rollbacks
from hudictl.cli.confirm import confirm
from hudictl.cli.options import ChangeOptions
from hudictl.cli.show import PLANNED, outcome_of, show_result
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictCommand
from hudictl.cli.writers_options import change_options
from hudictl.errors import Incomplete, Refused, UsageError
from hudictl.library import changes
from hudictl.phrases import undo_text

if TYPE_CHECKING:
    from hudictl.library.pending import Pending
    from hudictl.library.table import HudiTable

_OF_FINISHING = (
    *("accept_loss", "with_later_writes", "delete_later_savepoints", "discard_rollbacks", "metadata", "require_index"),
    *("settle", "grace", "keep_backup", "keep_files"),
)
"""The options that mean nothing to a withdrawal."""


@click.command(cls=StrictCommand)
@click.option(
    "--withdraw",
    is_flag=True,
    help="Withdraw the pending restore: publish its commits again. Possible until it deletes the first data file.",
)
@click.option(
    "--accept-loss",
    is_flag=True,
    help="Finish the pending restore even if required files are missing. Their rows are lost.",
)
@click.option("--with-later-writes", is_flag=True, help="Also remove writes that appeared after the restore began.")
@restore_options
@change_options
def resume(change: ChangeOptions, how: How, withdraw: bool, accept_loss: bool, with_later_writes: bool) -> None:
    """Finish a pending restore or pending rollbacks. Also remove leftovers of an ended restore.

    If one run does not finish everything, the exit code is 3: run the command again.

    Hudi can leave an armed rollback: a requested rollback of a completed commit. This command does not execute it,
    because the rows of the commit would be lost. You choose: --discard-rollbacks keeps the commit; `hudictl rollback
    INSTANT` rolls it back.
    """
    from hudictl.library.pending import pending_of
    from hudictl.state.timeline.unfinished import in_words

    idle_ms = how.pace.idle_ms
    if withdraw:
        _refuse_options_of_finishing()
        run_change(withdrawal_change(idle_ms), change)
        return
    with opened_table(change) as table:
        pending = pending_of(table.opened, discard=how.discard_rollbacks)
        if not pending.restores:
            waiting = bool(pending.finish or pending.unwanted)
            # First: a restore without plan is in the way of every rollback.
            left = changes.leftovers(idle_ms).of(table.opened).plan
            if not waiting or left().nothing is None:
                _remove_leftovers(table, change, idle_ms, waiting=waiting)
                return

    if pending.restores:
        options = how.options(accept_loss=accept_loss, with_later_writes=with_later_writes)
        run_change(restore_change("resume", pending.target(), options), change)
        return
    notes: list[str] = []
    if pending.unwanted and how.discard_rollbacks:
        notes = _discard(change, pending, idle_ms)
        if change.plan and not pending.finish:
            change.end_plan()
        pending = replace(pending, unwanted=())
    if pending.finish:
        rollbacks = rollback_options(how.pace, how.keeping)
        targets = [(time, rollbacks) for time in pending.finish]
        run_rollbacks("resume", change, targets=targets, notes=notes)
    if pending.unwanted and not (pending.finish and change.plan):
        entry = to_copy().all_of(pending.said(table.opened, idle_ms)[0])
        raise (Incomplete if pending.finish else Refused)(
            f"{entry.instant}: {entry.told}",
            hint=in_words(entry.remedy),
            rollback=entry.time,
            remedy=[way.command for way in entry.remedy],
        )


def _refuse_options_of_finishing() -> None:
    """Raises UsageError: the command line has one."""
    source = click.get_current_context().get_parameter_source
    for name in _OF_FINISHING:
        if source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"--withdraw cannot be used with --{name.replace('_', '-')}")


def _remove_leftovers(table: "HudiTable", change: ChangeOptions, idle_ms: int, *, waiting: bool) -> None:
    """Raises Incomplete: rollbacks are waiting, too."""
    said = "rollbacks are pending" if waiting else "nothing is pending"
    change_in(table, leftovers_change("resume", idle_ms, said), change)
    if waiting and not change.plan:
        raise Incomplete("rollbacks are still pending", hint="run `hudictl resume` again: it finishes them")


def _discard(change: ChangeOptions, pending: "Pending", idle_ms: int) -> list[str]:
    """Returns what is to be said with the rollbacks that go on: a command prints one document."""
    with opened_table(change, change.engine) as table:
        lines = [f"{entry.instant}: {entry.told}" for entry in pending.said(table.opened, idle_ms)]
        planned = changes.discard_rollbacks(idle_ms).of(table.opened).plan()
        plan = planned.plan
        assert plan is not None
        times = ", ".join(plan.rollbacks)
        said = f"would discard {times}"
        if not change.plan:
            confirm(table_line(table), f"{'; '.join(lines)}. Discard {times}?", yes=change.yes)
            with working(table):
                plan = planned.execute() or plan
            said = f"discarded {times}: the table's data was not changed{to_copy().text(undo_text(plan.undo))}"
    if change.common.json and pending.finish:
        return [*lines, said]
    notes = PLANNED if change.plan else ()
    outcome = outcome_of(planned=change.plan)
    show_result(change.common, "resume", table.uri, plan, [*lines, said], notes, outcome)
    return []
