"""A lake of some years, made in a minute: a merge-on-read table of version 9, as Hudi and a nightly job would leave it.

A write every five minutes, of which one in a hundred fails and is rolled back; a compaction and a cleaning each hour; a
savepoint each night, of which the newest are kept. What is older than the oldest savepoint is archived, as Hudi does.
All metadata is generated, from instants that Hudi wrote (``tests/tables``). Most data files exist by a rule only
(``benchmarks.ruled``); those that the active timeline names are real ones.
"""

import datetime as dt
import io
import itertools
import json
import os
import shutil
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from pyarrow import parquet

from benchmarks.many import unpack
from benchmarks.ruled import METAFILE, TIME, names_that_stay
from hudictl.formats import rollback, savepoint
from hudictl.formats.instants import format_time

EVERY = dt.timedelta(minutes=5)
DAY = 288
"""Writes a day."""
HOUR = 12
FAILS = 100
"""Of so many writes one fails."""
RETAINED = 24
"""Cleaning keeps the files of so many commits."""
NIGHT = 6
"""The savepoint of a day is on this write of it."""
LEFT = (9, 6, 3)
"""Of the newest writes, those that have failed and are not rolled back."""
MERGED = 10
"""Hudi makes one file of the archive of so many of the level below."""
GROUP_BYTES = 120 * 2**20
"""Of a row group of the archive."""
# The instants of ``mor_part`` from which all are made, and what they name.
WRITE, COMPACTION, BASE = "20261121030349995", "20261121030350983", "20261121030346984"
Entry = tuple[str, str, str, bytes, bytes, bytes]
"""An instant: its requested and completion time, its action, and the bodies of its three files."""


@dataclass(frozen=True)
class Lake:
    """What is to be made: ``days`` of writes up to ``end``, ``keep`` savepoints, ``ruled`` files in each partition."""

    days: int
    keep: int
    ruled: int
    end: dt.datetime

    def time(self, tick: int, seconds: float = 0) -> str:
        """A time after one of the writes was requested."""
        moment = self.end - (self.ticks - tick) * EVERY + dt.timedelta(seconds=seconds)
        return format_time(moment)

    @property
    def ticks(self) -> int:
        """How many writes there are, failed ones included: the last hour's is not over."""
        return self.days * DAY - 3

    @property
    def last_saved(self) -> str:
        return self.time((self.days - 1) * DAY + NIGHT)

    @property
    def last_failed(self) -> str:
        return self.time(self.ticks - LEFT[-1])

    def archive(self) -> Iterator[tuple[int, str]]:
        """The files of the archive, oldest first: the level of each, and the time before which its instants are. There
        is a batch for each day, and Hudi merges these."""
        left = self.days - self.keep
        for level in (2, 1, 0):
            while left >= MERGED**level:
                left -= MERGED**level
                yield level, self.time((self.days - self.keep - left) * DAY + NIGHT)

    def completes(self, tick: int) -> bool:
        return tick % FAILS != FAILS - 1 and self.ticks - tick not in LEFT

    def base(self, hour: int) -> str:
        """The base instant of the slices that the writes of an hour go to: its compaction is at the hour's end."""
        return self.time(hour * HOUR - 1, 90) if hour else TIME

    def hour_of(self, tick: int) -> int:
        return tick // HOUR

    def saved_hours(self, tick: int) -> set[int]:
        """The hours whose files are in savepoints that exist at a write."""
        today = (tick - NIGHT) // DAY
        return {self.hour_of(day * DAY + NIGHT) for day in range(max(1, today - self.keep + 1), today + 1)}

    def kept_hours(self) -> list[int]:
        """The hours whose files exist."""
        newest = self.hour_of(self.ticks - 1)
        return sorted({*self.saved_hours(self.ticks), *range(max(0, newest - 3), newest + 1)})

    def writes_of(self, hour: int) -> list[int]:
        ticks = range(hour * HOUR, min((hour + 1) * HOUR, self.ticks))
        return [tick for tick in ticks if self.completes(tick)]


