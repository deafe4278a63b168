"""Planning the rollbacks of many failed writes together: one reading of the timeline, one listing, one judgement.

A job that fails for months leaves hundreds of them. These are those of which nobody has seen a row, and the metadata
table has nothing; each of the others is planned by itself.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from hudictl.engine.base import Engine
from hudictl.errors import HudictlError
from hudictl.formats.instants import WRITE_ACTIONS, Instant
from hudictl.ops.guards import clock, liveness
from hudictl.ops.guards import files as file_guards
from hudictl.ops.guards.rollback import keeps_alone
from hudictl.ops.rollback.partitions import listed_facts, own_empty_logs
from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
from hudictl.ops.rollback.planning import check_around, check_target
from hudictl.ops.session import Session
from hudictl.ops.undo.backup import backed_up_files
from hudictl.ops.undo.blocks import plan_blocks
from hudictl.ops.undo.plan import KEEP, Undo
from hudictl.ops.undo.planning import judge_files, plan_removals, plan_undo, slices_to_mark
from hudictl.state.facts import Facts, Signs, read_signs
from hudictl.state.files.catalog import NO_GAP
from hudictl.state.metadata.treatment import unchanged
from hudictl.state.timeline.service_plans import service_of
from hudictl.state.writable import writable_table
from hudictl.state.writers.activity import last_sign_ms
from hudictl.table.metadata.place import metadata_table_in_use, open_metadata_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import instant_now, load_timeline, pending_rollbacks


def plan_together(
    session: Session, targets: Sequence[tuple[str, RollbackOptions]], ended: Collection[str] = ()
) -> tuple[RollbackPlan, ...]:
    """Plans those rollbacks that can be planned together, in the given order; none if fewer than two can. Changes
    nothing; every guard has passed.

    Args:
        ended: as for ``plan_rollback``.

    Raises:
        Unsupported, Conflict, Refused, Unreadable: a guard refuses one of them, and the message may not say which.
        StorageFailed, EngineFailed.
    """
    table = session.table
    writable_table(table, session.locking)
    if table.rules.needs_rollback_blocks and not table.is_cow and metadata_table_in_use(table):
        # Their blocks take the metadata table out of use.
        return ()
    options = dict(targets)
    signs = read_signs(table)
    check_around(session, signs)
    chosen = _plain(table, signs, options)
    if len(chosen) < 2:
        return ()
    keeps_alone(table, signs, ended, asked=any(given.keep_files for given in options.values()))
    # Before the long listing: any later activity proves that a writer is alive.
    seen_ms = {time: last_sign_ms(table, signs, instant) for time, instant in chosen.items()}
    clock.time_can_be_given(table, signs.timeline.without(chosen))

    session.engine.start()
    facts = listed_facts(session, signs, chosen)
    given = options[next(iter(chosen))]
    file_guards.timeline_has_its_end(facts, session.engine, given.accept_lost_instants)
    liveness.no_running_write(table, signs, chosen.values(), given.idle_ms, facts.sweep, ())
    undo = _undo(facts, session.engine, chosen, given.idle_ms)
    # What is done once for all is in the first plan.
    other = replace(undo, marked=(), hashing=(), hiding=())
    in_use, lock = metadata_table_in_use(table), session.lock
    return tuple(
        RollbackPlan(
            timezone=session.timezone,
            target=removal.time,
            options=options[removal.time],
            # None is saved by itself.
            fingerprint={},
            table_version=table.version,
            resumes=None,
            begun=False,
            rollbacks_superseded=(),
            undo=replace(other if number else undo, removals=(removal,)),
            planned_again=(),
            completed=False,
            metadata_table_found=in_use,
            last_sign_ms=seen_ms[removal.time],
            lock=lock,
        )
        for number, removal in enumerate(undo.removals)
    )


def _undo(facts: Facts, engine: Engine, chosen: Mapping[str, Instant], idle_ms: int) -> Undo:
    """What all of them undo. Raises as ``plan_together``."""
    found = judge_files(facts, chosen, {}, readers_see=False)
    blocks = plan_blocks(facts, engine, chosen, None, profiles=False)
    empty = own_empty_logs(facts, chosen, (), idle_ms, others_dead=False)
    removals = plan_removals(facts, chosen, blocks, {}, found, empty=empty)
    marked = slices_to_mark(facts, found, removals)
    # The files are deleted by it: a failure must come before the first change.
    engine.ready()
    undo = plan_undo(facts, engine, chosen, found, removals, marked, unchanged(facts.table))
    # Nobody has seen a row of them: the files that readers require do not change, nor does a catalog.
    return replace(undo, needed=None, partition_metafiles_made=(), catalog=NO_GAP)


def _plain(table: Table, signs: Signs, options: Mapping[str, RollbackOptions]) -> dict[str, Instant]:
    """The pending writes of which nothing is known but their own files, in the given order."""
    timeline = signs.timeline
    known = {entry.target for entry in signs.live_rollbacks} | {file.time for file in backed_up_files(table)}
    known |= _in_metadata_table(table)
    now = instant_now(table)
    found = {}
    for time, given in options.items():
        instant = timeline.find(time, *WRITE_ACTIONS)
        asks_more = given.keep_plan or given.metadata != KEEP or given.require_index
        if instant is None or instant.completed or asks_more or time in known or time >= now:
            continue
        # One that a guard refuses is planned by itself, and says why.
        with suppress(HudictlError):
            check_target(table, signs, time, instant, given)
            if service_of(table, instant) is None:
                found[time] = instant
    return found


def _in_metadata_table(table: Table) -> frozenset[str]:
    """The instants that have something in the metadata table: see ``mode_in_place``. Raises Unreadable."""
    metadata = open_metadata_table(table) if metadata_table_in_use(table) else None
    if metadata is None:
        return frozenset()
    timeline = load_timeline(metadata)
    rollbacks = pending_rollbacks(metadata, timeline)
    ending = {plan.target.time for _, plan in rollbacks if plan is not None}
    return frozenset(ending.union(entry.time for entry in timeline.writes()))
