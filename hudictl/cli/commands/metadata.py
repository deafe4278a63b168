"""``hudictl metadata``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.options import EngineOptions, TableOptions, engine_options, table_options
from hudictl.cli.progress import Progress
from hudictl.cli.show import show_rows
from hudictl.errors import Incomplete

if TYPE_CHECKING:
    from hudictl.table.table import Table


@click.group()
def metadata() -> None:
    """The metadata table: what it lists, and whether storage has that."""


@metadata.command()
@click.argument("partition", required=False)
@table_options
def files(common: TableOptions, partition: str | None) -> None:
    """Lists what readers find by the metadata table: all partitions, or the files of one.

    PARTITION is a path as the table has it; "." is that of a table without partitions.
    """
    from hudictl.reports.metadata_table import ListedFile, ListedPartition, listed_files, listed_partitions
    from hudictl.table.metadata_listing import listing_table, read_listing

    table = common.open()
    used = listing_table(table)
    empty, notes = ("no partitions", []) if used else _unused(common, table)
    listing = read_listing(used, notes) if used else {}
    if partition is None or not used:
        show_rows(common, "metadata files", table.uri, listed_partitions(listing), ListedPartition, empty, notes=notes)
    else:
        found = listed_files(listing, partition)
        show_rows(common, "metadata files", table.uri, found, ListedFile, "no files", ("partition",), notes)


@metadata.command()
@table_options
@engine_options
def verify(common: TableOptions, engine_options: EngineOptions) -> None:
    """Compares the metadata table with storage: files that are missing, not listed, or of another size.

    Exit code 0 where both agree, or readers use no metadata table; 3 with differences, each a row.
    """
    from hudictl.reports.metadata_table import Difference, verify_listing
    from hudictl.table.metadata_listing import listing_table

    table = common.open()
    used = listing_table(table)
    empty, notes = ("the metadata table lists what storage has", []) if used else _unused(common, table)
    found = []
    if used:
        engine = engine_options.open(table)
        try:
            found = verify_listing(table, engine, notes, Progress().note)
        finally:
            engine.close()
    show_rows(common, "metadata verify", table.uri, found, Difference, empty, notes=notes)
    if found:
        from hudictl.phrases import count_of

        raise Incomplete(
            f"{count_of(len(found), 'difference')} between the metadata table and storage",
            hint="readers with hoodie.metadata.enable=false list folders; "
            "Spark's `CALL delete_metadata_table` drops it, and the next writer makes it anew",
            differences=len(found),
        )


def _unused(common: TableOptions, table: "Table") -> tuple[str, list[str]]:
    """What to say for eyes, and the notes for scripts."""
    said = "no metadata table is in use: readers list folders"
    if "files" in table.metadata_partitions:
        said = "hoodie.properties names a metadata table, and there is none: readers list folders"
    return said, [said] if common.json else []
