"""``file explain``: what one data file is, why it is there, and whether it may be deleted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, takewhile
from typing import Any, NamedTuple

from hudictl.engine.base import Engine
from hudictl.errors import Refused, UsageError
from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.formats.instants import COMMIT_ACTIONS, REPLACECOMMIT, WRITE_ACTIONS, utc_text_of_ms
from hudictl.reports.file_history import DELETED, WRITTEN, Wanted, file_history
from hudictl.reports.logs.slices import slice_rows
from hudictl.reports.records import the_one
from hudictl.reports.timeline import ARCHIVED, TimelineFilter
from hudictl.state.facts import Facts, read_facts, read_signs
from hudictl.state.files.protected import slice_of
from hudictl.state.files.savepoint_files import needed_names, ways_back
from hudictl.state.files.savepoints import find_saved
from hudictl.state.orphans.find import find_orphans
from hudictl.state.timeline.clean_plans import files_to_clean, pending_cleans
from hudictl.state.timeline.service_plans import planned_files
from hudictl.table.files.choose import is_of_group
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.written import writers_of
from hudictl.table.metadata.listing import read_known
from hudictl.table.table import Table

CLEAN, ORPHANS = "a clean, when its policy allows it", "`hudictl orphans delete`"
_THEN = "; time travel and a restore to a commit of then need it"


@dataclass(frozen=True)
class FileExplained:
    """A data file. ``kind`` is base file, log or change log.

    ``instant`` is that of its write, by its name; of logs below table version 8 that of their file slice. ``action``,
    ``state`` and ``timeline`` are the instant's; None if it is on no timeline. ``written_by`` is the newest completed
    write of the active timeline that names it. ``fate`` is read, saved, planned, pending, replaced, older, orphan or
    unread; of a file that is not there deleted, missing or unknown. ``deletable``: nothing is known that needs it, nor
    time travel or a restore to a commit of then. ``deleted_by``: the command or table service that deletes it.
    """

    path: str
    kind: str
    file_id: str
    instant: str
    write_token: str
    log_version: int | None
    bytes: int | None
    modified_utc: str | None
    action: str | None
    state: str | None
    timeline: str | None
    written_by: str | None
    fate: str
    why: str
    deletable: bool
    deleted_by: str | None


class _Fate(NamedTuple):
    fate: str
    why: str
    deleted_by: str | None = None


def explain_file(table: Table, engine: Engine, wanted: Wanted) -> FileExplained:
    """Looks for a file, and for all that may need it. Raises UsageError: it has not the name of a data file; Refused:
    several partitions have it, or none; Unreadable: a record that may name it; StorageFailed, EngineFailed."""
    data = parse_data_file(wanted.name or "")
    if data is None:
        hint = "`hudictl file history` takes a file id; `hudictl check` lists files that Hudi did not write"
        raise UsageError(f"{wanted.file_id} is not the name of a data file of Hudi", hint=hint)
    within = None if wanted.partition is None else (wanted.partition,)
    facts = read_facts(table, engine, read_signs(table), known=read_known(table, engine), choose=lambda _: within)
    group = facts.sweep.select("look for the file", partial(is_of_group, data.file_id), {data.file_id})
    found = [file for file in group if file.data.name == data.name]
    if len(found) > 1:
        raise Refused(f"{len(found)} partitions have {data.name}", hint="name one of them with --partition")
    path = data_path(wanted.partition or "", data.name)
    if not found and wanted.partition is not None and table.storage.stat(path) is not None:
        raise Refused(f"{path} is in no partition of the table: nothing proves that it is not needed", file=path)
    owner = the_one(table, data.instant, TimelineFilter(actions=WRITE_ACTIONS))
    file = found[0] if found else StoredFile(wanted.partition or "", data, None)
    owned = owner is not None and (owner.timeline != ARCHIVED or owner.state == "COMPLETED")
    fates = _fates(facts, engine, file, group) if found else _of_absent(table, wanted)
    fate = next(chain(() if owned or not found else _of_orphan(facts, engine, file), fates))
    if file.partition in facts.sweep.linked:
        fate = fate._replace(why=f"{fate.why}; its folder is behind a symbolic link", deleted_by=None)
    its_instant: dict[str, Any] = {name: getattr(owner, name, None) for name in ("action", "state", "timeline")}
    return FileExplained(
        path=file.path,
        kind="change log" if data.cdc else "base file" if data.is_base else "log",
        file_id=data.file_id,
        instant=data.instant,
        write_token=data.write_token,
        log_version=None if data.is_base else data.version,
        bytes=file.size,
        modified_utc=utc_text_of_ms(file.modified_ms) if found else None,
        **its_instant,
        written_by=writers_of(facts.written.files, {file.partition: [data.name]}).get(file.path),
        **fate._asdict(),
        # What a completed write has written is missed by time travel and restores, and in the metadata table's listing.
        deletable=fate.deleted_by is not None and fate.fate not in ("older", "replaced", "planned"),
    )


def _of_orphan(facts: Facts, engine: Engine, file: StoredFile) -> Iterator[_Fate]:
    for orphan in find_orphans(facts, engine):
        if orphan.file.path == file.path:
            yield _Fate("orphan", orphan.why, ORPHANS if orphan.sure else None)


def _fates(facts: Facts, engine: Engine, file: StoredFile, group: Sequence[StoredFile]) -> Iterator[_Fate]:
    """The first is the file's: what needs it comes before what deletes it."""
    table, timeline, name = facts.table, facts.timeline, file.data.name
    rows = slice_rows(table, [other for other in group if other.partition == file.partition], timeline, None)
    slices = [{row.base_file, *(log.name for log in row.logs)} for row in rows]
    # Queries read a slice without base file with those before it: its compaction is pending, or its logs are misnamed.
    without_base = [*takewhile(lambda row: row.base_file is None, rows)]
    if any(name in names for names in slices[: len(without_base) + 1]):
        yield _Fate("read", "it is in the newest file slice of its file group, which queries read")
    yield from _saved(facts, engine, file)
    service = planned_files(table, timeline, ()).get(file.partition, {}).get(name)
    if service:
        yield _Fate("planned", f"the pending table service {service} reads it")
    yield from _deletions(facts, file)
    if any(name in names for names in slices):
        yield _Fate("older", f"its file group has a newer file slice, which queries read{_THEN}", CLEAN)
    yield _Fate("unread", "no file slice has it, and nothing proves that it is not needed")


