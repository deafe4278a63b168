"""How single partitions come back as they were at a commit: by a copy, from which Hudi writes them again.

hudictl writes no commit of data: file ids, the record index and Hudi's own columns would not match.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from hudictl.errors import NotFound, Refused
from hudictl.phrases import command_of, first_few
from hudictl.reports.logs.slices import files_of_partition, slice_rows
from hudictl.reports.schemas import TableSchema, table_schema_as_of
from hudictl.state.files.catalog import in_hiveql, in_quotes, named_by_catalog
from hudictl.state.timeline.targets import find_commit
from hudictl.storage import whole_path
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline

_COPY = "hudictl_copy"
_ENCODED = "hoodie.datasource.write.partitionpath.urlencode"


@dataclass(frozen=True)
class PartitionsBack:
    """The steps: ``copy`` is a command of hudictl, ``statements`` are Spark SQL. They name the table as
    hoodie.properties does. ``warnings`` say what the statements do not bring back as it was."""

    target: str
    partitions: tuple[str, ...]
    copy: str
    statements: tuple[str, ...]
    warnings: tuple[str, ...]


def partitions_back(table: Table, target: str, partitions: Sequence[str]) -> PartitionsBack:
    """The steps that bring partitions back. Changes nothing.

    Raises:
        Refused: no such commit; the values of a partition are not known from its path, or the schema is not known; a
            partition had no rows then.
        Unreadable, StorageFailed.
    """
    timeline = load_timeline(table)
    find_commit(table, timeline, target)
    named = named_by_catalog(table)
    encoded = table.properties.get(_ENCODED, "").lower() == "true"
    values = {path: named.values(path, encoded=encoded) for path in partitions}
    then, now = table_schema_as_of(table, target), table_schema_as_of(table, None)
    unknown = next((path for path, known in values.items() if known is None), None)
    if unknown is not None or then is None or now is None or not named.tables:
        what = f"how SQL names the partition {unknown}" if then and now else "the schema"
        made = command_of("copy", options=_options(target, partitions))
        raise Refused(
            f"{what} is not known from the table",
            hint=f"make the copy: `{made}`; then write its rows with your job, and the operation insert_overwrite",
        )
    absent = [path for path in partitions if not _had_rows(table, timeline, path, target)]
    if absent:
        hint = "`hudictl partition list` names them"
        raise Refused(f"there are no rows as of {target} in {first_few(absent)}", hint=hint)
    old, new = (_columns(table, schema) for schema in (then, now))
    # Spark's names are the same in capitals.
    listed = ", ".join(in_hiveql(name) if key in old else f"NULL AS {in_hiveql(name)}" for key, name in new.items())
    place = f"{whole_path(table.storage, '').rstrip('/')}-as-of-{target}"
    writes = (
        f"INSERT OVERWRITE {named.tables[0]} PARTITION ({', '.join(known)}) SELECT {listed} FROM {_COPY} "
        f"WHERE {' AND '.join(known)}"
        for known in values.values()
        if known is not None
    )
    return PartitionsBack(
        target,
        tuple(partitions),
        command_of("copy", options=(f"--table={table.uri}", *_options(target, partitions), f"--to={place}")),
        (f"CREATE TABLE {_COPY} USING hudi LOCATION {in_quotes(place)}", *writes, f"DROP TABLE {_COPY}"),
        tuple(_warnings(named.tables[0], partitions, old, new)),
    )


def _had_rows(table: Table, timeline: Timeline, partition: str, target: str) -> bool:
    with suppress(NotFound):
        return any(slice_rows(table, files_of_partition(table, partition), timeline, target))
    return False


def _columns(table: Table, schema: TableSchema) -> dict[str, str]:
    """The names of the columns beside those of partitions, by the names in small letters."""
    names = (field["name"] for field in schema.schema["fields"])
    return {name.lower(): name for name in names if name not in table.partition_fields}


def _warnings(table: str, partitions: Sequence[str], old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    more = [name for key, name in new.items() if key not in old]
    if more:
        yield f"columns that the table did not have then become null: {first_few(more)}"
    gone = [name for key, name in old.items() if key not in new]
    if gone:
        yield f"columns that the table no longer has do not come back, also not under a new name: {first_few(gone)}"
    paths = ", ".join(map(in_quotes, partitions))
    yield (
        "records that have moved to another partition since come back as well, and are in both then: before INSERT, "
        f"SELECT `_hoodie_record_key` FROM {table} WHERE `_hoodie_partition_path` NOT IN ({paths}) AND "
        f"`_hoodie_record_key` IN (SELECT `_hoodie_record_key` FROM {_COPY}) lists them"
    )


def _options(target: str, partitions: Sequence[str]) -> tuple[str, ...]:
    return (f"--as-of={target}", *(f"--partition={path}" for path in partitions))
