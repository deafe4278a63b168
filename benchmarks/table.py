"""Generates the table that the benchmarks run on: version 6, copy on write, without a metadata table.

Names, timeline and properties are those that Hudi 0.15.0 writes; the data files are all the same small valid
Parquet, since neither savepoint nor restore opens them. The same plan always gives the same bytes.
"""

import datetime as dt
import functools
import io
import os
import random
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.ruled import METAFILE, names_that_stay

NAME = "orders"
SCHEMA = (
    '{\\"type\\":\\"record\\",\\"name\\":\\"orders_record\\",\\"namespace\\":\\"hoodie.orders\\",\\"fields\\":['
    '{\\"name\\":\\"id\\",\\"type\\":\\"long\\"},{\\"name\\":\\"ts\\",\\"type\\":\\"long\\"},'
    '{\\"name\\":\\"val\\",\\"type\\":\\"string\\"},'
    '{\\"name\\":\\"p\\",\\"type\\":[\\"null\\",\\"string\\"],\\"default\\":null}]}'
)

PROPERTIES = """\
#Properties saved on {iso}
#{date}
hoodie.table.type=COPY_ON_WRITE
hoodie.table.precombine.field=ts
hoodie.table.partition.fields=p
hoodie.table.cdc.enabled=false
hoodie.archivelog.folder=archived
hoodie.timeline.layout.version=1
hoodie.table.checksum={checksum}
hoodie.datasource.write.drop.partition.columns=false
hoodie.table.timeline.timezone=UTC
hoodie.table.recordkey.fields=id
hoodie.table.name={name}
hoodie.partition.metafile.use.base.format=false
hoodie.datasource.write.hive_style_partitioning=false
hoodie.populate.meta.fields=true
hoodie.table.keygenerator.class=org.apache.hudi.keygen.SimpleKeyGenerator
hoodie.table.base.file.format=PARQUET
hoodie.database.name=
hoodie.datasource.write.partitionpath.urlencode=false
hoodie.table.version=6
"""

# Every field of HoodieWriteStat in the order of 0.15.0. json.dumps with an indent is pure Python and takes longer than
# everything else here, so the text is filled in.
WRITE_STAT = """{
      "fileId" : "%(file_id)s",
      "path" : %(path)s,
      "cdcStats" : null,
      "prevCommit" : "%(previous)s",
      "numWrites" : %(writes)d,
      "numDeletes" : 0,
      "numUpdateWrites" : %(updates)d,
      "numInserts" : %(inserts)d,
      "totalWriteBytes" : %(size)d,
      "totalWriteErrors" : 0,
      "tempPath" : null,
      "partitionPath" : %(partition)s,
      "totalLogRecords" : 0,
      "totalLogFilesCompacted" : 0,
      "totalLogSizeCompacted" : 0,
      "totalUpdatedRecordsCompacted" : 0,
      "totalLogBlocks" : 0,
      "totalCorruptLogBlock" : 0,
      "totalRollbackBlocks" : 0,
      "fileSizeInBytes" : %(size)d,
      "minEventTime" : null,
      "maxEventTime" : null,
      "runtimeStats" : %(runtime)s
    }"""
RUNTIME = '{\n        "totalScanTime" : 0,\n        "totalUpsertTime" : %d,\n        "totalCreateTime" : %d\n      }'

JAVA_STRING = {"type": "string", "avro.java.string": "String"}
SAVEPOINT_SCHEMA = {
    "type": "record",
    "name": "org.apache.hudi.avro.model.HoodieSavepointMetadata",
    "fields": [
        {"name": "savepointedBy", "type": JAVA_STRING},
        {"name": "savepointedAt", "type": "long"},
        {"name": "comments", "type": JAVA_STRING},
        {
            "name": "partitionMetadata",
            "type": {
                "type": "map",
                "avro.java.string": "String",
                "values": {
                    "type": "record",
                    "name": "org.apache.hudi.avro.model.HoodieSavepointPartitionMetadata",
                    "fields": [
                        {"name": "partitionPath", "type": JAVA_STRING},
                        {"name": "savepointDataFile", "type": {"type": "array", "items": JAVA_STRING}},
                    ],
                },
            },
        },
        {"name": "version", "type": ["int", "null"], "default": 1},
    ],
}