@dataclass(frozen=True)
class Samples:
    """Instants and files of the real Hudi, by the name of their file or partition."""

    instants: Mapping[str, bytes]
    bases: Mapping[str, tuple[str, bytes]]
    logs: Mapping[str, tuple[str, bytes]]
    history: Any

    @cached_property
    def records(self) -> dict[str, tuple[Any, Any]]:
        """The schema and the record of each."""
        found = {}
        for name, body in self.instants.items():
            reader = fastavro.reader(io.BytesIO(body))
            found[name] = (fastavro.parse_schema(reader.writer_schema), next(reader))
        return found

    def encoded(self, name: str, **values: Any) -> bytes:
        """A sample with other values in some fields."""
        schema, record = self.records[name]
        out = io.BytesIO()
        fastavro.writer(out, schema, [record | values], sync_marker=b"sixteen bytes it")
        return out.getvalue()

    def base_name(self, partition: str, time: str) -> str:
        return self.bases[partition][0].replace(COMPACTION, time)

    def log_name(self, partition: str, time: str) -> str:
        return self.logs[partition][0].replace(WRITE, time)


def make(lake: Lake, folder: Path) -> str:
    """Makes a lake; returns its base path."""
    sample = unpack(folder, "v9", "mor_part")
    samples, base = read_samples(sample, folder), folder / "lake"
    hoodie = base / ".hoodie"
    for path in (".temp", ".heartbeat", ".schema", ".aux/.bootstrap/.partitions", "timeline/history"):
        (hoodie / path).mkdir(parents=True)
    properties = (sample / ".hoodie" / "hoodie.properties").read_text()
    properties = properties.replace("partitions=column_stats,files,partition_stats", "partitions=")
    kept = [line for line in properties.splitlines() if "index.defs" not in line]
    (hoodie / "hoodie.properties").write_text("\n".join(kept).replace("timezone=LOCAL", "timezone=UTC") + "\n")

    history, files = hoodie / "timeline" / "history", list(lake.archive())
    ends = [end for _, end in files]
    manifest = []
    for number, entries in itertools.groupby(instants(lake, samples, str(base)), lambda one: bisect(ends, one[0])):
        if number < len(files):
            manifest.append(archive(history, samples, files[number][0], entries))
        else:
            for entry in entries:
                activate(hoodie / "timeline", entry)
    (history / f"manifest_{len(files)}").write_text(json.dumps({"files": manifest}))
    (history / "_version_").write_text(str(len(files)))
    for day in range(lake.days - lake.keep, lake.days):
        save(lake, samples, hoodie / "timeline", day * DAY + NIGHT)
    for tick in (lake.ticks - left for left in LEFT):
        fail(lake, samples, base, tick)
    for partition in samples.bases:
        write(base / partition / METAFILE, (sample / partition / METAFILE).read_bytes(), TIME)
        for hour in lake.kept_hours():
            put_slice(lake, samples, base / partition, partition, hour)
    shutil.rmtree(sample)
    return str(base)


def read_samples(sample: Path, folder: Path) -> Samples:
    timeline = sample / ".hoodie" / "timeline"
    cleaned = unpack(folder, "v9", "cow_cleaned") / ".hoodie" / "timeline"
    found = {
        "write": next(timeline.glob(f"{WRITE}_*")),
        "inflight": timeline / f"{WRITE}.deltacommit.inflight",
        "plan": timeline / f"{COMPACTION}.compaction.requested",
        "compaction": next(timeline.glob(f"{COMPACTION}_*")),
        "clean plan": max(cleaned.glob("*.clean.requested")),
        "clean": max(cleaned.glob("*_*.clean")),
    }
    partitions = [f"part-{number}" for number in range(3)]
    bases = {name: next((sample / name).glob(f"[!.]*_{COMPACTION}.parquet")) for name in partitions}
    logs = {name: next((sample / name).glob(f".[!.]*_{WRITE}.log.*[!c]")) for name in partitions}
    files = [{name: (path.name, path.read_bytes()) for name, path in some.items()} for some in (bases, logs)]
    schema = parquet.read_schema(next((cleaned / "history").glob("*.parquet")))
    return Samples({name: path.read_bytes() for name, path in found.items()}, files[0], files[1], schema)


