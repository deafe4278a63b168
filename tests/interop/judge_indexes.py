"""Every index by Hudi's own readers, against what is there: a part of ``judge_server.py``, so without hudictl, too.

Differences are sentences. An index that the table does not list has none.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from judge_hfile import listing
from judge_java import engine, hudi, java_list, meta_client, release, storage, uri
from judge_view import files
from judge_walks import filtered
from py4j.java_gateway import JavaObject
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as sf

Place = tuple[str, str]
"""A partition and a file id, or the name of a file."""


def index_differences(
    path: str, keys: list[Any], values: list[str], columns: list[str], conditions: list[str]
) -> list[str]:
    """All differences of the listing, of each listed index, and of filters that skip files.

    Args:
        path: that of the table.
        keys: record keys to look up, besides those that the table has.
        values: of the column ``val``, to look up in secondary indexes besides those that the table has.
        columns: those whose statistics are compared.
        conditions: filters that must find the same with and without indexes.
    """
    listed = indexes(path)
    found = [*listing_differences(path)] if "files" in listed else ["files: not listed, so no index is used"]
    rows = scan(path, conditions)
    bases = [place_of(file) for file in files(path, metadata=False) if file.endswith(".parquet")]
    inside = contents(path, bases, columns)
    with closing(metadata_table(path)) as table:
        if "record_index" in listed:
            found += record_differences(path, table, rows, {str(key) for key in keys})
        if "column_stats" in listed:
            for column in columns:
                found += column_differences(table, inside, column)
        if "bloom_filters" in listed:
            found += bloom_differences(table, inside)
        for name in listed:
            if name.startswith("secondary_index_"):
                found += secondary_differences(table, name, rows, set(values))
    return [*found, *skipping_differences(path, rows, conditions)]


def indexes(path: str) -> list[str]:
    """The partitions of the metadata table that readers use."""
    properties = meta_client(path).getTableConfig().getProps()
    return [name for name in properties.getProperty("hoodie.table.metadata.partitions", "").split(",") if name]


def metadata_table(path: str) -> Any:
    """Hudi's reader of the metadata table."""
    config = hudi().org.apache.hudi.common.config.HoodieMetadataConfig.newBuilder().enable(True).build()
    return hudi().org.apache.hudi.metadata.HoodieBackedTableMetadata(engine(), storage(path), config, uri(path))


def scan(path: str, conditions: list[str]) -> list[Row]:
    """All rows by listing: where each is, and, behind ``val``, which conditions hold."""
    options = {"hoodie.metadata.enable": "false", "hoodie.enable.data.skipping": "false"}
    found = SparkSession.active().read.format("hudi").options(**options).load(uri(path))
    places = ("_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name")
    return found.selectExpr(*places, "id", "ts", "val", *conditions).collect()


# The listing


def listing_differences(path: str) -> Iterator[str]:
    """Of the sizes of files. An empty file says nothing: it need not be listed."""
    told = {(folder, name): size for folder, names in listing(path).items() for name, size in names.items()}
    there = dict(on_storage(path))
    for place in sorted(told.keys() | there.keys()):
        if told.get(place) != there.get(place) and (place in told or there[place]):
            yield f"files: {'/'.join(place)} has {there.get(place)} bytes, listed are {told.get(place)}"


def on_storage(path: str) -> Iterator[tuple[Place, int]]:
    """The data files with their sizes."""
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name != ".hoodie"]
        partition = os.path.relpath(folder, path)
        for name in names:
            if not name.endswith(".crc") and not name.startswith(".hoodie_partition_metadata"):
                yield ("" if partition == "." else partition, name), os.path.getsize(os.path.join(folder, name))


# Of records


def record_differences(path: str, table: Any, rows: list[Row], keys: set[str]) -> Iterator[str]:
    """Of the partition and the file group of each key; where each partition has an index of its own, of all these."""
    there: dict[str, Place] = {}
    for key, partition, file, *_ in rows:
        if key in there:
            yield f"record_index: {key} is there twice"
        there[key] = (partition, file.partition("_")[0])
    asked = sorted(keys | there.keys())
    if is_partitioned(path):
        said = partitioned_locations(table, asked)
        for name in sorted(said.keys() | {place[0] for place in there.values()}):
            inside = {key: place for key, place in there.items() if place[0] == name}
            yield from compared(f"record_index of {name}", inside, said.get(name, {}))
    else:
        yield from compared("record_index", there, locations(table, asked))


def is_partitioned(path: str) -> bool:
    """Whether each partition has a record index of its own."""
    file = Path(path, ".hoodie/.index_defs/index.json")
    defined = json.loads(file.read_text())["indexDefinitions"] if file.exists() else {}
    return bool(defined.get("record_index", {}).get("indexOptions", {}).get("isPartitioned") == "true")


def locations(table: Any, keys: list[str], partition: str | None = None) -> dict[str, Place]:
    """What the record index says of keys."""
    if release() < (1, 1):
        found = [(entry.getKey(), entry.getValue()) for entry in table.readRecordIndex(keys).entrySet()]
    else:
        within = hudi().org.apache.hudi.common.util.Option.ofNullable(partition)
        found = both(table.readRecordIndexLocationsWithKeys(data_of(keys), within))
    return {str(key): (place.getPartitionPath(), place.getFileId()) for key, place in found}


