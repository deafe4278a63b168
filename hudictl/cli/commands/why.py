"""``hudictl why``."""

from typing import TYPE_CHECKING, Literal

import click

from hudictl.cli.options import TableOptions, idle_option, table_options
from hudictl.cli.show import text_output
from hudictl.cli.streams import emit_parts
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import settings_options
from hudictl.errors import Findings
from hudictl.render.json import envelope

if TYPE_CHECKING:
    from hudictl.table.settings import Settings


@click.group(cls=StrictGroup)
def why() -> None:
    """Explain why archiving, cleaning or compaction does nothing or too little, and name the blocking instant.

    Nothing is changed. Exit code 3 if something blocks the service, else 0. A service that is not due is not blocked.
    Pass the writers' settings with --props or --hoodie-conf, or use --assume-defaults.
    """


@why.command()
@idle_option
@table_options
@settings_options
def archive(common: TableOptions, settings: "Settings", idle_ms: int) -> None:
    """Explain archiving: the number of commits, and the instants that archiving cannot pass.

    Requires hoodie.keep.min.commits and hoodie.keep.max.commits.
    """
    _why(common, "archive", settings, idle_ms)


@why.command()
@idle_option
@table_options
@settings_options
def clean(common: TableOptions, settings: "Settings", idle_ms: int) -> None:
    """Explain cleaning: the number of commits, and the instants whose files it has to keep.

    Requires hoodie.clean.commits.retained, or the matching setting of the configured cleaning policy.
    """
    _why(common, "clean", settings, idle_ms)


@why.command()
@idle_option
@table_options
@settings_options
def compaction(common: TableOptions, settings: "Settings", idle_ms: int) -> None:
    """Explain compaction: whether one is due, and the instants that block it.

    Requires hoodie.compact.inline.max.delta.commits, or the thresholds of the configured strategy.
    """
    _why(common, "compaction", settings, idle_ms)


def _why(
    common: TableOptions, service: Literal["archive", "clean", "compaction"], settings: "Settings", idle_ms: int
) -> None:
    table = common.table()
    due = to_copy().all_of(table.why(service, settings, idle_ms=idle_ms))
    if common.json:
        emit_parts(envelope(f"why {service}", table.uri, result=due))
    else:
        from hudictl.render.text import print_lines
        from hudictl.render.why import due_lines

        with text_output(common.color) as out:
            print_lines(out, list(due_lines(due)))
    if due.blocks:
        by = [block.instant or block.kind for block in due.blocks]
        raise Findings(f"{service} is blocked by {', '.join(by)}", service=service, blocks=by)
