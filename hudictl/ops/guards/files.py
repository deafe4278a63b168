"""Guards on data files. ``refusal`` is what cannot be done, as the message begins."""

from collections.abc import Collection, Mapping
from posixpath import basename

from hudictl.engine.base import Engine
from hudictl.errors import Refused, Unsupported
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.formats.instants import COMMIT, DELTACOMMIT, Instant
from hudictl.formats.layouts import PROPERTIES
from hudictl.phrases import command_of, count_of, first_few, quoted
from hudictl.state.facts import Facts
from hudictl.state.files.bootstrap import SOURCE_ELSEWHERE, rowless_files
from hudictl.state.files.borrowed import Borrowed
from hudictl.state.files.contents import damaged_contents
from hudictl.state.files.instant_files import partitions_in_tables
from hudictl.state.files.metafiles import in_base_format
from hudictl.state.files.needed import UPGRADE_FIRST, Case, Outcome, last_of_merge_on_read, read_case, unseen_files
from hudictl.state.orphans.find import find_orphans
from hudictl.state.orphans.lost_end import find_lost_end
from hudictl.state.timeline.removed import seen_by
from hudictl.state.timeline.unread import archived_later, unread
from hudictl.table.copied import lacked_by_copy
from hudictl.table.files.saved import NOTHING_SAVED, SavedFiles
from hudictl.table.files.slices import Group, StoredFile
from hudictl.table.table import COPY_ON_WRITE, Table
from hudictl.table.timeline.active import Timeline
from hudictl.table.timeline.commits import Commits

_DELETED = "perhaps a clean, or a lifecycle rule of the store, has deleted them"
PUT_BACK = f"{_DELETED}; put them back from a backup"
TYPE_TOO = "to bring the type back, too, restore with --table-type MERGE_ON_READ"
SOURCE_BACK = "put the source, or the index, back from a backup"


def put_back(facts: Facts, time: str) -> str:
    """The hint where files that a commit requires are missing: after the last one there is none to choose."""
    return PUT_BACK if time == facts.timeline.last_write else f"{PUT_BACK}, or choose a later instant"


def nothing_missing(facts: Facts, needed: Outcome, refusal: str, hint: str) -> None:
    """Raises Refused: a file that readers require afterwards is missing, empty, or has not the size that a commit has
    recorded."""
    if needed.missing:
        shown = first_few([_with_sizes(path, needed) for path in needed.missing], rest=" and {} more")
        written = (data.instant for path in needed.missing if (data := parse_data_file(basename(path))))
        if lacked := lacked_by_copy(facts.table.storage, min(written, default="~")):
            hint = hint.replace(_DELETED, f"{_DELETED}; or the copy never had them: {lacked}")
        raise Refused(
            f"{refusal}: {count_of(len(needed.missing), 'required file')} missing, empty or damaged: {shown}",
            hint=_with_later_bases(facts, needed.sizes, hint),
            missing=list(needed.missing),
        )


def nothing_damaged(facts: Facts, engine: Engine, case: Case, refusal: str) -> None:
    """Raises Refused: a file that readers require afterwards cannot be read, or not all of its rows. It reads the ends
    of base files, and whole logs."""
    damaged = damaged_contents(facts, engine, case)
    if damaged:
        shown = first_few([f"{path} ({problem})" for path, problem in damaged.items()], rest=" and {} more")
        hint = "put the file back from a backup, or choose another instant"
        raise Refused(
            f"{refusal}: {count_of(len(damaged), 'required file')} damaged: {shown}",
            hint=_with_later_bases(facts, damaged, hint),
            damaged=list(damaged),
        )


def nothing_rowless(facts: Facts, engine: Engine, case: Case, refusal: str, hint: str = SOURCE_BACK) -> None:
    """Raises Refused: the rows of a base file that readers require are outside of the table, and lost there."""
    lost = {file.path: file.problem for file in rowless_files(facts, engine, case) if file.finding != SOURCE_ELSEWHERE}
    if lost:
        shown = first_few([f"{path} ({problem})" for path, problem in lost.items()], rest=" and {} more")
        raise Refused(
            f"{refusal}: {count_of(len(lost), 'required file')} of the bootstrap without rows: {shown}",
            hint=hint,
            files=list(lost),
        )


def _with_sizes(path: str, needed: Outcome) -> str:
    if path not in needed.sizes:
        return path
    found, recorded = needed.sizes[path]
    return f"{path} ({found:,} bytes, of {recorded:,} recorded)"


def _with_later_bases(facts: Facts, damaged: Collection[str], hint: str) -> str:
    """A hint, and the base files that were written after damaged ones of the same file groups."""
    oldest: dict[Group, str] = {}
    for path in sorted(damaged, reverse=True):
        partition, _, name = path.rpartition("/")
        data = parse_data_file(name)
        if data is not None:
            oldest[partition, data.file_id] = data.instant
    found = facts.sweep.of_groups(frozenset(oldest)) if oldest else ()
    later = sorted(file.path for file in found if file.data.is_base and file.data.instant > oldest[file.group])
    named = first_few([quoted(path) for path in later])
    return f"{hint}; later base files still have rows of the damaged ones: {named}" if later else hint


