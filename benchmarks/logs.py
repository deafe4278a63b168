"""Logs: headers, records and verification, against fastavro alone and against the real Hudi's procedures.

One log of Avro blocks of a MiB each, in a table that Hudi 0.15.0 wrote. Everything but the decoding is a whole process.
"""

import argparse
import io
import json
import os
import platform
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro

from benchmarks.measure import Measured, measure
from benchmarks.restore import HERE, HUDI_VERSION, environment, exit_problem, hudi_jar, print_table
from hudictl.formats.log_blocks import AVRO_DATA, Block, encode_block, read_blocks
from hudictl.formats.log_contents import count_records, encode_avro, read_records
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support

MIB = 2**20
TAIL = 4000
TO_NOBODY = 'exec "$@" > /dev/null'
META_FIELDS = ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "trips_record",
        "namespace": "hoodie.trips",
        "fields": [
            *({"name": f"_hoodie_{name}", "type": ["null", "string"], "default": None} for name in META_FIELDS),
            {"name": "uuid", "type": "string"},
            {"name": "rider", "type": ["null", "string"]},
            {"name": "driver", "type": ["null", "string"]},
            *({"name": name, "type": "double"} for name in ("begin_lat", "begin_lon", "end_lat", "end_lon", "fare")),
            {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "tips", "type": {"type": "array", "items": "long"}},
        ],
    }
)


@dataclass(frozen=True)
class Log:
    """The log that is measured. ``mib`` is its size."""

    table: Path
    path: Path
    blocks: int

    @property
    def mib(self) -> float:
        return self.path.stat().st_size / MIB


