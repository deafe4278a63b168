"""``hudictl why``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.options import TableOptions, idle_option, settings_options, table_options
from hudictl.cli.show import text_output
from hudictl.cli.streams import emit
from hudictl.errors import Findings

if TYPE_CHECKING:
    from hudictl.table.settings import Settings


@click.group()
def why() -> None:
    """Explain why a table service does nothing, or too little, and name the blocking instant.

    Nothing is changed. Exit code 3 if something blocks the service, else 0, also if it is not due. Thresholds come from
    the writers' settings: --props, --hoodie-conf, or --assume-defaults.
    """


@why.command()
@idle_option
@table_options
@settings_options
def archive(common: TableOptions, settings: "Settings", idle_ms: int) -> None:
    """Explain archiving: which instants would be archived, and what keeps the others active.

    Requires hoodie.keep.min.commits and hoodie.keep.max.commits. The rules are those of the Hudi release that writes
    this table version.
    """
    _why(common, "archive", settings, idle_ms)


@why.command()
@idle_option
@table_options
@settings_options
def clean(common: TableOptions, settings: "Settings", idle_ms: int) -> None:
    """Explain cleaning: the earliest commit whose files are all kept, and what keeps older files.

    Requires the setting for how much is kept: hoodie.clean.commits.retained, or that of the configured policy.
    """
    _why(common, "clean", settings, idle_ms)


@why.command()
@idle_option
@table_options
@settings_options
def compaction(common: TableOptions, settings: "Settings", idle_ms: int) -> None:
    """Explain compaction: whether one would be scheduled now, and what prevents it.

    Requires hoodie.compact.inline.max.delta.commits, or the thresholds of the configured strategy.
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
        raise Findings(f"{service} is blocked by {', '.join(by)}", service=service, blocks=by)
