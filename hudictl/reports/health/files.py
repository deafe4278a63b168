"""Findings of ``check`` on data files: orphans, missing files, and files that are not read."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain

from hudictl import workers
from hudictl.engine.base import values
from hudictl.errors import Unreadable
from hudictl.formats.file_names import parse_data_file, read_as
from hudictl.formats.instants import COMMIT_ACTIONS, SAVEPOINT, Instant
from hudictl.formats.layouts import PROPERTIES
from hudictl.formats.partition_metafile import depth_of
from hudictl.phrases import command_of, count_of
from hudictl.reports.health.finding import (
    ERROR,
    FROM_BACKUP,
    INFO,
    MADE_ANEW,
    WARNING,
    Finding,
    Look,
    mended,
    named,
    with_way_back,
)
from hudictl.state.files.bootstrap import INDEX_LOST, SOURCE_ELSEWHERE, SOURCE_LOST, is_bootstrapped, rowless_files
from hudictl.state.files.borrowed import logs_of_kept
from hudictl.state.files.instant_files import partitions_in_tables
from hudictl.state.files.metafiles import damaged_metafiles, first_commits, in_base_format
from hudictl.state.files.needed import UPGRADE_FIRST, judged, needed_files
from hudictl.state.files.savepoint_files import possible_way, unprotected, ways_back
from hudictl.state.files.savepoints import Saved, copied_to, is_protection, read_saved
from hudictl.state.orphans.asked import foreign_files, read_files
from hudictl.state.orphans.find import Orphan, find_orphans
from hudictl.state.orphans.lost_end import lost_end, lost_inside
from hudictl.state.services.harmful_cleans import harmful_cleans, has_run
from hudictl.state.timeline.clean_plans import removal_of
from hudictl.state.timeline.dropped import told_dropped, ways_out
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.timeline.unfinished import RESUME
from hudictl.table.copied import RECORD, read_record
from hudictl.table.files.saved import NOTHING_SAVED, SavedFiles
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.sweep import hidden_by, other_table
from hudictl.table.files.view import metafile_path
from hudictl.table.timeline.active import load_timeline
from hudictl.table.timeline.archive import archived_writes_after

ROLLBACK_BLOCK_AHEAD = "rollback-block-ahead"
_COPY_MS = 24 * 3600 * 1000


def orphans(look: Look) -> Iterator[Finding]:
    """Orphans, by the instant in their names; a timeline that seems to have lost its end, or an instant.

    Raises as ``find_orphans``.
    """
    found = find_orphans(look.facts, look.engine)
    yield from _without_end(look, (orphan.file for orphan in found if orphan.beyond))
    lost = _lost(look)
    yield from _lost_instants(look, lost, [orphan.file for orphan in found])
    groups: dict[tuple[str, str, bool, bool], list[Orphan]] = defaultdict(list)
    for orphan in (entry for entry in found if entry.file.data.instant not in lost):
        groups[orphan.file.data.instant, orphan.why, orphan.sure, orphan.visible].append(orphan)
    for (time, why, sure, visible), members in sorted(groups.items()):
        size = sum(orphan.file.size or 0 for orphan in members)
        seen = "readers treat their rows as committed"
        if not visible:
            seen = "readers will treat their rows as committed once the active timeline begins after their instant"
        meaning = f"{count_of(len(members), 'file')} ({size:,} bytes): {why}; {seen}"
        if sure:
            yield Finding("orphans", ERROR if visible else WARNING, time, meaning, mended("hudictl orphans delete"))
        else:
            yield Finding("unowned-files", WARNING, time, meaning, mended("hudictl orphans list"))


def _lost(look: Look) -> frozenset[str]:
    try:
        timeline = look.metadata_timeline
        return lost_inside(look.facts, timeline) if timeline is not None else frozenset()
    except Unreadable:
        # An unreadable metadata table, plan or archive is a finding of its own.
        return frozenset()


def _lost_instants(look: Look, lost: Collection[str], files: Collection[StoredFile]) -> Iterator[Finding]:
    """Instants whose files on the timeline are lost. Without a file of its name it may have been a clean."""
    for time in sorted(lost):
        paths = sorted(file.path for file in files if file.data.instant == time)
        meaning = (
            "the metadata table knows this instant as completed, but it is on no timeline, and no record explains it"
        )
        if paths:
            meaning += f": it is lost, and readers ignore its files ({named(paths)}). {FROM_BACKUP}"
            yield with_way_back("instant-lost", time, meaning, look.way_before(time))
        else:
            meaning += (
                ". If it was a delta commit, its rows are left out; if it dropped a partition, those are back. Put its "
                "files back from a backup"
            )
            yield Finding("instant-lost", WARNING, time, meaning)


def _without_end(look: Look, beyond: Iterable[StoredFile]) -> Iterator[Finding]:
    found = lost_end(look.facts, beyond, look.late_blocks)
    if found is None:
        return
    lost = f"{count_of(found.logs, 'log')} with their rows: compactions leave these out. " if found.logs else ""
    meaning = (
        f"{found.meaning}. {lost}{_also_known(look, found.times)}Perhaps .hoodie is an older copy, or was copied "
        "before the data. Start no writer before the newer .hoodie is put back"
    )
    yield Finding("timeline-without-end", ERROR, look.last or look.facts.table.layout.timeline, meaning)


def _also_known(look: Look, times: Collection[str]) -> str:
    """The instants that the metadata table has, but the timeline does not."""
    try:
        timeline = look.metadata_timeline
    except Unreadable:
        # An unreadable metadata table is a finding of its own.
        return ""
    ended = sorted({entry.time for entry in timeline.completed_writes()}.intersection(times)) if timeline else []
    return f"The metadata table lists {named(ended)} as completed. " if ended else ""


def missing(look: Look) -> Iterator[Finding]:
    """Files of the newest slices that are missing on storage, and partitions that listings do not find.

    Raises Unreadable: a clean's metadata, or the plan of a compaction.
    """
    table, timeline = look.facts.table, look.facts.timeline
    needed = needed_files(look.facts, (), NOTHING_SAVED)
    if needed.missing and load_timeline(table, timeline).modified_ms.keys() != timeline.modified_ms.keys():
        # A clean may have deleted a slice after a newer commit that this timeline does not have yet.
        meaning = (
            "the timeline changed while files were listed, so missing files cannot be determined: run the check again"
        )
        yield Finding("moved", INFO, table.layout.timeline, meaning)
        return

    not_copied = _not_copied(look, needed.missing)
    if not_copied:
        meaning = (
            f"this is a copy of single partitions: {count_of(len(not_copied), 'file')} of the others, for example "
            f"{not_copied[0]}, stayed in the source. Readers find the rows of the copied partitions only"
        )
        yield Finding("partly-copied", INFO, RECORD, meaning)
    for path in needed.missing:
        if path in needed.sizes or path in not_copied or other_table(path, look.facts.sweep) is not None:
            # Reported as a wrong size, as of a partition that was not copied, or as another table.
            continue
        meaning = (
            "readers need this file, but it is missing on storage, or empty: queries fail, or rows are lost. "
            f"{FROM_BACKUP}"
        )
        yield with_way_back("missing-file", path, meaning, look.way_before_file(path.rpartition("/")[2]))

    for file in needed.misnamed[:1]:
        meaning = (
            f"{count_of(len(needed.misnamed), 'log')} with names of table version 8 above base files with other names: "
            "the compaction of a downgrade was taken back. Rows that writers delete come back. "
            f"{UPGRADE_FIRST[0].upper()}{UPGRADE_FIRST[1:]}"
        )
        yield Finding("misnamed-logs", ERROR, file.path, meaning)

    for partition in needed.bare:
        meaning = "no .hoodie_partition_metadata: listings do not find this partition; a write into it creates the file"
        yield Finding("partition-without-metafile", ERROR, partition, meaning, _repair(look, partition))


def _not_copied(look: Look, paths: Sequence[str]) -> list[str]:
    """The files, of those that are missing, that a copy of single partitions never had: of another partition, and not
    written since. None if the copy's record cannot be read."""
    record = None
    with suppress(ValueError):
        record = read_record(look.facts.table.storage) if paths else None
    if record is None or not record.partitions:
        return []
    found, writes = [], look.facts.timeline.completed_writes()
    ended = max((entry.completion_time or "" for entry in writes if entry.time == record.as_of), default="")
    seen = {entry.time for entry in writes if (entry.completion_time or "~") <= ended}
    for path in paths:
        partition, _, name = path.rpartition("/")
        data = parse_data_file(name)
        if partition not in record.partitions and data and (data.instant <= record.as_of or data.instant in seen):
            found.append(path)
    return found