def main(argv: Sequence[str] | None = None) -> int:
    """Makes the log, measures, and prints a table for each question; 1 if a command failed."""
    args = parser().parse_args(argv)
    scratch = Path(tempfile.mkdtemp(prefix="hudictl-benchmark-", dir=args.scratch))
    chosen = args.parts.split(",")
    if unknown := set(chosen) - set(PARTS):
        raise SystemExit(f"unknown parts: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    try:
        log = make_log(scratch, args.size)
        load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
        print(f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores, load before: {load}")
        print(f"A log of {log.mib:,.0f} MiB in {log.blocks:,} Avro blocks.", flush=True)
        run = Runs(str(scratch / "log"), args.hudi_python, args.driver_memory)
        failed = [PARTS[part](log, run) for part in chosen]
        if any(failed):
            print(Path(run.output).read_text()[-TAIL:], file=sys.stderr)
        return int(any(failed))
    finally:
        shutil.rmtree(scratch)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.logs", description=__doc__)
    add = options.add_argument
    add("--size", type=int, default=128, help="of the log, in MiB, which are its blocks, too (128)")
    add("--parts", default=",".join(PARTS), help="what to measure, a comma list (%(default)s)")
    add("--scratch", help="folder for the table (the system's)")
    add("--hudi-python", default=sys.executable, help="interpreter with PySpark 3.5 for Hudi (this one)")
    add("--driver-memory", default="4g", help="heap of Hudi's JVM, which holds all rows of a procedure (4g)")
    return options


def make_log(scratch: Path, size: int) -> Log:
    """A log of ``size`` blocks of a MiB, of the last commit of a table; their records are the same in each."""
    base = support.unpack("v6", "mor_flat_nomdt", scratch)
    instant = load_timeline(open_table(str(base))).completed_writes()[-1].time
    rows = [row(number, instant) for number in range(1000)]
    each = len(encode_avro(rows, SCHEMA)) / len(rows)
    rows = [row(number, instant) for number in range(int(MIB / each))]
    block = encode_block(AVRO_DATA, {"INSTANT_TIME": instant, "SCHEMA": SCHEMA}, encode_avro(rows, SCHEMA))
    path = base / f".0e1d5cc4-0000-4000-8000-123456789abc-0_{instant}.log.1_0-1-1"
    with path.open("wb") as file:
        for _ in range(size):
            file.write(block)
    return Log(base, path, size)


def row(number: int, instant: str) -> dict[str, object]:
    """A record as a writer of Hudi's examples makes it."""
    key = f"{number:08x}-5e5e-4c4c-9a9a-{number * 7919:012x}"
    meta = (instant, f"{instant}_0_{number}", key, "", "0e1d5cc4-0000-4000-8000-123456789abc-0")
    return {
        **{f"_hoodie_{name}": value for name, value in zip(META_FIELDS, meta, strict=True)},
        **{"uuid": key, "rider": f"rider-{number % 97}", "driver": None if number % 5 else f"driver-{number % 31}"},
        **{"begin_lat": number / 7, "begin_lon": number / 11, "end_lat": number / 13, "end_lon": number / 17},
        **{"fare": number / 19, "ts": 1_700_000_000_000_000 + number, "tips": [number, number + 1]},
    }


@dataclass(frozen=True)
class Runs:
    """How the processes are run; what they say is in ``output``."""

    output: str
    hudi_python: str
    driver_memory: str

    def hudictl(self, *words: str, before: Sequence[str] = (), module: str = "hudictl") -> Measured:
        return measure([*before, sys.executable, "-m", module, *words], self.output, environment())

    def hudi(self, procedure: str, log: Log) -> Measured:
        command = [self.hudi_python, str(HERE / "hudi_peer.py"), procedure, str(log.table), str(log.path)]
        command += ["--jar", hudi_jar(), "--driver-memory", self.driver_memory]
        return measure(command, self.output, environment())


def answer(measured: Measured, key: str) -> dict[str, float]:
    """The JSON line with a key that a process has said; nothing where it failed."""
    lines = [line for line in measured.lines if line.startswith(f'{{"{key}"')]
    return dict(json.loads(lines[-1])) if lines and not measured.returncode else {}


def cells(name: str, measured: Measured, log: Log) -> list[str]:
    """What all tables of processes have: seconds, per byte, memory."""
    call = answer(measured, "start_s").get("call_s")
    return [
        name,
        f"{measured.wall_s:.2f}",
        f"{call:.2f}" if call is not None else "",
        f"{log.mib / measured.wall_s:.1f}",
        f"{measured.usage.cpu_s:.2f}",
        f"{measured.usage.total_mib:.0f}",
    ]


HEAD = ["", "wall s", "its call", "MiB/s", "cpu s", "peak MiB"]


def headers(log: Log, run: Runs) -> bool:
    """Every block told from its header; Hudi decodes all records for it."""
    inspected = run.hudictl("log", "inspect", str(log.path), "-o", "ndjson", module="benchmarks.counting")
    hudi = run.hudi("show_logfile_metadata", log)
    read = answer(inspected, "reads")
    share = f"{read['bytes']:,} ({read['bytes'] / log.path.stat().st_size:.2%})" if read else ""
    print("\n### Blocks by their headers\n")
    print_table(
        [
            [*HEAD, "bytes read", "to Hudi", ""],
            [*cells("hudictl log inspect", inspected, log), share, ratio(inspected, hudi), exit_problem(inspected)],
            [*cells(f"Hudi {HUDI_VERSION}, show_logfile_metadata", hudi, log), "", "1.00", exit_problem(hudi)],
        ]
    )
    return bool(inspected.returncode or hudi.returncode)


def records(log: Log, run: Runs) -> bool:
    """Every record as JSON; Hudi's are counted where they are made, and not printed."""
    printed = run.hudictl("log", "records", str(log.path), "-o", "ndjson", before=["sh", "-c", TO_NOBODY, "sh"])
    hudi = run.hudi("show_logfile_records", log)
    print("\n### Records\n")
    print_table(
        [
            [*HEAD, "to Hudi", ""],
            [*cells("hudictl log records", printed, log), ratio(printed, hudi), exit_problem(printed)],
            [*cells(f"Hudi {HUDI_VERSION}, show_logfile_records", hudi, log), "1.00", exit_problem(hudi)],
        ]
    )
    return bool(printed.returncode or hudi.returncode)


def ratio(one: Measured, other: Measured) -> str:
    """Of the wall times; what failed did less, so there is none."""
    return "-" if one.returncode or other.returncode else f"{one.wall_s / other.wall_s:.3f}"


def printing(log: Log, run: Runs) -> bool:
    """Records as JSON, by a whole process, against fastavro's decoder alone: it starts nothing, and prints nothing."""
    body = log.path.read_bytes()
    frames = [frame for block in read_blocks(reader(body), len(body)) for frame in cut(body, block)]
    schema = fastavro.parse_schema(json.loads(SCHEMA))
    alone = min(timed(lambda: decoded(frames, schema), len(frames)) for _ in range(3))
    table = [["processor time of", "s", "to fastavro", ""], ["fastavro's decoder alone", f"{alone:.2f}", "1.00", ""]]
    failed = False
    for form in ("json", "ndjson"):
        words = ("log", "records", str(log.path), "-o", form)
        printed = [run.hudictl(*words, before=["sh", "-c", TO_NOBODY, "sh"]) for _ in range(3)]
        taken = min(measured.usage.cpu_s for measured in printed)
        problem = exit_problem(printed[0])
        table.append([f"hudictl log records, {form}", f"{taken:.2f}", f"{taken / alone:.2f}", problem])
        failed |= bool(problem)
    print(f"\n### Printing {len(frames):,} records, fastest of 3\n")
    print_table(table)
    return failed


def verify(log: Log, run: Runs) -> bool:
    """On one core and on two, threads and Spark."""
    engines = {
        "threads, one core": (["--engine", "local"], ["taskset", "-c", "0"]),
        "threads, two cores": (["--engine", "local"], ["taskset", "-c", "0,1"]),
        "Spark, local[1]": (["--master", "local[1]"], []),
        "Spark, local[2]": (["--master", "local[2]"], []),
    }
    found = {
        name: run.hudictl("log", "verify", str(log.path), *words, before=before)
        for name, (words, before) in engines.items()
    }
    print("\n### log verify\n")
    table = [[*HEAD, "to one core", ""]]
    for name, base in zip(found, [*found][:1] * 2 + [*found][2:3] * 2, strict=True):
        table.append([*cells(name, found[name], log), ratio(found[name], found[base]), exit_problem(found[name])])
    print_table(table)
    return any(measured.returncode for measured in found.values())


def decoding(log: Log, _: Runs) -> bool:
    """Records out of memory: fastavro's decoder alone on records that are cut already, and hudictl's readers."""
    with log.path.open("rb") as file:
        body = file.read(16 * MIB)
    blocks = [block for block in read_blocks(reader(body), len(body)) if block.damage is None]
    frames = [frame for block in blocks for frame in cut(body, block)]
    plain = fastavro.parse_schema(json.loads(SCHEMA))
    raw = fastavro.parse_schema(json.loads(SCHEMA.replace('"logicalType"', '"was"')))
    works: dict[str, Callable[[], int]] = {
        "fastavro": lambda: decoded(frames, plain),
        "hudictl, read_records": lambda: sum(1 for block in blocks for _ in read_records(block, reader(body))),
        "fastavro, without logical types": lambda: decoded(frames, raw),
        "hudictl, count_records": lambda: sum(count_records(block, reader(body)) for block in blocks),
    }
    taken = {name: min(timed(work, len(frames)) for _ in range(3)) for name, work in works.items()}
    print(f"\n### Decoding {len(frames):,} records out of memory, fastest of 3\n")
    table = [["", "s", "MiB/s", "to fastavro"]]
    for name, base in zip(taken, [*taken][:1] * 2 + [*taken][2:3] * 2, strict=True):
        size = sum(map(len, frames)) / MIB
        table.append([name, f"{taken[name]:.2f}", f"{size / taken[name]:.1f}", f"{taken[name] / taken[base]:.2f}"])
    print_table(table)
    return False


def decoded(frames: Sequence[bytes], schema: Any) -> int:
    """Decodes records by fastavro alone; their number."""
    return sum(1 for frame in frames if fastavro.schemaless_reader(io.BytesIO(frame), schema, None))


def reader(body: bytes) -> Callable[[int, int], bytes]:
    """Gives parts of what is in memory."""
    return lambda offset, length: body[offset : offset + length]


def cut(body: bytes, block: Block) -> Iterator[bytes]:
    """The records of a block, each in bytes of its own."""
    position = block.content_offset + 8
    while position < block.content_offset + block.content_length:
        (length,) = struct.unpack_from(">i", body, position)
        yield body[position + 4 : position + 4 + length]
        position += 4 + length


def timed(work: Callable[[], int], expected: int) -> float:
    """Seconds of processor time, which a busy host changes least."""
    start = time.process_time()
    if work() != expected:
        raise SystemExit("records were lost")
    return time.process_time() - start


PARTS = {"headers": headers, "decoding": decoding, "printing": printing, "records": records, "verify": verify}

if __name__ == "__main__":
    sys.exit(main())
