"""The real tables of tests/tables and the other samples, unpacked for a test."""

import functools
import json
import os
import signal
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

TABLES = Path(__file__).parent / "tables"
LOGS = Path(__file__).parent / "logs"
HASHING = Path(__file__).parent / "hashing"
INDEXES = Path(__file__).parent / "indexes"
INDEXED = Path(__file__).parent / "indexed"
BESIDE = Path(__file__).parent / "beside"
OVERLAPS = Path(__file__).parent / "overlaps"
HISTORY = Path(__file__).parent / "history"
DOWNGRADED = Path(__file__).parent / "downgraded"
BASES = Path(__file__).parent / "bases"
BOOTSTRAPPED = Path(__file__).parent / "bootstrapped"
SAMPLES = (TABLES, OVERLAPS, INDEXES, HASHING, HISTORY)
VERSIONS = ("v6", "v8", "v9")
ONE_OF_EACH_KIND = pytest.mark.short(
    "v6-cow_part",
    "v6-mor_failed_lazy",
    "v6-mor_pending_compaction",
    "v8-mor_part",
    "v9-cow_cluster",
    "v9-cow_flat_nomdt",
    "v9-cow_rollback_interrupted",
    "v9-mor_restore_interrupted",
    "v9-mor_savepoints",
)
"""For a test that asks the same of all tables of tests/tables: the short form asks these."""
ONE_OF_EVERY_KIND = pytest.mark.short(
    *ONE_OF_EACH_KIND.args,
    "v6-archived_beyond_savepoint",
    "v6-hfile_mor",
    "v8-orc_cow",
    "v9-lance_mor",
    "v6-first_write_failed",
    "v6-resized",
    "v8-upgraded_mor",
    "v9-cow_clustering",
    "v9-later",
    "v9-nested_partitions",
    "v9-two_compactions",
    "v9-upgraded_cow",
)
"""The same for ``every_table()``."""
_sleep = time.sleep


def short_sleep(seconds: float) -> None:
    """For ``time.sleep``: tests do not wait; a moment all the same, or py4j's threads would spin for good."""
    _sleep(min(seconds, 0.001))


