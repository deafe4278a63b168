"""How single partitions come back as they were at a commit: by a copy, from which Hudi writes them again.

hudictl writes no commit of data: file ids, the record index and Hudi's own columns would not match.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hudictl.errors import Refused
from hudictl.phrases import command_of
from hudictl.reports.schemas import table_schema_as_of
from hudictl.state.files.catalog import in_hiveql, named_by_catalog
from hudictl.state.timeline.targets import find_commit
from hudictl.storage import whole_path
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline

_COPY = "hudictl_copy"


@dataclass(frozen=True)
class PartitionsBack:
    """The steps: ``copy`` is a command of hudictl, ``statements`` are Spark SQL. They name the table as
    hoodie.properties does."""

    target: str
    partitions: tuple[str, ...]
    copy: str
    statements: tuple[str, ...]


def partitions_back(table: Table, target: str, partitions: Sequence[str]) -> PartitionsBack:
    """The steps that bring partitions back. Changes nothing.

    Raises:
        Refused: no such commit; the values of a partition are not known from its path, or the schema is not known.
        Unreadable, StorageFailed.
    """
    find_commit(table, load_timeline(table), target)
    named = named_by_catalog(table)
    specs = [named.spec(path) for path in partitions]
    schema = table_schema_as_of(table, target)
    unknown = next((path for path, spec in zip(partitions, specs, strict=True) if spec is None), None)
    if unknown is not None or schema is None or not named.tables:
        what = "the schema" if schema is None else f"how SQL names the partition {unknown}"
        made = command_of("copy", options=_options(target, partitions))
        raise Refused(
            f"{what} is not known from the table",
            hint=f"make the copy: `{made}`; then write its rows with your job, and the operation insert_overwrite",
        )
    columns = [field["name"] for field in schema.schema["fields"] if field["name"] not in table.partition_fields]
    listed = ", ".join(map(in_hiveql, columns))
    place = f"{whole_path(table.storage, '').rstrip('/')}-as-of-{target}"
    writes = (
        f"INSERT OVERWRITE {named.tables[0]} {spec} SELECT {listed} FROM {_COPY} WHERE {_condition(spec)}"
        for spec in specs
        if spec is not None
    )
    return PartitionsBack(
        target,
        tuple(partitions),
        command_of("copy", options=(*_options(target, partitions), f"--to={place}")),
        (f"CREATE TABLE {_COPY} USING hudi LOCATION {_text(place)}", *writes, f"DROP TABLE {_COPY}"),
    )


def _options(target: str, partitions: Sequence[str]) -> tuple[str, ...]:
    return (f"--as-of={target}", *(f"--partition={path}" for path in partitions))


def _condition(spec: str) -> str:
    """The partition's values as a condition: a copy can have several partitions."""
    return spec.removeprefix("PARTITION (").removesuffix(")").replace("', `", "' AND `")


def _text(place: str) -> str:
    return "'" + place.replace("\\", "\\\\").replace("'", "\\'") + "'"
