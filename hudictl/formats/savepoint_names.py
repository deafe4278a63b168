"""The file names in a savepoint, partition by partition: it can name very many files, and is never whole in memory.

Needs no Avro library, as executors may have none. Checked on the savepoints of Hudi 0.15.0, 1.0.2 and 1.2.0, and
against fastavro.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats.file_names import no_utf_8, split_names
from hudictl.formats.json_values import parse_json
from hudictl.formats.ranges import ReadAt

_MAGIC = b"Obj\x01"
SYNC_BYTES = 16
_WINDOW = 1024 * 1024
_HEAD_WINDOW = 4 * 1024
_FIELDS = [
    ("savepointedBy", "string"),
    ("savepointedAt", "long"),
    ("comments", "string"),
    (
        "partitionMetadata",
        ["map", [("partitionPath", "string"), ("savepointDataFile", ["array", "string"])]],
    ),
    ("version", ["int", "null"]),
]


class _Source:
    """A file, read forwards; ``position`` is in bytes."""

    def __init__(self, read_at: ReadAt, size: int, what: str, window: int | None = None) -> None:
        self._read_at, self._size, self._what, self._window = read_at, size, what, window or _WINDOW
        self._start, self._body, self._at = 0, b"", 0

    @property
    def position(self) -> int:
        return self._start + self._at

    def damaged(self, reason: str) -> Unreadable:
        return Unreadable(f"{self._what} is no savepoint: {reason}", file=self._what)

    def take(self, count: int) -> bytes:
        """The next bytes. Raises Unreadable: the file ends before."""
        if self._at + count > len(self._body):
            self._fill(count)
        found = self._body[self._at : self._at + count]
        if len(found) != count or count < 0:
            raise self.damaged(f"it is cut off at byte {self.position:,}")
        self._at += count
        return found

    def _fill(self, count: int) -> None:
        self._start, left = self.position, self._body[self._at :]
        offset = self._start + len(left)
        more = self._read_at(offset, min(max(count, self._window), self._size - offset)) if offset < self._size else b""
        self._body, self._at = left + more, 0

    def number(self) -> int:
        """Avro's variable-length integer."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7
            if shift > 63:
                raise self.damaged(f"a number at byte {self.position:,} is too long")

    def text(self) -> bytes:
        return self.take(self.number())

    def texts(self, count: int) -> list[bytes]:
        """Some strings: nearly all of a savepoint."""
        found: list[bytes] = []
        while len(found) < count:
            body, at = self._body, self._at
            end = len(body) - 2
            # What is whole in the window, without a call for each.
            while len(found) < count and at < end:
                length, start = body[at], at + 1
                if length >= 0x80:
                    if body[start] >= 0x80:
                        break
                    length, start = (length & 0x7F) | body[start] << 7, start + 1
                if length & 1 or start + (length >> 1) > len(body):
                    break
                at = start + (length >> 1)
                found.append(body[start:at])
            self._at = at
            if len(found) < count:
                found.append(self.text())
        return found


class Head(NamedTuple):
    """A savepoint without its files. ``saved_at_ms`` is epoch milliseconds."""

    saved_by: str
    saved_at_ms: int
    comment: str


