"""An independent model of a Hudi snapshot reader: what it sees in a table's directory, by listing, metadata table off.

The judge of the crash tests, so nothing of the product is used here. Every rule is Hudi's own: 0.15.0 for table
version 6, 1.0.2 for 8 and 1.2.0 for 9. Rows are the (id, ts, val) of the test tables.
"""

import hashlib
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq

from tests.crash.reader_logs import FileKey, Row, Scan, Unreadable, base_records, log_blocks, merged

__all__ = ["Snapshot", "Unreadable", "as_of", "files", "instants", "missing", "snapshot"]

Group = tuple[str, str]
STATES = ("REQUESTED", "INFLIGHT", "COMPLETED")
COMPLETED = 2
COMPARABLE = {"compaction": "commit", "logcompaction": "deltacommit", "clustering": "replacecommit"}
ACTIONS = ("commit", "deltacommit", "replacecommit", "clean", "rollback", "restore", "savepoint", "indexing")
EXTENSIONS = {
    **{f"{action}.requested": (action, 0) for action in (*ACTIONS, *COMPARABLE) if action != "savepoint"},
    **{f"{action}.inflight": (action, 1) for action in (*ACTIONS, *COMPARABLE) if action != "commit"},
    **{action: (action, COMPLETED) for action in ACTIONS},
    "inflight": ("commit", 1),
}
INSTANT_NAME = re.compile(r"^(\d+)(?:_(\d+))?\.(.+)$")
LOG_NAME = re.compile(r"^\.([^._]+)_([^.]*)\.log\.(\d+)(?:_(\d+-\d+-\d+)(\.cdc)?)?$")
METAFILE = ".hoodie_partition_metadata"
EVENT_TIME = {  # by merge mode, and before there were modes by payload class
    "EVENT_TIME_ORDERING": True,
    "COMMIT_TIME_ORDERING": False,
    "DefaultHoodieRecordPayload": True,
    "OverwriteWithLatestAvroPayload": False,
}


@dataclass(frozen=True)
class Snapshot:
    """The rows a reader sees, in all and per (partition, file id): a digest of each visible file group's rows."""

    rows: tuple[Row, ...]
    digest: str
    count: int
    groups: dict[Group, str]


@dataclass(frozen=True)
class _Instant:
    time: str
    action: str
    state: int
    done: str  # completion time of layout 2, else empty
    name: str


@dataclass(frozen=True)
class _Table:
    base: str
    version: int
    layout: int
    folder: str
    history: str
    merge_on_read: bool
    partitioned: bool
    ordering: tuple[str, ...]
    event_time: bool


@dataclass(frozen=True)
class _View:
    """What the timeline says about files: Hudi's file-system view without the files."""

    visible: frozenset[str]  # completed write instants and compactions in any state
    first: str
    last: str
    latest: str  # the latest completed write instant
    committed: frozenset[str]
    first_committed: str
    inflight: frozenset[str]
    completions: dict[str, str]
    unarchived: str  # first write instant in any state: what lies before counts as archived, so as completed
    compactions: dict[Group, str]
    replaced: dict[Group, str]


@dataclass(frozen=True)
class _File:
    """A data file; ``path`` is relative and ``key`` None when only commit metadata names it."""

    path: str
    group: Group
    instant: str
    order: tuple[str, int, str, str] | None  # None for a base file
    key: FileKey | None


@dataclass
class _Slice:
    base: _File | None = None
    logs: list[_File] = field(default_factory=list)


def snapshot(base: Path) -> Snapshot:
    """What a snapshot query sees now."""
    table = _table(base)
    return _read(table, _view(table), None)


def as_of(base: Path, instant: str) -> Snapshot:
    """What a time travel query to a requested instant sees now."""
    table = _table(base)
    return _read(table, _view(table), instant)


def missing(base: Path) -> set[str]:
    """Paths that completed commits name, that belong to the visible file slices and that listing does not find."""
    table = _table(base)
    view = _view(table)
    stored = {file.path: file for file in _data_files(table)}
    for instant in _timeline(table):
        if instant.state == COMPLETED and instant.action in ("commit", "deltacommit", "replacecommit"):
            for path in _stat_paths(_metadata(table, instant)):
                file = _data_file(*os.path.split(path), key=None)
                if file and path not in stored:
                    stored[path] = file
    slices = _visible_slices(table, view, stored.values(), None).values()
    members = [file for piece in slices for file in (*([piece.base] if piece.base else []), *piece.logs)]
    return {file.path for file in members if file.key is None}


