"""Guards on giving the metadata table up: readers list folders from then on, and must see the same."""

from hudictl.errors import Refused
from hudictl.formats.instants import INDEXING, SAVEPOINT, Instant
from hudictl.phrases import first_few
from hudictl.state.metadata_gap import Gap
from hudictl.table.timeline import Timeline


def no_indexing_is_last(timeline: Timeline) -> None:
    """Raises Refused: the metadata table would be made anew while an indexing is the newest completed instant. Hudi
    gives all its partitions that one time then, and lists them although they hold nothing: reads and writes fail
    (1.0.2), or rows are missing (1.2.0). A restore or rollback is a newer instant itself."""
    done = [entry for entry in timeline.instants if entry.completed and entry.action != SAVEPOINT]
    newest = [max(done, key=key) for key in (_requested, _completed)] if done else []
    for instant in newest:
        if instant.action == INDEXING:
            raise Refused(
                f"{instant} is the newest completed instant: Hudi cannot make the metadata table anew beside it",
                hint="let a writer commit once, then run the command again",
                instant=instant.time,
            )


def _requested(instant: Instant) -> str:
    return instant.time


def _completed(instant: Instant) -> str:
    return instant.completion_time or ""


def nothing_lost_or_gained(gap: Gap) -> None:
    """Raises Refused: without the metadata table readers would not see a partition any more, or see rows of files that
    nobody vouches for."""
    for partition, above in gap.hidden.items():
        raise Refused(
            f"partition {partition!r} lies below {above!r}, where no listing looks: only the metadata table shows its "
            "rows, and it would be deleted",
            hint="roll back one instant after the other, the newest first: by Hudi, or from table version 8 on by "
            "`hudictl rollback`; for restores to come, have Hudi write its rows into a partition below no other. What "
            "Hudi has begun, Hudi can finish",
            partitions=list(gap.hidden),
        )
    for time, files in gap.unfinished.items():
        raise Refused(
            f"{time} is pending, and older than every completed write: readers that list folders take its {len(files)} "
            "files for committed, and would see their rows without the metadata table",
            hint="roll it back first: `hudictl failed-writes clean`",
            instant=time,
            files=[file.path for file in files],
        )
    if gap.unlisted:
        paths = [file.path for file in gap.unlisted]
        raise Refused(
            f"{len(paths)} files that the metadata table does not list would come back as rows without it: "
            f"{first_few(paths, rest=' and {} more')}",
            hint="move them out of the table, a copied partition as a whole; `hudictl orphans list` tells which belong "
            "to no instant, and `orphans delete` deletes those that are sure",
            files=paths,
        )
