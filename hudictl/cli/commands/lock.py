"""``hudictl lock``."""

from dataclasses import asdict

import click

from hudictl.cli.options import TableOptions, lock_options, table_options
from hudictl.cli.show import emit, text_output


@click.group()
def lock() -> None:
    """The lock that the table's writers use."""


@lock.command()
@table_options
@lock_options
def show(common: TableOptions) -> None:
    """Shows the lock that hudictl would take, by the writers' settings, and the lock files that are there.

    Nothing about the lock stands in a table: --hoodie-conf or --props must say what the writers' own settings say.
    """
    from hudictl.render.json import envelope
    from hudictl.reports.locks import describe_locks
    from hudictl.table.locks.config import NOTHING_SAID

    table = common.open()
    described = describe_locks(table, common.locking or NOTHING_SAID)
    if common.json:
        emit(envelope("lock show", table.uri, result=described))
        return
    from hudictl.render.locks import lock_facts
    from hudictl.render.text import print_facts, print_table
    from hudictl.table.locks.lock_files import LockSign

    with text_output(common.color) as out:
        print_facts(out, lock_facts(described.configured))
        out.print()
        rows = [asdict(sign) for sign in described.files]
        print_table(out, rows, list(LockSign.__dataclass_fields__), "no lock files")
