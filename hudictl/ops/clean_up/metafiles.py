"""``partition repair``: partition metafiles that are missing or damaged are written again (as 0.15.0 to 1.2.0 do)."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timezone

from hudictl.errors import Conflict, NotFound, Refused
from hudictl.formats import partition_metafile
from hudictl.ops.guards import files as file_guards
from hudictl.ops.guards import liveness
from hudictl.ops.guards import timeline as timeline_guards
from hudictl.ops.session import Begun, Kind, NothingLeft, Session, changing
from hudictl.ops.undo.instants import create_metafile
from hudictl.state.facts import Facts, read_facts, read_signs
from hudictl.state.files.metafiles import damaged_metafiles, first_commits
from hudictl.state.files.needed import needed_files
from hudictl.state.writable import known_timeline, writable_table
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.files.view import metafile_path, partition_named
from hudictl.table.locks.config import LockConfig
from hudictl.table.locks.hold import Hold
from hudictl.table.metadata.listing import read_known
from hudictl.table.table import Table
from hudictl.table.timeline.active import instant_now

MISSING = "it is missing: listings do not find the partition"


@dataclass(frozen=True)
class MetafileRow:
    """A partition whose metafile is written again.

    - ``partition``: its path.
    - ``problem``: what is wrong with the file.
    - ``commit``: the oldest commit that is known to have written into the partition; null if none is known: then the
      file gets the time of this operation.
    """

    partition: str
    problem: str
    commit: str | None


@dataclass(frozen=True)
class MetafilePlan:
    """The metafiles to write.

    - ``partitions``: those whose metafile is written again.
    - ``lock``: the lock that is taken.
    """

    partitions: tuple[MetafileRow, ...]
    lock: LockConfig


def plan_metafiles(session: Session, partitions: Sequence[str] = ()) -> MetafilePlan:
    """Finds the metafiles to write: all, or those of some partitions. Changes nothing.

    A missing one is written where readers need a file of the partition; a damaged one where it was read.

    Raises:
        NotFound: there is no such partition.
        Refused: the table's metafiles have the base file format, which hudictl does not write; a restore is pending.
        Unsupported, Conflict, Unreadable, StorageFailed, EngineFailed.
    """
    table = session.table
    writable_table(table, session.locking)
    signs = read_signs(table)
    known_timeline(table, signs.timeline)
    liveness.no_lock_in_use(table, signs, session.locking)
    timeline_guards.nothing_to_resume(signs, "it may remove partitions")
    known = read_known(table, session.engine)
    facts = read_facts(table, session.engine, signs, session.monitor.note, known=known)
    needed = needed_files(facts, (), NOTHING_SAVED)
    asked = {partition_named(path) for path in partitions}
    for path in sorted(asked - facts.sweep.partitions - {*needed.bare}):
        raise NotFound(f"there is no partition {path!r}", hint="`hudictl partition list` shows them", partition=path)
    file_guards.metafiles_can_be_made(table, needed)
    problems = {**dict.fromkeys(needed.bare, MISSING), **dict(_damaged(session, facts))}
    found = {path: problem for path, problem in problems.items() if not asked or path in asked}
    return MetafilePlan(tuple(_rows(facts, found)), session.lock)


def _damaged(session: Session, facts: Facts) -> Iterator[tuple[str, str]]:
    """Raises Refused: a damaged one has the base file format."""
    for path, (extension, problem) in damaged_metafiles(facts, session.engine).items():
        if extension:
            raise Refused(
                f"{metafile_path(path)}{extension}: {problem}: hudictl does not write this format",
                hint="delete the file, then write a row into the partition with Hudi: that creates it again",
            )
        yield path, problem


def _rows(facts: Facts, problems: dict[str, str]) -> Iterator[MetafileRow]:
    first = first_commits(facts, problems)
    for path, problem in sorted(problems.items()):
        yield MetafileRow(path, problem, first.get(path))


def repair_metafiles(session: Session, plan: MetafilePlan, partitions: Collection[str] = ()) -> MetafilePlan:
    """Writes exactly the metafiles of the plan; each is whole or as before.

    Raises as ``plan_metafiles``; Conflict: others are damaged or missing now.
    """

    def look(held: Hold) -> Begun[MetafilePlan]:
        now = plan_metafiles(session, tuple(partitions))
        if not now.partitions:
            raise NothingLeft
        if not {row.partition for row in now.partitions} <= {row.partition for row in plan.partitions}:
            raise Conflict("other metafiles are to be written than were planned", hint="run the command again")
        return Begun(held, instant_now(session.table), now)

    def work(run: Begun[MetafilePlan]) -> MetafilePlan:
        for row in run.found.partitions:
            run.held.check()
            _write(session.table, row, run.time)
        return run.found

    target = ", ".join(row.partition for row in plan.partitions[:3])
    with suppress(NothingLeft):
        record = {"partitions": [asdict(row) for row in plan.partitions]}
        return changing(session, Kind.PARTITION_REPAIR, target, record, look=look, work=work)
    return plan


def _write(table: Table, row: MetafileRow, time: str) -> None:
    if row.problem == MISSING:
        create_metafile(table, row.partition, row.commit or time)
    else:
        body = partition_metafile.encode(row.partition, row.commit or time, datetime.now(timezone.utc))
        table.storage.replace(metafile_path(row.partition), body)