def files(base: Path) -> set[str]:
    """All files of the table outside ``.hoodie``, relative, without checksum sidecars and partition metafiles."""
    found = set()
    for folder, folders, names in os.walk(base):
        if folder == str(base):
            folders[:] = [name for name in folders if name != ".hoodie"]
        for name in names:
            if not name.startswith(METAFILE) and not (name.startswith(".") and name.endswith(".crc")):
                found.add(os.path.relpath(os.path.join(folder, name), base))
    return found


def instants(base: Path) -> list[tuple[str, str, str]]:
    """(time, action, state) of the active timeline, the highest state of each, sorted."""
    return [(instant.time, instant.action, STATES[instant.state]) for instant in _timeline(_table(base))]


def _table(base: Path) -> _Table:
    props = _properties(base)
    layout = int(props.get("hoodie.timeline.layout.version", "1"))
    version = int(props["hoodie.table.version"])
    folder = os.path.join(base, ".hoodie")
    if layout == 2:
        folder = os.path.join(folder, props.get("hoodie.timeline.path") or "timeline")
    fields = props.get("hoodie.table.ordering.fields") or props.get("hoodie.table.precombine.field") or ""
    payload = props.get("hoodie.compaction.payload.class", "OverwriteWithLatestAvroPayload").rpartition(".")[2]
    mode = props.get("hoodie.record.merge.mode") or payload
    if mode not in EVENT_TIME:
        raise Unreadable(f"merge mode or payload class {mode}")
    return _Table(
        base=str(base),
        version=version,
        layout=layout,
        folder=folder,
        history=os.path.join(folder, props.get("hoodie.timeline.history.path") or "history"),
        merge_on_read=props.get("hoodie.table.type") == "MERGE_ON_READ",
        partitioned=bool(props.get("hoodie.table.partition.fields")),
        ordering=tuple(name for name in fields.split(",") if name),
        event_time=EVENT_TIME[mode],
    )


def _properties(base: Path) -> dict[str, str]:
    for name in ("hoodie.properties", "hoodie.properties.backup"):
        try:
            with open(os.path.join(base, ".hoodie", name), encoding="latin-1") as file:
                lines = [line.strip() for line in file]
        except FileNotFoundError:
            continue
        pairs = (line.partition("=") for line in lines if line and line[0] not in "#!")
        props = {key: re.sub(r"\\(.)", r"\1", value) for key, _, value in pairs}
        names = f"{props.get('hoodie.database.name', '')}.{props.get('hoodie.table.name', '')}"
        if props.get("hoodie.table.checksum", "") in ("", str(zlib.crc32(names.encode()))) and names != ".":
            return props
    raise Unreadable(f"{base}: not a table, or its properties are torn")


def _timeline(table: _Table) -> list[_Instant]:
    best: dict[tuple[str, str], _Instant] = {}
    for name in sorted(os.listdir(table.folder)):
        match = INSTANT_NAME.match(name)
        if not match or match[3] not in EXTENSIONS or (table.layout == 1 and match[2]):
            continue
        action, state = EXTENSIONS[match[3]]
        if table.layout == 1 and action == "clustering":
            continue
        slot = (match[1], COMPARABLE.get(action, action))
        if slot not in best or best[slot].state < state:
            best[slot] = _Instant(match[1], action, state, match[2] or "", name)
    return sorted(best.values(), key=lambda instant: (instant.time, COMPARABLE.get(instant.action, instant.action)))


def _view(table: _Table) -> _View:
    timeline = _timeline(table)
    commits = {"commit", "replacecommit"} | ({"clustering"} if table.layout == 2 else set())
    if table.merge_on_read:
        commits |= {"deltacommit"}
    writes = commits | ({"compaction", "logcompaction"} if table.merge_on_read else set())
    written = [instant for instant in timeline if instant.action in writes]
    visible = [instant.time for instant in written if instant.state == COMPLETED or instant.action == "compaction"]
    done = [instant.time for instant in written if instant.state == COMPLETED]
    _check_schema(table, written)
    replaced: dict[Group, str] = {}
    for instant in written:
        if instant.state == COMPLETED and instant.action == "replacecommit":
            for partition, ids in (_metadata(table, instant).get("partitionToReplaceFileIds") or {}).items():
                replaced.update({(partition, file_id): instant.time for file_id in ids})
    return _View(
        visible=frozenset(visible),
        first=min(visible, default=""),
        last=max(visible, default=""),
        latest=max(done, default=""),
        committed=frozenset(done),
        first_committed=min(done, default=""),
        inflight=frozenset(instant.time for instant in written if instant.state == 1 and instant.action in commits),
        completions=_completions(table, timeline) if table.version >= 8 else {},
        unarchived=min((instant.time for instant in written), default=""),
        compactions=_compactions(table, timeline),
        replaced=replaced,
    )