def sources(look: Look) -> Iterator[Finding]:
    """Base files of a bootstrap whose rows are not where they were: outside of the table. Raises Unreadable."""
    if not is_bootstrapped(look.facts):
        return
    case, _ = judged(look.facts, (), NOTHING_SAVED)
    found = rowless_files(look.facts, look.engine, case)
    back = ". Put it back from a backup"
    for name, way in ((SOURCE_LOST, back), (INDEX_LOST, back), (SOURCE_ELSEWHERE, "")):
        files = [file for file in found if file.finding == name]
        # An index and a store are one thing, of which the first file tells.
        for file in files if name == SOURCE_LOST else files[:1]:
            severity = INFO if name == SOURCE_ELSEWHERE else ERROR
            yield Finding(name, severity, file.path, f"{file.problem} ({count_of(len(files), 'such file')}){way}")


def metafiles(look: Look) -> Iterator[Finding]:
    """Partition metafiles without the values that readers use: one read for each partition."""
    damaged = damaged_metafiles(look.facts, look.engine)
    first = first_commits(look.facts, damaged)
    for partition, (extension, problem) in damaged.items():
        by = first.get(partition, "any instant")
        remedy = "Delete the file, then write a row into the partition with Hudi: that creates it again"
        if not extension:
            remedy = f"It gets the lines commitTime={by} and partitionDepth={depth_of(partition)}"
        meaning = (
            f"{problem}. Spark still reads the partition, but tools fail if they use this file to find the table "
            f"(for example Hudi's validators). {remedy}"
        )
        subject = f"{metafile_path(partition)}{extension}"
        way = () if extension else _repair(look, partition)
        yield Finding("partition-metafile-damaged", WARNING, subject, meaning, way)


