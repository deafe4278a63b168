"""Keys of the metadata table's indexes ``bloom_filters`` and ``column_stats``: hashes of a partition's path and of a
file's name, and before them that of a column's.

Checked against 0.15.0 and 1.2.0 (ColumnIndexID, PartitionIndexID, FileIndexID).
"""

import struct
from base64 import b64encode
from hashlib import md5

_SEED = 0xDABADABA - (1 << 32)
_BITS = (1 << 64) - 1
_PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_STRIPE = struct.Struct("<4Q")
_UNPARTITIONED = "."


def bloom_filter_key(partition: str, name: str) -> str:
    """The key of a base file's filter. ``partition`` is "" for a table without partitions."""
    digest = md5(name.encode(), usedforsecurity=False).digest()
    return partition_id(partition or _UNPARTITIONED) + b64encode(digest).decode()


def column_stats_key(column: str, partition: str, name: str) -> str:
    """The key of the statistics of a column in a data file. ``partition`` is "" for a table without partitions."""
    return partition_id(column) + bloom_filter_key(partition, name)


def partition_id(partition: str) -> str:
    """The hash of a partition's path, or of a column's name, in base64."""
    return b64encode(xxh64(partition.encode(), _SEED).to_bytes(8, "big")).decode()


def xxh64(data: bytes, seed: int = 0) -> int:
    """XXH64, a hash that Python's library has not."""
    first, second, _, _, fifth = _PRIMES
    length = len(data)
    position = 0
    if length >= _STRIPE.size:
        lanes = [seed + first + second, seed + second, seed, seed - first]
        while position <= length - _STRIPE.size:
            words = _STRIPE.unpack_from(data, position)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            position += _STRIPE.size
        code = sum(_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            code = (code ^ _round(0, lane)) * first + _PRIMES[3]
    else:
        code = seed + fifth
    return _avalanche(_rest((code + length) & _BITS, data[position:]))


def _rest(code: int, tail: bytes) -> int:
    """What is behind the last stripe: eight bytes at a time, then four, then each one."""
    first, second, third, fourth, fifth = _PRIMES
    position = 0
    for _ in range(len(tail) // 8):
        (word,) = struct.unpack_from("<Q", tail, position)
        code = _rotated(code ^ _round(0, word), 27) * first + fourth
        position += 8
    if len(tail) - position >= 4:
        (half,) = struct.unpack_from("<I", tail, position)
        code = _rotated(code ^ (half * first), 23) * second + third
        position += 4
    for byte in tail[position:]:
        code = _rotated(code ^ (byte * fifth), 11) * first
    return code & _BITS


def _avalanche(code: int) -> int:
    code = (code ^ code >> 33) * _PRIMES[1] & _BITS
    code = (code ^ code >> 29) * _PRIMES[2] & _BITS
    return code ^ code >> 32


def _round(lane: int, word: int) -> int:
    return _rotated(lane + word * _PRIMES[1], 31) * _PRIMES[0] & _BITS


def _rotated(value: int, bits: int) -> int:
    value &= _BITS
    return (value << bits | value >> (64 - bits)) & _BITS
