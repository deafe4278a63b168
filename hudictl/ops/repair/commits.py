"""The metadata of a completed write that cannot be read, made again from its data files.

Their names say which they are, their footers and block headers how many rows they have and by which schema, and the
metadata table, where it is in use, that there are no others. What a file does not say is left out, and told: also the
files that a clean has deleted since.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NoReturn

from hudictl import repair_workers
from hudictl.engine.base import picked, values
from hudictl.errors import Refused, Unreadable
from hudictl.formats import commit_metadata
from hudictl.formats.avro import MAGIC
from hudictl.formats.file_names import DataFile, data_path, parse_data_file, split_names
from hudictl.formats.instants import COMPACTION, DELTACOMMIT, REPLACECOMMIT, State
from hudictl.ops.session import Session
from hudictl.phrases import command_of, count_of
from hudictl.state.facts import Facts, Signs, read_facts
from hudictl.state.timeline.damaged import Damaged
from hudictl.table.files.choose import is_trace, scan_partition
from hudictl.table.files.slices import StoredFile, file_slices, group_files
from hudictl.table.files.view import committed_without
from hudictl.table.metadata.listing import read_known
from hudictl.table.timeline.active import read_instant
from hudictl.table.timeline.commits import read_requested_replace

_A_TASK = 100


@dataclass(frozen=True)
class MadeAgain:
    """The content of a file, made again; None: the file only goes. ``reasons`` prove it, ``guessed`` is not proven,
    ``lost`` is gone."""

    body: bytes | None
    reasons: tuple[str, ...]
    guessed: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def commit_again(session: Session, signs: Signs, found: Damaged) -> MadeAgain:
    """Makes the metadata of a completed write again. Changes nothing.

    Raises:
        Refused: the files of the write are not known for sure, or nothing says by which schema it wrote.
        Unreadable, Conflict, StorageFailed, EngineFailed.
    """
    table, time = session.table, found.file.time
    session.engine.start()
    known = read_known(table, session.engine)
    if known.unread is not None:
        _refuse(found, f"the metadata table cannot be read ({known.unread}), so nothing says which files are of it")
    facts = read_facts(table, session.engine, signs, session.monitor.note, known=known, damaged_ok=True)
    files = _own_files(facts, found)
    _once_in_each_slice(found, files)
    listed = _compared(facts, found, files)
    contents = _contents(session, files, time)
    like, checkpoint = _another(session, facts, found)
    schema = _schema(found, [entry.schema for entry in contents.values() if entry.schema], like)
    operation, told = _operation(session, found)
    fields: dict[str, object] = {
        "partitionToWriteStats": _stats(facts, files, contents, time),
        "compacted": operation == commit_metadata.COMPACT,
        "extraMetadata": {"schema": schema},
        "operationType": operation,
    }
    if found.file.action == REPLACECOMMIT:
        fields["partitionToReplaceFileIds"] = _replaced(session, found)
    total = sum(file.size or 0 for file in files)
    own = f"{count_of(len(files), 'data file')} of {total:,} bytes are its own by their names, headers and footers"
    guessed = ["how many rows it has inserted, updated and deleted, and which archived files it is based on"]
    guessed += [] if listed else ["no metadata table is in use that names its files, too"]
    guessed += [] if told else [f"what kind of write it was: {operation} is written"]
    lost = (f"its checkpoint: the next run of Hudi Streamer goes on from that of {checkpoint}",) if checkpoint else ()
    body = commit_metadata.encode_as(like, fields)
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
            _refuse(found, f"{file.path} and {bases[file.group]} are of one slice: one of them is not of this write")


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
        _refuse(found, f"the metadata table lists {data_path(partition, name)}, but it is not on storage")
    for partition, name in sorted(own):
        if name not in listed.get(partition, ()):
            _refuse(found, f"the metadata table does not list {data_path(partition, name)}")
    return "the metadata table lists these files, and no other base file of this write"


def _contents(session: Session, files: Sequence[StoredFile], time: str) -> Mapping[str, repair_workers.Written]:
    read = partial(repair_workers.written_by, session.table.storage, time)
    told = [(file.partition, file.data.name, file.size or 0) for file in files if not file.data.cdc]
    parts = [told[at : at + _A_TASK] for at in range(0, len(told), _A_TASK)]
    found = values(session.engine.map("read footers and headers", read, parts), "read footers and headers")
    return {entry.path: entry for entry in chain.from_iterable(found)}


def _another(session: Session, facts: Facts, found: Damaged) -> tuple[bytes, str | None]:
    """The metadata of another completed write, which shows the format; and the write before with a checkpoint."""
    table, time = session.table, found.file.time
    writes = [entry for entry in facts.timeline.completed_writes() if entry.time != time]
    like, checkpoint = None, None
    for entry in sorted(writes, key=lambda entry: (entry.time > time, abs(int(entry.time) - int(time)))):
        file = entry.file(State.COMPLETED)
        if file is None or not facts.timeline.sizes[file.name]:
            continue
        body = read_instant(table, file)
        try:
            record = commit_metadata.read_record(body, file.name)
        except Unreadable:
            continue
        if like is None and body.startswith(MAGIC) == table.rules.has_completion_times:
            like = body
        if checkpoint is None and entry.time < time and commit_metadata.checkpoint_of(record.fields)[0]:
            checkpoint = entry.time
        if like is not None and (checkpoint is not None or entry.time > time):
            break
    if like is None:
        _refuse(found, "no other completed write is on the timeline: nothing shows the format of the file")
    return like, checkpoint


def _schema(found: Damaged, own: Sequence[str], like: bytes) -> str:
    """The schema that the write's own files have, without Hudi's columns; else that of the other write."""
    more = commit_metadata.read_record(like, "another commit").fields.get("extraMetadata") or {}
    other = str(more.get("schema") or "")
    if not own:
        return other
    schemas = {json.dumps(_without_own_columns(text), sort_keys=True): text for text in dict.fromkeys(own)}
    if len(schemas) > 1:
        _refuse(found, "its files have several schemas")
    ((fields, text),) = schemas.items()
    if other and json.dumps(_without_own_columns(other), sort_keys=True) == fields:
        return other
    return json.dumps(json.loads(text) | {"fields": _without_own_columns(text)})


def _without_own_columns(schema: str) -> list[object]:
    return [entry for entry in json.loads(schema)["fields"] if not str(entry["name"]).startswith("_hoodie_")]


def _operation(session: Session, found: Damaged) -> tuple[str, bool]:
    """The kind of write, and whether its other files say so."""
    if any(file.action == COMPACTION for file in found.instant.files):
        return commit_metadata.COMPACT, True
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
                "numDeletes": 0,
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


def _refuse(found: Damaged, why: str) -> NoReturn:
    raise Refused(
        f"{found.problem}; it cannot be made again: {why}",
        hint=f"put {found.file.name} back from a backup, or go back: `{command_of('restore')}` to a commit before it",
        file=found.file.name,
    )
