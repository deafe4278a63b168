"""``hudictl table``."""

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import click

from hudictl.cli.change import ChangeCommand, Question, in_lines, run_change
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import ChangeOptions, TableOptions, as_of_option, idle_option, pairs_of, table_options
from hudictl.cli.repairs import run_repair
from hudictl.cli.show import show_result, text_output
from hudictl.cli.streams import emit_parts
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options, heartbeat_options
from hudictl.errors import UsageError
from hudictl.library import changes
from hudictl.render.json import envelope

if TYPE_CHECKING:
    from hudictl.ops.set_property import PropertyOptions, PropertyPlan
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
    opened = common.table()
    described = to_copy().all_of(opened.describe())
    if common.json:
        emit_parts(envelope("table show", opened.uri, result=described))
        return
    with text_output(common.color) as out:
        _print(out, described)


@table.command()
@click.option("--all", "unset", is_flag=True, help="Also the properties that are not set, with their defaults.")
@list_options()
def properties(given: ListOptions, unset: bool) -> None:
    """List the properties of the table (hoodie.properties): value, Hudi's default, and meaning.

    Those with another value than the default: --where changed=yes.

    In hudi-cli: `desc`.
    """
    opened = given.table()
    hidden = () if unset else ("set",)
    rows = opened.properties(unset=unset)
    show_list(given, "table properties", opened, rows, "no properties", hidden=hidden)


@table.command()
@as_of_option("Show the schema as of this instant.")
@click.option("--history", is_flag=True, help="List the writes that changed the schema, newest first.")
@list_options()
def schema(given: ListOptions, as_of: str | None, history: bool) -> None:
    """Show the schema of the newest completed write, without Hudi's own columns: as JSON the Avro schema itself.

    --history: archived writes are included. Compactions and clusterings do not change a schema.

    In hudi-cli: `fetch table schema`.
    """
    list_them = partial(show_list, given, "table schema", opened := given.table())
    if history:
        if as_of is not None:
            raise UsageError("--as-of does not go with --history")
        list_them(given.ordered(opened.schema_changes()), "no changes", by_time=True, hidden=("timeline",))
        return
    found = opened.schema(as_of)
    if given.common.json:
        if given.where or given.columns or given.sort or given.limit is not None:
            raise UsageError("as JSON the schema is shown whole: without --where, --columns, --sort and --limit")
        show_result(given.common, "table schema", opened.uri, found, ())
        return
    said = f"The schema of {found.instant}." if found and found.instant else "The schema at the table's creation."
    list_them(opened.fields(as_of), "no write has a schema", notes=[said] if found else [])


@table.command("set-property")
@click.argument("pairs", metavar="[K=V]...", nargs=-1)
@click.option("--unset", "removed", multiple=True, metavar="K", help="Take this property out of the file. Repeatable.")
@click.option(
    "--dangerous",
    multiple=True,
    metavar="K",
    help="Change this property although it gives the data another meaning, or Hudi does not know it. Repeatable.",
)
@idle_option
@change_options
def set_property(
    change: ChangeOptions, pairs: tuple[str, ...], removed: tuple[str, ...], dangerous: tuple[str, ...], idle_ms: int
) -> None:
    """Change properties of the table (hoodie.properties). Stop all writers first.

    Most properties say how data and instants are to be read: another value does not change the data. They need
    --dangerous. The version, the checksum, folders, and the partitions of the metadata table are refused always.

    Readers and writers find the old file or the new one, never a part: hudictl writes it as Hudi does, with a backup.
    """
    from hudictl.ops.set_property import PropertyOptions

    values = pairs_of(pairs, "K=V")
    both = sorted(values.keys() & set(removed))
    if both or not (values or removed):
        raise UsageError(f"{both[0]} is both set and unset" if both else "give K=V, or --unset K")
    run_change(_property_change(PropertyOptions(values, removed, dangerous, idle_ms)), change)


@table.command("repair-properties")
@click.option("--set", "pairs", multiple=True, metavar="K=V", help="A property that nothing else proves. Repeatable.")
@idle_option
@change_options
def repair_properties(change: ChangeOptions, pairs: tuple[str, ...], idle_ms: int) -> None:
    """Write hoodie.properties again if it is missing, cut or damaged, or not that of the data. Stop all writers first.

    An intact backup of Hudi's is put back. Without one, the lines that can still be read count, and what timeline,
    files, rows and metadata table prove. What has only one proof is named in the plan. Where nothing says a property
    that the table needs, the command is refused: give it by --set. `hudictl undo` takes the repair back.

    In hudi-cli: `repair overwrite-hoodie-props`, `table recover-configs`.
    """
    values = pairs_of(pairs, "--set")
    core = change.open(salvage=values)
    run_repair(changes.properties_repair(values, idle_ms), change, core=core)


def _property_change(options: "PropertyOptions") -> "ChangeCommand[PropertyPlan, PropertyPlan]":
    from hudictl.render.locks import lock_line

    def lines(plan: "PropertyPlan") -> list[str]:
        return [
            f"{row.name}: {'not set' if row.before is None else row.before or 'empty'} -> "
            f"{'not set' if row.after is None else row.after or 'empty'}" + (f" ({row.meaning})" if row.meaning else "")
            for row in plan.changes
        ] + (["The backup of an update that died goes."] if plan.unfinished else [])

    def named(plan: "PropertyPlan") -> str:
        return ", ".join(row.name for row in plan.changes) or "nothing, but end an update that died"

    return ChangeCommand(
        name="table set-property",
        change=changes.set_properties(options),
        show=in_lines(lambda plan: [*lines(plan), lock_line(plan.lock)]),
        shown_first=True,
        question=lambda plan: Question(f"Change {named(plan)}?"),
        done=lambda plan, _result: f"changed {named(plan)}",
    )


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
            ("", ""),
            *(pending or [("pending", "none")]),
            ("locks held", [f"{lock.path} ({lock.provider})" for lock in described.locks if lock.held]),
            ("savepoints", described.savepoints),
            *([("unknown files", described.unknown_files)] if described.unknown_files else []),
            ("", ""),
            ("metadata table", [*described.metadata_partitions, *building] or unlisted),
            ("record key", described.record_key_fields),
            ("partition fields", described.partition_fields),
            ("base file format", described.base_file_format),
            ("timezone", described.timezone),
        ],
    )
    out.print()
    columns = ["action", "requested", "inflight", "completed"]
    print_table(out, [asdict(count) for count in described.instants], columns, "no instants")
