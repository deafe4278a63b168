"""``hudictl check``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.options import (
    EngineOptions,
    TableOptions,
    engine_options,
    idle_option,
    settings_options,
    table_options,
)
from hudictl.cli.progress import Progress
from hudictl.cli.show import emit, text_output
from hudictl.errors import Incomplete

if TYPE_CHECKING:
    from hudictl.reports.health.finding import Finding, Skipped
    from hudictl.table.settings import Settings

SEVERITIES = ("error", "warning", "info")
"""The gravest first."""


@click.command()
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="warning",
    show_default=True,
    help="Exit code 3 for findings of this severity, and graver ones.",
)
@idle_option
@table_options
@engine_options
@settings_options
def check(
    common: TableOptions, engine_options: EngineOptions, settings: "Settings", idle_ms: int, fail_on: str
) -> None:
    """Looks at the table's health: what is wrong, what it means, and the commands that mend it.

    Changes nothing. Exit code 3 with findings as grave as --fail-on, else 0. What runs is none of these: a writer, a
    clean, a rollback that has done something within --idle; hudictl itself is an info. What rests on the writers'
    settings (--props, --hoodie-conf, --assume-defaults) is skipped where these are not given.
    """
    from hudictl.render.json import envelope
    from hudictl.reports.health.check import look_over

    table = common.open()
    engine = engine_options.open(table)
    try:
        checked = look_over(table, engine, idle_ms, Progress().note, settings)
    finally:
        engine.close()
    findings = checked.findings
    if common.json:
        emit(envelope("check", table.uri, rows=findings, skipped=checked.skipped))
    else:
        _print(common, findings, checked.skipped)
    grave = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    if any(entry.severity in grave for entry in findings):
        errors = sum(entry.severity == "error" for entry in findings)
        raise Incomplete(f"{len(findings)} findings, {errors} of them errors", findings=len(findings), errors=errors)


def _print(common: TableOptions, findings: "list[Finding]", skipped: "list[Skipped]") -> None:
    from hudictl.render.text import print_lines
    from hudictl.state.unfinished import in_words

    with text_output(common.color) as out:
        for finding in findings:
            lines = [f"{finding.severity}: {finding.finding}: {finding.subject}", f"  {finding.meaning}"]
            if finding.remedy:
                lines.append(f"  {in_words(finding.remedy)}")
            print_lines(out, lines)
        if not findings:
            print_lines(out, ["no findings"])
        if skipped:
            names = ", ".join(dict.fromkeys(entry.finding for entry in skipped))
            print_lines(out, [f"skipped without the writers' settings (--props, --assume-defaults): {names}"])