def instants(lake: Lake, samples: Samples, base: str) -> Iterator[Entry]:
    """All instants but savepoints and the writes that are pending now, by requested time."""
    first = samples.instants["write"].replace(WRITE.encode(), TIME.encode())
    yield TIME, TIME[:-3] + "999", "deltacommit", b"", b"", first
    for tick in range(lake.ticks):
        time, hour = lake.time(tick), lake.hour_of(tick)
        if lake.completes(tick):
            bodies = (samples.instants[name].replace(WRITE.encode(), time.encode()) for name in ("inflight", "write"))
            inflight, result = (body.replace(BASE.encode(), lake.base(hour).encode()) for body in bodies)
            yield time, lake.time(tick, 40), "deltacommit", b"", inflight, result
        elif tick % FAILS == FAILS - 1:
            requests = [
                rollback.RollbackRequest(name, (f"{base}/{name}/{samples.log_name(name, time)}",))
                for name in samples.logs
            ]
            plan = rollback.StoredRollbackPlan(rollback.InstantInfo(time, "deltacommit"), tuple(requests))
            undone = lake.time(tick, 60)
            result = rollback.encode_result_of(plan, undone)
            yield undone, lake.time(tick, 65), "rollback", rollback.encode_plan(plan), b"", result
        if tick % HOUR == HOUR - 1:
            yield compaction(lake, samples, hour)
            yield clean(lake, samples, base, hour, tick)


def compaction(lake: Lake, samples: Samples, hour: int) -> Entry:
    """The compaction at the end of an hour."""
    old, new = lake.base(hour), lake.base(hour + 1)
    logs = [lake.time(tick) for tick in lake.writes_of(hour)]
    operations = [
        operation
        | {
            "baseInstantTime": old,
            "deltaFilePaths": [samples.log_name(operation["partitionPath"], time) for time in logs],
            "dataFilePath": samples.base_name(operation["partitionPath"], old),
        }
        for operation in samples.records["plan"][1]["operations"]
    ]
    plan = samples.encoded("plan", operations=operations)
    result = samples.instants["compaction"].replace(COMPACTION.encode(), new.encode())
    done = lake.time((hour + 1) * HOUR - 1, 120)
    return new, done, "compaction", plan, b"", result.replace(BASE.encode(), old.encode())


def clean(lake: Lake, samples: Samples, base: str, hour: int, tick: int) -> Entry:
    """The clean after it: the files of an hour go that is long replaced, unless they are in a savepoint, and those of a
    savepoint that is deleted since the clean before."""
    going = {hour - 4} | (lake.saved_hours(tick - HOUR) - lake.saved_hours(tick))
    names = {
        name: [
            file for gone in sorted(going - lake.saved_hours(tick)) for file in slice_names(lake, samples, name, gone)
        ]
        for name in samples.bases
    }
    time, done = lake.time(tick, 150), lake.time(tick, 160)
    earliest, last = lake.time(max(0, tick - RETAINED)), lake.time(tick)
    retained = samples.records["clean plan"][1]["earliestInstantToRetain"] | {
        "timestamp": earliest,
        "action": "deltacommit",
    }
    paths = {
        name: [{"filePath": f"{base}/{name}/{file}", "isBootstrapBaseFile": False} for file in files]
        for name, files in names.items()
    }
    done_by = {
        name: entry | {"deletePathPatterns": names[name], "successDeleteFiles": names[name]}
        for name, entry in samples.records["clean"][1]["partitionMetadata"].items()
    }
    plan = samples.encoded(
        "clean plan",
        earliestInstantToRetain=retained,
        lastCompletedCommitTimestamp=last,
        filePathsToBeDeletedPerPartition=paths,
    )
    result = samples.encoded(
        "clean",
        startCleanTime=time,
        earliestCommitToRetain=earliest,
        lastCompletedCommitTimestamp=last,
        totalFilesDeleted=sum(map(len, names.values())),
        partitionMetadata=done_by,
    )
    return time, done, "clean", plan, b"", result


