"""Deleting the savepoints that no rule keeps: the plan, and its execution."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import tzinfo
from functools import partial

from hudictl.errors import Conflict, HudictlError, Incomplete, Refused, Unsupported
from hudictl.formats.instants import COMMIT_ACTIONS, SAVEPOINT
from hudictl.ops.fingerprint import listed, table_fingerprint
from hudictl.ops.guards import clock, liveness
from hudictl.ops.guards.timeline import no_pending_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.savepoint.deletion import nothing_waits_for
from hudictl.ops.savepoint.plan import SAVEPOINTS, PruneOptions, PrunePlan, PruneResult, PruneRow
from hudictl.ops.savepoint.planning import check_files, own_files_only
from hudictl.ops.session import Begun, Kind, Session, changing, writable_signs
from hudictl.phrases import command_of, first_few
from hudictl.state.facts import Facts, Signs, read_facts, read_signs
from hudictl.state.files.held import Held, held_bytes
from hudictl.state.files.retention import reasons_to_keep
from hudictl.state.files.savepoint_files import ways_back
from hudictl.state.files.savepoints import (
    copied_to,
    find_saved,
    is_protection,
    read_savepoint_head,
    savepointed_partitions,
    tag_of,
)
from hudictl.state.timeline.ahead import is_ahead
from hudictl.state.timeline.clean_plans import pending_cleans
from hudictl.state.timeline.targets import find_commit
from hudictl.table.metadata.listing import read_known
from hudictl.table.operations import operation_instants, operation_path, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.active import SeenFile, Timeline, delete_instant, load_timeline, wait_for

_NAMED = "savepoints"
"""Key of the record's plan: the savepoints to delete."""


def plan_prune(session: Session, options: PruneOptions) -> PrunePlan:
    """Chooses the savepoints to delete. Changes nothing; every guard has passed. The data files are listed only if
    there are such savepoints.

    Raises:
        Refused: a restore is pending; a rollback is blocked only by one of them; no savepoint can be restored.
        Conflict, Unsupported, Unreadable, StorageFailed, EngineFailed.
    """
    table, signs = session.table, writable_signs(session)
    tags = _tags(table, signs.timeline)
    reasons = _reasons(tags, options, table.zone)
    going = [time for time in tags if not reasons[time]]
    _check(session, signs, going)
    held = None
    if going:
        facts = _facts(session, signs)
        spared = _spared(facts, session, [time for time in tags if reasons[time]], going)
        if spared is not None:
            reasons[spared] = ("no other savepoint can be restored",)
            going.remove(spared)
        held = held_bytes(facts)
    unfinished = _unfinished(table, signs.timeline)
    return PrunePlan(
        timezone=session.timezone,
        options=options,
        # What of them has files does not count: a clean may go on meanwhile.
        fingerprint={
            **table_fingerprint(table, asdict(options)),
            "savepoints to keep": listed(time for time in tags if reasons[time]),
            SAVEPOINTS: listed({*going, *unfinished}),
        },
        savepoints=tuple(_rows(tags, reasons, held)),
        unfinished=unfinished,
        bytes_freed=held.only_by(going) if held else 0,
        instants_freed=_instants_freed(signs.timeline, going),
        savepoint_files=_files(signs.timeline),
        lock=session.lock,
    )


def _tags(table: Table, timeline: Timeline) -> dict[str, str | None]:
    """The tags of the savepoints, newest first, without hudictl's temporary ones. Raises Unreadable, Conflict."""
    heads = {entry.time: read_savepoint_head(table, timeline, entry.time) for entry in timeline.savepoints()[::-1]}
    return {
        time: tag_of(head.comment)
        for time, head in heads.items()
        if head and not is_protection(head) and not copied_to(head)
    }


def _reasons(tags: dict[str, str | None], options: PruneOptions, zone: tzinfo | None) -> dict[str, tuple[str, ...]]:
    """Why each savepoint is kept; the rules count the savepoints of each tag by themselves."""
    found: dict[str, tuple[str, ...]] = {}
    series: dict[str | None, list[str]] = defaultdict(list)
    for time, tag in tags.items():
        if options.tag is not None and tag != options.tag:
            found[time] = ("it has another tag" if tag else "it has no tag",)
        elif tag is None and not options.untagged:
            found[time] = ("it has no tag",)
        else:
            series[tag].append(time)
    for times in series.values():
        found |= reasons_to_keep(times, options.rules, zone)
    return found


def _check(session: Session, signs: Signs, going: Sequence[str]) -> None:
    """Raises as ``plan_prune``, as far as no listing is needed."""
    liveness.no_lock_in_use(session.table, signs, session.locking)
    clock.writers_zone(session.table, signs.timeline)
    no_pending_restore(session.table, signs)
    for entry in signs.timeline.savepoints():
        if is_ahead(session.table, entry):
            raise Refused(
                f"the savepoint {entry.time} is ahead of the clock: compared with it, all others would be old",
                hint="set --timezone to the zone of the table's writers, or correct the clock"
                + (
                    wait_for(session.table, max(entry.time, entry.completion_time or ""))
                    or f"; else delete it with `{command_of('savepoint delete', entry.time)}`"
                ),
                savepoint=entry.time,
            )
    for time in going:
        nothing_waits_for(signs, time)


def _facts(session: Session, signs: Signs) -> Facts:
    table = session.table
    session.engine.start()
    known, saved = read_known(table, session.engine), savepointed_partitions(table, signs.timeline)
    return read_facts(table, session.engine, signs, session.monitor.note, savepointed=saved, known=known)