def partitioned_locations(table: Any, keys: list[str]) -> dict[str, dict[str, Place]]:
    """The same for each partition with an index of its own.

    1.2.0 looks all keys of a question up where the first one belongs, and finds keys that only begin with one of them.
    """
    metadata = hudi().org.apache.hudi.metadata
    group_of = metadata.HoodieTableMetadataUtil.mapRecordKeyToFileGroupIndex
    groups = table.getBucketizedFileGroupsForPartitionedRLI(metadata.MetadataPartitionType.RECORD_INDEX)
    found: dict[str, dict[str, Place]] = {}
    for entry in groups.entrySet():
        name, count = str(entry.getKey()), len(entry.getValue())
        grouped = defaultdict(list)
        for key in keys:
            grouped[group_of(key, count)].append(key)
        said = {key: place for asked in grouped.values() for key, place in locations(table, asked, name).items()}
        found[name] = {key: place for key, place in said.items() if key in keys}
    return found


def secondary_differences(table: Any, name: str, rows: list[Row], values: set[str]) -> Iterator[str]:
    """Of the record keys of each value."""
    there = defaultdict(set)
    for row in rows:
        there[row.val].add(row["_hoodie_record_key"])
    asked = sorted(values | there.keys())
    said = defaultdict(set)
    if release() < (1, 1):
        for entry in table.getSecondaryIndexRecords(asked, name).entrySet():
            said[entry.getKey()] |= set(java_list(entry.getValue()))
    else:
        for value, key in both(table.readSecondaryIndexDataTableRecordKeysWithKeys(data_of(asked), name)):
            said[value].add(key)
    yield from compared(name, there, {value: keys for value, keys in said.items() if keys})


def data_of(values: list[str]) -> Any:
    """A list as Hudi hands its data around."""
    return hudi().org.apache.hudi.common.data.HoodieListData.eager(values)


def both(pairs: Any) -> list[tuple[Any, Any]]:
    """The other way, of pairs."""
    return [(pair.getLeft(), pair.getRight()) for pair in java_list(pairs.collectAsList())]


def compared(name: str, there: dict[Any, Any], said: dict[Any, Any]) -> Iterator[str]:
    """What an index says of anything else than what is there."""
    for key in sorted(there.keys() | said.keys()):
        if there.get(key) != said.get(key):
            yield f"{name}: {key} is {there.get(key)}, the index says {said.get(key)}"


# Of base files


def contents(path: str, bases: list[Place], columns: list[str]) -> dict[Place, list[Row]]:
    """The records of base files: the key and some columns."""
    found: dict[Place, list[Row]] = {place: [] for place in bases}
    if bases:
        records = SparkSession.active().read.parquet(*(uri(os.path.join(path, *place)) for place in bases))
        for row in records.select(sf.input_file_name(), "_hoodie_record_key", *columns).collect():
            found[place_of(os.path.relpath(unquote(urlsplit(row[0]).path), path))].append(row)
    return found


def column_differences(table: Any, inside: dict[Place, list[Row]], column: str) -> Iterator[str]:
    """Of the least and the greatest value of a column, and of the number of nulls; a file without rows has none."""
    there = {place: bounds([row[column] for row in rows]) for place, rows in inside.items() if rows}
    said = {
        place: tuple(map(text, (stats.getMinValue(), stats.getMaxValue(), stats.getNullCount())))
        for place, stats in by_place(table.getColumnStats(pairs(inside), column)).items()
    }
    yield from compared(f"column_stats of {column}", there, said)


def bounds(values: list[Any]) -> tuple[str, ...]:
    """The statistics of a column's values."""
    known = [value for value in values if value is not None]
    return str(min(known, default=None)), str(max(known, default=None)), str(len(values) - len(known))


def text(value: Any) -> str:
    """A value that Hudi may have wrapped."""
    value = value.getValue() if isinstance(value, JavaObject) else value
    return str(value.toString() if isinstance(value, JavaObject) else value)


def bloom_differences(table: Any, inside: dict[Place, list[Row]]) -> Iterator[str]:
    """Of filters that lack a key of their file."""
    said = by_place(table.getBloomFilters(pairs(inside)))
    for place, rows in inside.items():
        lost = [row[1] for row in rows if place not in said or not said[place].mightContain(row[1])]
        if lost:
            yield f"bloom_filters: {'/'.join(place)} has {sorted(lost)}, its filter does not"


def place_of(file: str) -> Place:
    """A file by its partition and name."""
    partition, name = os.path.split(file)
    return partition, name


def pairs(places: Iterable[Place]) -> list[Any]:
    """Files as Hudi's readers of indexes want them."""
    return [hudi().org.apache.hudi.common.util.collection.Pair.of(*place) for place in places]


def by_place(found: Any) -> dict[Place, Any]:
    """What they answer."""
    return {(entry.getKey().getLeft(), entry.getKey().getRight()): entry.getValue() for entry in found.entrySet()}


# Of queries


def skipping_differences(path: str, rows: list[Row], conditions: list[str]) -> Iterator[str]:
    """Of rows that filters find by the metadata table and all its indexes."""
    for number, (condition, found) in enumerate(zip(conditions, filtered(path, conditions), strict=True), 6):
        there = sorted([row.id, row.ts, row.val] for row in rows if row[number])
        if found != there:
            yield f"queries: where {condition} are {there}, found are {found}"
