"""``hudictl lock``."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hudictl.cli.change import ChangeCommand, Question, in_lines, run_change
from hudictl.cli.options import ChangeOptions, TableOptions, table_options
from hudictl.cli.show import text_output
from hudictl.cli.streams import emit_parts
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options_without_engine, lock_options
from hudictl.library import changes
from hudictl.library.options import refuse_value
from hudictl.library.times import age_ms
from hudictl.phrases import span
from hudictl.render.json import envelope

if TYPE_CHECKING:
    from hudictl.ops.clean_up.lock_break import LockBreak


@click.group(cls=StrictGroup)
def lock() -> None:
    """Show the lock of the table's writers, and free it if it has expired."""


@lock.command()
@table_options
@lock_options
def show(common: TableOptions) -> None:
    """Show the lock that a change would take, and the existing locks.

    The table does not store its writers' lock settings: pass them with --hoodie-conf or --props.
    """
    from hudictl.reports.locks import ways_out

    table = common.table()
    described, ignored = table.writers.locks(), table.writers.ignored_lock_settings()
    notes = [f"ignored, because they are the table's and not the operator's: {', '.join(ignored)}"] if ignored else []
    notes += map(to_copy().text, ways_out(described))
    if common.json:
        emit_parts(envelope("lock show", table.uri, notes=notes, result=described))
        return
    from hudictl.render.locks import lock_facts
    from hudictl.render.text import print_facts, print_lines, print_table
    from hudictl.table.locks.config import LockSign

    problem = [("problem", described.problem)] if described.problem else []
    with text_output(common.color) as out:
        print_facts(out, [*lock_facts(described.configured), *problem])
        out.print()
        rows = [asdict(sign) for sign in described.locks]
        print_table(out, rows, list(LockSign.__dataclass_fields__), "no lock exists", "LockSign")
        print_lines(out, notes)


@lock.command("break")
@click.option(
    "--dead-after",
    metavar="DURATION",
    callback=lambda _context, _parameter, value: _dead_after_ms(value),
    help="For a lock file without expiry: free it if it is at least so old, and there is no younger sign of a writer.",
)
@change_options_without_engine
def break_(change: ChangeOptions, dead_after: int | None) -> None:
    """Free the configured lock, if it is past its own expiry.

    Writers and other commands take such a lock by themselves: use this command if nothing else is to be changed. A lock
    that has not expired is refused (12), also if its owner looks dead; one that never expires is refused (13) without
    --dead-after.
    """
    run_change(_break_change(dead_after), change)


def _dead_after_ms(value: str | None) -> int | None:
    if value is None:
        return None
    old_ms = age_ms(value, "--dead-after")
    refuse_value("dead_after_ms", old_ms, f"--dead-after {value}")
    return old_ms


def _break_change(dead_after: int | None) -> "ChangeCommand[LockBreak, None]":
    from hudictl.table.locks.config import ItemLock

    def said(plan: "LockBreak") -> str:
        found = plan.lock
        assert found is not None
        since = "" if found.expires_in_ms is None else f", expired {span(-found.expires_in_ms)} ago"
        watched = plan.configured.lock
        if isinstance(watched, ItemLock):
            since = f", whose last heartbeat is at least {span(watched.lease_ms)} ago"
        return f"the lock {found.path} of {found.owner or 'an unknown owner'}{since}"

    def question(plan: "LockBreak") -> Question:
        assert plan.lock is not None
        return Question(f"Free {said(plan)}?", plan.lock.owner or plan.lock.path)

    return ChangeCommand(
        name="lock break",
        change=changes.lock_break(dead_after),
        nothing_json=lambda _plan: None,
        nothing_noted=True,
        show=in_lines(lambda plan: [f"would free {said(plan)}"]),
        planned_json=lambda plan: plan.lock,
        question=question,
        done=lambda plan, _result: f"freed {said(plan)}",
        done_json=lambda plan, _result: plan.lock,
    )