def _spared(facts: Facts, session: Session, kept: Sequence[str], going: Sequence[str]) -> str | None:
    """The newest savepoint to delete that can be restored, if none of the others can. Raises Refused: none of all."""
    for time in (*kept, *going):
        if _can_be_restored(facts, session, time):
            return time if time in going else None
    raise Refused(
        "none of the savepoints can be restored now: none is deleted",
        hint="`hudictl savepoint list --verify` shows why",
        savepoints=[*kept, *going],
    )


def _can_be_restored(facts: Facts, session: Session, time: str) -> bool:
    """As ``savepoint list --verify`` judges; beside a running writer, which a restore refuses, by the files alone."""
    try:
        plan_restore(session, time, RestoreOptions(delete_later_savepoints=True))
    except Conflict:
        pass
    except HudictlError as error:
        if error.exit_code in (1, 15, 16):
            raise
        return False
    else:
        return True
    table, timeline = session.table, facts.timeline
    try:
        commit = find_commit(table, timeline, time)
        saved = find_saved(table, timeline, session.engine, time)
        ways = ways_back(facts, commit, saved.files, pending_cleans(timeline))
        check_files(facts, session.engine, commit, ways)
        own_files_only(facts, ways)
    except (Refused, Unsupported):
        return False
    return True


def _rows(tags: dict[str, str | None], reasons: dict[str, tuple[str, ...]], held: Held | None) -> Iterator[PruneRow]:
    for time, tag in tags.items():
        own = held.only_by([time]) if held is not None else None
        yield PruneRow(time, tag, bool(reasons[time]), reasons[time], own)


def _instants_freed(timeline: Timeline, going: Sequence[str]) -> int:
    """Without other settings archiving stops at the oldest savepoint."""
    saved = [entry.time for entry in timeline.savepoints()]
    before, after = min(saved, default="~"), min((time for time in saved if time not in going), default="~")
    return sum(before <= entry.time < after for entry in timeline.having(*COMMIT_ACTIONS) if entry.completed)


def _files(timeline: Timeline) -> frozenset[SeenFile]:
    return frozenset(timeline.seen(file) for entry in timeline.having(SAVEPOINT) for file in entry.files)


def _unfinished(table: Table, timeline: Timeline) -> tuple[str, ...]:
    """The savepoints of which only an inflight file is left, and that an earlier prune was to delete. One that is newer
    than the record of this prune is another process's, which may be creating the savepoint again."""
    bare = {
        entry.time: max(timeline.modified_ms[file.name] for file in entry.files)
        for entry in timeline.having(SAVEPOINT)
        if not entry.completed
    }
    named: set[str] = set()
    # There are records of every night: they are read only then.
    for time in operation_instants(table.storage) if bare else ():
        operation = read_operation(table.storage, time)
        if operation is not None and operation.operation == Kind.SAVEPOINT_PRUNE.value:
            found, record = operation.plan.get(_NAMED), table.storage.stat(operation_path(time))
            at_ms = record.modified_ms if record is not None else 0
            own = map(str, found) if isinstance(found, list) else ()
            named.update(one for one in own if one in bare and bare[one] <= at_ms)
    return tuple(time for time in bare if time in named)


def prune_savepoints(session: Session, plan: PrunePlan) -> PruneResult:
    """Deletes the savepoints, oldest first. Raises as ``plan_prune``; Conflict: a savepoint has appeared, disappeared
    or changed; Incomplete: one was created again; Interrupted."""
    kept = sum(row.kept for row in plan.savepoints)
    going = sorted((*plan.savepoints_to_delete, *plan.unfinished))
    if not going:
        return PruneResult((), kept, 0, 0)

    def work(run: Begun[Timeline]) -> PruneResult:
        for number, time in enumerate(going):
            session.monitor.step(f"delete the savepoint {time}")
            _look(session, plan, going[:number])
            run.held.check()
            delete_instant(session.table, run.found.find(time, SAVEPOINT))
        timeline = load_timeline(session.table)
        again = [time for time in going if timeline.find(time, SAVEPOINT) is not None]
        if again:
            raise Incomplete(
                f"savepoints are there again after their deletion: {first_few(again)}",
                hint="another process creates savepoints; run the command again",
                savepoints=again,
            )
        return PruneResult(tuple(going), kept, plan.bytes_freed, plan.instants_freed)

    recorded = {"options": asdict(plan.options), "fingerprint": dict(plan.fingerprint), _NAMED: going}
    look = partial(_look, session, plan, ())
    return changing(session, Kind.SAVEPOINT_PRUNE, plan.options.tag or "", recorded, look=look, work=work)


def _look(session: Session, plan: PrunePlan, gone: Sequence[str]) -> Timeline:
    """Looks again at all that a deletion depends on; writers may go on beside it."""
    signs = read_signs(session.table)
    _check(session, signs, [time for time in plan.savepoints_to_delete if time not in gone])
    planned = {file for file in plan.savepoint_files if file[0].partition(".")[0].partition("_")[0] not in gone}
    moved = sorted({name for name, _, _ in planned ^ _files(signs.timeline)})
    if moved:
        raise Conflict(
            f"the savepoints have changed since planning: {first_few(moved)}",
            hint="run the command again: it makes a new plan",
            files=moved,
        )
    return signs.timeline