def timeline_has_its_end(facts: Facts, engine: Engine, accepted: bool) -> None:
    """Raises Refused: data of later instants than the timeline has is there, which a newer timeline may need.

    Args:
        accepted: the operator knows of it.
    """
    found = None if accepted else find_lost_end(facts, engine)
    if found is not None:
        raise Refused(
            found.meaning,
            hint="put the newer .hoodie back. If there is none, --accept-lost-instants goes on without these instants, "
            "and keeps their files",
            instants=found.times,
            files=found.paths,
        )


def nothing_rolled_back(
    facts: Facts, engine: Engine, needed: Outcome, files: Mapping[str, Collection[str]], refusal: str
) -> None:
    """Raises Refused: readers require files of rolled-back writes, as they are older than the timeline. If the metadata
    table lists all required files, there are none."""
    if facts.known.listing is not None and not needed.unlisted:
        return
    orphans = (entry.file for entry in find_orphans(facts, engine) if entry.sure and entry.visible)
    found = sorted(file.path for file in orphans if file.data.name in files.get(file.partition, ()))
    if found:
        raise Refused(
            f"{refusal}: readers treat {count_of(len(found), 'file')} of rolled-back writes as committed: "
            f"{first_few(found)}",
            hint=f"`{command_of('orphans delete')}` deletes them",
            files=found,
        )


def replaced_are_there(facts: Facts, archived: Commits, refusal: str) -> None:
    """Raises Refused: a file group that an archived write has replaced has no file, and was there before. Without a
    savepoint only this shows that a clean has taken it.

    Args:
        archived: the archived writes to remove.
    """
    stats = ((path, stat) for commit in archived.values() for path, of in commit.stats.items() for stat in of)
    begun = {(path, stat.file_id) for path, stat in stats if stat.previous in (None, "null")}
    replaced = frozenset[Group]().union(*(commit.replaced_groups for commit in archived.values()))
    there = {file.group for file in facts.sweep.of_groups(replaced - begun)}
    if lost := sorted(data_path(*group) for group in replaced - begun - there):
        raise Refused(
            f"{refusal}: {count_of(len(lost), 'file group')} of it have no file any more: {first_few(lost)}",
            hint=f"{_DELETED}; choose a later instant",
            missing=lost,
        )


def stays_read(facts: Facts, removed: Mapping[str, Instant | None], refusal: str) -> None:
    """Raises Refused: readers would treat files of archived commits as uncommitted. Now they read later files instead,
    which would be removed."""
    archived = archived_later(facts) - removed.keys()
    if not archived:
        return
    lost = sorted({*unread(facts, archived, removed)}.difference(unread(facts, archived, ())))
    # What the logs of these commits have is in the base files of a compaction, perhaps of an archived one.
    compacted = any(entry is None or (entry.action == COMMIT and entry.completed) for entry in removed.values())
    if lost or (compacted and not facts.table.is_cow):
        first = min(entry.time for entry in facts.timeline.completed_writes())
        example = f", for example {lost[0]}" if lost else ""
        raise Refused(
            f"{refusal}: readers would treat the files of {count_of(len(archived), 'archived commit')} after {first}, "
            f"the timeline's first one, as uncommitted{example}",
            hint=f"if {first} has a savepoint, delete this savepoint, and archive the commit with Hudi; then run the "
            "command again",
            archived=sorted(archived),
        )


def type_is_read(facts: Facts, case: Case, refusal: str, reads: str, *, as_now: bool = False) -> None:
    """Raises Refused: the table was merge on read, and readers of a copy-on-write table would not see all rows.

    Args:
        case: what stays.
        reads: the type by which readers will read.
        as_now: files that they do not see now do not count.
    """
    last = last_of_merge_on_read(facts, case.view.removed) if reads == COPY_ON_WRITE else None
    if last is None:
        return
    unseen = unseen_files(facts, case)
    if unseen and as_now:
        unseen -= unseen_files(facts, read_case(facts, (), NOTHING_SAVED))
    if unseen or last.action == DELTACOMMIT:
        named = f", and would not see the rows of {count_of(len(unseen), 'file')}, as {min(unseen)}" if unseen else ""
        raise Refused(
            f"{refusal}: the table was merge on read then, and is copy on write now: readers do not count delta "
            f"commits{named}",
            hint=TYPE_TOO,
            unseen=sorted(unseen),
        )


def format_is_read(table: Table, needed: Outcome, refusal: str) -> None:
    """Raises Refused: readers find no base files of the format that is required."""
    own = table.base_file_format
    other = sorted(form for form in needed.forms if form.upper() != own.upper())
    # 0.15.0 does not know this property.
    several = table.properties.get("hoodie.table.multiple.base.file.formats.enable") == "true" and table.version >= 8
    if other and not several:
        raise Refused(
            f"{refusal}: its base files are {first_few(other)}, and readers look for {own}",
            hint=f"put {PROPERTIES} back from a backup: its hoodie.table.base.file.format was changed",
            formats=other,
        )