def _deletions(facts: Facts, file: StoredFile) -> Iterator[_Fate]:
    table, timeline, data, partition = facts.table, facts.timeline, file.data, file.partition
    if any(entry.time == data.instant and entry.pending for entry in timeline.writes()):
        yield _of_pending(facts, file)
    for clean, names in files_to_clean(table, timeline, pending_cleans(timeline)).get(partition, {}).items():
        if names is None or data.name in names:
            yield _Fate("planned", f"the pending clean {clean} deletes it", f"the next clean, by the plan of {clean}")
    for instant in timeline.having(REPLACECOMMIT):
        if instant.completed and data.file_id in facts.commits[instant.time].replaced.get(partition, ()):
            yield _Fate("replaced", f"{instant.time} replaced its file group: queries do not read it{_THEN}", CLEAN)


def _of_pending(facts: Facts, file: StoredFile) -> _Fate:
    from hudictl.state.writers.activity import DEFAULT_IDLE_MS
    from hudictl.state.writers.failed_writes import pending_writes

    # Of a resize of buckets that is pending, other writes put rows into the new ones.
    by = writers_of(facts.written.files, {file.partition: [file.data.name]}).get(file.path)
    for write in pending_writes(facts.table, DEFAULT_IDLE_MS, None) if by is None else ():
        if write.instant == file.data.instant:
            ways = " or ".join(f"`{way.command}`" for way in write.remedy)
            return _Fate("pending", f"{write.name}, {write.verdict}: {write.reason}", ways or None)
    return _Fate("pending", f"the completed write {by} names it" if by else "its instant is pending")


def _saved(facts: Facts, engine: Engine, file: StoredFile) -> Iterator[_Fate]:
    timeline, path, rules = facts.timeline, file.partition, facts.table.rules
    for instant in timeline.savepoints():
        saved = find_saved(facts.table, timeline, engine, instant.time).files
        names = set(saved.names_in([path]).get(path, ()))
        target = timeline.find(instant.time, *COMMIT_ACTIONS)
        for way in ways_back(facts, target, saved) if target is not None else ():
            names.update(needed_names(facts, way.case).get(path, ()))
        if slice_of(rules, file.data.name) in [slice_of(rules, name) for name in names]:
            yield _Fate("saved", f"the savepoint {instant.time} protects it, or cannot be restored without it")


def _of_absent(table: Table, wanted: Wanted) -> Iterator[_Fate]:
    rows = list(file_history(table, wanted, TimelineFilter(archived=True, descending=True), []))
    for row in rows:
        if row.event == DELETED:
            yield _Fate("deleted", f"the {row.action} {row.time} deleted it")
        if row.event == WRITTEN:
            yield _Fate("missing", f"the {row.action} {row.time} has written it, and no later record has deleted it")
    yield _Fate("unknown", next((row.problem for row in rows if row.problem), "no record names it"))
