"""``hudictl stats``."""

from typing import Literal

import click

from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import engine_options
from hudictl.cli.tree import StrictGroup
from hudictl.table.settings import SMALL_FILE_LIMIT

_OF_SIZES = ("small_percent", "min_bytes", "p10_bytes", "p90_bytes", "p95_bytes", "p99_bytes", "std_dev_bytes")


@click.group(cls=StrictGroup)
def stats() -> None:
    """Show how large file slices and files are, how much writers write again, and where the time of commits goes."""


@stats.command()
@click.option("--by", type=click.Choice(["partition", "commit"]), default="partition", help="A row for each of these.")
@click.option("--of", type=click.Choice(["slices", "files"]), default="slices", help="The newest slices, or all files.")
@click.option(
    "--small-file-limit", metavar="BYTES", default=SMALL_FILE_LIMIT, help="As hoodie.parquet.small.file.limit."
)
@list_options(engine_options)
def sizes(
    given: ListOptions, by: Literal["partition", "commit"], of: Literal["slices", "files"], small_file_limit: int
) -> None:
    """List the sizes of the newest file slices, or of all files, and the total.

    A slice has the size that queries read: its base file and its logs. Skew: how many times larger the largest one is
    than the median of all. In hudi-cli: `stats filesizes`, which is `--by commit --of files`.
    """
    with given.table() as table:
        show_list(given, "stats sizes", table, table.files.sizes(by, of, small_file_limit), "no data files")


@stats.command()
@list_options(engine_options)
def skew(given: ListOptions) -> None:
    """List how unequal the partitions are, the worst first: the largest slice against the median, and their shares.

    Skew: how many times larger the largest one is than the median of all.
    """
    with given.table() as table:
        show_list(given, "stats skew", table, table.files.skew(), "no data files", hidden=_OF_SIZES)


@stats.command()
@list_options(by_time=True)
def amplification(given: ListOptions) -> None:
    """List how many records completed writes wrote for each updated one, newest first, and the total.

    In hudi-cli: `stats wa`, without delta commits.
    """
    table = given.table()
    show_list(given, "stats amplification", table, table.amplification(**given.times), "no commits", by_time=True)


@stats.command()
@list_options(by_time=True)
def phases(given: ListOptions) -> None:
    """List how long instants were requested and inflight, and of this in the metadata table, newest first.

    All but the duration is by the modification times of the instants' files: whole seconds on some stores. A copy of a
    table may not have kept them, and archived instants have no files.
    """
    table = given.table()
    rows = table.phases(**given.times)
    hidden = ("requested_utc",) if given.archived else ("requested_utc", "timeline")
    show_list(given, "stats phases", table, rows, "no instants", by_time=True, hidden=hidden)