def slice_names(lake: Lake, samples: Samples, partition: str, hour: int) -> list[str]:
    """The files of one slice: its base file and the logs of an hour."""
    if hour < 0:
        return []
    logs = [samples.log_name(partition, lake.time(tick)) for tick in lake.writes_of(hour)]
    return [samples.base_name(partition, lake.base(hour)), *logs]


def put_slice(lake: Lake, samples: Samples, folder: Path, partition: str, hour: int) -> None:
    (_, base), (_, log) = samples.bases[partition], samples.logs[partition]
    write(folder / samples.base_name(partition, lake.base(hour)), base, lake.base(hour))
    for time in (lake.time(tick) for tick in lake.writes_of(hour)):
        write(folder / samples.log_name(partition, time), log.replace(WRITE.encode(), time.encode()), time)


def activate(timeline: Path, entry: Entry) -> None:
    """Writes an instant's three files."""
    time, done, action, plan, inflight, result = entry
    write(timeline / f"{time}.{action}.requested", plan, time)
    write(timeline / f"{time}.{action}.inflight", inflight, time)
    completed = "commit" if action == "compaction" else action
    write(timeline / f"{time}_{done}.{completed}", result, done)


def save(lake: Lake, samples: Samples, timeline: Path, tick: int) -> None:
    """Writes a savepoint, as Hudi does: on the slices of that moment."""
    time, hour = lake.time(tick), lake.hour_of(tick)
    files = {}
    for name in samples.bases:
        logs = [samples.log_name(name, lake.time(one)) for one in lake.writes_of(hour) if one <= tick]
        files[name] = (samples.base_name(name, lake.base(hour)), *logs, *names_that_stay(name, lake.ruled))
    made = lake.end - (lake.ticks - tick) * EVERY
    body = savepoint.encode(savepoint.SavepointMetadata("nightly", int(made.timestamp() * 1000), "", files))
    write(timeline / f"{time}.savepoint.inflight", b"", time)
    write(timeline / f"{time}_{lake.time(tick, 180)}.savepoint", body, lake.time(tick, 180))


def fail(lake: Lake, samples: Samples, base: Path, tick: int) -> None:
    """A write that has died: instant files, a heartbeat, and a log with its marker in each partition."""
    time, hoodie = lake.time(tick), base / ".hoodie"
    body = samples.instants["inflight"].replace(WRITE.encode(), time.encode())
    write(hoodie / "timeline" / f"{time}.deltacommit.requested", b"", time)
    write(hoodie / "timeline" / f"{time}.deltacommit.inflight", body.replace(BASE.encode(), TIME.encode()), time)
    write(hoodie / ".heartbeat" / time, b"", time)
    for name, (_, log) in samples.logs.items():
        file = samples.log_name(name, time)
        write(base / name / file, log.replace(WRITE.encode(), time.encode()), time)
        write(hoodie / ".temp" / time / name / f"{file}.marker.CREATE", b"", time)


def archive(folder: Path, samples: Samples, level: int, entries: Iterable[Entry]) -> dict[str, Any]:
    """Writes a file of the archive; returns its entry in the manifest."""
    rows: list[dict[str, Any]] = [
        {
            "instantTime": time,
            "completionTime": done,
            "action": "commit" if action == "compaction" else action,
            "metadata": result,
            "plan": plan,
            "version": 1,
        }
        for time, done, action, plan, _, result in entries
    ]
    path = folder / f"{rows[0]['instantTime']}_{rows[-1]['instantTime']}_{level}.parquet"
    group = GROUP_BYTES * len(rows) // sum(len(row["metadata"]) + len(row["plan"]) for row in rows)
    table = pa.Table.from_pylist(rows, schema=samples.history)
    parquet.write_table(table, path, compression="gzip", row_group_size=group)
    return {"fileName": path.name, "fileLen": path.stat().st_size}


def write(path: Path, body: bytes, time: str) -> None:
    """A file of a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    moment = dt.datetime.strptime(time[:14], "%Y%m%d%H%M%S").replace(tzinfo=dt.timezone.utc).timestamp()
    os.utime(path, (moment, moment))
