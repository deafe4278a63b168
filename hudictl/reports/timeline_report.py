"""``timeline report``: what whoever is asked for help with a table must know, on one page."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from hudictl.engine.base import Engine
from hudictl.engine.local import LocalEngine
from hudictl.engine.processes import Processes
from hudictl.errors import Unreadable, Unsupported
from hudictl.formats.instants import WRITE_ACTIONS, State, utc_text_of_ms
from hudictl.reports.commits import CommitRow, commit_rows
from hudictl.reports.diagnosis import diagnoses
from hudictl.reports.logs.slices import files_of_table
from hudictl.reports.savepoints import SavepointRow, held_bytes, savepoint_rows
from hudictl.reports.stats import newest_sizes, percentile
from hudictl.reports.table import TableDescription, describe_table
from hudictl.reports.timeline import Entry, TimelineFilter, TimelineRow, instants_readable, rows_of
from hudictl.reports.timeline_bars import Bars, metadata_bars, timeline_bars
from hudictl.state.services.due import ARCHIVE, CLEANING, COMPACT, due_of
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.writers.heartbeats import HeartbeatRow, heartbeat_rows
from hudictl.table.clock import storage_now_ms, try_clock
from hudictl.table.settings import Settings
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.timeline.archive import at_one_time

if TYPE_CHECKING:
    from hudictl.reports.health.check import Found
    from hudictl.state.facts import Facts

_MANY_INSTANTS = 3000
"""So many take longer to read than another process takes to start."""
Made = TypeVar("Made")


@dataclass(frozen=True)
class PendingInstant:
    """An instant that has not completed: ``advice`` says what it waits for, and the command that ends it. ``blocks``:
    the writers, and the table services that cannot do all their work before it ends."""

    time: str
    action: str
    state: str
    idle_ms: int
    blocks: tuple[str, ...]
    advice: str
    remedy: tuple[Remedy, ...]


@dataclass(frozen=True)
class SizeBin:
    """The newest file slices of at least ``from_bytes``, and less than ``to_bytes``."""

    from_bytes: int
    to_bytes: int
    count: int
    bytes: int


@dataclass(frozen=True)
class SliceSizes:
    """The sizes of the newest file slices, as queries read them: base file and logs. ``small`` of them are below
    ``small_file_limit``, which is a bound of two bins."""

    small_file_limit: int
    count: int
    small: int
    bytes: int
    median_bytes: int
    max_bytes: int
    bins: tuple[SizeBin, ...]


@dataclass(frozen=True)
class TimelineReport:
    """Everything on the page. ``commits`` are the completed writes, ``others`` all other instants, oldest first.
    ``held`` are the services that each savepoint holds back. ``sizes`` and ``found`` are None if files were not listed;
    ``problems``: the parts that could not be made, and why."""

    made_utc: str
    now_ms: int
    zone_known: bool
    table: TableDescription
    bars: Bars
    commits: tuple[CommitRow, ...]
    others: tuple[TimelineRow, ...]
    pending: tuple[PendingInstant, ...]
    savepoints: tuple[SavepointRow, ...]
    held: Mapping[str, tuple[str, ...]]
    heartbeats: tuple[HeartbeatRow, ...]
    sizes: SliceSizes | None
    found: "Found | None"
    problems: tuple[str, ...]


@dataclass(frozen=True)
class ReportOptions:
    """Which instants, by which rules. ``settings``: those of the writers; for missing ones Hudi's defaults hold."""

    wanted: TimelineFilter
    settings: Settings
    idle_ms: int
    small_file_limit: int


@dataclass(frozen=True)
class ReportWritten:
    """A page that was written. ``findings``: how many there are; None if nothing was checked."""

    file: str
    bytes: int
    instants: int
    pending: int
    findings: int | None


def timeline_report(
    table: Table, engine: Engine | None, options: ReportOptions, note: Callable[[str], None] = lambda _: None
) -> TimelineReport:
    """Looks at a table from all sides. A part that cannot be read is left out, and ``problems`` says so.

    Args:
        engine: lists data files; None: none are listed, so there are neither sizes nor findings.

    Raises:
        Unreadable: the timeline cannot be listed.
        UsageError: a setting that Hudi refuses; StorageFailed, EngineFailed, Conflict.
    """
    problems: list[str] = []
    part = partial(_part, note, problems)
    clock = try_clock(table.storage)
    now_ms = storage_now_ms(clock)
    shown, damaged = instants_readable(table, options.wanted)
    # Each instant is read once: completed writes as commits.
    writes: list[tuple[Entry, str]] = []
    others: list[tuple[Entry, str]] = []
    for entry, where in shown:
        done = entry.state is State.COMPLETED and entry.action in WRITE_ACTIONS
        (writes if done else others).append((entry, where))
    metadata = part("metadata table", partial(metadata_bars, table, options.wanted), Bars((), ()))
    bars = timeline_bars(table, shown, damaged).above(metadata)
    problems += [f"not all archived instants are shown: {error.message}" for error in bars.damaged]
    timeline = load_timeline(table)
    none: list[SavepointRow] = []
    no_commits: tuple[CommitRow, ...] = ()
    no_others: tuple[TimelineRow, ...] = ()
    rows = part("savepoints", partial(savepoint_rows, table, timeline), none)
    with _begun(table, engine, options, rows, len(shown)) as of_files:
        described = describe_table(table)
        nothing: Mapping[str, tuple[str, ...]] = {}
        blocked = part("what is blocked", lambda: _blocked(table, timeline, options.settings), nothing)
        commits = part("commits", lambda: tuple(commit_rows(table, options.wanted, writes)), no_commits)
        told = part("other instants", lambda: tuple(at_one_time(lambda: list(rows_of(table, others)))), no_others)
        note("files")
        files = of_files()
    return TimelineReport(
        made_utc=utc_text_of_ms(now_ms),
        now_ms=now_ms,
        zone_known=table.zone is not None,
        table=described,
        bars=bars,
        commits=commits,
        others=told,
        pending=_pending(table, timeline, described, blocked, now_ms),
        savepoints=files.savepoints,
        held={row.instant: blocked[row.instant] for row in files.savepoints if row.instant in blocked},
        heartbeats=tuple(heartbeat_rows(table, clock, timeline)),
        sizes=files.sizes,
        found=files.found,
        problems=(*problems, *files.problems),
    )


