"""Metadata tables of real tables, changed to say something else."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hudictl.formats.delete_records import DeleteRecord, OrderingValue
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.log_blocks import DELETE, HFILE_DATA, INSTANT_TIME, Block, encode_block, read_blocks
from hudictl.formats.log_contents import encode_deletes, encode_hfile

Says = Mapping[str, Mapping[str, int | None]]
"""Sizes by name by key; None says that the file was deleted."""


def newest_log(base: Path, partition: str = "files", group: str = "") -> Path:
    """The log that readers take last: of all of a partition, or of one file group with records in its newest log."""
    logs = (base / ".hoodie/metadata" / partition).glob(f".{group}*.log.*")
    parsed = {path: parse_data_file(path.name) for path in logs}
    return max((data.log_order, path) for path, data in parsed.items() if data is not None)[1]


def append_records(base: Path, partition: str, group: str, rows: Sequence[tuple[str, Mapping[str, object]]]) -> None:
    """Has the last write to a file group of an index say these records, too, by key."""
    log = newest_log(base, partition, group)
    # The newest log may have deletes only.
    schemas = (block.header["SCHEMA"] for other in sorted(log.parent.glob(".*.log.*")) for block in hfile_blocks(other))
    header = {INSTANT_TIME: instant_of(log), "SCHEMA": next(schemas)}
    body = encode_block(HFILE_DATA, header, encode_hfile([(key, dict(row)) for key, row in rows], header["SCHEMA"]))
    write(log, log.read_bytes() + body)


def append_deletes(base: Path, partition: str, group: str, keys: Sequence[str]) -> None:
    """Has the last write to a file group of an index delete these keys."""
    log = newest_log(base, partition, group)
    deletes = [DeleteRecord(key, partition, OrderingValue("IntWrapper", 0)) for key in keys]
    write(log, log.read_bytes() + encode_block(DELETE, {INSTANT_TIME: instant_of(log)}, encode_deletes(deletes)))


def blocks_of(log: Path) -> Iterator[Block]:
    """The blocks of a log."""
    body = log.read_bytes()
    return read_blocks(lambda at, n: body[at : at + n], len(body))


def hfile_blocks(log: Path) -> Iterator[Block]:
    """Those with records."""
    return (block for block in blocks_of(log) if block.block_type == HFILE_DATA)


def instant_of(log: Path) -> str:
    """The instant of its last block."""
    *_, last = blocks_of(log)
    return last.header[INSTANT_TIME]


def hfile_block(log: Path) -> Block:
    """The first HFile block of a log."""
    return next(hfile_blocks(log))


def block_saying(header: Mapping[str, str], says: Says) -> bytes:
    """An HFile block of listings."""
    rows = [(key, _record(files, 1 if key == "__all_partitions__" else 2)) for key, files in says.items()]
    return encode_block(HFILE_DATA, header, encode_hfile(rows, header["SCHEMA"]))


def say(base: Path, says: Says) -> None:
    """Has the metadata table's last deltacommit say this, too."""
    log = newest_log(base)
    write(log, log.read_bytes() + block_saying(hfile_block(log).header, says))


def _record(files: Mapping[str, int | None], kind: int) -> dict[str, object]:
    listed = {name: {"size": size or 0, "isDeleted": size is None} for name, size in files.items()}
    return {"key": "", "type": kind, "filesystemMetadata": listed}


def write(path: Path, body: bytes) -> None:
    """Writes a file whose checksum sidecar would not fit any more."""
    path.write_bytes(body)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