@dataclass(frozen=True, eq=False)
class JoinedNames(Mapping[str, tuple[str, ...]]):
    """File names by partition path, in few objects: ``joined`` has them as texts, joined by slashes."""

    joined: Mapping[str, str]

    def __getitem__(self, path: str) -> tuple[str, ...]:
        return tuple(split_names(self.joined[path]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.joined)

    def __len__(self) -> int:
        return len(self.joined)


def read_head(read_at: ReadAt, size: int, what: str) -> Head:
    """Who made a savepoint, and why. Raises as ``read_names``."""
    source = _Source(read_at, size, what, _HEAD_WINDOW)
    _open(source, what)
    return _head(source)


def read_names(read_at: ReadAt, size: int, what: str) -> Iterator[tuple[str, str]]:
    """Each partition path, with the names of its files joined by slashes.

    Raises:
        Unreadable: damaged; what has come before is right.
        Unsupported: Avro with another schema or codec than Hudi's savepoints have.
    """
    source = _Source(read_at, size, what)
    records, end, sync = _open(source, what)
    _head(source)
    for path, names in _pairs(source, lambda: _names(source)):
        yield _decoded(source, path), _decoded(source, names)
    if source.number() == 0:
        source.number()
    if records != 1 or source.position != end or source.take(SYNC_BYTES) != sync or source.position != size:
        raise source.damaged(f"its record does not end where it should, at byte {end:,}")


def _open(source: _Source, what: str) -> tuple[int, int, bytes]:
    """How many records the file says it has, where they end, and what stands there."""
    if source.take(len(_MAGIC)) != _MAGIC:
        raise source.damaged("it is not Avro")
    head = dict(_pairs(source, source.text))
    if head.get(b"avro.codec", b"null") != b"null" or not _is_known(head.get(b"avro.schema", b"")):
        raise Unsupported(f"{what} has another schema or codec than Hudi's savepoints")
    sync = source.take(SYNC_BYTES)
    records, length = source.number(), source.number()
    return records, source.position + length, sync


def _head(source: _Source) -> Head:
    by, at_ms, comment = source.text(), source.number(), source.text()
    return Head(_decoded(source, by), at_ms, _decoded(source, comment))


def head_bytes(body: bytes) -> bytes:
    """What stands before the record in a savepoint: the schema, and the marker."""
    source = _Source(lambda start, length: body[start : start + length], len(body), "a savepoint")
    source.take(len(_MAGIC))
    dict(_pairs(source, source.text))
    source.take(SYNC_BYTES)
    return body[: source.position]


def block_head(length: int) -> bytes:
    """What stands between those two: one record, and its bytes."""
    return _number(1) + _number(length)


def record_bytes(head: Head, files: Mapping[str, Iterable[str]]) -> Iterator[bytes]:
    """A savepoint's record, a piece for each partition. Raises Unreadable: a name that is no UTF-8."""
    yield b"".join((_text(head.saved_by), _number(head.saved_at_ms), _text(head.comment), _number(len(files))))
    for path, names in files.items():
        texts = [_text(name) for name in names]
        count = _number(len(texts)) if texts else b""
        yield b"".join((_text(path), _text(path), count, *texts, b"\x00"))
    # The map's end, and version 1 as the first kind of its union.
    yield b"\x00\x00\x02" if files else b"\x00\x02"


def _text(text: str) -> bytes:
    try:
        body = text.encode()
    except UnicodeEncodeError as error:
        raise no_utf_8(text) from error
    return _number(len(body)) + body


@lru_cache(4096)
def _number(value: int) -> bytes:
    """Avro's variable-length integer."""
    rest, out = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _pairs(source: _Source, value: Any) -> Iterator[tuple[bytes, Any]]:
    """The entries of a map."""
    for count in _counts(source):
        for _ in range(count):
            yield source.text(), value()


def _counts(source: _Source) -> Iterator[int]:
    """The lengths of the blocks of a map or array."""
    while count := source.number():
        if count < 0:
            source.number()
        yield abs(count)


def _names(source: _Source) -> bytes:
    source.text()
    names = [name for count in _counts(source) for name in source.texts(count)]
    joined = b"/".join(names)
    if b"" in names or joined.count(b"/") >= max(1, len(names)):
        raise source.damaged("a name in it is not that of a file")
    return joined


def _decoded(source: _Source, text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise source.damaged(f"a name is not UTF-8: {error}") from error


def _is_known(schema: bytes) -> bool:
    try:
        return bool(_shape(parse_json(schema)) == _FIELDS)
    except (ValueError, KeyError, TypeError):
        return False


def _shape(schema: Any) -> Any:
    """A schema without names, defaults and properties that do not change the bytes."""
    if isinstance(schema, list):
        return [_shape(kind) for kind in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema["type"]
    if kind == "record":
        return [(field["name"], _shape(field["type"])) for field in schema["fields"]]
    if kind in ("map", "array"):
        return [kind, _shape(schema["values" if kind == "map" else "items"])]
    return _shape(kind)
