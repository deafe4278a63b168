"""``hudictl commit``."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from hudictl.cli.complete import COMMITS, instants, partitions
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import PATH
from hudictl.cli.tree import StrictGroup

if TYPE_CHECKING:
    from hudictl.library.rows import Rows


@click.group(cls=StrictGroup)
def commit() -> None:
    """Show what commits did, and compare them with those of a copy."""


@commit.command("list")
@click.option(
    "--partition",
    metavar="PARTITION",
    shell_complete=partitions,
    help="Only commits that wrote, replaced or deleted something in it. The numbers stay those of the whole commit.",
)
@list_options(by_time=True)
def list_(given: ListOptions, partition: str | None) -> None:
    """List the completed writes, newest first: what each did, and how much it wrote.

    In hudi-cli: `commits show`. For pending ones: `hudictl timeline show`.
    """
    table = given.table()
    rows = table.commits(partition, **given.times)
    hidden = ("requested_utc",) if given.archived else ("requested_utc", "timeline")
    changed = f"no {'' if given.archived else 'active '}commit changed {partition}"
    empty = "no commits" if partition is None else changed
    show_list(given, "commit list", table, rows, empty, by_time=True, hidden=hidden)


@commit.command()
@click.argument("instant", shell_complete=instants(*COMMITS, completed=True))
@click.option("--by", type=click.Choice(["partition", "file"]), default="partition", help="A row for each of these.")
@list_options()
def show(given: ListOptions, instant: str, by: str) -> None:
    """Show what one commit did, active or archived, by partition or by file.

    In hudi-cli: `commit showpartitions`, `commit showfiles`. All its records: `hudictl timeline inspect`.
    """
    table = given.table()
    rows: Rows[Any] = table.commit_files(instant) if by == "file" else table.commit_partitions(instant)
    show_list(given, "commit show", table, rows, "the commit wrote nothing")


@commit.command()
@click.argument("other", metavar="URI", type=PATH)
@list_options(by_time=True)
def diff(given: ListOptions, other: str) -> None:
    """List the completed writes that only one of two tables has, newest first: URI is a copy of the table.

    In hudi-cli: `commits compare`.
    """
    table, copy = given.table(), replace(given.common, uri=other).table()
    rows = table.commit_differences(copy, **given.times)
    show_list(given, "commit diff", table, rows, "both have the same commits", by_time=True)
