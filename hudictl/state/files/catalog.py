"""What a Hive or Glue catalog lists wrongly once instants are removed.

Hudi's sync to a catalog looks only at the writes since the last one. It does not notice a removed instant: the
partitions that only this one had written stay in the catalog, and those that it had dropped stay out of it, also after
the next writes (seen on a Hive metastore with 0.15.0, 1.0.2 and 1.2.0). A sync of all partitions puts both right.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from hudictl.formats.instants import Instant
from hudictl.table.table import Table
from hudictl.table.timeline.commits import Commits

SYNC_ALL = "hoodie.meta.sync.incremental=false"
"""A writer's setting: its sync compares all partitions."""
_DROPPED = "DELETE_PARTITION"
_SYNCED = ("last_commit_time_sync", "last_commit_completion_time_sync")
_OBEYED = re.compile(r";|\$\{")
_ENCODED = re.compile("%([0-9A-F]{2})")
_GENERATORS = ("", "SIMPLE", "COMPLEX", "SIMPLE_AVRO", "COMPLEX_AVRO")
_GENERATOR_CLASSES = tuple(f".{kind}{form}KeyGenerator" for kind in ("Simple", "Complex") for form in ("", "Avro"))


@dataclass(frozen=True)
class CatalogGap:
    """What a catalog lists wrongly afterwards, if the table is synced to one; the names in ``shown`` are those in JSON.

    - ``vanishing_partitions``: paths of partitions that readers see now, and that have no data afterwards.
    - ``returning_partitions``: paths of partitions that removed instants had dropped, and that have data again.
    - ``statements``: HiveQL that corrects the catalog, together with the next sync. ``statements`` name the table as
      hoodie.properties does.
    - ``unnamed_partitions``: vanishing partitions that have no statement: their values in the catalog depend on the key
      generator, or have signs that not every client of Hive leaves in their quotes.

    ``tables`` are the names in the catalog, quoted. ``fields`` are the partition fields; none if their values are not
    in the path as they are.
    """

    shown: ClassVar = ("vanishing_partitions", "returning_partitions", "statements", "unnamed_partitions")

    vanishing_partitions: tuple[str, ...] = ()
    returning_partitions: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    hive_style: bool = False

    @property
    def empty(self) -> bool:
        return not (self.vanishing_partitions or self.returning_partitions)

    @property
    def statements(self) -> Iterator[str]:
        for table in self.tables if not self.empty else ():
            yield self.reset(table)
            for path in self.vanishing_partitions:
                spec = self.spec(path)
                if spec is not None:
                    yield f"ALTER TABLE {table} DROP IF EXISTS {spec}"

    @property
    def unnamed_partitions(self) -> tuple[str, ...]:
        return tuple(path for path in self.vanishing_partitions if not self.tables or self.spec(path) is None)

    def reset(self, table: str) -> str:
        """The statement with which the next sync compares all partitions of a table."""
        return f"ALTER TABLE {table} UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(in_quotes, _SYNCED))})"

    def spec(self, path: str) -> str | None:
        """A partition in HiveQL; None if its values are not known. A sync takes them as they are in the path, even if
        that is URL-encoded (1.2.0)."""
        values = self.values(path, encoded=False)
        return None if values is None else f"PARTITION ({', '.join(values)})"

    def values(self, path: str, *, encoded: bool) -> tuple[str, ...] | None:
        """A partition's fields with their values in HiveQL; None if these are not known.

        Args:
            encoded: the values are those of which the path has the URL-encoded ones.
        """
        parts = path.split("/")
        if len(parts) != len(self.fields) or not all(map(_quotable, self.fields)):
            return None
        values = []
        for field, part in zip(self.fields, parts, strict=True):
            named, value = part.startswith(f"{field}="), part.removeprefix(f"{field}=")
            text = _ENCODED.sub(lambda found: chr(int(found[1], 16)), value) if encoded else value
            if named != self.hive_style or "=" in value or not _quotable(text):
                return None
            values.append(f"{in_hiveql(field)}={in_quotes(text)}")
        return tuple(values)


NO_GAP = CatalogGap()


def catalog_gap(
    table: Table,
    removed: Mapping[str, Instant | None],
    commits: Commits,
    backup: Commits,
    needed: Container[str],
    written: Mapping[str, Iterable[str]],
) -> CatalogGap:
    """Only records are asked, so that a resumed restore finds the same.

    Args:
        removed: the instants to remove; None for one that no longer exists.
        backup: the metadata of un-published instants.
        needed: the partitions in which readers use files afterwards.
        written: the partitions of each instant whose own record may be empty.
    """
    seen: dict[str, bool] = {}
    for time in sorted(removed):
        instant = removed[time]
        commit = (backup if instant is None or instant.pending else commits).get(time)
        if commit is not None:
            seen |= dict.fromkeys(filter(None, written.get(time, ()) if commit.silent else commit.stats), True)
            seen |= dict.fromkeys(commit.replaced if commit.operation == _DROPPED else (), False)
    return replace(
        named_by_catalog(table),
        vanishing_partitions=_paths(path for path, visible in seen.items() if visible and path not in needed),
        returning_partitions=_paths(path for path, visible in seen.items() if not visible and path in needed),
    )


def named_by_catalog(table: Table) -> CatalogGap:
    """How a catalog names a table and its partitions; without a gap."""
    return CatalogGap(
        tables=_tables(table),
        fields=table.partition_fields if _values_in_path(table.properties) else (),
        hive_style=table.properties.get("hoodie.datasource.write.hive_style_partitioning", "").lower() == "true",
    )


def _paths(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(found))


def _tables(table: Table) -> tuple[str, ...]:
    """The tables that a sync makes by default: of merge on read also those with a suffix for each kind of query."""
    database, name = table.properties.get("hoodie.database.name"), table.properties.get("hoodie.table.name", "")
    if not _quotable(f"{database or ''}{name}"):
        return ()
    within = f"{in_hiveql(database)}." if database else ""
    return tuple(within + in_hiveql(f"{name}{suffix}") for suffix in (("",) if table.is_cow else ("", "_ro", "_rt")))


def _values_in_path(properties: Mapping[str, str]) -> bool:
    """Whether the values of the partition fields are in the path as they are."""
    named = properties.get("hoodie.table.keygenerator.class", "")
    kind = properties.get("hoodie.table.keygenerator.type", "").upper()
    return named.endswith(_GENERATOR_CLASSES) if named else kind in _GENERATORS


def _quotable(text: str) -> bool:
    """Whether quotes hold a text in every client: some end a statement at each ``;``, and fill in ``${...}``."""
    return text.isprintable() and _OBEYED.search(text) is None


def in_hiveql(text: str) -> str:
    """A name in HiveQL."""
    return "`" + text.replace("`", "``") + "`"


def in_quotes(text: str) -> str:
    """A text in HiveQL, and in Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