@dataclass(frozen=True)
class TablePlan:
    """The table to generate: two commits up to the savepoint, ``commits`` after it, each writing ``files`` a partition.

    The first two commits insert one half of the file groups each; the later ones rewrite the halves in turn. ``older``
    is how many more files a partition has of commits that are archived: no file of the timeline names them. If
    ``ruled``, these exist only for ``benchmarks.ruled``.

    ``spread``: of ``half`` the last partition has as many files as all others together. Of ``single`` each partition is
    written by one commit alone, the partitions in turn.
    """

    partitions: int
    commits: int
    files: int
    first: dt.datetime
    older: int = 0
    ruled: bool = False
    spread: Literal["even", "half", "single"] = "even"

    @property
    def savepoint(self) -> str:
        """The instant to go back to."""
        return self.instants[1]

    @property
    def removed_files(self) -> int:
        """How many data files a restore to the savepoint deletes."""
        return sum(self.written[2:])

    @property
    def kept_files(self) -> int:
        """How many data files a restore to the savepoint keeps."""
        return sum(self.written[:2]) + self.partitions * self.older

    @functools.cached_property
    def written(self) -> list[int]:
        """How many files each commit writes."""
        return [
            sum(self.files_of(commit, partition) for partition in range(self.partitions))
            for commit in range(self.commits + 2)
        ]

    def files_of(self, commit: int, partition: int) -> int:
        """How many files one commit writes in one partition."""
        if self.spread == "single" and partition % (self.commits + 2) != commit:
            return 0
        return self.most_files_of(partition)

    def most_files_of(self, partition: int) -> int:
        """How many files a commit writes in one partition, if it writes there."""
        has_half = self.spread == "half" and partition == self.partitions - 1
        return self.files * (self.partitions - 1) if has_half else self.files

    def inserts(self, commit: int) -> bool:
        """Whether a commit has new file groups; else it rewrites those of the commit before the last."""
        return commit < 2 or self.spread == "single"

    @functools.cached_property
    def times(self) -> list[dt.datetime]:
        """When each commit was requested; they all fit in half a day after the first."""
        gap = min(600.0, 43_200 / (self.commits + 2))
        return [self.first + dt.timedelta(seconds=round(gap * i, 3)) for i in range(self.commits + 2)]

    @functools.cached_property
    def instants(self) -> list[str]:
        """The instant times, UTC, ascending."""
        return [f"{time:%Y%m%d%H%M%S}{time.microsecond // 1000:03d}" for time in self.times]

    @functools.cached_property
    def partition_names(self) -> list[str]:
        """One partition a day."""
        return [(dt.date(2024, 1, 1) + dt.timedelta(days=i)).isoformat() for i in range(self.partitions)]

    @functools.cached_property
    def file_ids(self) -> list[list[str]]:
        """The file groups of each partition: first the half of the even commits, then that of the odd ones."""
        source = random.Random(20)
        return [
            [f"{uuid.UUID(bytes=source.randbytes(16), version=4)}-0" for _ in range(2 * self.most_files_of(partition))]
            for partition in range(self.partitions)
        ]

    def file_ids_of(self, commit: int, partition: int) -> list[str]:
        """The file groups that one commit writes in one partition."""
        half = commit % 2 * self.most_files_of(partition)
        return self.file_ids[partition][half : half + self.files_of(commit, partition)]

    def file_names_of(self, commit: int, partition: int) -> list[str]:
        """The data files that one commit writes in one partition: file id, write token, instant."""
        stage, attempt = 28 + 33 * commit, 60 + commit * (self.written[commit] + 50)
        return [
            f"{file_id}_{task}-{stage}-{attempt + task}_{self.instants[commit]}.parquet"
            for task, file_id in enumerate(self.file_ids_of(commit, partition), partition * self.files)
        ]

    def savepoint_files(self, partition: int) -> list[str]:
        """The data files of one partition that are the table at the savepoint."""
        return self.older_names(partition) + self.inserted_names(partition)

    def inserted_names(self, partition: int) -> list[str]:
        """The data files of one partition that the two commits up to the savepoint wrote."""
        return self.file_names_of(0, partition) + self.file_names_of(1, partition)

    def older_names(self, partition: int) -> list[str]:
        """The data files of archived commits in one partition."""
        return names_that_stay(self.partition_names[partition], self.older)

    def real_older_names(self, partition: int) -> list[str]:
        """Those of them that are in the folder."""
        return [] if self.ruled else self.older_names(partition)