def _part(
    note: Callable[[str], None], problems: list[str], what: str, make: Callable[[], Made], otherwise: Made
) -> Made:
    note(what)
    try:
        return make()
    except (Unreadable, Unsupported) as error:
        problems.append(f"{what}: {error.message}")
        return otherwise


class _OfFiles(NamedTuple):
    """What the data files say, as in ``TimelineReport``."""

    savepoints: tuple[SavepointRow, ...]
    sizes: SliceSizes | None
    found: "Found | None"
    problems: tuple[str, ...]


def _begun(
    table: Table, engine: Engine | None, options: ReportOptions, rows: Sequence[SavepointRow], instants: int
) -> AbstractContextManager[Callable[[], _OfFiles]]:
    """What the data files say: of a long timeline another process looks, and this one reads the instants."""
    if engine is None:
        return nullcontext(lambda: _OfFiles(tuple(rows), None, None, ()))
    if instants > _MANY_INSTANTS and isinstance(engine, LocalEngine) and engine.processes is not None:
        return engine.processes.beside(_of_files_beside, (table, options, rows))
    return nullcontext(partial(_of_files, table, options, rows, engine))


def _of_files_beside(task: tuple[Table, ReportOptions, Sequence[SavepointRow]]) -> _OfFiles:
    with closing(LocalEngine(processes=Processes())) as engine:
        return _of_files(*task, engine)


def _of_files(table: Table, options: ReportOptions, rows: Sequence[SavepointRow], engine: Engine) -> _OfFiles:
    # Much to import, for nothing on a page without findings.
    from hudictl.reports.health.check import check_table

    problems: list[str] = []
    part = partial(_part, lambda _: None, problems)
    seen: list[Facts] = []
    check = partial(check_table, table, engine, options.idle_ms, settings=options.settings, seen=seen.append)
    found = part("findings", check, None)
    facts = seen[0] if seen else None
    timeline = facts.timeline if facts is not None else load_timeline(table)
    sizes = None
    stored = part("sizes", lambda: files_of_table(table, timeline, engine, facts=facts), None)
    if stored is not None:
        rows = part("bytes of savepoints", partial(held_bytes, table, rows, timeline, stored), rows)
        listed = partial(newest_sizes, table, stored, timeline)
        sizes = part("sizes", lambda: slice_sizes([*listed()], options.small_file_limit), None)
    return _OfFiles(tuple(rows), sizes, found, tuple(problems))


def _blocked(table: Table, timeline: Timeline, settings: Settings) -> Mapping[str, tuple[str, ...]]:
    """The services that cannot do all their work, by the instant that stands in their way."""
    found: dict[str, tuple[str, ...]] = defaultdict(tuple)
    for service in (ARCHIVE, CLEANING, COMPACT):
        for block in due_of(service, table, timeline, replace(settings, assume_defaults=True)).blocks:
            if block.instant and service not in found[block.instant]:
                found[block.instant] += (service,)
    return dict(found)


def _pending(
    table: Table, timeline: Timeline, described: TableDescription, blocked: Mapping[str, Sequence[str]], now_ms: int
) -> tuple[PendingInstant, ...]:
    """Restores and rollbacks first, as in the verdict; then the oldest first."""
    pending = [entry for entry in timeline.instants if entry.pending]
    told = {entry.instant.partition(" ")[0]: (number, entry) for number, entry in enumerate(described.pending)}
    reasons = diagnoses(table) if pending else {}
    rows = []
    for entry in pending:
        number, known = told.get(entry.time, (len(told), None))
        stops = ("writers",) if known is not None and not known.writers_can_start else ()
        row = PendingInstant(
            entry.time,
            entry.action,
            entry.state.name,
            max(0, timeline.idle_ms(entry, now_ms)),
            (*stops, *blocked.get(entry.time, ())),
            reasons.get(entry.time, ""),
            known.remedy if known is not None else (),
        )
        rows.append((number, row))
    return tuple(row for _, row in sorted(rows, key=lambda found: (found[0], found[1].time)))


def slice_sizes(sizes: Sequence[int], limit: int) -> SliceSizes | None:
    """A histogram whose bounds are the limit, doubled and halved; None of no sizes."""
    if not sizes:
        return None
    ordered = sorted(sizes)
    bounds = [max(limit, 1)]
    while bounds[0] > max(ordered[0], 1):
        bounds.insert(0, bounds[0] // 2)
    while bounds[-1] <= ordered[-1]:
        bounds.append(bounds[-1] * 2)
    if ordered[0] < bounds[0]:
        bounds.insert(0, 0)
    bins = []
    for low, high in pairwise(bounds):
        inside = ordered[bisect_left(ordered, low) : bisect_left(ordered, high)]
        bins.append(SizeBin(low, high, len(inside), sum(inside)))
    return SliceSizes(
        limit,
        len(ordered),
        bisect_left(ordered, limit),
        sum(ordered),
        percentile(ordered, 0.5),
        ordered[-1],
        tuple(bins),
    )
