"""``hudictl why``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.options import TableOptions, idle_option, settings_options, table_options
from hudictl.cli.show import emit, text_output
from hudictl.errors import Incomplete

if TYPE_CHECKING:
    from hudictl.table.settings import Settings


@click.group()
def why() -> None:
    """Why a table service does nothing, or too little: what its next run would do, and the instant that blocks it.

    Changes nothing. Exit code 3 where something blocks it, else 0, also where it is not due. Its thresholds come from
    the writers' settings: --props and --hoodie-conf, or --assume-defaults.
    """


@why.command()
@idle_option
@table_options
@settings_options
def archive(common: TableOptions, settings: "Settings", idle_ms: int) -> None:
    """Archiving: which instants would leave the active timeline, and what keeps the others there.

    Needs hoodie.keep.min.commits and hoodie.keep.max.commits. The rules are those of the release that writes the
    table's version.
    """
    _why(common, "archive", settings, idle_ms)


@why.command()
@idle_option
@table_options
@settings_options
def clean(common: TableOptions, settings: "Settings", idle_ms: int) -> None:
    """Cleaning: from which commit on all files stay, and what keeps older ones.

    Needs the setting that says how much is kept: hoodie.clean.commits.retained, or that of the policy which is given.
    """
    _why(common, "clean", settings, idle_ms)


@why.command()
@idle_option
@table_options
@settings_options
def compaction(common: TableOptions, settings: "Settings", idle_ms: int) -> None:
    """Compaction: whether one would be scheduled now, and what prevents it.

    Needs hoodie.compact.inline.max.delta.commits, or the thresholds of the strategy which is given.
    """
    _why(common, "compaction", settings, idle_ms)


def _why(common: TableOptions, service: str, settings: "Settings", idle_ms: int) -> None:
    from hudictl.render.json import envelope
    from hudictl.reports.why import why as asked

    table = common.open()
    due = asked(table, service, settings, idle_ms)
    if common.json:
        emit(envelope(f"why {service}", table.uri, result=due))
    else:
        from hudictl.render.text import print_lines
        from hudictl.render.why import due_lines

        with text_output(common.color) as out:
            print_lines(out, list(due_lines(due)))
    if due.blocks:
        by = [block.instant or block.kind for block in due.blocks]
        raise Incomplete(f"{service} is blocked by {', '.join(by)}", service=service, blocks=by)
