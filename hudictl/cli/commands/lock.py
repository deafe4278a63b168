"""``hudictl lock``."""

from dataclasses import asdict

import click

from hudictl.cli.options import TableOptions, lock_options, table_options
from hudictl.cli.show import text_output
from hudictl.cli.streams import emit_parts


@click.group()
def lock() -> None:
    """Show the lock of the table's writers."""


@lock.command()
@table_options
@lock_options
def show(common: TableOptions) -> None:
    """Show the lock that a change would take, and the existing lock files.

    The table does not store its writers' lock settings: pass them with --hoodie-conf or --props.
    """
    from hudictl.render.json import envelope
    from hudictl.reports.locks import describe_locks
    from hudictl.table.locks.config import NOTHING_SAID

    table = common.open()
    described = describe_locks(table, common.locking or NOTHING_SAID)
    if common.json:
        emit_parts(envelope("lock show", table.uri, result=described))
        return
    from hudictl.render.locks import lock_facts
    from hudictl.render.text import print_facts, print_table
    from hudictl.table.locks.sign import LockSign

    with text_output(common.color) as out:
        print_facts(out, lock_facts(described.configured))
        out.print()
        rows = [asdict(sign) for sign in described.files]
        print_table(out, rows, list(LockSign.__dataclass_fields__), "no lock files", "LockSign")
