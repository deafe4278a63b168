"""The metadata of a completed write that cannot be read, made again from its data files.

Their names say which they are, their footers and block headers how many rows they have and by which schema, and the
metadata table, where it is in use, that there are no others. What a file does not say is left out, and told: also the
files that a clean has deleted since.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from hudictl import repair_workers
from hudictl.engine.base import picked, values
from hudictl.errors import Unreadable
from hudictl.formats import commit_metadata
from hudictl.formats.avro import MAGIC
from hudictl.formats.file_names import DataFile, data_path, parse_data_file, split_names
from hudictl.formats.instants import COMPACTION, DELTACOMMIT, LOGCOMPACTION, REPLACECOMMIT, State
from hudictl.ops.repair.extra_metadata import SCHEMA, SERVICES, Extra, Others, extra_again, lost_extra, refuse
from hudictl.ops.session import Session
from hudictl.phrases import count_of
from hudictl.state.facts import Facts, Signs, read_facts
from hudictl.state.timeline.damaged import Damaged
from hudictl.table.files.choose import is_trace, scan_partition
from hudictl.table.files.slices import StoredFile, file_slices, group_files
from hudictl.table.files.view import committed_without
from hudictl.table.metadata.listing import read_known
from hudictl.table.timeline.active import read_instant
from hudictl.table.timeline.commits import read_requested_replace

_A_TASK = 100
_OPERATIONS = {COMPACTION: commit_metadata.COMPACT, LOGCOMPACTION: commit_metadata.LOG_COMPACT}


@dataclass(frozen=True)
class MadeAgain:
    """The content of a file, made again; None: the file only goes. ``reasons`` prove it, ``guessed`` is not proven,
    ``lost`` is gone."""

    body: bytes | None
    reasons: tuple[str, ...]
    guessed: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def commit_again(session: Session, signs: Signs, found: Damaged) -> MadeAgain:
    """Makes the metadata of a completed write again. Changes nothing. Raises Refused: the files of the write are not
    known for sure, or nothing says by which schema it wrote; Unreadable, Conflict, StorageFailed, EngineFailed."""
    table, time = session.table, found.file.time
    session.engine.start()
    known = read_known(table, session.engine)
    if known.unread is not None:
        refuse(found, f"the metadata table cannot be read ({known.unread}), so nothing says which files are of it")
    facts = read_facts(table, session.engine, signs, session.monitor.note, known=known, damaged_ok=True)
    files = _own_files(facts, found)
    _once_in_each_slice(found, files)
    listed = _compared(facts, found, files)
    contents = _contents(session, files, time)
    others = _another(session, facts, found)
    operation, told = _operation(session, found)
    extra, guesses = extra_again(table, found, contents.values(), others, operation)
    fields: dict[str, object] = {
        "partitionToWriteStats": _stats(facts, files, contents, time),
        "compacted": operation in (commit_metadata.COMPACT, commit_metadata.LOG_COMPACT),
        "extraMetadata": extra,
        "operationType": operation,
    }
    if found.file.action == REPLACECOMMIT:
        fields["partitionToReplaceFileIds"] = _replaced(session, found)
    total = sum(file.size or 0 for file in files)
    own = f"{count_of(len(files), 'data file')} of {total:,} bytes are its own by their names, headers and footers"
    guessed = ["how many rows it has inserted, updated and deleted, and which archived files it is based on", *guesses]
    guessed += [] if listed else ["no metadata table is in use that names its files, too"]
    guessed += [] if told else [f"what kind of write it was: {operation} is written"]
    lost, checkpoint = lost_extra(others), others.checkpoint
    if checkpoint:
        lost = (f"its checkpoint: the next run of Hudi Streamer goes on from that of {checkpoint}", *lost)
    body = commit_metadata.encode_as(others.like, fields)
    return MadeAgain(body, (own, *([listed] if listed else [])), tuple(guessed), lost)


def _own_files(facts: Facts, found: Damaged) -> list[StoredFile]:
    """The files that the write has made. Blocks tell which logs are its own: below table version 8, after an upgrade,
    and in the buckets of a resize, their names do not."""
    time = found.file.time
    scan = partial(scan_partition, facts.table.storage, frozenset(), frozenset({time}))
    scanned = facts.sweep.over("read log headers", scan) if found.file.action == DELTACOMMIT else []
    logs = {(partition, name) for partition, pairs in scanned for _, name in pairs}
    traces = facts.sweep.select("look for files", partial(is_trace, {time}, logs))
    return [file for file in traces if _is_told_by_name(file.data) or (file.partition, file.data.name) in logs]


def _is_told_by_name(data: DataFile) -> bool:
    """Whether the instant in the name of a file is that of its writer."""
    return data.is_base or data.cdc


def _once_in_each_slice(found: Damaged, files: Sequence[StoredFile]) -> None:
    bases: dict[tuple[str, str], str] = {}
    for file in files:
        if file.data.is_base and bases.setdefault(file.group, file.path) != file.path:
            refuse(found, f"{file.path} and {bases[file.group]} are of one slice: one of them is not of this write")


def _compared(facts: Facts, found: Damaged, files: Sequence[StoredFile]) -> str:
    """What the metadata table says to it; "" where none is in use."""
    if facts.known.listing is None:
        return ""
    listed = facts.known.names_in(facts.known.partitions)
    expected = set()
    for partition, names in listed.items():
        for name in names:
            data = parse_data_file(name)
            if data is not None and data.instant == found.file.time and _is_told_by_name(data):
                expected.add((partition, name))
    own = {(file.partition, file.data.name) for file in files}
    for partition, name in sorted(expected - own):
        refuse(found, f"the metadata table lists {data_path(partition, name)}, but it is not on storage")
    for partition, name in sorted(own):
        if name not in listed.get(partition, ()):
            refuse(found, f"the metadata table does not list {data_path(partition, name)}")
    return "the metadata table lists these files, and no other base file of this write"


def _contents(session: Session, files: Sequence[StoredFile], time: str) -> Mapping[str, repair_workers.Written]:
    read = partial(repair_workers.written_by, session.table.storage, time)
    told = [(file.partition, file.data.name, file.size or 0) for file in files if not file.data.cdc]
    parts = [told[at : at + _A_TASK] for at in range(0, len(told), _A_TASK)]
    found = values(session.engine.map("read footers and headers", read, parts), "read footers and headers")
    return {entry.path: entry for entry in chain.from_iterable(found)}


def _another(session: Session, facts: Facts, found: Damaged) -> Others:
    table, time = session.table, found.file.time
    writes = [entry for entry in facts.timeline.completed_writes() if entry.time != time]
    like, checkpoint = None, None
    beside: dict[bool, Extra] = {}
    for entry in sorted(writes, key=lambda entry: (entry.time > time, abs(int(entry.time) - int(time)))):
        file, later = entry.file(State.COMPLETED), entry.time > time
        if like is not None and later in beside and (later or checkpoint is not None):
            continue
        if file is None or not facts.timeline.sizes[file.name]:
            continue
        body = read_instant(table, file)
        try:
            fields = commit_metadata.read_record(body, file.name).fields
        except Unreadable:
            continue
        if like is None and body.startswith(MAGIC) == table.rules.has_completion_times:
            like = body
        if checkpoint is None and not later and commit_metadata.checkpoint_of(fields)[0]:
            checkpoint = entry.time
        extra = fields.get("extraMetadata") or {}
        if later not in beside and extra.get(SCHEMA) and fields.get("operationType") not in SERVICES:
            beside[later] = extra
    if like is None:
        refuse(found, "no other completed write is on the timeline: nothing shows the format of the file")
    return Others(like, beside.get(False), beside.get(True), checkpoint)


def _operation(session: Session, found: Damaged) -> tuple[str, bool]:
    """The kind of write, and whether its other files say so."""
    for file in found.instant.files:
        if file.action in _OPERATIONS:
            return _OPERATIONS[file.action], True
    if found.file.action == REPLACECOMMIT:
        return "CLUSTER", True
    inflight = found.instant.file(State.INFLIGHT)
    if inflight is not None:
        try:
            said = commit_metadata.decode(read_instant(session.table, inflight), inflight.name).operation
        except Unreadable:
            said = "UNKNOWN"
        if said != "UNKNOWN":
            return said, True
    return "UPSERT", False


def _replaced(session: Session, found: Damaged) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for partition, file_id in sorted(read_requested_replace(session.table, found.instant).groups):
        groups[partition].append(file_id)
    return dict(groups)


def _stats(
    facts: Facts, files: Sequence[StoredFile], contents: Mapping[str, repair_workers.Written], time: str
) -> dict[str, list[dict[str, object]]]:
    """The write statistics, as Hudi writes them, with what is known."""
    found: dict[str, list[dict[str, object]]] = defaultdict(list)
    changes: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for file in files:
        if file.data.cdc:
            changes[file.group][file.path] = file.size or 0
    previous = _previous(facts, files, time)
    for file in files:
        if not file.data.cdc:
            stat: dict[str, object] = {
                "fileId": file.data.file_id,
                "path": file.path,
                "cdcStats": changes.get(file.group),
                "prevCommit": previous.get(file.path, "null"),
                "numWrites": contents[file.path].rows,
                "numDeletes": contents[file.path].deletes,
                "numUpdateWrites": 0,
                "numInserts": 0,
                "totalWriteBytes": file.size,
                "totalWriteErrors": 0,
                "partitionPath": file.partition,
                "fileSizeInBytes": file.size,
            }
            if not file.data.is_base:
                stat |= {
                    "logVersion": file.data.version,
                    "logOffset": 0,
                    "baseFile": "",
                    "logFiles": [file.data.name],
                }
            found[file.partition].append(stat)
    return dict(found)


def _previous(facts: Facts, files: Sequence[StoredFile], time: str) -> dict[str, str]:
    """The instants on whose slices the files are based, by path; none where the write began a file group."""
    groups = {file.group for file in files}
    committed = committed_without(facts.timeline, {time})
    members = group_files(facts.sweep.of_groups(groups))
    # A clean has deleted old base files; the commits still name them.
    bases = {group: {file.data.instant for file in of if file.data.is_base} for group, of in members.items()}
    for partition, entries in picked(facts.written.files, {partition for partition, _ in groups}).items():
        for name in chain.from_iterable(split_names(entry.names) for entry in entries):
            data = parse_data_file(name)
            if data is not None and data.is_base and (partition, data.file_id) in groups:
                bases[partition, data.file_id].add(data.instant)
    found = {}
    for file in files:
        earlier = {instant for instant in bases[file.group] if instant < time and instant in committed}
        slices = file_slices(facts.table.rules, members[file.group], committed, None)
        earlier |= {entry.key for entry in slices if entry.key < time}
        if not file.data.is_base:
            found[file.path] = file.data.instant
        elif earlier:
            found[file.path] = max(earlier)
    return found
