"""``hudictl metadata``."""

from typing import TYPE_CHECKING, Any

import click

from hudictl.cli.change import ChangeCommand, Question, run_change
from hudictl.cli.complete import indexes, partitions
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import PATH, ChangeOptions, engine_options, idle_option
from hudictl.cli.pace import keep_files_option, keeps_files
from hudictl.cli.progress import shown
from hudictl.cli.tree import StrictGroup, hidden
from hudictl.cli.writers_options import change_options
from hudictl.errors import Findings, UsageError
from hudictl.library import changes
from hudictl.phrases import command_of, count_of, undo_text
from hudictl.render.words import size

if TYPE_CHECKING:
    from hudictl.library.rows import Rows
    from hudictl.library.table import HudiTable
    from hudictl.ops.metadata.drop import DropOptions, DropPlan, DropResult

_STALE_LISTING = (
    "readers with hoodie.metadata.enable=false do not use it; `hudictl metadata drop` deletes it, and the next writer "
    "builds it again"
)
_STALE_INDEX = (
    "queries and writers that use such an index miss rows, or write keys twice; `{}` drops the index; then have Hudi "
    "create it again"
)


@click.group(cls=StrictGroup)
def metadata() -> None:
    """Show the metadata table, compare it with storage, and drop it or its indexes."""


@metadata.command()
@click.argument("partition", required=False, shell_complete=partitions)
@list_options()
def files(given: ListOptions, partition: str | None) -> None:
    """List the partitions in the metadata table, or the files of PARTITION.

    PARTITION is a partition path of the data table; use "." for a table without partitions.

    In hudi-cli: `metadata list-partitions`, `metadata list-files`.
    """
    table = given.table()
    if partition is None:
        _list(given, "metadata files", table, table.metadata.listed_partitions(), "no partitions")
    else:
        rows = table.metadata.listed_files(partition)
        _list(given, "metadata files", table, rows, "no files", hidden=("partition",))


@metadata.command("partitions")
@list_options()
def partitions_(given: ListOptions) -> None:
    """List the partitions of the metadata table: size, last compaction, and how many commits could be removed.

    State: listed (in use), being built, not listed (only on storage), or missing (listed, but not on storage).

    Commits back: how many of the newest commits a restore could remove while the partition is kept. Back limit: the
    reason why one commit more could not be removed; empty if that is the oldest commit, or the 50th back.

    In hudi-cli: `metadata stats`.
    """
    table = given.table()
    _list(given, "metadata partitions", table, table.metadata.partitions(), "no partitions")


def _list(
    given: ListOptions, command: str, table: "HudiTable", rows: "Rows[Any]", empty: str, hidden: tuple[str, ...] = ()
) -> None:
    """For eyes, why there are no rows stands in their place."""
    rows = rows.kept()
    unused = table.metadata.unused() if given.common.output == "text" and not list(rows) else None
    empty = unused or empty
    notes = [note for note in rows.notes if note != given.empty(empty)]
    show_list(given, command, table, rows, empty, hidden=hidden, notes=notes)


metadata.add_command(hidden(partitions_), "stats")


@metadata.command()
@click.argument("file", metavar="FILE", type=PATH)
@list_options()
def columns(given: ListOptions, file: str) -> None:
    """List the statistics of each column of a data file, by the index column_stats. FILE is its path below the table.

    Fields within records are left out. As the procedure `show_metadata_table_column_stats`.
    """
    table = given.table()
    show_list(given, "metadata columns", table, table.metadata.columns(file), "no columns")


@metadata.command()
@click.argument("keys", metavar="KEY...", nargs=-1, required=True)
@list_options()
def lookup(given: ListOptions, keys: tuple[str, ...]) -> None:
    """Look record keys up in the record index: the partition and the file group of each, or that it is not there.

    KEY is as in the column _hoodie_record_key. Only the file groups of the index are read that can have the keys.
    """
    table = given.table()
    show_list(given, "metadata lookup", table, table.metadata.lookup(keys), "no keys")


