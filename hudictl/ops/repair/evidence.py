"""What timeline, files and rows of a table say of its properties."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats.base_rows import RECORD_KEY, read_rows
from hudictl.formats.commit_metadata import read_record
from hudictl.formats.instants import DELTACOMMIT, INDEXING, State
from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import LAYOUT, META
from hudictl.formats.log_contents import Row
from hudictl.formats.properties import NAME
from hudictl.phrases import count_of
from hudictl.state.facts import Facts
from hudictl.state.files.kinds import Kinds, kinds_of
from hudictl.state.metadata.indexes import partition_instants
from hudictl.state.services.stalled import partitions_in_the_making
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.table import COPY_ON_WRITE, MERGE_ON_READ, TYPE, Table
from hudictl.table.timeline.active import Timeline, load_timeline, read_instant

FIELDS, KEYS, FORMAT = "hoodie.table.partition.fields", "hoodie.table.recordkey.fields", "hoodie.table.base.file.format"
LISTED = "hoodie.table.metadata.partitions"
_HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"
_META_FIELDS = "hoodie.populate.meta.fields"
_DEFINITIONS = f"{META}/.index_defs/index.json"
_SAMPLES, _ROWS, _WRITES = 8, 200, 5
_PAIR = re.compile(r"([^:,]+):([^,]*)(?:,|\Z)")
_GENERATED = re.compile(r"\d{17}_\d+_\d+(?:_\d+)?")
"""A key that Hudi makes for a record without one."""

Schema = dict[str, object]
Vote = tuple[str, str, str]
"""A property, its value, and what says so."""


class Sample(NamedTuple):
    """The first rows of a base file."""

    partition: str
    rows: Sequence[Row]

    def has(self, column: str, value: str) -> bool:
        """Whether each row has the value in the column."""
        return all(_text(row.get(column)) == value for row in self.rows)


def votes_of(facts: Facts) -> Iterator[Vote]:
    """All that the table says of its properties; two that say the same are a proof. Raises Conflict, StorageFailed,
    EngineFailed."""
    table, timeline = facts.table, facts.timeline
    seen = sorted(facts.sweep.over("look at files", kinds_of), key=lambda entry: entry.path)
    samples = [*_samples(table, seen)]
    yield from _of_layout(table)
    yield from _of_type(timeline, seen)
    formats = {form for entry in seen for form in entry.formats}
    newest = [facts.commits[entry.time] for entry in timeline.completed_writes()[-_WRITES:]]
    paths = [stat.path or "" for commit in newest for stats in commit.stats.values() for stat in stats]
    for form in formats if len(formats) == 1 else ():
        yield FORMAT, form, "the names of all base files"
        if any(path.endswith(f".{form.lower()}") for path in paths):
            yield FORMAT, form, "the files that commits name"
    if any(entry.changes for entry in seen):
        yield "hoodie.table.cdc.enabled", "true", "there are change logs"
    yield from _of_partitions([entry.path for entry in seen], samples)
    yield from _of_keys(samples)
    yield from _of_name(schema_of(table, timeline))
    yield from _of_metadata_table(table, timeline)


def columns_of(schema: Schema) -> frozenset[str]:
    """The names of its columns."""
    fields = schema.get("fields")
    return frozenset(
        str(field.get("name")) for field in (fields if isinstance(fields, list) else ()) if isinstance(field, dict)
    )


def schema_of(table: Table, timeline: Timeline) -> Schema:
    """The schema of the newest write that has one; empty if none can be read."""
    for instant in reversed(timeline.completed_writes()):
        file = instant.file(State.COMPLETED)
        with suppress(Unreadable, ValueError, TypeError, KeyError):
            if file is not None and timeline.sizes[file.name]:
                more = read_record(read_instant(table, file), file.name).fields["extraMetadata"]
                if more.get("schema"):
                    return dict(parse_json(more["schema"]))
    return {}


def _samples(table: Table, seen: Sequence[Kinds]) -> Iterator[Sample]:
    """Rows of the newest base files of some partitions, as far as they can be read."""
    files = [entry.newest for entry in seen if entry.newest is not None]
    for file in files[:: max(1, len(files) // _SAMPLES)][:_SAMPLES]:
        read_at = partial(table.storage.read, file.path)
        with suppress(Unreadable, Unsupported, FileNotFoundError):
            rows = [*islice(read_rows(file.path, read_at, file.size or 0), _ROWS)]
            if rows:
                yield Sample(file.partition, rows)


def _of_layout(table: Table) -> Iterator[Vote]:
    folders = {"timeline", "history"} if table.layout.version >= 2 else {"archived"}
    yield LAYOUT, str(table.layout.version), f"the timeline is in {table.layout.timeline}"
    yield LAYOUT, str(table.layout.version), "the names of its files"
    for key, name, path in (
        ("hoodie.timeline.path", "timeline", f"{META}/timeline"),
        ("hoodie.timeline.history.path", "history", f"{META}/timeline/history"),
        ("hoodie.archivelog.folder", "archived", f"{META}/archived"),
    ):
        if name in folders and table.storage.has_folder(path):
            yield key, name, f"{path} is there"
            yield key, name, "Hudi's own name for it"


def _of_type(timeline: Timeline, seen: Sequence[Kinds]) -> Iterator[Vote]:
    # A commit of merge on read is a compaction, and has its request.
    writes = [entry for entry in timeline.completed_writes() if entry.action in (DELTACOMMIT, "commit")]
    if writes:
        last = writes[-1]
        merged = last.action == DELTACOMMIT or any(".compaction." in name for name in last.names)
        yield TYPE, MERGE_ON_READ if merged else COPY_ON_WRITE, f"the newest write {last}"
        others = any(entry.action == DELTACOMMIT for entry in writes)
        if merged == others:
            yield TYPE, MERGE_ON_READ if merged else COPY_ON_WRITE, "the other writes on the timeline"
    if any(entry.logs for entry in seen):
        yield TYPE, MERGE_ON_READ, "there are logs"
    elif seen:
        yield TYPE, COPY_ON_WRITE, "there are no logs"


def _of_partitions(paths: Sequence[str], samples: Sequence[Sample]) -> Iterator[Vote]:
    if not paths:
        return
    if not any(paths):
        yield FIELDS, "", "all files are in the base path"
        yield FIELDS, "", "no folder is a partition"
        return
    split = [path.split("/") for path in paths]
    hive = {tuple(part.partition("=")[0] for part in parts) for parts in split}
    if len(hive) == 1 and all("=" in part for parts in split for part in parts):
        yield FIELDS, ",".join(*hive), "the names of the folders"
        yield _HIVE_STYLE, "true", "the names of all folders are NAME=VALUE"
        yield _HIVE_STYLE, "true", f"those of {count_of(len(paths), 'partition')}"
    # One field may have values with slashes.
    for parts_of in (lambda path: [path], lambda path: path.split("/")):
        fields = _fields([(parts_of(sample.partition), sample) for sample in samples])
        if fields and len({len(parts_of(path)) for path in paths}) == 1:
            for partition in sorted({sample.partition for sample in samples}):
                yield FIELDS, ",".join(fields), f"the rows in {partition}"
                plain = [part.partition("=")[2] if "=" in part else part for part in partition.split("/")]
                yield "hoodie.datasource.write.drop.partition.columns", "false", f"the rows in {partition} have them"
                if unquote(partition) != partition:
                    yield "hoodie.datasource.write.partitionpath.urlencode", "true", f"the name {partition}"
                if plain == partition.split("/"):
                    yield _HIVE_STYLE, "false", f"the name {partition}"
            return


def _fields(samples: Sequence[tuple[list[str], Sample]]) -> list[str]:
    """The column for each part of the paths; none if there is not exactly one for each."""
    found = []
    for number in range(min((len(parts) for parts, _ in samples), default=0)):
        columns = {name for _, sample in samples for name in sample.rows[0] if not name.startswith("_hoodie_")}
        fits = [name for name in columns if all(_is_in(parts[number], name, sample) for parts, sample in samples)]
        if len(fits) != 1:
            return []
        found += fits
    return found


def _is_in(part: str, column: str, sample: Sample) -> bool:
    value = part.removeprefix(f"{column}=")
    return sample.has(column, value) or sample.has(column, unquote(value))


def _of_keys(samples: Sequence[Sample]) -> Iterator[Vote]:
    for sample in samples:
        keys = [row.get(RECORD_KEY) for row in sample.rows]
        where = f"{count_of(len(keys), 'key')} in {sample.partition or 'the base path'}"
        texts = [key for key in keys if isinstance(key, str)]
        if len(texts) < len(keys):
            yield _META_FIELDS, "false", f"no {RECORD_KEY} in {sample.partition}"
            continue
        yield _META_FIELDS, "true", f"{where} are in {RECORD_KEY}"
        if all(_GENERATED.fullmatch(key) for key in texts):
            yield KEYS, "", f"{where} were made by Hudi"
            continue
        same = [name for name in sample.rows[0] if name != RECORD_KEY and _same(sample, name)]
        pairs = [_PAIR.findall(key) for key in texts]
        names = {tuple(name for name, _ in found) for found in pairs}
        rows = zip(sample.rows, pairs, strict=True)
        if len(same) == 1:
            yield KEYS, same[0], f"{where} are its values"
        elif len(names) == 1 and all(_text(row.get(name)) == value for row, found in rows for name, value in found):
            yield KEYS, ",".join(*names), f"{where} have their names"


def _same(sample: Sample, column: str) -> bool:
    return all(_text(row.get(column)) == row[RECORD_KEY] for row in sample.rows)


def _of_name(schema: Schema) -> Iterator[Vote]:
    # Spark names the record after the table; other signs than these become underscores.
    name = str(schema.get("name", "")).removesuffix("_record")
    if name and schema.get("namespace") == f"hoodie.{name}":
        yield NAME, name, "the schema of the newest write"


def _of_metadata_table(table: Table, timeline: Timeline) -> Iterator[Vote]:
    """The partitions that readers may use: those of a metadata table that has the newest write."""
    if table.storage.stat(_DEFINITIONS) is not None:
        yield "hoodie.table.index.defs.path", _DEFINITIONS, "the file is there"
        yield "hoodie.table.index.defs.path", _DEFINITIONS, "Hudi's own name for it"
    with suppress(Unreadable):
        metadata = open_metadata_table(table)
        if metadata is None:
            return
        of_metadata = load_timeline(metadata)
        done = {entry.time for entry in of_metadata.instants if entry.completed}
        first = min((entry.time for entry in of_metadata.instants), default="")
        built = {
            name for name, times in partition_instants(metadata).items() if any(t in done or t < first for t in times)
        }
        pending = [entry for entry in timeline.having(INDEXING) if entry.pending]
        making = {name for entry in pending for name in partitions_in_the_making(table, entry)} & built
        if timeline.last_write and timeline.last_write in done:
            for key, names in ((LISTED, built - making), (f"{LISTED}.inflight", making)):
                yield key, ",".join(sorted(names)), "the folders of the metadata table"
                yield key, ",".join(sorted(names)), f"it has the newest write, {timeline.last_write}"


def _text(value: object) -> str | None:
    """A value as Hudi writes it into keys and paths; None for one that it writes in several ways."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int) else None
