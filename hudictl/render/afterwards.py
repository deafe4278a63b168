"""What those who read and write a table must know after a restore or a rollback, as text."""

from hudictl.ops.undo.afterwards import Afterwards, Consumers
from hudictl.phrases import first_few
from hudictl.state.files.catalog import SYNC_ALL, CatalogGap
from hudictl.state.timeline.checkpoints import StreamerCheckpoint

_AT_MOST = 5
"""So many partitions are in a statement; JSON has one for each."""


def afterwards_lines(told: Afterwards) -> list[str]:
    """A line for each; none for what has not changed."""
    head = told.head
    return [
        *([f"Newest commit after it: {head.time}, completed {head.completion_time}."] if head else []),
        *checkpoint_lines(told.checkpoint, "before"),
        *([_consumers_line(told.consumers)] if told.consumers else []),
        *catalog_lines(told.catalog),
    ]


def checkpoint_lines(found: StreamerCheckpoint | None, when: str) -> list[str]:
    """From where Hudi Streamer goes on, ``when`` it still was, or is, at another place."""
    if found is None:
        return []
    at = f"({when}: {found.now})"
    if found.then is None:
        return [f"Hudi Streamer: no commit is left with a checkpoint {at}. Set one for its next run: --checkpoint."]
    return [f"Hudi Streamer: its next run goes on from the checkpoint {found.then} {at}; --checkpoint sets another."]


def _consumers_line(gone: Consumers) -> str:
    kind = " (completion time)" if gone.by_completion else ""
    begin = f"at {gone.begin}{kind}" if gone.begin else "from the beginning"
    who = "Consumers (incremental queries, streams, CDC)"
    return f"{who} at {gone.gone_from} or later have read removed rows: start them again {begin}."


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