@metadata.command()
@click.option("--indexes", is_flag=True, help="Do not compare with storage: compare the indexes with the data.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --indexes: look only at N base files; for the record index, at N file groups of the data and N of the "
    "index. They are evenly chosen. Default: all.",
)
@list_options(engine_options)
def verify(given: ListOptions, indexes: bool, sample: int | None) -> None:
    """Compare the metadata table with storage: missing files, unlisted files, different sizes.

    Exit code 0 if they agree, or if no metadata table is in use. Exit code 3 with one row for each difference. Its
    files are decoded as far as that needs: damage elsewhere in them, at which Hudi may fail, is not found.

    --indexes compares the indexes with the newest file slices: the record index with the keys of all records, column
    statistics and bloom filters with the footers of the base files. Other indexes are named in a note: they are not
    compared. All keys and the contents of the indexes are read, on the engine.

    In the record index, each differing key has a row, for at most 100 file groups and at most 1,000 keys of each. The
    other differing keys are only counted.
    """
    if sample is not None and not indexes:
        raise UsageError("--sample goes with --indexes")
    label = "read the metadata table" if indexes else "list files"
    with shown(label, given.common.progress) as progress, given.table(progress) as table:
        rows: Rows[Any]
        agrees = "the metadata table agrees with storage"
        if not indexes:
            rows = table.metadata.verify().kept()
        else:
            rows, compared = table.metadata.verify_indexes(sample)
            agrees = f"no differences: {', '.join(compared)}" if compared else "no index was compared"
            agrees = agrees if table.core.indexes else "the metadata table has no indexes"
    _list(given, "metadata verify", table, rows, agrees)
    different: list[Any] = list(rows)
    if different:
        between, hint = "the metadata table and storage", _STALE_LISTING
        if indexes:
            between = "the indexes and the data"
            hint = _STALE_INDEX.format(command_of("metadata drop", different[0].index))
        raise Findings(
            f"{count_of(len(different), 'difference')} between {between}", hint=hint, differences=len(different)
        )


@metadata.command()
@click.argument("names", metavar="[INDEX]...", nargs=-1, shell_complete=indexes)
@click.option("--accept-loss", is_flag=True, help="Drop it even if required data files are missing: queries go on.")
@keep_files_option
@idle_option
@change_options
def drop(
    change: ChangeOptions, accept_loss: bool, keep_files: bool | None, idle_ms: int, names: tuple[str, ...]
) -> None:
    """Drop the metadata table, or only some of its indexes.

    INDEX is a partition of the metadata table, for example record_index or column_stats. Indexes that depend on it are
    dropped with it. The next Hudi write builds again only the indexes in its configuration; after a drop of the whole
    metadata table, also those with a kept definition (CREATE INDEX).

    A record index is built by reading all keys: on a large table that write takes long. On table version 6 the drop of
    an index is refused while an instant is pending: Hudi could not build it again.
    """
    from hudictl.ops.metadata.drop import DropOptions

    options = DropOptions(names, idle_ms, accept_loss, keeps_files(keep_files))
    run_change(drop_change("metadata drop", options), change)


def drop_change(name: str, options: "DropOptions") -> "ChangeCommand[DropPlan, DropResult]":
    """The metadata table, or the indexes, to drop."""
    from hudictl.render.plans import dropped_text, print_drop_plan

    def said(plan: "DropPlan") -> str:
        counted = f" ({count_of(plan.files_to_delete, 'file')}, {size(plan.bytes_to_delete)})"
        return dropped_text(plan) + (counted if plan.whole or plan.partitions else "")

    return ChangeCommand(
        name=name,
        change=changes.metadata_drop(options),
        nothing_noted=True,
        show=print_drop_plan,
        shown_first=True,
        question=lambda plan: Question(f"Drop {said(plan)}?"),
        done=lambda plan, result: f"dropped {said(plan)}{undo_text(result.undo)}",
    )
