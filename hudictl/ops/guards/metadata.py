"""Guards on the deletion of the metadata table: readers then list folders, and must see the same rows."""

from hudictl.errors import Refused
from hudictl.formats.instants import INDEXING, SAVEPOINT, Instant
from hudictl.phrases import first_few
from hudictl.state.metadata_gap import Gap
from hudictl.table.timeline import Timeline


def no_indexing_is_last(timeline: Timeline) -> None:
    """Raises Refused: Hudi would build the metadata table again while an indexing is the newest completed instant.

    Hudi then gives all its partitions the indexing's time, and registers them although they are empty: reads and
    writes fail (1.0.2), or rows are missing (1.2.0). A restore or rollback is a newer instant itself.
    """
    done = [entry for entry in timeline.instants if entry.completed and entry.action != SAVEPOINT]
    newest = [max(done, key=key) for key in (_requested, _completed)] if done else []
    for instant in newest:
        if instant.action == INDEXING:
            raise Refused(
                f"the newest completed instant is an indexing, {instant}: after an indexing, Hudi cannot build the "
                "metadata table again",
                hint="let a writer commit once, then run the command again",
                instant=instant.time,
            )


def _requested(instant: Instant) -> str:
    return instant.time


def _completed(instant: Instant) -> str:
    return instant.completion_time or ""


def nothing_lost_or_gained(gap: Gap) -> None:
    """Raises Refused: without the metadata table readers would no longer see a partition, or would see rows of files
    that no completed commit wrote."""
    for partition, above in gap.hidden.items():
        raise Refused(
            f"partition {partition!r} is inside the partition {above!r}: listings do not find it. Only the metadata "
            "table shows its rows, and this command would delete the metadata table",
            hint="roll back one instant at a time, the newest first: with Hudi, or with `hudictl rollback` from table "
            "version 8 on. Finish operations of Hudi with Hudi. Before a later restore, move these rows with Hudi "
            "into a partition outside all others",
            partitions=list(gap.hidden),
        )
    for time, files in gap.unfinished.items():
        raise Refused(
            f"{time} is pending, and older than every completed write: without the metadata table readers would treat "
            f"its {len(files):,} files as committed, and would see their rows",
            hint="roll it back first: `hudictl failed-writes clean`",
            instant=time,
            files=[file.path for file in files],
        )
    if gap.unlisted:
        paths = [file.path for file in gap.unlisted]
        raise Refused(
            f"the metadata table does not list {len(paths):,} files: without it readers would see their rows: "
            f"{first_few(paths, rest=' and {} more')}",
            hint="move these files out of the table; of a copied partition, move all files. `hudictl orphans list` "
            "shows orphans among them, and `hudictl orphans delete` deletes orphans with proof",
            files=paths,
        )