def interruptible() -> None:
    """For a child process: a shell that runs the tests in the background has all of them ignore SIGINT, and nohup has
    them ignore SIGHUP."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def names(version: str) -> list[str]:
    """The names of the tables that the Hudi release of a table version made, sorted."""
    return _archives(TABLES / version)


def every_name(version: str) -> list[str]:
    """Those and the names of all other sample tables: they overlap, have late indexes, resized buckets, a history."""
    return [name for kind in SAMPLES for name in _archives(kind / version)]


def base_names(version: str) -> list[str]:
    """The names of the tables of tests/bases, sorted: their base files are not Parquet."""
    return _archives(BASES / version)


def base_tables() -> list[tuple[str, str]]:
    """Each version with each of its tables of tests/bases."""
    return [(version, name) for version in VERSIONS for name in base_names(version)]


def base_facts(version: str, name: str) -> dict[str, Any]:
    """What is known of a table of tests/bases: see ``tests/interop/make_bases.py``."""
    return dict(json.loads((BASES / f"facts-{version}.json").read_text())[name])


def every_table() -> list[tuple[str, str]]:
    """Each version with each of its sample tables: for a test that asks the same of all."""
    return [(version, name) for version in VERSIONS for name in (*every_name(version), *base_names(version))]


def archive(version: str, name: str) -> Path:
    """The packed table of a name, whichever kind it is of."""
    (found,) = [path for kind in (*SAMPLES, BASES, DOWNGRADED) if (path := kind / version / f"{name}.tar.gz").exists()]
    return found


def log_names(version: str) -> list[str]:
    """The names of the tables of tests/logs, which hold each kind of log block, sorted."""
    return _archives(LOGS / version)


def _archives(folder: Path) -> list[str]:
    return sorted(path.name.removesuffix(".tar.gz") for path in folder.glob("*.tar.gz"))


def unpack(version: str, name: str, folder: Path) -> Path:
    """Unpacks a sample table with its modification times (they order version 6 tables); returns its base path."""
    return _unpack(archive(version, name), folder) / name / "table"


def unpack_logs(version: str, name: str, folder: Path) -> Path:
    """The same with a table of tests/logs."""
    return _unpack(LOGS / version / f"{name}.tar.gz", folder) / name / "table"


def unpack_bootstrapped(version: str, name: str, folder: Path) -> Path:
    """A table of tests/bootstrapped; its source lies beside it."""
    return _unpack(BOOTSTRAPPED / version / f"{name}.tar.gz", folder) / name / "table"


def unpack_beside(version: str, folder: Path) -> Path:
    """The table of tests/beside: the indexer built its record index while a commit came."""
    return _unpack(BESIDE / f"{version}.tar.gz", folder) / "beside" / "table"


def indexed_names(version: str) -> list[str]:
    """The names of the tables of tests/indexed, which have every index that can be verified, sorted."""
    return _archives(INDEXED / version)


def unpack_indexed(version: str, name: str, folder: Path) -> Path:
    """Unpacks a table of tests/indexed; returns its base path."""
    return _unpack(INDEXED / version / f"{name}.tar.gz", folder) / name / "table"


def overlap_names(version: str) -> list[str]:
    """The names of the tables of tests/overlaps, sorted."""
    return _archives(OVERLAPS / version)


def overlap_facts(version: str, name: str) -> dict[str, Any]:
    """How a table of tests/overlaps was made, its ``instants`` by name, and what a reader saw after each (``rows``)."""
    return dict(json.loads((OVERLAPS / f"facts-{version}.json").read_text())[name])


def downgraded_facts(name: str) -> dict[str, Any]:
    """What is known of a table of tests/downgraded: see ``tests/interop/make_downgraded.py``."""
    return dict(json.loads((DOWNGRADED / "facts.json").read_text())[name])


def history_names(version: str) -> list[str]:
    """The names of the tables of tests/history, sorted."""
    return _archives(HISTORY / version)


def history_facts(version: str, name: str) -> dict[str, Any]:
    """What is known of a table of tests/history: see ``tests/interop/make_history.py``."""
    return dict(json.loads((HISTORY / f"facts-{version}.json").read_text())[name])


def _unpack(archive: Path, folder: Path) -> Path:
    members = _members(archive)
    for member, body in members:
        path = folder / member.name
        if body is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.write_bytes(body)
            os.utime(path, (member.mtime, member.mtime))
    for member, body in members:
        if body is None:
            os.utime(folder / member.name, (member.mtime, member.mtime))
    return folder


@functools.cache
def _members(archive: Path) -> list[tuple[tarfile.TarInfo, bytes | None]]:
    """What is in a table's archive, folders without a body: read once a process, for reading is what takes long."""
    with tarfile.open(archive) as tar:
        return [(member, file.read() if (file := tar.extractfile(member)) else None) for member in tar]


def facts(version: str, name: str) -> dict[str, Any]:
    """What a reader saw after each instant (``rows``), and the savepoint or crash the table was made for."""
    return dict(outcome_file(version)[name]["facts"])


def outcomes(version: str, name: str, op: str) -> list[dict[str, Any]]:
    """What the real Hudi did to copies of a table with one operation (``restore``, ``savepoint``, ``rollback`` ...)."""
    return [entry for entry in outcome_file(version)[name]["outcomes"] if entry["op"] == op]


@functools.cache
def outcome_file(version: str) -> dict[str, Any]:
    """The whole of ``outcomes-<version>.json``."""
    return dict(json.loads((TABLES / f"outcomes-{version}.json").read_text()))


def validated_file(version: str) -> Path:
    """What Hudi's validators say of each sample table: made by ``tests/interop/make_validated.py``."""
    return TABLES / f"validated-{version}.json"


@functools.cache
def validated(version: str) -> dict[str, dict[str, Any]]:
    """What is in it, by table."""
    return dict(json.loads(validated_file(version).read_text()))


@functools.cache
def log_facts(version: str) -> dict[str, dict[str, Any]]:
    """What the real Hudi reads in each table of tests/logs: how it was made, properties, blocks by log, its state."""
    found = json.loads((LOGS / f"facts-{version}.json").read_text())
    for table in found["tables"].values():
        for block in (block for blocks in table["logs"].values() for block in blocks):
            if "SCHEMA" in block["header"]:
                block["header"]["SCHEMA"] = found["schemas"][block["header"]["SCHEMA"]]
    return dict(found["tables"])


@functools.cache
def log_counts(version: str) -> dict[str, dict[str, list[list[Any]]]]:
    """By table of tests/tables and log file: [type, instant, records or None] of each block, as the real Hudi reads."""
    return dict(json.loads((LOGS / f"counts-{version}.json").read_text()))