def _check_schema(table: _Table, written: list[_Instant]) -> None:
    """A reader takes its columns from the newest completed commit that holds a schema: torn or empty ones fail it."""
    commits = [instant for instant in reversed(written) if instant.state == COMPLETED]
    if commits and not any((_metadata(table, commit).get("extraMetadata") or {}).get("schema") for commit in commits):
        raise Unreadable("no completed commit with a schema")


def _completions(table: _Table, timeline: list[_Instant]) -> dict[str, str]:
    """Completion times by requested time: of any action, so a savepoint speaks for its commit, and archived too."""
    times: dict[str, str] = {}
    if os.path.isdir(table.history):
        for entry in os.scandir(table.history):
            if entry.name.endswith(".parquet") and not entry.name.startswith("."):
                times.update(_cached(entry, _archived))
    for instant in reversed(timeline):  # so that the commit's own time is the one that stays, not its savepoint's
        if instant.state == COMPLETED:
            times[instant.time] = instant.done or instant.time
    return times


def _compactions(table: _Table, timeline: list[_Instant]) -> dict[Group, str]:
    """The pending compaction of each file group; Hudi reads no table with two different ones of a group."""
    found: dict[Group, tuple[str, Any]] = {}
    for instant in timeline:
        if instant.action != "compaction":
            continue
        path = os.path.join(table.folder, f"{instant.time}.compaction.requested")
        try:
            plan = _cached(path, _avro)
        except FileNotFoundError:
            plan = {}
        if not plan:
            raise Unreadable(f"pending compaction {instant.time} without a plan")
        for operation in plan.get("operations") or []:
            group = (operation["partitionPath"], operation["fileId"])
            if group in found and found[group][1] != operation:
                raise Unreadable(f"{group} has two pending compactions")
            found[group] = (instant.time, operation)
    return {group: time for group, (time, _) in found.items()}


def _data_files(table: _Table) -> list[_File]:
    """The data files of all partitions: of the folders with a metafile, nothing below those is looked at."""
    found: list[_File] = []
    todo = [""]
    while todo:
        partition = todo.pop()
        try:
            entries = list(os.scandir(os.path.join(table.base, partition)))
        except FileNotFoundError:
            continue
        if table.partitioned and not any(entry.name.startswith(METAFILE) for entry in entries):
            below = [entry.name for entry in entries if entry.is_dir() and entry.name != ".hoodie"]
            todo += [f"{partition}/{name}" if partition else name for name in below]
            continue
        for entry in entries:
            file = _data_file(partition, entry.name, None)
            if file:
                found.append(_File(file.path, file.group, file.instant, file.order, _key(entry)))
    return found


def _data_file(partition: str, name: str, key: FileKey | None) -> _File | None:
    path = f"{partition}/{name}" if partition else name
    match = LOG_NAME.match(name)
    if match:
        order = (match[2], int(match[3]), match[4] or "", match[5] or "")
        return _File(path, (partition, match[1]), match[2], order, key)
    if name.startswith(".") or ".parquet" not in name or name.count("_") < 2:
        return None
    file_id, _, rest = name.split("_", 2)
    return _File(path, (partition, file_id), rest.partition(".")[0], None, key)


def _visible_slices(table: _Table, view: _View, found: Iterable[_File], instant: str | None) -> dict[Group, _Slice]:
    groups: dict[Group, list[_File]] = {}
    for file in found:
        groups.setdefault(file.group, []).append(file)
    limit = instant or view.last
    slices = {}
    for group, members in groups.items():
        # at the replacing instant itself the group is gone already
        if not (group in view.replaced and view.replaced[group] <= limit):
            piece = _latest_slice(view, group, _slices(table, view, group, members), limit, table.version)
            if piece:
                slices[group] = piece
    return slices


def _slices(table: _Table, view: _View, group: Group, members: list[_File]) -> dict[str, _Slice]:
    """The file slices of a group by their base instant, visible or not."""
    slices: dict[str, _Slice] = {}
    for file in members:
        if file.order is None:
            slices.setdefault(file.instant, _Slice()).base = file
    if group in view.compactions:
        slices.setdefault(view.compactions[group], _Slice())
    for log in sorted((file for file in members if file.order), key=lambda file: file.order or ()):
        key = log.instant
        if table.version >= 8 and slices:
            newest = max(slices)
            done = view.completions.get(log.instant)
            if done and len(done) != len(newest):
                done = log.instant
            key = max((key for key in slices if key <= done), default=log.instant) if done else newest
        slices.setdefault(key, _Slice()).logs.append(log)
    return slices


