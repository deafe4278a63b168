"""What happens to one file: it is missing, empty, cut, doubled, has a flipped byte, or is of another version."""

import io
import os
import re
import zlib
from collections.abc import Callable
from pathlib import Path

import fastavro

from tests.helpers import drop, put

AVRO, LOG, HFILE_TRAILER = b"Obj\x01", b"#HUDI#", b"TRABLK"
Harm = Callable[[bytes, int], bytes]
"""Takes the whole file, and a number that is another one for each case."""


def flipped(body: bytes, chance: int) -> bytes:
    at = chance % len(body)
    return body[:at] + bytes([body[at] ^ 0xFF]) + body[at + 1 :]


def other_version(body: bytes) -> bytes | None:
    """The file as a later Hudi might write it; None where it says nothing of a version."""
    if body.startswith(LOG):
        # Behind the magic and the block's size, four bytes.
        return body[:14] + (99).to_bytes(4, "big") + body[18:]
    if HFILE_TRAILER in body[-4096:]:
        return body[:-4] + (99).to_bytes(4, "big")
    if body.startswith(AVRO):
        return _other_record_version(body)
    if b"hoodie.table.version=" in body:
        own = re.search(rb"hoodie\.table\.version=(\d+)", body)
        other = b"9" if own and own[1] == b"8" else b"8"
        return re.sub(rb"hoodie\.table\.version=\d+", b"hoodie.table.version=" + other, body)
    if b'"version" : "V' in body:
        return re.sub(rb'"version" : "V\d+"', b'"version" : "V99"', body)
    return b"99" if body.strip().isdigit() else None


def _other_record_version(body: bytes) -> bytes | None:
    """An Avro record of Hudi's, with another number in its field for that."""
    reader = fastavro.reader(io.BytesIO(body))
    records = list(reader)
    if len(records) != 1 or not isinstance(records[0], dict) or "version" not in records[0]:
        return None
    schema = reader.writer_schema
    out = io.BytesIO()
    fastavro.writer(out, schema, [records[0] | {"version": 99}], sync_marker=bytes(16))
    return out.getvalue()


CONTENT: dict[str, Harm] = {
    "empty": lambda body, chance: b"",
    "cut": lambda body, chance: body[: len(body) // 2],
    "doubled": lambda body, chance: body + body,
    "flipped": flipped,
    "version": lambda body, chance: other_version(body) or body,
}
HARMS = ("missing", *CONTENT)


def harms_of(body: bytes) -> tuple[str, ...]:
    """Those that change a file; one without content can only be missing."""
    if not body:
        return ("missing",)
    return tuple(harm for harm in HARMS if harm != "version" or other_version(body) is not None)


def do_harm(base: Path, path: str, harm: str) -> None:
    """Harms a file of a table. Its sidecar goes, as on a store without; its time stays, which orders version 6."""
    file = base / path
    if harm == "missing":
        drop(file)
        return
    status = file.stat()
    put(file, CONTENT[harm](file.read_bytes(), zlib.crc32(f"{path} {harm}".encode())))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