def _repair(look: Look, partition: str) -> tuple[Remedy, ...]:
    """hudictl writes no metafiles in the base file format."""
    if in_base_format(look.facts.table):
        return ()
    return mended(command_of("partition repair", partition or "."))


def savepoints(look: Look) -> Iterator[Finding]:
    """Savepoints that protect nothing, or too little. Raises Unreadable."""
    timeline = look.facts.timeline
    for instant in timeline.having(SAVEPOINT):
        if instant.pending:
            if timeline.idle_ms(instant, look.facts.signs.now_ms) >= look.idle_ms:
                meaning = "its creation was interrupted: it protects nothing, and Hudi cannot create another one there"
                remedy = mended(command_of("savepoint create", instant.time))
                yield Finding("savepoint-interrupted", WARNING, str(instant), meaning, remedy)
            continue
        saved = _saved(look, instant)
        commit = timeline.find(instant.time, *COMMIT_ACTIONS)
        if saved is None:
            continue
        if is_protection(saved.head):
            if not look.facts.signs.planned_restores:
                meaning = "a leftover of a hudictl restore that has ended: it still protects files from cleaning"
                yield Finding("savepoint-remnant", WARNING, str(instant), meaning, mended(RESUME))
        elif to := copied_to(saved.head):
            # A copy can take hours.
            if look.facts.signs.now_ms - saved.head.saved_at_ms >= _COPY_MS:
                meaning = (
                    f"temporary, of a copy to {to} that died or still runs: without it, a clean may delete the files"
                )
                remedy = mended(command_of("savepoint delete", instant.time))
                yield Finding("savepoint-remnant", WARNING, str(instant), meaning, remedy)
        elif commit is None or not commit.completed:
            meaning = "its commit does not exist, or is not completed: a restore to it is not possible"
            remedy = mended(command_of("savepoint delete", instant.time))
            yield Finding("savepoint-without-commit", ERROR, str(instant), meaning, remedy)
        else:
            yield from _savepoint(look, commit, saved.files)


