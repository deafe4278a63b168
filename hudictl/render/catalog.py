"""What a catalog lists wrongly after a change, as text."""

from hudictl.phrases import first_few
from hudictl.state.files.catalog import SYNC_ALL, CatalogGap

_AT_MOST = 5
"""So many partitions are in a statement; JSON has one for each."""


def catalog_lines(gap: CatalogGap) -> list[str]:
    """The partitions, and how to correct the catalog; nothing if it is right."""
    if gap.empty:
        return []
    lines = []
    if gap.vanishing_partitions:
        lines.append(f"Partitions without data afterwards: {_named(gap.vanishing_partitions)}.")
    if gap.returning_partitions:
        lines.append(f"Partitions with data again: {_named(gap.returning_partitions)}.")
    by_hand = "; or run in Hive, before the next sync:" if gap.tables else "."
    lines.append(
        "If a catalog (Hive, Glue) lists the partitions: the next syncs do not correct it. "
        f"Let one sync compare all partitions, with {SYNC_ALL}{by_hand}"
    )
    lines += [f"  {gap.reset(table)};" for table in gap.tables]
    if len(gap.vanishing_partitions) > _AT_MOST:
        # A part of the partitions would look like all.
        return [*lines, "The statements that drop the partitions are in the output with -o json."]
    specs = [spec for spec in map(gap.spec, gap.vanishing_partitions) if spec is not None]
    if specs:
        lines += [f"  ALTER TABLE {table} DROP IF EXISTS {', '.join(specs)};" for table in gap.tables]
    if unnamed := gap.unnamed_partitions:
        why = "as their values in the catalog depend on the key generator, or cannot be quoted"
        lines.append(f"Drop by hand, {why}: {', '.join(unnamed)}.")
    return lines


def _named(paths: tuple[str, ...]) -> str:
    return f"{len(paths):,} ({first_few(paths, rest=' and {:,} more')})"