def _latest_slice(view: _View, group: Group, slices: dict[str, _Slice], limit: str, version: int) -> _Slice | None:
    shown = (key for key in slices if key <= view.last and (key in view.visible or key < view.first))
    keys = sorted(shown, reverse=True)
    latest = next((key for key in keys if key <= limit), None)
    if latest is None:
        return None
    piece = slices[latest]
    if version >= 8:
        piece = _Slice(piece.base, [log for log in piece.logs if _completed(view, log.instant)])
    previous = next((key for key in keys if key < latest), None)
    if view.compactions.get(group) == latest and previous is not None:
        # a compaction not completed yet: its own base file is nobody's, the slice before and the logs since are one
        return _Slice(slices[previous].base, [*slices[previous].logs, *piece.logs])
    return piece


def _completed(view: _View, instant: str) -> bool:
    return instant in view.completions or instant < view.unarchived


def _read(table: _Table, view: _View, instant: str | None) -> Snapshot:
    scan = Scan(instant or view.latest, _block_rule(table, view), table.event_time, table.version < 8)
    rows: list[Row] = []
    groups = {}
    for group, piece in _visible_slices(table, view, _data_files(table), instant).items():
        records = _decode(table, piece.base, base_records) if piece.base else ()
        logs = sorted((log for log in piece.logs if log.order and not log.order[3]), key=lambda log: log.order or ())
        blocks = [block for log in logs for block in _decode(table, log, log_blocks)]
        seen = sorted(merged(records, blocks, scan))
        rows += seen
        groups[group] = _digest(seen)
    rows.sort()
    return Snapshot(tuple(rows), _digest(rows), len(rows), groups)


def _decode(table: _Table, file: _File, decode: Callable[..., tuple[Any, ...]]) -> tuple[Any, ...]:
    if file.order is None and file.key and not file.key[1] and not table.merge_on_read and table.version != 8:
        return ()  # 0.15.0 and 1.2.0 skip an empty base file of copy on write in silence; every other reading fails
    return decode(os.path.join(table.base, file.path), file.key, table.ordering)


def _block_rule(table: _Table, view: _View) -> Callable[[str], bool]:
    """Which instants' log blocks count. For version 9 the view has dropped uncommitted log files already."""
    if table.version >= 9:
        return lambda _: True
    return lambda time: (time in view.committed or time < view.first_committed) and time not in view.inflight


def _digest(rows: list[Row]) -> str:
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def _metadata(table: _Table, instant: _Instant) -> dict[str, Any]:
    """A completed commit's metadata; an empty file is an empty commit."""
    return _cached(os.path.join(table.folder, instant.name), _commit)


def _stat_paths(metadata: dict[str, Any]) -> list[str]:
    stats = (metadata.get("partitionToWriteStats") or {}).values()
    return [stat["path"] for group in stats for stat in group or [] if stat.get("path")]


def _commit(path: str) -> dict[str, Any]:
    data = Path(path).read_bytes()
    try:
        return _avro(path) if data.startswith(b"Obj\x01") else json.loads(data or b"{}")
    except ValueError as error:
        raise Unreadable(f"{path}: {error}") from error


def _avro(path: str) -> dict[str, Any]:
    data = Path(path).read_bytes()
    try:
        record: Any = next(iter(fastavro.reader(io.BytesIO(data))))
        return dict(record)
    except Exception as error:  # whatever a torn file makes of the decoder
        raise Unreadable(f"{path}: {error}") from error


def _archived(path: str) -> dict[str, str]:
    table = pq.read_table(path, columns=["instantTime", "completionTime"])
    return {row["instantTime"]: row["completionTime"] or row["instantTime"] for row in table.to_pylist()}


_contents: dict[FileKey, Any] = {}


def _cached(file: "os.DirEntry[str] | str", decode: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    key = _key(file)
    if key not in _contents:
        _contents[key] = decode(os.fspath(file))
    found: dict[str, Any] = _contents[key]
    return found


def _key(file: "os.DirEntry[str] | str") -> FileKey:
    status = os.stat(file) if isinstance(file, str) else file.stat()
    return (os.path.basename(os.fspath(file)), status.st_size, status.st_mtime_ns)