def savepoints_behind_archive(look: Look) -> Iterator[Finding]:
    """Savepoints with archived writes after them (``hoodie.archive.beyond.savepoint``). Raises Unreadable."""
    table, savepoints = look.facts.table, [entry.time for entry in look.facts.timeline.savepoints()]
    archived = archived_writes_after(table, min(savepoints)) if savepoints else []
    for saved in savepoints:
        later = [time for time in archived if time > saved]
        if later:
            meaning = (
                f"a restore to it also removes {count_of(len(later), 'archived write')} ({named(later)}). Archiving "
                "beyond a savepoint can make readers see older rows: set hoodie.archive.beyond.savepoint=false"
            )
            yield Finding("savepoint-behind-archive", WARNING, saved, meaning)


def _saved(look: Look, instant: Instant) -> Saved | None:
    try:
        return read_saved(look.facts.table, look.facts.timeline, look.engine, instant.time)
    except Unreadable:
        # Reported by itself, with all other files of the timeline.
        return None


def _savepoint(look: Look, commit: Instant, saved: SavedFiles) -> Iterator[Finding]:
    ways = ways_back(look.facts, commit, saved)
    way = possible_way(ways)
    needed = way.outcome
    rowless = rowless_files(look.facts, look.engine, way.case)
    lost = [*needed.missing, *(f"the metafile of {partition!r}" for partition in needed.bare)]
    lost += [f"the rows of {file.path}" for file in rowless if file.finding != SOURCE_ELSEWHERE]
    if lost:
        meaning = f"it cannot be restored completely; missing, empty or damaged: {named(lost)}"
        remedy = mended(command_of("savepoint show", commit.time, options=["--verify"]))
        yield Finding("savepoint-broken", ERROR, commit.time, meaning, remedy)
    dropped = told_dropped(look.dropped, saved.names_in(look.dropped))
    if dropped:
        after = [entry.time for entry in look.facts.timeline.savepoints() if entry.time > commit.time]
        remedy = ways_out(commit.time, after, restorable=not lost)
        yield Finding("savepoint-partition-dropped", ERROR, commit.time, dropped, remedy)
    held = logs_of_kept(look.facts, way.case.view.removed)
    if held:
        time, log, _ = held[0]
        meaning = (
            f"`hudictl restore` refuses it: {time} has written into {log}, a log of a commit that would stay, from "
            "before an upgrade to table version 8 or of a resized bucket. Make savepoints on later commits"
        )
        remedy = mended(command_of("savepoint show", commit.time, options=["--verify"]))
        yield Finding("savepoint-not-restorable", WARNING, commit.time, meaning, remedy)
    # Logs of later commits alone count as its commit's, by their names.
    later = {log for _, log, shared in held if not shared}
    bare = [] if lost else [path for path in unprotected(look.facts, ways) if path not in later]
    if bare:
        files = f"{count_of(len(bare), 'file')} ({named(bare)})"
        meaning = f"it does not name {files} required by its commit: a clean may delete them"
        remedy = mended(command_of("savepoint create", commit.time)) if not held else ()
        yield Finding("savepoint-protects-too-little", ERROR, commit.time, meaning, remedy)


def cleans(look: Look) -> Iterator[Finding]:
    """Pending cleans that will delete required files. Raises Unreadable: a clean's metadata, or the plan of a
    compaction."""
    for found in harmful_cleans(look.facts):
        executes = f"{found.harm}, and Hudi's next clean executes it"
        meaning = f"{executes}: do not start a writer before this clean is removed"
        remedy = (MADE_ANEW,) if found.stays else mended(removal_of(found.instant))
        if has_run(look.facts, found.instant):
            meaning = f"{executes}; but it has deleted all files of its plan, and only its completed file is lost"
            remedy = mended(command_of("timeline quarantine", found.instant.time))
        elif found.stays:
            meaning += f"; {found.stays}. Drop the metadata table first, then remove this clean"
        yield Finding("clean-in-the-way", ERROR, f"{found.instant.time} clean", meaning, remedy)