def yesterday() -> dt.datetime:
    """A first commit time whose whole timeline lies in the past."""
    midnight = dt.datetime.now(dt.timezone.utc).replace(hour=0, minute=0, second=0, microsecond=217_000)
    return midnight - dt.timedelta(days=1)


def generate(base: str, plan: TablePlan, body: bytes | None = None) -> None:
    """Writes the table into a new folder, without a savepoint; ``body`` is that of all data files."""
    hoodie = os.path.join(base, ".hoodie")
    os.makedirs(hoodie)
    for folder in (".aux/.bootstrap/.partitions", ".aux/.bootstrap/.fileids", ".schema", ".temp", "archived"):
        os.makedirs(os.path.join(hoodie, folder))
    created = plan.times[0]
    properties = PROPERTIES.format(
        iso=created.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        date=java_date(created),
        checksum=zlib.crc32(f".{NAME}".encode()),
        name=NAME,
    )
    write(os.path.join(hoodie, "hoodie.properties"), properties.encode(), created)
    body = parquet_body() if body is None else body
    for partition, name in enumerate(plan.partition_names):
        folder = os.path.join(base, name)
        os.makedirs(folder)
        metadata = f"#partition metadata\n#{java_date(created)}\ncommitTime={plan.instants[0]}\npartitionDepth=1\n"
        write(os.path.join(folder, METAFILE), metadata.encode(), created)
        for file_name in plan.real_older_names(partition):
            # With a size, but without a block on the disk: nobody opens it.
            with open(os.path.join(folder, file_name), "wb") as file:
                file.truncate(len(body))
        for commit, time in enumerate(plan.times):
            for file_name in plan.file_names_of(commit, partition):
                write(os.path.join(folder, file_name), body, time + dt.timedelta(seconds=3))
    for commit, (instant, time) in enumerate(zip(plan.instants, plan.times, strict=True)):
        # The modification time of the completed file is the completion time of the instant in this table version.
        prefix = os.path.join(hoodie, instant)
        write(f"{prefix}.commit.requested", b"", time)
        write(f"{prefix}.inflight", commit_json(plan, commit, None), time + dt.timedelta(seconds=1))
        write(f"{prefix}.commit", commit_json(plan, commit, len(body)), time + dt.timedelta(seconds=5))


def write_savepoint(base: str, plan: TablePlan) -> None:
    """Writes the savepoint as Hudi would have."""
    made = plan.times[1] + dt.timedelta(seconds=60)
    record = {
        "savepointedBy": "benchmark",
        "savepointedAt": round(made.timestamp() * 1000),
        "comments": "",
        "partitionMetadata": {
            name: {"partitionPath": name, "savepointDataFile": plan.savepoint_files(partition)}
            for partition, name in enumerate(plan.partition_names)
        },
        "version": 1,
    }
    body = io.BytesIO()
    fastavro.writer(body, SAVEPOINT_SCHEMA, [record])
    prefix = os.path.join(base, ".hoodie", plan.savepoint)
    write(f"{prefix}.savepoint.inflight", b"", made)
    write(f"{prefix}.savepoint", body.getvalue(), made)


def savepoint_problem(base: str, plan: TablePlan) -> str:
    """What is wrong with the savepoint that a contender made; empty if it names exactly the right files."""
    path = os.path.join(base, ".hoodie", f"{plan.savepoint}.savepoint")
    try:
        with open(path, "rb") as file:
            record: Any = next(fastavro.reader(file))
    except (OSError, ValueError, StopIteration) as error:
        return f"no savepoint: {error!r}"
    found = record["partitionMetadata"]
    # Partition by partition: all names of a large table twice would take much memory.
    good = found.keys() == set(plan.partition_names) and all(
        sorted(found[name]["savepointDataFile"]) == sorted(plan.savepoint_files(index))
        for index, name in enumerate(plan.partition_names)
    )
    return "" if good else "the savepoint names other files"


def restore_problem(base: str, plan: TablePlan) -> str:
    """What is wrong with the table after a restore; empty if exactly the files after the savepoint are gone."""
    for partition, name in enumerate(plan.partition_names):
        wanted = {METAFILE, *plan.real_older_names(partition), *plan.inserted_names(partition)}
        found = set(os.listdir(os.path.join(base, name)))
        if found != wanted:
            return f"{name}: {len(found - wanted)} files too many, {len(wanted - found)} missing"
    return ""


