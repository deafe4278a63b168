"""Metadata tables of real tables, changed to say something else."""

from collections.abc import Mapping
from pathlib import Path

from hudictl.formats.file_names import parse_data_file
from hudictl.formats.log_blocks import HFILE_DATA, Block, encode_block, read_blocks
from hudictl.formats.log_contents import encode_hfile

Says = Mapping[str, Mapping[str, int | None]]
"""Sizes by name by key; None says that the file was deleted."""


def newest_log(base: Path) -> Path:
    """The log of the ``files`` partition that readers take last."""
    parsed = {path: parse_data_file(path.name) for path in (base / ".hoodie/metadata/files").glob(".*.log.*")}
    return max((data.log_order, path) for path, data in parsed.items() if data is not None)[1]


def hfile_block(log: Path) -> Block:
    """The first HFile block of a log."""
    body = log.read_bytes()
    found, *_ = (
        block for block in read_blocks(lambda at, n: body[at : at + n], len(body)) if block.block_type == HFILE_DATA
    )
    return found


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
