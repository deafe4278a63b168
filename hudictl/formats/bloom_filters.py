"""Which keys a base file can have, by its footer: Hudi's range of keys, and its bloom filter (0.15.0 to 1.2.0)."""

import struct
from base64 import b64decode
from collections.abc import Iterator, Mapping

FILTER, FILTER_TYPE = "org.apache.hudi.bloomfilter", "hoodie_bloom_filter_type_code"
SIMPLE = "SIMPLE"
"""The type of a filter whose footer names none."""
_LEAST, _GREATEST = "hoodie_min_record_key", "hoodie_max_record_key"
_HEAD, _ROWS = struct.Struct(">iibi"), struct.Struct(">8xi")
"""Version, hashes, their kind, bits; of a filter that grows: how many of these follow. Each part is a whole filter."""
_VERSION, _MURMUR, _MOST_HASHES = -1, 1, 1000
_FACTOR, _BITS_32 = 0x5BD1E995, (1 << 32) - 1


def may_have_key(entries: Mapping[str, str], key: str) -> bool:
    """Whether a base file with these entries in its footer can have a key. A damaged filter excludes none."""
    texts = (entries.get(_LEAST, key), key, entries.get(_GREATEST, key))
    least, units, greatest = (text.encode("utf-16-be", "surrogatepass") for text in texts)  # as Java compares them
    if not least <= units <= greatest:
        return False
    try:
        parts = list(_parts(b64decode(entries[FILTER]), entries.get(FILTER_TYPE, SIMPLE)))
    except (KeyError, ValueError, struct.error):
        return True
    raw = key.encode("utf-8", "replace")
    has = [all(part[at // 8] >> at % 8 & 1 for at in _places(raw, count, bits)) for part, count, bits in parts]
    return any(has or [True])


def _parts(body: bytes, kind: str) -> Iterator[tuple[bytes, int, int]]:
    """The bits, the number of hashes, and the number of bits. Raises ValueError, struct.error: not what Hudi writes."""
    at = 0 if kind == SIMPLE else _HEAD.size + _ROWS.size
    for _ in range(1 if kind == SIMPLE else _ROWS.unpack_from(body, _HEAD.size)[0]):
        version, hashes, hash_kind, bits = _HEAD.unpack_from(body, at)
        start, at = at + _HEAD.size, at + _HEAD.size + (bits + 7) // 8
        if (version, hash_kind) != (_VERSION, _MURMUR) or not (0 < hashes <= _MOST_HASHES and start < at <= len(body)):
            raise ValueError("not a filter of Hudi")
        yield body[start:at], hashes, bits
    if at != len(body):
        raise ValueError("more bytes than its parts")


def _places(key: bytes, count: int, bits: int) -> Iterator[int]:
    """The bits of a key, by Hadoop's MurmurHash2, each the seed of the next; the last bytes count signed, backwards."""
    code, whole = 0, len(key) // 4 * 4
    for _ in range(count):
        code ^= len(key)
        for (word,) in struct.iter_unpack("<I", key[:whole]):
            word = word * _FACTOR & _BITS_32
            code = (code * _FACTOR ^ (word ^ word >> 24) * _FACTOR) & _BITS_32
        for place, byte in enumerate(reversed(key[whole:])):
            code ^= (byte - (byte >> 7 << 8) << 8 * place) & _BITS_32
        code = (code * _FACTOR if len(key) > whole else code) & _BITS_32
        code = (code ^ code >> 13) * _FACTOR & _BITS_32
        code ^= code >> 15
        yield min(code, (1 << 32) - code) % bits  # without its sign
