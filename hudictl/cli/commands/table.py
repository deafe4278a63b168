"""``hudictl table``."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import TableOptions, table_options
from hudictl.cli.show import text_output
from hudictl.cli.streams import emit_parts
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import heartbeat_options

if TYPE_CHECKING:
    from hudictl.render.text import Console
    from hudictl.reports.table import TableDescription


@click.group(cls=StrictGroup)
def table() -> None:
    """Show the state of a table, its properties and its schema."""


@table.command()
@table_options
@heartbeat_options
def show(common: TableOptions) -> None:
    """Show the state of the table, and whether a writer can open it."""
    from hudictl.render.json import envelope
    from hudictl.reports.table import describe_table

    opened = common.open()
    described = to_copy().all_of(describe_table(opened))
    if common.json:
        emit_parts(envelope("table show", opened.uri, result=described))
        return
    with text_output(common.color) as out:
        _print(out, described)


@table.command()
@click.option("--all", "unset", is_flag=True, help="Also the properties that are not set, with their defaults.")
@list_options()
def properties(common: TableOptions, given: ListOptions, unset: bool) -> None:
    """List the properties of the table (hoodie.properties): value, Hudi's default, and meaning.

    In hudi-cli: `desc`.
    """
    from hudictl.reports.table_properties import PropertyRow, property_rows

    opened = common.open()
    hidden = () if unset else ("set",)
    rows = property_rows(opened, unset=unset)
    show_list(common, given, "table properties", opened, rows, PropertyRow, "no properties", hidden=hidden)


def _print(out: "Console", described: "TableDescription") -> None:
    from hudictl.render.text import judged, print_facts, print_table
    from hudictl.reports.table import DO_NOT_START

    good = described.writers_can_start and not described.verdict.startswith(DO_NOT_START)
    verdict = judged(described.verdict, good=good, doubtful=not described.sound)
    advice = [("what to do", described.advice)] if described.advice else []
    print_facts(out, [("verdict", verdict), *advice])
    out.print()
    pending: list[tuple[str, object]] = [
        (f"pending {what}", found)
        for what, found in (
            ("writes", described.pending_writes),
            ("restores", described.pending_restores),
            ("rollbacks", described.pending_rollbacks),
            ("cleans", described.pending_cleans),
        )
        if found
    ]
    building = [f"{name} (being built)" for name in described.metadata_partitions_inflight]
    unlisted = "a folder that readers do not use" if described.metadata_table else "none"
    print_facts(
        out,
        [
            ("name", described.name),
            ("uri", described.uri),
            ("type", described.type),
            ("table version", f"{described.table_version}, timeline layout {described.timeline_layout}"),
            ("timezone", described.timezone),
            ("base file format", described.base_file_format),
            ("record key", described.record_key_fields),
            ("partition fields", described.partition_fields),
            ("metadata table", [*described.metadata_partitions, *building] or unlisted),
            ("locks held", [f"{lock.path} ({lock.provider})" for lock in described.locks if lock.held]),
            ("savepoints", described.savepoints),
            *(pending or [("pending", "none")]),
            *([("unknown files", described.unknown_files)] if described.unknown_files else []),
        ],
    )
    out.print()
    columns = ["action", "requested", "inflight", "completed"]
    print_table(out, [asdict(count) for count in described.instants], columns, "no instants")
