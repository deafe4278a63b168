"""Findings of ``check`` on data files: those that nobody owns, those that are missing, those that are not read."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from hudictl import workers
from hudictl.errors import Unreadable
from hudictl.formats import savepoint
from hudictl.formats.instants import COMMIT_ACTIONS, SAVEPOINT, Instant, State
from hudictl.formats.savepoint import SavepointMetadata
from hudictl.reports.health.finding import ERROR, INFO, WARNING, Finding, Look, mended, named
from hudictl.state.cleans import cleans_in_the_way, cleans_without_plan, pending_cleans
from hudictl.state.needed import needed_files
from hudictl.state.orphans import Orphan, find_orphans
from hudictl.state.places import partitions_in_tables
from hudictl.state.protection import outcomes_at, unprotected
from hudictl.state.savepoints import is_protection
from hudictl.state.unfinished import RESUME
from hudictl.table.file_view import StoredFile, other_table, values
from hudictl.table.timeline import load_timeline, read_instant

ROLLBACK_BLOCK_AHEAD = "rollback-block-ahead"


def orphans(look: Look) -> Iterator[Finding]:
    """Files that belong to no instant, by that instant; a timeline that seems to have lost its end.

    Raises as ``find_orphans``.
    """
    found = find_orphans(look.facts, look.engine)
    yield from _without_end(look, [orphan for orphan in found if orphan.beyond])
    groups: dict[tuple[str, str, bool, bool], list[Orphan]] = defaultdict(list)
    for orphan in found:
        groups[orphan.file.data.instant, orphan.why, orphan.sure, orphan.visible].append(orphan)
    for (time, why, sure, visible), members in sorted(groups.items()):
        size = sum(orphan.file.size or 0 for orphan in members)
        seen = "readers take their rows for committed" if visible else "readers will see them once the archive is there"
        meaning = f"{len(members):,} files of {size:,} bytes: {why}; {seen}"
        if sure:
            yield Finding("orphans", ERROR if visible else WARNING, time, meaning, mended("hudictl orphans delete"))
        else:
            yield Finding("unowned-files", WARNING, time, meaning, mended("hudictl orphans list"))


def _without_end(look: Look, beyond: Sequence[Orphan]) -> Iterator[Finding]:
    if not beyond:
        return
    last = max((entry.time for entry in look.facts.timeline.completed_writes()), default="")
    times = sorted({orphan.file.data.instant for orphan in beyond})
    meaning = (
        f"the timeline seems to have lost its end, after {last or 'its beginning'}: {len(beyond):,} files are of later "
        f"instants, which it does not have ({named(times)}), {beyond[0].file.path} among them; "
        f"{_also_known(look, times)}.hoodie may have been put back from an older copy, or copied before the data: "
        "let no writer start before the newer one is back"
    )
    yield Finding("timeline-without-end", ERROR, last or look.facts.table.layout.timeline, meaning)


def _also_known(look: Look, times: Collection[str]) -> str:
    """What the metadata table knows of instants that the timeline does not have."""
    if look.metadata is None:
        return ""
    try:
        known = {entry.time for entry in load_timeline(look.metadata).completed_writes()}
    except Unreadable:
        # That it cannot be read is a finding of its own.
        return ""
    ended = sorted(known.intersection(times))
    return f"the metadata table knows {named(ended)} as completed; " if ended else ""


def missing(look: Look) -> Iterator[Finding]:
    """Files of the newest slices that are not on storage, and partitions that listings do not see.

    Raises Unreadable: a clean's metadata, or the plan of a compaction.
    """
    table = look.facts.table
    needed = needed_files(look.facts, (), {})
    if needed.missing and load_timeline(table).modified_ms.keys() != look.facts.timeline.modified_ms.keys():
        # A clean may have taken a slice, for which a commit has come that the timeline did not have yet.
        meaning = (
            "the timeline moved while files were being listed: whether files are missing cannot be told; check again"
        )
        yield Finding("moved", INFO, table.layout.timeline, meaning)
        return

    for path in needed.missing:
        if other_table(path, look.facts.sweep) is not None:
            # Told as what it is.
            continue
        meaning = "readers need this file, and it is not on storage, or empty: queries fail, or rows are lost"
        yield Finding("missing-file", ERROR, path, meaning)

    for partition in needed.bare:
        meaning = "no .hoodie_partition_metadata: listings do not see the partition; a write into it makes the file"
        yield Finding("partition-without-metafile", ERROR, partition, meaning)

    yield from _cleans(look, needed.files, "the table")


def savepoints(look: Look) -> Iterator[Finding]:
    """Savepoints that protect nothing, or less than they say. Raises Unreadable."""
    timeline = look.facts.timeline
    for instant in timeline.having(SAVEPOINT):
        if instant.pending:
            if timeline.idle_ms(instant, look.facts.signs.now_ms) >= look.idle_ms:
                meaning = "its creation was interrupted: it protects nothing, and Hudi can create none there"
                remedy = mended(f"hudictl savepoint create {instant.time}")
                yield Finding("savepoint-interrupted", WARNING, str(instant), meaning, remedy)
            continue
        metadata = _metadata(look, instant)
        commit = timeline.find(instant.time, *COMMIT_ACTIONS)
        if metadata is None:
            continue
        if is_protection(metadata):
            if not look.facts.signs.planned_restores:
                meaning = "hudictl's own, left by a restore that has ended: it keeps cleans from files"
                yield Finding("savepoint-remnant", WARNING, str(instant), meaning, mended(RESUME))
        elif commit is None or not commit.completed:
            meaning = "its commit is not completed: there is nothing to restore to"
            remedy = mended(f"hudictl savepoint delete {instant.time}")
            yield Finding("savepoint-without-commit", ERROR, str(instant), meaning, remedy)
        else:
            yield from _savepoint(look, commit, metadata)


def _metadata(look: Look, instant: Instant) -> SavepointMetadata | None:
    file = instant.file(State.COMPLETED)
    try:
        return savepoint.decode(read_instant(look.facts.table, file), file.name) if file else None
    except Unreadable:
        # Found as what it is, with all other files of the timeline.
        return None


def _savepoint(look: Look, commit: Instant, metadata: SavepointMetadata) -> Iterator[Finding]:
    outcomes = outcomes_at(look.facts, commit, metadata.files)
    needed = next((outcome for outcome in outcomes if not outcome.missing), outcomes[0])
    lost = [*needed.missing, *(f"the metafile of {partition!r}" for partition in needed.bare)]
    if lost:
        meaning = f"it cannot be restored whole: missing or empty are {named(lost)}"
        remedy = mended(f"hudictl savepoint show {commit.time} --verify")
        yield Finding("savepoint-broken", ERROR, commit.time, meaning, remedy)
    bare = [] if lost else unprotected(look.facts.table.rules, outcomes, metadata.files)
    if bare:
        meaning = f"it does not name {len(bare):,} files that its commit needs ({named(bare)}): a clean may take them"
        remedy = mended(f"hudictl savepoint create {commit.time}")
        yield Finding("savepoint-protects-too-little", ERROR, commit.time, meaning, remedy)
    yield from _cleans(look, needed.files, f"the savepoint {commit.time}")


def _cleans(look: Look, needed: Mapping[str, StoredFile], whose: str) -> Iterator[Finding]:
    table, timeline = look.facts.table, look.facts.timeline
    # Nothing is taken without a plan that can be read.
    without = {entry.instant for entry in cleans_without_plan(table, timeline)}
    planned = [instant for instant in pending_cleans(timeline) if instant not in without]
    for time, count in cleans_in_the_way(table, timeline, planned, needed).items():
        meaning = (
            f"a pending clean will delete {count:,} files that {whose} needs: the next clean finishes it; "
            f"stop the writers, and delete {time}.clean.inflight and {time}.clean.requested"
        )
        yield Finding("clean-in-the-way", ERROR, f"{time} clean", meaning)


def blocks_ahead(look: Look) -> Iterator[Finding]:
    """Rollback blocks with a time after the last commit's (table version 6): Hudi 0.15.0 reads no further."""
    table = look.facts.table
    if not table.rules.later_blocks_hide or table.is_cow:
        return
    last = max((entry.time for entry in look.facts.timeline.completed_writes()), default="")
    slices: dict[tuple[str, str, str], list[tuple[str, int]]] = defaultdict(list)
    for file in look.facts.sweep.files:
        if not file.data.is_base and not file.data.cdc:
            key = (file.partition, file.data.file_id, file.data.instant)
            slices[key].append((file.data.name, file.size or 0))
    tasks = [workers.LogTask(table.storage, key[0], tuple(logs)) for key, logs in sorted(slices.items())]
    for found in values(look.engine.map("read logs", workers.command_blocks, tasks), "read logs"):
        for path, time, hides in found:
            if time > last:
                severity, meaning = told_ahead(time, last, hides)
                yield Finding(ROLLBACK_BLOCK_AHEAD, severity, path, meaning)


