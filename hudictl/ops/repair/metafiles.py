"""``partition repair``: partition metafiles that are missing or damaged are written again (as 0.15.0 to 1.2.0 do)."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from hudictl.errors import NotFound, Refused
from hudictl.formats import partition_metafile
from hudictl.formats.instants import INITIAL, parse_time
from hudictl.ops.guards import files as file_guards
from hudictl.ops.guards import liveness
from hudictl.ops.guards import timeline as timeline_guards
from hudictl.ops.repair.plan import FileRepair, RepairPlan
from hudictl.ops.session import Kind, Session, writable_signs
from hudictl.state.facts import Facts, read_facts
from hudictl.state.files.metafiles import damaged_metafiles, first_commits
from hudictl.state.files.needed import needed_files
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.files.view import metafile_path, partition_named
from hudictl.table.metadata.listing import read_known

MISSING = "it is missing: listings do not find the partition, and readers need a file of it"
_EPOCH = datetime.fromtimestamp(0, timezone.utc)


def plan_metafiles(session: Session, partitions: Sequence[str] = ()) -> RepairPlan:
    """Plans to write metafiles again: all, or those of some partitions. Changes nothing; every guard has passed.

    A missing one is written where readers need a file of the partition; a damaged one where it was read.

    Raises:
        NotFound: there is no such partition.
        Refused: the table's metafiles have the base file format, which hudictl does not write; a restore is pending.
        Unsupported, Conflict, Unreadable, StorageFailed, EngineFailed.
    """
    table, signs = session.table, writable_signs(session)
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
    found = {path: problem for path, problem in sorted(problems.items()) if not asked or path in asked}
    first = first_commits(facts, found)
    # As Hudi does where it writes one again.
    newest = max((instant.time for instant in signs.timeline.instants), default=INITIAL)
    files = tuple(_again(path, problem, first.get(path), newest) for path, problem in found.items())
    guessed = tuple(
        f"no commit is known to have made {path or '.'}: its metafile names the newest instant, {newest}"
        for path in found
        if path not in first
    )
    return RepairPlan(Kind.PARTITION_REPAIR, "partition metafiles", files, session.lock, guessed=guessed)


def _damaged(session: Session, facts: Facts) -> Iterator[tuple[str, str]]:
    """Raises Refused: a damaged one has the base file format."""
    for path, (extension, problem) in damaged_metafiles(facts, session.engine).items():
        if extension:
            raise Refused(
                f"{metafile_path(path)}{extension}: {problem}: hudictl does not write this format",
                hint="delete the file, then write a row into the partition with Hudi: that creates it again",
            )
        yield path, problem


def _again(partition: str, problem: str, first: str | None, newest: str) -> FileRepair:
    commit = first or newest
    proof = f"the oldest commit known to have written into the partition is {first}" if first else "its path is known"
    body = partition_metafile.encode(partition, commit, parse_time(commit, timezone.utc) or _EPOCH)
    return FileRepair(metafile_path(partition), (problem, proof), body)