def blocks_ahead(look: Look) -> Iterator[Finding]:
    """Rollback blocks with a time after the last commit (table version 6), where rows follow: Hudi 0.15.0 stops reading
    there. Each rollback and restore leaves such blocks, Hudi's too; the next commit makes them harmless."""
    for path, time, hides in sorted(chain.from_iterable(found.commands for found in look.late_blocks)):
        if hides:
            severity, meaning = told_ahead(time, look.last, hides)
            yield Finding(ROLLBACK_BLOCK_AHEAD, severity, path, meaning)


def told_ahead(time: str, last: str, hides: bool) -> tuple[str, str]:
    """Severity and meaning of a rollback block after the last commit; ``hides``: there are rows after it in the log."""
    what = "the rows after it" if hides else "rows appended after it"
    return (
        ERROR if hides else WARNING,
        f"a rollback block with the time {time}, after the last commit {last}: Hudi 0.15.0 does not read {what}, until "
        "there is a later commit",
    )


def foreign(look: Look) -> Iterator[Finding]:
    """Files that look like base files, and do not have the name of one, as another tool writes them. Hudi's view fails
    at some names, reads others, and skips the rest (seen with 0.15.0, 1.0.2 and 1.2.0)."""
    files = foreign_files(look.facts)
    read = read_files(look.facts, files)
    for file in files:
        severity, what = (
            ERROR,
            "Hudi's readers that list folders see its rows; readers that use the metadata table do not",
        )
        if read_as(file.data.name) is None:
            what = "Hudi's readers and writers that list folders fail at it. Its rows are not in the table"
        elif file.path not in read:
            severity, what = INFO, "Hudi does not read it. Its rows are not in the table"
        meaning = f"not a file of Hudi: {what}. Move it out of the table, or delete it"
        remedy = mended(command_of("orphans delete", file.path))
        yield Finding("foreign-file", severity, file.path, meaning, remedy)


def strangers(look: Look) -> Iterator[Finding]:
    """Other tables below the base path, and folders behind links: hudictl changes nothing in them."""
    found = look.facts.sweep
    hit = set(partitions_in_tables(look.facts, {}).values())
    for path in sorted(found.tables):
        meaning = "this folder has its own .hoodie and is another table: nothing in it is listed or deleted"
        severity = ERROR if path in hit else INFO
        is_table = look.facts.table.storage.stat(f"{path}/{PROPERTIES}") is not None
        if is_table and hidden_by(path, found.partitions) is None:
            severity = ERROR
            meaning += (
                "; but Hudi's readers that list folders (without metadata table) read its partitions as this table's, "
                "and see the rows of all instants that are older than this timeline: move it out of the table"
            )
        if path in hit:
            meaning += (
                "; but commits or the metadata table name files in it: if it is a mistake, move this .hoodie out of "
                "the table"
            )
        yield Finding("other-table", severity, path, meaning)
    for path in sorted(found.linked):
        meaning = "this folder is behind a symbolic link: its files are read, but never deleted"
        yield Finding("linked-folder", INFO, path, meaning)


def sidecars(look: Look) -> Iterator[Finding]:
    """Checksum files in partitions (local files only) without their file; contents of data files are not read."""
    table = look.facts.table
    if not table.uri.startswith("file:"):
        return
    folders = (workers.Folder(path) for path in sorted(look.facts.sweep.partitions))
    tasks = [workers.ListTask(table.storage, folder, False) for folder in folders]
    results = values(look.engine.map("list sidecars", workers.lone_sidecars, tasks), "list")
    for task, lone in zip(tasks, results, strict=True):
        if lone:
            meaning = f"{count_of(len(lone), 'checksum file')} whose own file is missing ({named(lone)}): delete them"
            yield Finding("lone-sidecars", INFO, task.folder.path or ".", meaning)
