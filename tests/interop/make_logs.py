"""Makes the log files of tests/logs with the real Hudi: ``python -m tests.interop.make_logs v6 v8 v9``.

For each table version: ``<version>/<name>.tar.gz``, a table that holds one kind of log block, ``facts-<version>.json``
with what Hudi itself reads in each, and ``counts-<version>.json`` with the blocks of every log of tests/tables. A name
behind the versions (``make_logs v9 partial``) makes that table alone anew.
"""

import json
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests import support
from tests.interop.judge import Judge, JudgeError, start
from tests.interop.log_samples import SAMPLES

LOGS = support.LOGS
KEPT = ("version", "type", "recordkey", "precombine", "ordering", "merge", "payload", "cdc", "partial", "keygenerator")
"""Words of the table properties that a reader of its logs wants to know."""


def log_files(base: Path) -> list[Path]:
    """All log files of a table: of its data, its metadata table and its archived timeline."""
    found = [*base.rglob(".*.log.*"), *base.rglob(".*.archive.*")]
    return sorted(path for path in found if path.suffix != ".crc" and ".temp" not in path.parts)


def pack(folder: Path, name: str, archive: Path) -> None:
    """A tar of a table with its modification times, without Hadoop's sidecars and this machine's user."""

    def cleaned(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        return None if info.name.endswith(".crc") else info

    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder / name, name, filter=cleaned)


def facts(hudi: Judge, name: str, base: Path, schemas: list[str]) -> dict[str, Any]:
    """What Hudi reads in a table; schemas are kept once for all tables, blocks have their number."""
    logs = {str(path.relative_to(base)): hudi.log_records(path) for path in log_files(base)}
    for block in (block for blocks in logs.values() for block in blocks):
        schema = block["header"].get("SCHEMA")
        if schema is not None:
            schemas.extend([schema] if schema not in schemas else [])
            block["header"]["SCHEMA"] = schemas.index(schema)
    properties = {key: value for key, value in hudi.properties(base).items() if any(word in key for word in KEPT)}
    return {"how": SAMPLES[name].how, "properties": properties, "logs": logs, "state": state(hudi, base)}


def state(hudi: Judge, base: Path) -> dict[str, Any]:
    """The merged rows; or why a release cannot read what it wrote, in a line."""
    try:
        return hudi.state(base)
    except JudgeError as error:
        return {"error": error.errors[-1].splitlines()[0]}


def make(hudi: Judge, wanted: Iterable[str], known: dict[str, Any]) -> dict[str, Any]:
    """Makes tables of one release, each with its facts, which come to the known ones."""
    for name in wanted:
        with tempfile.TemporaryDirectory() as scratch:
            base = Path(scratch, name, "table")
            SAMPLES[name].make(hudi, base)
            known["tables"][name] = facts(hudi, name, base, known["schemas"])
            pack(Path(scratch), name, LOGS / hudi.version / f"{name}.tar.gz")
        print(hudi.version, name, flush=True)
    return known


def write_json(path: Path, value: Any) -> None:
    """A file that a reader can compare by lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, sort_keys=True, ensure_ascii=False) + "\n")


def counts(hudi: Judge) -> dict[str, Any]:
    """The blocks of every log file of the shared tables, by table and path."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in support.names(hudi.version):
            base = support.unpack(hudi.version, name, Path(scratch))
            read = hudi.log_counts(log_files(base))
            found[name] = {str(Path(file).relative_to(base)): blocks for file, blocks in read.items()}
    return found


def main(arguments: Iterable[str]) -> None:
    """Versions, and the names of tables where not all are wanted."""
    versions = [word for word in arguments if word in support.VERSIONS]
    names = [word for word in arguments if word not in support.VERSIONS]
    for version in versions:
        file = LOGS / f"facts-{version}.json"
        with start(version) as hudi:
            if names:
                write_json(file, make(hudi, names, json.loads(file.read_text())))
                continue
            possible = [name for name, sample in SAMPLES.items() if version in sample.versions]
            write_json(file, make(hudi, possible, {"schemas": [], "tables": {}}))
            write_json(LOGS / f"counts-{version}.json", counts(hudi))


if __name__ == "__main__":
    main(sys.argv[1:])