def timeline_problem(base: str, plan: TablePlan) -> str:
    """What is wrong with the timeline after a restore; empty if the savepoint is last and a restore is completed."""
    names = os.listdir(os.path.join(base, ".hoodie"))
    removed = set(plan.instants[2:])
    left = sorted(name for name in names if name.partition(".")[0] in removed)
    if left:
        return f"{len(left)} instant files left, first {left[0]}"
    kept = {f"{instant}.commit" for instant in plan.instants[:2]}
    if not kept <= set(names):
        return f"commits lost: {sorted(kept - set(names))}"
    return "" if any(name.endswith(".restore") for name in names) else "no completed restore"


def commit_json(plan: TablePlan, commit: int, size: int | None) -> bytes:
    """The content of a completed commit or, without a size of the data files, of its inflight."""
    stats = completed_stats(plan, commit, size) if size is not None else inflight_stats(plan, commit)
    partitions = ",\n".join(
        f'    "{name}" : [ {", ".join(texts)} ]'
        for name, texts in zip(plan.partition_names, stats, strict=True)
        if texts
    )
    extra = f'{{\n    "schema" : "{SCHEMA}"\n  }}' if size is not None else "{ }"
    operation = "INSERT" if plan.inserts(commit) else "UPSERT"
    return (
        f'{{\n  "partitionToWriteStats" : {{\n{partitions}\n  }},\n  "compacted" : false,\n'
        f'  "extraMetadata" : {extra},\n  "operationType" : "{operation}"\n}}'
    ).encode()


def completed_stats(plan: TablePlan, commit: int, size: int) -> Iterator[list[str]]:
    """The write statistics of a completed commit, partition by partition."""
    insert = plan.inserts(commit)
    for partition, name in enumerate(plan.partition_names):
        names = plan.file_names_of(commit, partition)
        yield [
            WRITE_STAT
            % {
                "file_id": file_id,
                "path": f'"{name}/{file_name}"',
                "previous": "null" if insert else plan.instants[commit - 2],
                "writes": 20,
                "updates": 0 if insert else 10,
                "inserts": 20 if insert else 0,
                "size": size,
                "partition": f'"{name}"',
                "runtime": RUNTIME % ((0, 89) if insert else (87, 0)),
            }
            for file_id, file_name in zip(plan.file_ids_of(commit, partition), names, strict=True)
        ]


def inflight_stats(plan: TablePlan, commit: int) -> Iterator[list[str]]:
    """The workload profile in an inflight commit: a line for the inserts, one for each file group to update."""
    insert = plan.inserts(commit)
    blank = {"path": "null", "writes": 0, "size": 0, "partition": "null", "runtime": "null"}
    for partition in range(plan.partitions):
        file_ids = plan.file_ids_of(commit, partition)
        inserts = {"file_id": "", "previous": "null", "updates": 0, "inserts": 20 * len(file_ids) if insert else 0}
        texts = [WRITE_STAT % (blank | inserts)] if file_ids else []
        for file_id in [] if insert else file_ids:
            previous = plan.instants[commit - 2]
            updates = {"file_id": file_id, "previous": previous, "updates": 10, "inserts": 0}
            texts.append(WRITE_STAT % (blank | updates))
        yield texts


def parquet_body() -> bytes:
    """An empty Parquet file of the table's columns."""
    schema = pa.schema([("id", pa.int64()), ("ts", pa.int64()), ("val", pa.string()), ("p", pa.string())])
    sink = io.BytesIO()
    pq.write_table(schema.empty_table(), sink)
    return sink.getvalue()


def java_date(time: dt.datetime) -> str:
    """A time as java.util.Date prints it; not strftime, whose names follow the locale."""
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[time.weekday()]
    month = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")[time.month - 1]
    return f"{day} {month} {time:%d %H:%M:%S} UTC {time.year}"


def write(path: str, body: bytes, modified: dt.datetime) -> None:
    """Writes a new file with its modification time."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        if os.write(handle, body) != len(body):
            raise OSError(f"{path}: written in part, is the disk full?")
        os.utime(handle, (modified.timestamp(), modified.timestamp()))
    finally:
        os.close(handle)