def nothing_misnamed(needed: Outcome, refusal: str) -> None:
    """Raises Refused: readers would require logs that a downgrade has left with names of table version 8."""
    if needed.misnamed:
        raise Refused(
            f"{refusal}: the table was downgraded, and needs {count_of(len(needed.misnamed), 'log')} with names of "
            f"table version 8, for example {needed.misnamed[0].path}: rows that writers delete later would come back",
            hint=f"{UPGRADE_FIRST}; then run the command again. If you need version 6, downgrade the table after that",
            logs=[file.path for file in needed.misnamed],
        )


def no_other_table(facts: Facts, owners: Mapping[str, Collection[str]] | None = None) -> None:
    """Raises Refused: a partition that the table's records name has a .hoodie of its own, or a folder above it has.

    Args:
        owners: the partitions that the removed instants' own records name.
    """
    for path, table in sorted(partitions_in_tables(facts, owners or {}).items()):
        raise Refused(
            f"the partition {path!r} cannot be listed: {table!r} has its own .hoodie folder, and counts as another "
            "table",
            hint=f"if a job with a wrong base path created {quoted(table)}/.hoodie, move that folder out of the table; "
            "then run the command again",
            partition=path,
            folder=table,
        )


def nothing_contradicts(outcome: Outcome) -> None:
    """Raises Refused: a file would be deleted with its instant, although it is required by something that is kept."""
    if outcome.contradictions:
        first = outcome.contradictions[0]
        raise Refused(
            f"{first.path} would be deleted with {first.instant}, but is required by {first.needed_by} "
            f"({len(outcome.contradictions):,} such files): nothing was changed",
            hint="the timeline and the data files contradict each other; choose another instant; `hudictl check` "
            "shows more",
            contradictions=[entry.path for entry in outcome.contradictions],
        )


def nothing_saved_goes(
    table: Table, timeline: Timeline, target: Instant, saved: SavedFiles, going: Mapping[str, Collection[StoredFile]]
) -> None:
    """Raises Refused: a file to delete is in the target's savepoint, and of an instant that the target's readers saw.
    A savepoint can have names of one that was requested before and completed after.

    Args:
        going: the files to delete, by instant.
    """
    seen = seen_by(table, timeline, target, saved.instants.intersection(going), unknown=True)
    names = saved.names_in({file.partition for time in seen for file in going[time]}) if seen else {}
    lost = [file for time in seen for file in going[time] if file.data.name in names.get(file.partition, ())]
    if lost:
        raise Refused(
            f"{lost[0].path} would be deleted with {lost[0].data.instant}, but the savepoint {target.time} names it "
            f"({len(lost):,} such files): nothing was changed",
            hint="if the instant was completed after the savepoint's, `hudictl resume --accept-loss` deletes it",
            files=[file.path for file in lost],
        )


def own_files_only(facts: Facts, removed: Collection[str], borrowed: Borrowed) -> None:
    """Raises Unsupported: a commit to remove has written into a log whose name contains an instant that is kept.

    A log from before an upgrade to table version 8 may contain other commits' rows, so that it cannot be deleted; and
    no rollback block can be written into it. Of a completed resize, the log is a part of the new bucket.

    Args:
        borrowed: logs that are deleted all the same: no other commit has written into them.
    """
    if not facts.table.rules.logs_named_by_writer:
        return
    own = {*removed}
    for time in removed:
        for stats in facts.commits.get(time, CommitMetadata()).stats.values():
            for partition, _, name in ((stat.path or "").rpartition("/") for stat in stats):
                data = parse_data_file(name)
                if data is not None and data.instant not in own and name not in borrowed.get(partition, ()):
                    raise Unsupported(
                        f"{time} has written into {data_path(partition, name)}, a log of {data.instant}: this log "
                        "cannot be deleted, and no rollback block can be written into it",
                        hint="choose a savepoint after the upgrade to table version 8; or, if "
                        f"{data.instant} is a clustering, a savepoint before it",
                        instant=time,
                    )


def metafiles_can_be_made(table: Table, needed: Outcome) -> None:
    """Raises Refused: a partition's metafile is missing, and must have the base file format, which hudictl cannot
    write."""
    if needed.bare and in_base_format(table):
        raise Refused(
            f"partition {needed.bare[0]!r} has no .hoodie_partition_metadata in the base file format",
            hint="write a row into the partition with Hudi: that creates the file",
            partitions=list(needed.bare),
        )


def no_clean_in_the_way(cleans: Mapping[str, int]) -> None:
    """Raises Refused: a pending clean will delete files that the savepoint would name."""
    for time, count in cleans.items():
        raise Refused(
            f"the pending clean {time} will delete {count_of(count, 'file')} required by the savepoint",
            hint=f"start no writer: its clean deletes them; `{command_of('rollback', time)}` removes the clean",
            clean=time,
        )
