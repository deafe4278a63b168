"""``hudictl check``."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from hudictl.cli.complete import findings
from hudictl.cli.many_tables import many_tables_options, settings_of_table
from hudictl.cli.options import PATH, EngineOptions, TableOptions, engine_options, idle_option
from hudictl.cli.progress import Progress, shown
from hudictl.cli.show import text_output
from hudictl.cli.streams import emit, emit_parts
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictCommand
from hudictl.cli.writers_options import settings_options
from hudictl.errors import Findings, HudictlError, UsageError
from hudictl.phrases import count_of
from hudictl.render.json import envelope, plain
from hudictl.render.nagios import NAGIOS

if TYPE_CHECKING:
    from hudictl.reports.health.check import Found
    from hudictl.reports.health.tables import Checked
    from hudictl.table.settings import Settings
    from hudictl.table.table import Table

    Read = tuple[Table, Settings]

PROMETHEUS = "prometheus"
SEVERITIES = ("error", "warning", "info")
"""The gravest first."""


_findings_option = partial(click.option, multiple=True, metavar="NAME", shell_complete=findings)


@click.command(cls=StrictCommand)
@_findings_option("--only", help="Report this finding only. Repeatable.")
@_findings_option("--skip", help="Do not report this finding. Repeatable.")
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="warning",
    show_default=True,
    help="Exit code 3 for findings of this severity or a higher one.",
)
@click.option(
    "--textfile",
    metavar="PATH",
    type=PATH,
    help="With -o prometheus: write the metrics to this file, atomically (for node_exporter).",
)
@click.option("--footers", is_flag=True, help="Also read the end of each base file and log (one small read each).")
@idle_option
@many_tables_options(PROMETHEUS, NAGIOS)
@engine_options
@settings_options
def check(
    common: TableOptions,
    tables: tuple[TableOptions, ...],
    engine_options: EngineOptions,
    settings: "Settings",
    idle_ms: int,
    fail_on: str,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    textfile: str | None,
    footers: bool,
) -> None:
    """Check the health of tables: report each finding, its meaning, and the command to repair it.

    Nothing is changed. Exit code 3 for a finding of severity --fail-on or higher, else 0. A running writer is no
    finding. A running restore or rollback is the finding `at-work` (info). Without a heartbeat, activity within --idle
    counts as running.

    Some checks need the writers' settings: --props, --hoodie-conf or --assume-defaults. Without settings they are
    skipped.

    With several tables: an unreadable table is the finding `not-checked`, the others are still checked, and the exit
    code is the highest one. With -o nagios: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
    """
    from hudictl.library.table import HudiTable
    from hudictl.reports.health.families import FindingSelection

    if textfile and common.output != PROMETHEUS:
        raise UsageError("--textfile can only be used with -o prometheus")
    grave = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    with shown("check", common.progress) as progress:
        look = partial(
            HudiTable.check,
            idle_ms=idle_ms,
            selection=FindingSelection(frozenset(only), frozenset(skip)),
            footers=footers,
        )
        found = _check_all(tables, engine_options, settings, look, progress)
    if common.output == NAGIOS:
        _print_status(found, grave)
    # The one error of one table is said once, on stderr.
    if common.output == PROMETHEUS or not (len(found) == 1 and found[0].error):
        _print(common, found, textfile, chosen=bool(only), footers=footers)
    _raise_gravest(found, grave)


def _check_all(
    options: Sequence[TableOptions],
    engine_options: EngineOptions,
    settings: "Settings",
    look: "Callable[..., Found]",
    progress: Progress,
) -> "list[Checked]":
    from hudictl.library.access import Access
    from hudictl.library.checks import check_all
    from hudictl.library.opened import Opened
    from hudictl.library.table import HudiTable

    tables = {uri: (opened, entry.named) for entry in options for uri, opened in [_opened(entry, settings)]}
    engine = engine_options.open(*(opened[0] for opened, _ in tables.values() if not isinstance(opened, HudictlError)))

    def looked(opened: "Read | HudictlError", named: str) -> "Found":
        copied = to_copy(table=named)
        try:
            if isinstance(opened, HudictlError):
                raise opened
            core, settings = opened
            table = HudiTable(Opened(core, Access(engine_options, monitor=progress), running=engine))
            return copied.all_of(look(table, settings=settings))
        except HudictlError as error:
            error.hint = copied.text(error.hint)
            raise

    try:
        return check_all((uri, partial(looked, *opened)) for uri, opened in tables.items())
    finally:
        engine.close()


def _opened(options: TableOptions, settings: "Settings") -> "tuple[str, Read | HudictlError]":
    """A table, and the settings of its writers, by its whole URI, which is the same whether it can be opened or not."""
    from hudictl.formats.layouts import SCRATCH
    from hudictl.storage.open import open_storage
    from hudictl.table.beat_rule import heartbeat_rule
    from hudictl.table.table import table_at

    uri = options.uri
    try:
        storage = open_storage(uri, SCRATCH, options.storage_options)
        uri = storage.uri
        own = replace(settings, given=settings_of_table(options, settings.given))
        return uri, (table_at(storage, options.timezone, heartbeat_rule(own.given)), own)
    except HudictlError as error:
        return uri, error


def _print(common: TableOptions, found: "list[Checked]", textfile: str | None, *, chosen: bool, footers: bool) -> None:
    if common.output == PROMETHEUS:
        from hudictl.render.metrics import as_text, write_text

        if textfile:
            write_text(found, textfile)
        else:
            emit(as_text(found), nl=False)
    elif common.json:
        rows = [{"table": entry.table} | plain(row) for entry in found for row in entry.findings]
        skipped = [{"table": entry.table} | plain(row) for entry in found for row in entry.skipped]
        emit_parts(envelope("check", found[0].table if len(found) == 1 else None, rows=rows, skipped=skipped))
    else:
        from hudictl.render.checks import lines
        from hudictl.render.text import PROSE, print_lines

        with text_output(common.color) as out:
            print_lines(out, list(lines(found, names=common.verbose, chosen=chosen, footers=footers)), PROSE)


def _print_status(found: "list[Checked]", grave: Sequence[str]) -> None:
    """As a plugin does, which ends here."""
    from hudictl.render.checks import plugin_status

    status, said = plugin_status(found, grave)
    for line in said:
        emit(line)
    raise click.exceptions.Exit(status)


def _raise_gravest(found: "list[Checked]", grave: Sequence[str]) -> None:
    """Raises the error with the highest exit code; Findings where there are findings of a ``grave`` severity."""
    errors = [entry.error for entry in found if entry.error]
    if errors:
        raise max(errors, key=lambda error: error.exit_code)
    if any(entry.count(severity) for severity in grave for entry in found):
        counts = {severity: sum(entry.count(severity) for entry in found) for severity in SEVERITIES}
        where = f" in {len(found)} tables" if len(found) > 1 else ""
        told = ", ".join(count_of(count, severity) for severity, count in counts.items() if count)
        raise Findings(f"{told}{where}", findings=sum(counts.values()), errors=counts["error"])