def told_ahead(time: str, last: str, hides: bool) -> tuple[str, str]:
    """Severity and meaning of a rollback block that is ahead of the last commit; ``hides``: rows stand behind it."""
    what = "the rows behind it are not read" if hides else "rows that follow are not read before a later commit"
    return (
        ERROR if hides else WARNING,
        f"a rollback block of {time}, after the last commit {last}: by Hudi 0.15.0 {what}",
    )


def strangers(look: Look) -> Iterator[Finding]:
    """Other tables below the base path, and folders behind links: nothing in them is touched."""
    found = look.facts.sweep
    hit = set(partitions_in_tables(look.facts, {}).values())
    for path in sorted(found.tables):
        meaning = "a folder with a .hoodie of its own is another table: nothing in it is listed or deleted"
        if path in hit:
            meaning += "; but records of this table name files there: move that .hoodie away, if it is a mistake"
        yield Finding("other-table", ERROR if path in hit else INFO, path, meaning)
    for path in sorted(found.linked):
        meaning = "a symbolic link leads there: its files are read, and never deleted"
        yield Finding("linked-folder", INFO, path, meaning)


def sidecars(look: Look) -> Iterator[Finding]:
    """Checksum sidecars in partitions (local files only) whose file is gone; contents of data files are not read."""
    table = look.facts.table
    if not table.uri.startswith("file:"):
        return
    folders = (workers.Folder(path) for path in sorted(look.facts.sweep.partitions))
    tasks = [workers.ListTask(table.storage, folder, False) for folder in folders]
    results = values(look.engine.map("list sidecars", workers.lone_sidecars, tasks), "list")
    for task, lone in zip(tasks, results, strict=True):
        if lone:
            meaning = f"{len(lone):,} checksum sidecars without their file ({named(lone)}): delete them"
            yield Finding("lone-sidecars", INFO, task.folder.path or ".", meaning)
