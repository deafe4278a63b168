"""``hudictl record``."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from hudictl.cli.complete import partitions
from hudictl.cli.lists import ListOptions, list_options, show_list, unseen
from hudictl.cli.options import as_of_option, engine_options
from hudictl.cli.tree import StrictGroup
from hudictl.errors import Findings, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudictl.reports.record_duplicates import DuplicateRecord


@click.group(cls=StrictGroup)
def record() -> None:
    """Find a record by its key, and keys that are there twice, in base files and logs."""


@record.command()
@click.argument("key", metavar="KEY")
@click.option("--partition", metavar="PARTITION", shell_complete=partitions, help="Look in this partition only.")
@as_of_option("Find the record as of this instant.")
@list_options(engine_options)
def find(given: ListOptions, key: str, partition: str | None, as_of: str | None) -> None:
    """List the files that have the newest version of a record, as queries read it.

    KEY is the record's _hoodie_record_key. If the table has a record index, only the file group is read that it names.
    Else all are, but for base files whose range of keys or bloom filter excludes the key. The same key in several file
    groups is a row each.
    """
    with given.table() as table:
        rows = table.records.find(key, partition, as_of)
        none = unseen("no record has this key", as_of)
        show_list(given, "record find", table, rows, none, hidden=("key", "file_id"))


@record.command()
@click.argument("key", metavar="KEY")
@click.option("--partition", metavar="PARTITION", shell_complete=partitions, help="Look in this partition only.")
@list_options(engine_options, by_time=True)
def history(given: ListOptions, key: str, partition: str | None) -> None:
    """List the versions of a record that files still have, newest first.

    All file slices are looked at: older ones, and those of pending and rolled back writes, too. A version that several
    files have is shown once, with the newest of these.
    """
    with given.table() as table:
        rows = given.ordered(table.records.history(key, partition, **given.times))
        show_list(given, "record history", table, rows, "no file has this key", by_time=True, hidden=("file_id",))


@record.command()
@click.option("--partition", metavar="PARTITION", shell_complete=partitions, help="Look in this partition only.")
@click.option("--global", "everywhere", is_flag=True, help="A key in two partitions is a duplicate, too.")
@as_of_option("Find duplicates as of this instant.")
@list_options(engine_options)
def duplicates(given: ListOptions, partition: str | None, everywhere: bool, as_of: str | None) -> None:
    """List the records whose key queries read more than once in a partition, or with --global in the table.

    Nothing is changed. The keys of all newest file slices are read, and compared by digests on the engine. Each record
    is a row: `kept` says whether Hudi's repair_deduplicate, in the column repair_sql, keeps it.

    Exit code 3 if there are any, else 0.
    """
    if everywhere and partition is not None:
        raise UsageError("--global cannot be used with --partition")
    found = False

    def noticed() -> "Iterator[DuplicateRecord]":
        nonlocal found
        for row in rows:
            found = found or row.problem is None
            yield row

    with given.table() as table:
        rows = table.records.duplicates(partition, as_of, everywhere=everywhere)
        shown = replace(rows, make=noticed)
        none = unseen("no duplicates", as_of)
        show_list(given, "record duplicates", table, shown, none, hidden=("file_id", "kind", "repair_sql"))
    if found:
        raise Findings("there are duplicates: queries read keys more than once")
