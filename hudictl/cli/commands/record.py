"""``hudictl record``."""

import click

from hudictl.cli.complete import partitions
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import EngineOptions, TableOptions, as_of_option, engine_options
from hudictl.cli.tree import StrictGroup


@click.group(cls=StrictGroup)
def record() -> None:
    """Find a record by its key, in base files and logs."""


@record.command()
@click.argument("key", metavar="KEY")
@click.option("--partition", metavar="PARTITION", shell_complete=partitions, help="Look in this partition only.")
@as_of_option("Find the record as of this instant.")
@list_options()
@engine_options
def find(
    common: TableOptions,
    given: ListOptions,
    engine_options: EngineOptions,
    key: str,
    partition: str | None,
    as_of: str | None,
) -> None:
    """List the files that have the newest version of a record, as queries read it.

    KEY is the record's _hoodie_record_key. If the table has a record index, only the file group is read that it names.
    Else all are, but for base files whose range of keys or bloom filter excludes the key. The same key in several file
    groups is a row each.
    """
    with common.table(engine_options) as table:
        rows = table.records.find(key, partition, as_of)
        show_list(common, given, "record find", table, rows, "no record has this key", hidden=("key", "file_id"))


@record.command()
@click.argument("key", metavar="KEY")
@click.option("--partition", metavar="PARTITION", shell_complete=partitions, help="Look in this partition only.")
@list_options(by_time=True)
@engine_options
def history(
    common: TableOptions, given: ListOptions, engine_options: EngineOptions, key: str, partition: str | None
) -> None:
    """List the versions of a record that files still have, newest first.

    All file slices are looked at: older ones, and those of pending and rolled back writes, too. A version that several
    files have is shown once, with the newest of these.
    """
    with common.table(engine_options) as table:
        rows = given.ordered(table.records.history(key, partition, **given.times))
        show_list(
            common, given, "record history", table, rows, "no file has this key", by_time=True, hidden=("file_id",)
        )
