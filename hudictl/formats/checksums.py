"""Hadoop's checksum sidecars of local files, ``.<name>.crc`` (checked on files of Hudi 0.15.0 to 1.2.0)."""

import struct
import zlib

_MAGIC = b"crc\0"
_HEAD = len(_MAGIC) + 4


def sidecar_of(name: str) -> str | None:
    """The name of the file that a sidecar is of; None for any other name."""
    return name[1:-4] if name.startswith(".") and name.endswith(".crc") and len(name) > 5 else None


def matches(sidecar: bytes, body: bytes) -> bool:
    """Whether Hadoop's readers accept a file's bytes: the chunk size in bytes, then one CRC-32 for each chunk.

    A sidecar without its head, as from a killed writer, does not count. Sums after the file's end do not count either.
    """
    if len(sidecar) < _HEAD or not sidecar.startswith(_MAGIC):
        return True
    (size,) = struct.unpack_from(">i", sidecar, len(_MAGIC))
    if size <= 0:
        return not body
    sums = [zlib.crc32(body[start : start + size]) for start in range(0, len(body), size)]
    return sidecar[_HEAD:].startswith(struct.pack(f">{len(sums)}I", *sums))
