"""``hudictl file``."""

import click

from hudictl.cli.complete import partitions
from hudictl.cli.lists import ListOptions, list_options, show_list, unseen
from hudictl.cli.options import PATH, EngineOptions, TableOptions, as_of_option, engine_options, table_options
from hudictl.cli.show import text_output, up_to_error
from hudictl.cli.streams import emit_parts
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictGroup
from hudictl.render.json import envelope

_partition = click.option(
    "--partition",
    metavar="PARTITION",
    shell_complete=partitions,
    help="This partition only. Then one listing is enough, and Spark is not started.",
)


@click.group(cls=StrictGroup)
def file() -> None:
    """Show the data files of a table."""


@file.command()
@_partition
@as_of_option("Show the table as of this instant.")
@list_options(engine_options)
def slices(given: ListOptions, partition: str | None, as_of: str | None) -> None:
    """List file groups with their file slices: base file, log files, and the bytes that a compaction would read.

    In hudi-cli: `show fsview all`, and with --where newest=yes `show fsview latest`.
    """
    from hudictl.render.slices import compaction_lines

    with given.table() as table:
        rows = table.slices(partition, as_of).kept()
    notes = tuple(compaction_lines(list(up_to_error(rows, [])))) if given.common.output == "text" else ()
    none = unseen("no file slices", as_of)
    show_list(given, "file slices", table, rows, none, hidden=("logs",), notes=(*rows.notes, *notes))


@file.command()
@click.argument("file", metavar="ID|NAME", type=PATH)
@_partition
@list_options(by_time=True)
def history(given: ListOptions, file: str, partition: str | None) -> None:
    """List what instants did with a file group, or with one file of it, newest first.

    ID is a file id; NAME is the name of a file, or its path. Files are written, read by compactions and clusterings,
    saved by savepoints, replaced, and deleted.

    In hudi-cli: `diff file`.
    """
    table = given.table()
    rows = table.files.history(file, partition, **given.times)
    hidden = () if given.archived else ("timeline",)
    show_list(given, "file history", table, rows, "no instant names the file", by_time=True, hidden=hidden)


@file.command()
@click.argument("file", metavar="NAME|PATH", type=PATH)
@_partition
@table_options
@engine_options
def explain(common: TableOptions, engine_options: EngineOptions, file: str, partition: str | None) -> None:
    """Explain one data file: the parts of its name, why it is there, and whether it may be deleted.

    It is not deletable if queries, time travel, a restore or a plan need it, or if nothing proves that they do not: an
    older file of a completed write is left to Hudi's cleaning. Whether other tables use it is not known.
    """
    from hudictl.render.text import print_facts

    with common.table(engine_options) as table:
        explained = to_copy().all_of(table.files.explain(file, partition))
    if common.json:
        emit_parts(envelope("file explain", table.uri, result=explained))
        return
    with text_output(common.color) as out:
        print_facts(out, [(name.replace("_", " "), said) for name, said in vars(explained).items() if said is not None])
