"""``hudictl commit``."""

import click

from hudictl.cli.complete import COMMITS, instants
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import PATH, TableOptions
from hudictl.cli.tree import StrictGroup


@click.group(cls=StrictGroup)
def commit() -> None:
    """Show what commits did, and compare them with those of a copy."""


@commit.command("list")
@list_options(by_time=True)
def list_(common: TableOptions, given: ListOptions) -> None:
    """List the completed writes, newest first: what each did, and how much it wrote.

    In hudi-cli: `commits show`. For pending ones: `hudictl timeline show`.
    """
    from hudictl.reports.commits import CommitRow, commit_rows

    table = common.open()
    rows = commit_rows(table, given.instants(table))
    hidden = ("requested_utc",) if given.archived else ("requested_utc", "timeline")
    show_list(common, given, "commit list", table, rows, CommitRow, "no commits", by_time=True, hidden=hidden)


@commit.command()
@click.argument("instant", shell_complete=instants(*COMMITS, completed=True))
@click.option("--by", type=click.Choice(["partition", "file"]), default="partition", help="A row for each of these.")
@list_options()
def show(common: TableOptions, given: ListOptions, instant: str, by: str) -> None:
    """Show what one commit did, active or archived, by partition or by file.

    In hudi-cli: `commit showpartitions`, `commit showfiles`. All its records: `hudictl timeline inspect`.
    """
    from hudictl.reports.commits import CommitFile, CommitPartition, commit_files, commit_partitions

    table = common.open()
    nothing = "the commit wrote nothing"
    if by == "file":
        show_list(common, given, "commit show", table, commit_files(table, instant), CommitFile, nothing)
    else:
        show_list(common, given, "commit show", table, commit_partitions(table, instant), CommitPartition, nothing)


@commit.command()
@click.argument("other", metavar="URI", type=PATH)
@list_options(by_time=True)
def diff(common: TableOptions, given: ListOptions, other: str) -> None:
    """List the completed writes that only one of two tables has, newest first: URI is a copy of the table.

    In hudi-cli: `commits compare`.
    """
    from hudictl.reports.commits import CommitDifference, commit_differences
    from hudictl.table.open import open_table

    table = common.open()
    copy = open_table(other, common.storage_options, common.timezone)
    rows = commit_differences(table, copy, given.instants(table))
    nothing = "both have the same commits"
    show_list(common, given, "commit diff", table, rows, CommitDifference, nothing, by_time=True)
