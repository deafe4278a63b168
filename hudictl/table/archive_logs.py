"""The logs of an archive of layout 1, the newest of which may be torn.

Hudi's archiver (0.15.0) writes its log, and deletes the instants' files when that is closed. So one that died while it
wrote has taken nothing from the timeline: Hudi reads over the torn end, and archives these instants again.
"""

from collections.abc import Iterable, Iterator, Sequence

from hudictl.errors import Unreadable
from hudictl.formats import archived_timeline as fmt
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.instants import WRITE_ACTIONS, State
from hudictl.table.commits import load_commits
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, load_timeline, taken_back


def read_logs(table: Table, names: Sequence[str]) -> Iterator[ArchivedInstant]:
    """The instants of all logs, also those of the complete records in the torn end of the newest.

    Raises:
        FileNotFoundError: a writer merged the archive meanwhile.
        Unreadable: one is damaged in another way, or with that end instants may be lost.
    """
    newest = _newest(names)
    others = [entry for name in names if name != newest for entry in fmt.decode_log(_body(table, name), name)]
    yield from others
    if newest is None:
        return
    found = _whole(_body(table, newest), newest)
    yield from _proved(table, newest, others) if found is None else found


def torn_log(table: Table, names: Sequence[str]) -> str | None:
    """The newest log, where its end is torn and nothing is lost with it; None where it is whole. Raises as
    ``read_logs``."""
    newest = _newest(names)
    if newest is None or _whole(_body(table, newest), newest) is not None:
        return None
    list(read_logs(table, names))
    return newest


def _newest(names: Sequence[str]) -> str | None:
    """None also where two have the same number."""
    by_number = sorted(names, key=fmt.log_number)
    twice = len(names) > 1 and fmt.log_number(by_number[-1]) == fmt.log_number(by_number[-2])
    return None if twice or not names else by_number[-1]


def _body(table: Table, name: str) -> bytes:
    return table.storage.read(f"{table.layout.archive}/{name}")


def _whole(body: bytes, name: str) -> list[ArchivedInstant] | None:
    """None where there is more to it, or nothing."""
    try:
        # Whoever dies at once leaves a file without content.
        return list(fmt.decode_log(body, name)) if body else None
    except Unreadable:
        return None


def _proved(table: Table, name: str, others: Iterable[ArchivedInstant]) -> list[ArchivedInstant]:
    """The instants of a torn log, with which none is lost: those that it names are active, or in another log (where
    logs are merged), and nothing that is active was built on an instant that is neither.

    Raises Unreadable.
    """
    # Before the log: a living archiver takes instants off the timeline when its log is whole.
    timeline = load_timeline(table)
    body = _body(table, name)
    found = _whole(body, name)
    if found is not None:
        return found
    log = fmt.decode_torn_log(body, name)
    kept = {(entry.time, entry.action, entry.state) for entry in others}
    kept |= {(file.time, file.action, file.state) for instant in timeline.instants for file in instant.files}
    # All of it: on the stores that hudictl writes each archival begins a log of its own.
    own = [*log.whole, *log.records]
    missing = {entry.time for entry in own if (entry.time, entry.action, entry.state) not in kept}
    if log.begun is not None and log.begun not in {time for time, _, _ in kept}:
        missing.add(log.begun)
    missing |= _built_on(table, timeline, [*others, *log.whole])
    lost = sorted(missing - taken_back(table, timeline).keys()) if missing else []
    if lost:
        raise Unreadable(
            f"{name} is cut off, and {lost[0]}, which it must have had, is not on the timeline any more",
            hint="put the file back from a copy",
            file=name,
            instants=lost,
        )
    return own


def _built_on(table: Table, timeline: Timeline, archived: Iterable[ArchivedInstant]) -> set[str]:
    """The instants after the last archived write on which the timeline's commits were built, and that are not there."""
    last = max(
        (entry.time for entry in archived if entry.action in WRITE_ACTIONS and entry.state is State.COMPLETED),
        default="",
    )
    commits = load_commits(table, timeline).values()
    previous = {stat.previous for commit in commits for stats in commit.stats.values() for stat in stats}
    active = {entry.time for entry in timeline.instants}
    return {time for time in previous if time not in (None, "null") and time > last} - active
