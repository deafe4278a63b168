"""Guards on the time of a new instant."""

from datetime import timedelta

from hudictl.errors import Refused
from hudictl.phrases import first_few
from hudictl.state.timeline.zone import zone_seen
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline, new_instant_time, refuse_future


def writers_zone(table: Table, timeline: Timeline) -> None:
    """Raises Refused: the newest writes were made in another time zone than this command's instant times."""
    seen = zone_seen(timeline, table.zone)
    if seen is None or not seen.ahead:
        return
    hours = f"{abs(seen.ahead) / timedelta(hours=1):g} h {'ahead of' if seen.ahead > timedelta() else 'behind'}"
    raise Refused(
        f"a change would write instant times in {table.zone_text}. That is {hours} the writers' zone "
        f"({seen.offset_text}), according to the modification times of {first_few(seen.instants, most=3)}",
        hint=f"set --timezone to the zone of the table's writers ({seen.offset_text}); if the table is a copy with "
        "wrong modification times, `touch` the newest .requested files of its timeline",
        offset=seen.offset_text,
        zone=table.zone_text,
        instants=list(seen.instants),
    )


def time_can_be_given(table: Table, timeline: Timeline) -> None:
    """Raises Refused: the time of a new instant would be in another zone than the writers', or would not be the
    newest."""
    writers_zone(table, timeline)
    refuse_future(table, timeline)


def metadata_time_can_be_given(table: Table, timeline: Timeline) -> None:
    """Raises Refused: an older instant of the metadata table would win over a new one. Otherwise as
    ``time_can_be_given``, and Unreadable."""
    time_can_be_given(table, timeline)
    metadata = open_metadata_table(table)
    if metadata is not None:
        refuse_future(metadata, load_timeline(metadata), "the metadata table's timeline")


def new_time(table: Table, timeline: Timeline) -> str:
    """Now, as the time of a new instant. Raises as ``time_can_be_given``."""
    writers_zone(table, timeline)
    return new_instant_time(table, timeline)
