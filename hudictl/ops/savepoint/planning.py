"""Planning a savepoint, with all checks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta, timezone

from hudictl.engine.base import Engine
from hudictl.errors import Conflict, Refused
from hudictl.formats import instants as fmt
from hudictl.formats.instants import Instant, parse_time
from hudictl.formats.savepoint_names import JoinedNames
from hudictl.ops.fingerprint import body_digest, listed, names_digest, table_fingerprint
from hudictl.ops.guards import clock, liveness
from hudictl.ops.guards import files as file_guards
from hudictl.ops.guards import metadata as metadata_guards
from hudictl.ops.guards import timeline as guards
from hudictl.ops.savepoint.plan import SavepointOptions, SavepointPlan
from hudictl.ops.session import Kind, Session, writable_signs
from hudictl.phrases import command_of, count_of, first_few, seconds
from hudictl.state.facts import Facts, Signs, read_facts
from hudictl.state.files.borrowed import borrowed_logs
from hudictl.state.files.needed import Outcome
from hudictl.state.files.savepoint_files import WayBack, possible_way, savepoint_map, unprotected, ways_back
from hudictl.state.files.savepoints import copied_to, find_savepoint, is_protection, read_savepoint_head, tag_of
from hudictl.state.timeline.ahead import commits_ahead
from hudictl.state.timeline.clean_plans import last_commit_retained, pending_cleans
from hudictl.state.timeline.dropped import dropped_partitions, told_dropped
from hudictl.state.timeline.removed import ways_to
from hudictl.state.timeline.targets import find_commit
from hudictl.state.timeline.unfinished import in_words, rollback_of
from hudictl.state.writers.activity import at_work
from hudictl.table.files.saved import NOTHING_SAVED, kept_saved
from hudictl.table.metadata.listing import read_known
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.operations import operations_on
from hudictl.table.settings import ARCHIVE_BEYOND_SAVEPOINT, Settings
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.timeline.commits import LazyCommits

_ENOUGH = 0.9
"""The share of its period after which a repeated savepoint is due again: jobs do not start to the second, and one that
had to wait must not cost the next one."""
_SOON_MS = 60_000
"""Within this time after its beginning a command has made the first file of a savepoint."""


def young_savepoint(table: Table, tag: str, every_ms: int) -> str | None:
    """The newest completed savepoint with a tag, if its commit is younger than a period, nearly.

    Raises Refused: the commits' times are in another zone than this command's; Unreadable, Conflict.
    """
    timeline = load_timeline(table)
    clock.writers_zone(table, timeline)
    now = _now()
    for entry in timeline.savepoints()[::-1]:
        made = parse_time(entry.time, table.zone)
        # A commit that is ahead of the clock is of no use: it would look young for long.
        if made and timedelta(0) <= now - made.astimezone(timezone.utc) < timedelta(milliseconds=every_ms) * _ENOUGH:
            head = read_savepoint_head(table, timeline, entry.time)
            if head is not None and tag_of(head.comment) == tag:
                return entry.time
    return None


def _now() -> datetime:
    return datetime.now(timezone.utc)


def plan_savepoint(session: Session, instant: str | None, options: SavepointOptions | None = None) -> SavepointPlan:
    """Plans a savepoint on a completed commit. Changes nothing; every guard has passed.

    Args:
        instant: requested time; None takes the newest completed commit with no pending write older than it.

    Raises:
        Unsupported, Conflict, Refused, Unreadable, StorageFailed, EngineFailed.
    """
    table, options = session.table, options or SavepointOptions()
    signs = writable_signs(session)

    if instant is None:
        # Also where the newest commit has a savepoint: the restore may remove both.
        guards.no_pending_restore(table, signs)
    commit = find_commit(table, signs.timeline, instant) if instant is not None else _newest(signs.timeline)
    existing = signs.timeline.find(commit.time, fmt.SAVEPOINT)
    if existing is not None and existing.completed:
        return _existing(session, signs, commit, options, chosen=instant is None)
    check_signs(session, signs, commit, options)

    # Readers also see files that only the metadata table lists.
    known = read_known(table, session.engine)
    without = _without(session, signs, commit)
    facts = read_facts(table, session.engine, signs, session.monitor.note, without=without, known=known)
    file_guards.timeline_has_its_end(facts, session.engine, options.accept_lost_instants)
    ways = ways_back(facts, commit, NOTHING_SAVED, pending_cleans(facts.timeline))
    needed = check_files(facts, session.engine, commit, ways)
    own_files_only(facts, ways)
    files, size = savepoint_map(facts, commit, ways)
    file_guards.nothing_rolled_back(facts, session.engine, needed, files, f"a savepoint on {commit.time} is refused")
    return SavepointPlan(
        timezone=session.timezone,
        target=commit.time,
        options=options,
        fingerprint=_fingerprint(table, signs.timeline, commit, options, files),
        exists=False,
        warnings=_warnings(session, facts, without, files),
        files_added=0,
        completes_interrupted=existing is not None,
        chosen=instant is None,
        user=options.user,
        comment=options.comment,
        bytes=size,
        file_names=files,
        timeline=frozenset(signs.timeline.modified_ms),
        lock=session.lock,
    )


def files_again(session: Session, signs: Signs, commit: Instant) -> JoinedNames:
    """The files that a damaged savepoint on a commit must name: those that a new one would. All of them exist.

    Raises Refused, Unreadable, StorageFailed, EngineFailed.
    """
    known, without = read_known(session.table, session.engine), _without(session, signs, commit)
    facts = read_facts(session.table, session.engine, signs, without=without, known=known)
    ways = ways_back(facts, commit, NOTHING_SAVED, pending_cleans(facts.timeline))
    check_files(facts, session.engine, commit, ways)
    return savepoint_map(facts, commit, ways)[0]


def _fingerprint(
    table: Table, timeline: Timeline, commit: Instant, options: SavepointOptions, files: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """``files``: the names by partition. Older writes that are pending may become part of the commit's table, and are
    not in it."""
    older = (entry.time for entry in at_work(timeline) if entry.time < commit.time)
    return {
        **table_fingerprint(table, asdict(options)),
        "commit": f"{commit} {body_digest(table, commit)}",
        "files": names_digest(files),
        "older pending writes": listed(older),
    }


def _warnings(
    session: Session, facts: Facts, without: Collection[str], files: Mapping[str, Collection[str]]
) -> tuple[str, ...]:
    """What endangers a savepoint with these files; ``without`` are the instants that a restore to it removes."""
    table, timeline = session.table, facts.timeline
    told = [f"{found.instant}: {found.meaning}" for found in commits_ahead(table, timeline)][:1]
    told += filter(None, [told_dropped(dropped_partitions(table, timeline, session.engine, files), files)])
    empty = metadata_guards.empty_files(facts, without) if metadata_table_in_use(table) else []
    if empty:
        what = f"{count_of(len(empty), 'empty data file')} ({first_few(empty, rest=' and {:,} more')})"
        told.append(f"a restore is refused beside {what}: see `orphans list`")
    if Settings(session.locking.settings).flag(ARCHIVE_BEYOND_SAVEPOINT):
        told.append(
            f"the writers have {ARCHIVE_BEYOND_SAVEPOINT.key}=true: once a commit after the savepoint is archived, "
            "readers and writers can take its files for uncommitted, and rows are lost. Set it to false"
        )
    return tuple(told)


def check_signs(session: Session, signs: Signs, commit: Instant, options: SavepointOptions) -> None:
    """The guards that need no listing of data files. Raises as ``plan_savepoint``."""
    table = session.table
    liveness.no_lock_in_use(table, signs, session.locking)
    clock.writers_zone(table, signs.timeline)
    guards.no_pending_restore(table, signs)
    guards.completed_once(commit)
    guards.says_what_it_wrote(signs.timeline, commit)
    for entry in signs.live_rollbacks:
        rollback = entry.instant
        if entry.target in (None, commit.time):
            raise Refused(
                f"{rollback} is pending and {'rolls' if entry.target else 'may roll'} {commit.time} back",
                hint=f"{in_words(rollback_of(table, signs, entry))}; or choose another commit".removeprefix("; or "),
                rollback=rollback.time,
            )
    retained = last_commit_retained(table, signs.timeline)
    if commit.time < retained:
        raise Refused(
            f"{commit.time} is older than {retained}: the last clean kept all files of commits from {retained} on, but "
            "may have deleted files of older commits",
            hint="choose that commit or a later one",
            instant=commit.time,
            retained=retained,
        )
    writing = [entry.time for entry in at_work(signs.timeline) if entry.time < commit.time]
    if writing and not options.allow_pending:
        raise Conflict(
            f"writes older than {commit.time} are pending, and would not be in the savepoint: {', '.join(writing)}",
            hint="wait until they have ended; or create the savepoint without them, with --allow-pending",
            instants=writing,
        )
    lone = signs.timeline.find(commit.time, fmt.SAVEPOINT)
    idle_ms = signs.timeline.idle_ms(lone, signs.now_ms) if lone is not None else options.idle_ms
    if idle_ms < options.idle_ms and not _has_failed(table, commit.time, signs.now_ms - idle_ms):
        raise Conflict(
            f"{lone}: another process may be creating this savepoint now",
            hint=f"run the command again when the file is {seconds(options.idle_ms)} old, or with --idle 0s if no "
            "other process runs",
            instant=commit.time,
        )
    guards.nothing_archived_after(table, commit.time)


def _has_failed(table: Table, target: str, made_ms: int) -> bool:
    """Whether hudictl itself has made the file of a savepoint at this moment, and failed or died before the end: nobody
    goes on with it, once this process has the claim."""
    for found in operations_on(table.storage, Kind.SAVEPOINT_CREATE.value, target):
        # With these nothing was begun, or nothing is left: such a file is another program's.
        if found.last.exit_code == 0:
            return False
        begun_ms = datetime.fromisoformat(found.last.started_at).timestamp() * 1000
        # A second, as the clock of a store may be behind.
        if found.last.exit_code != Conflict.exit_code and -1000 < made_ms - begun_ms < _SOON_MS:
            return True
    return False


def _without(session: Session, signs: Signs, commit: Instant) -> frozenset[str]:
    """The instants whose metadata is not required: every way of restoring to the commit removes them."""
    ways = ways_to(session.table, signs.timeline, commit, None)
    return frozenset.intersection(*(way.times for way in ways))


def check_files(facts: Facts, engine: Engine, commit: Instant, ways: Sequence[WayBack]) -> Outcome:
    """Checks that at least one way can restore the commit; returns its outcome. Raises Refused."""
    file_guards.no_other_table(facts)
    way = possible_way(ways)
    hint = file_guards.put_back(facts, commit.time)
    file_guards.nothing_missing(facts, way.outcome, f"{commit.time} cannot be restored", hint)
    file_guards.nothing_rowless(facts, engine, way.case, f"{commit.time} cannot be restored")
    file_guards.nothing_misnamed(way.outcome, f"{commit.time} cannot be restored")
    file_guards.no_clean_in_the_way(way.outcome.cleans)
    return way.outcome


def own_files_only(facts: Facts, ways: Sequence[WayBack]) -> None:
    """As a restore refuses, but metadata of later instants that cannot be read names nothing. Raises Unsupported."""
    if facts.table.is_cow:
        return  # Without logs there is nothing to share, and no metadata of later instants to read.
    removed = possible_way(ways).case.view.removed
    facts = replace(facts, commits=LazyCommits(facts.table, facts.timeline, damaged_ok=True))
    instants = {entry.time: entry for entry in facts.timeline.writes() if entry.time in removed}
    file_guards.own_files_only(facts, removed, borrowed_logs(facts, instants, {}))


def _newest(timeline: Timeline) -> Instant:
    writing = [entry.time for entry in at_work(timeline)]
    oldest = min(writing, default="~")
    commits = [entry for entry in timeline.completed_writes() if entry.time < oldest]
    if not commits:
        raise Refused(
            "there is no completed commit" + (f" before the pending write {oldest}" if writing else ""),
            hint="a savepoint needs a completed commit: let a writer complete one first",
        )
    return max(commits, key=lambda entry: entry.time)


def _existing(
    session: Session, signs: Signs, commit: Instant, options: SavepointOptions, *, chosen: bool
) -> SavepointPlan:
    """The plan for an existing savepoint. It is verified again, because its creation may have died before that; and a
    savepoint that Hudi has created during a pending compaction names too few files. Raises Refused: also if it is to
    get a tag, and has another; Unsupported."""
    table = session.table
    metadata = find_savepoint(table, signs.timeline, commit.time)
    if is_protection(metadata):
        raise Refused(
            f"the savepoint on {commit.time} is a temporary one of hudictl's restore, and will be removed",
            hint="`hudictl resume` removes it; then create the savepoint",
            instant=commit.time,
        )
    if other := copied_to(metadata):
        passed = commit.time < last_commit_retained(table, signs.timeline)
        raise Refused(
            f"the savepoint on {commit.time} is a temporary one of the copy to {other}, whose end deletes it",
            hint="let that copy end (the same command goes on)"
            + (
                "; do not delete this savepoint: a clean has passed the commit, and could delete its files"
                if passed
                else ", or delete this savepoint; then create your own"
            ),
            instant=commit.time,
        )
    asked, has = tag_of(options.comment), tag_of(metadata.comment)
    if has is not None and asked not in (None, has):
        # The other series deletes it by its own rules: this one would have none, and nobody would be told.
        raise Refused(
            f"{commit.time} already has a savepoint, with the tag {has}: a commit has only one, and it does not get "
            f"the tag {asked}",
            hint=f"run the command again after the next commit, or `{command_of('savepoint delete', commit.time)}` "
            "first if nobody else needs it; series of several periods can share one tag: `savepoint prune` takes "
            "several rules, as --keep-hourly 24 --keep-daily 7",
            instant=commit.time,
            tag=has,
        )
    without = _without(session, signs, commit)
    known = read_known(table, session.engine)
    saved = kept_saved(metadata.files)
    facts = read_facts(table, session.engine, signs, without=without, savepointed=saved.partitions, known=known)
    ways = ways_back(facts, commit, saved, pending_cleans(facts.timeline))
    check_files(facts, session.engine, commit, ways)
    own_files_only(facts, ways)
    added = unprotected(facts, ways)
    files = dict(metadata.files)
    if added:
        for partition, names in savepoint_map(facts, commit, ways)[0].items():
            files[partition] = tuple(sorted({*files.get(partition, ()), *names}))
    return SavepointPlan(
        timezone=session.timezone,
        target=commit.time,
        options=options,
        fingerprint=_fingerprint(table, signs.timeline, commit, options, files),
        exists=True,
        warnings=_warnings(session, facts, without, files),
        files_added=len(added),
        completes_interrupted=False,
        chosen=chosen,
        user=metadata.saved_by,
        comment=metadata.comment,
        bytes=facts.sweep.bytes_of(files),
        file_names=files,
        timeline=frozenset(signs.timeline.modified_ms),
        lock=session.lock,
    )
