"""The records of delete blocks of versions 1 and 2, which releases before 0.14 wrote: Java arrays in Kryo 4's form."""

import re
import struct
from collections.abc import Callable
from contextlib import suppress
from datetime import MAXYEAR, date
from typing import NamedTuple, TypeVar

from hudictl.errors import Unsupported
from hudictl.formats.delete_records import INT, DeleteRecord, OrderingValue
from hudictl.formats.wrappers import DECIMAL, DECIMAL_SCALE

Value = TypeVar("Value")

_MODEL = "org.apache.hudi.common.model."
_UTF8 = "org.apache.avro.util.Utf8"
_UTF8_BYTES = f"{_UTF8} as bytes"
# What Kryo itself numbers, and what Hudi adds: 10 is 0.12's number, 27 that of 0.13.
_NUMBERED = {
    0: "java.lang.Integer",
    1: "java.lang.String",
    2: "java.lang.Float",
    3: "java.lang.Boolean",
    7: "java.lang.Long",
    8: "java.lang.Double",
    10: _UTF8_BYTES,
    27: _UTF8_BYTES,
}
_MOST_ZEROS = 30
_DAY_MS = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()
_LONGEST_NAME = 1000
_NOT_ASCII = re.compile(rb"[\x80-\xff]")


def decode_deletes(payload: bytes, version: int) -> list[DeleteRecord]:
    """Decodes what stands behind the version and the length of a delete block's content.

    Version 1 (up to 0.10) has no ordering values: its records get the int 0, as in Hudi's readers. Of times, Kryo keeps
    milliseconds. A ``java.sql.Date`` is a midnight in its writer's zone, and comes as the day that begins nearest in
    UTC: right in zones up to twelve hours from it.

    Checked on blocks made by 0.10.1, 0.11.1, 0.12.3 and 0.13.1.

    Raises ValueError: damaged; Unsupported: an object of a class that hudictl does not know, or a decimal that no
    ``DecimalWrapper`` holds.
    """
    try:
        return _decode(payload, version, hashed=True)
    except (ValueError, Unsupported):
        # 0.11 wrote Avro's strings field by field, and those of Avro before 1.10 had one field less.
        with suppress(ValueError, Unsupported):
            if _UTF8[:-1].encode() in payload:
                return _decode(payload, version, hashed=False)
        raise


class _Key(NamedTuple):
    partition_path: str | None
    record_key: str | None


class _Input:
    """Kryo's stream: bytes, and the classes and objects so far, which later bytes name by their number."""

    def __init__(self, payload: bytes, hashed: bool) -> None:
        self.payload = payload
        self.hashed = hashed
        self.position = 0
        self._classes: list[str] = []
        self._objects: list[object] = []

    def take(self, length: int) -> bytes:
        found = self.payload[self.position : self.position + length]
        if length < 0 or len(found) < length:
            raise ValueError(f"cut off after {len(self.payload)} bytes")
        self.position += length
        return found

    def byte(self) -> int:
        return self.take(1)[0]

    def varint(self, most: int = 5) -> int:
        """An unsigned number in up to ``most`` bytes, least significant first; the ninth has no flag."""
        value = 0
        for number in range(most):
            byte = self.byte()
            if number == 8:
                return value | byte << 56
            value |= (byte & 0x7F) << 7 * number
            if byte < 0x80:
                break
        return value & 0xFFFFFFFF if most == 5 else value

    def signed(self, most: int = 5) -> int:
        """A number whose last bit is its sign."""
        value = self.varint(most)
        return value >> 1 ^ -(value & 1)

    def long(self) -> int:
        """A number of 64 bits, which takes nine bytes below zero."""
        value = self.varint(9)
        return value - (1 << 64) if value >> 63 else value

    def byte_array(self) -> bytes:
        """Raises ValueError for Java's null, too."""
        return self.take(self.varint() - 1)

    def class_name(self) -> str:
        """The class of the next object; "" for null."""
        tag = self.varint()
        if tag == 0:
            return ""
        if tag != 1:
            return _NUMBERED.get(tag - 2, f"number {tag - 2}")
        number = self.varint()
        if number == len(self._classes):
            self._classes.append(self.text() or "")
        if number >= len(self._classes) or len(self._classes[number]) > _LONGEST_NAME:
            raise ValueError(f"byte {self.position}: not the number or name of a class")
        return self._classes[number]

    def shared(self, kind: type[Value], read: Callable[["_Input"], Value]) -> Value | None:
        """An object, or the number of one that has come already, or null."""
        number = self.varint() - 2
        if number == -2:
            return None
        if number >= 0:
            found = self._objects[number] if number < len(self._objects) else None
            if not isinstance(found, kind):
                raise ValueError(f"byte {self.position}: object {number} is not a {kind.__name__}")
            return found
        # An object has its number before those inside it.
        number = len(self._objects)
        self._objects.append(None)
        value = read(self)
        self._objects[number] = value
        return value

    def string(self) -> str | None:
        return self.shared(str, _Input.whole_text)

    def whole_text(self) -> str:
        text = self.text()
        if text is None:
            raise ValueError(f"byte {self.position}: null instead of a string")
        return text

    def text(self) -> str | None:
        """A string without its number: ASCII that ends at a byte with the eighth bit, else counted characters."""
        if self.payload[self.position : self.position + 1] < b"\x80":
            last = _NOT_ASCII.search(self.payload, self.position)
            if last is None:
                raise ValueError("cut off within a string")
            body = self.take(last.end() - self.position)
            return (body[:-1] + bytes([body[-1] & 0x7F])).decode()
        lead = self.byte()
        length = (lead & 0x3F | self.varint() << 6 if lead & 0x40 else lead & 0x3F) - 1
        return None if length < 0 else self._characters(length)

    def _characters(self, length: int) -> str:
        """Characters of UTF-16, each in one to three bytes."""
        body = self.payload[self.position : self.position + length]
        if body.isascii():
            return self.take(length).decode()
        units = []
        for _ in range(length):
            lead = self.byte()
            if lead < 0x80:
                units.append(lead)
            elif lead >> 5 == 0b110:
                units.append((lead & 0x1F) << 6 | self.byte() & 0x3F)
            elif lead >> 4 == 0b1110:
                units.append((lead & 0x0F) << 12 | (self.byte() & 0x3F) << 6 | self.byte() & 0x3F)
            else:
                raise ValueError(f"byte {self.position - 1} is not the beginning of a character")
        return struct.pack(f">{length}H", *units).decode("utf-16-be", "replace")


def _decode(payload: bytes, version: int, hashed: bool) -> list[DeleteRecord]:
    source = _Input(payload, hashed)
    element, read = ("HoodieKey", _deleted_key) if version == 1 else ("DeleteRecord", _delete)
    _expect(source, f"[L{_MODEL}{element};")
    return source.shared(list, lambda source: _array(source, f"{_MODEL}{element}", read)) or []


def _array(source: _Input, element: str, read: Callable[[_Input], DeleteRecord]) -> list[DeleteRecord]:
    records = []
    for _ in range(source.varint() - 1):
        _expect(source, element)
        records.append(read(source))
    if source.position != len(source.payload):
        raise ValueError(f"{len(source.payload) - source.position} extra bytes after the last delete record")
    return records


def _expect(source: _Input, name: str) -> None:
    if (found := source.class_name()) != name:
        raise Unsupported(f"an object of class {found or 'null'} instead of {name}")


def _deleted_key(source: _Input) -> DeleteRecord:
    key = _present(source.shared(_Key, _key))
    return DeleteRecord(key.record_key, key.partition_path, OrderingValue(INT, 0))


def _delete(source: _Input) -> DeleteRecord:
    return _present(source.shared(DeleteRecord, _delete_fields))


def _delete_fields(source: _Input) -> DeleteRecord:
    _expect(source, f"{_MODEL}HoodieKey")
    key = _present(source.shared(_Key, _key))
    return DeleteRecord(key.record_key, key.partition_path, _ordering(source))


def _key(source: _Input) -> _Key:
    # Fields come in the order of their names.
    return _Key(source.string(), source.string())


def _present(value: Value | None) -> Value:
    if value is None:
        raise ValueError("null instead of a record or its key")
    return value


def _ordering(source: _Input) -> OrderingValue | None:
    name = source.class_name()
    if name in _ORDERINGS:
        return _ORDERINGS[name](source)
    if name in _SHARED_ORDERINGS:
        return source.shared(OrderingValue, _SHARED_ORDERINGS[name])
    if name:
        raise Unsupported(f"an ordering value of the Java class {name}")
    return None


def _string_value(source: _Input) -> OrderingValue | None:
    text = source.string()
    return None if text is None else OrderingValue("StringWrapper", text)


def _utf8_bytes(source: _Input) -> OrderingValue:
    return OrderingValue("StringWrapper", source.byte_array().decode())


def _utf8_fields(source: _Input) -> OrderingValue:
    """Its fields: bytes, hash (from Avro 1.10 on), length, string."""
    body = _present(source.shared(bytes, _Input.byte_array))
    if source.hashed:
        source.signed()
    if (length := source.signed()) != len(body):
        raise ValueError(f"byte {source.position}: the length is given as {length}, but there are {len(body)} bytes")
    source.string()
    return OrderingValue("StringWrapper", body.decode())


def _decimal(source: _Input) -> OrderingValue:
    unscaled, scale = int.from_bytes(source.byte_array(), "big", signed=True), source.signed()
    more = DECIMAL_SCALE - scale
    # Zeros behind the point are those of the column's type.
    value, rest = divmod(unscaled * 10 ** max(more, 0), 10 ** max(-more, 0)) if abs(more) <= _MOST_ZEROS else (0, 1)
    if rest:
        raise Unsupported(
            f"a decimal of scale {scale}: Hudi's DecimalWrapper has {DECIMAL_SCALE} digits after the decimal point"
        )
    length = (value if value >= 0 else ~value).bit_length() // 8 + 1
    return OrderingValue(DECIMAL, value.to_bytes(length, "big", signed=True))


def _local_date(source: _Input) -> OrderingValue:
    day = date(min(source.varint(), MAXYEAR + 1), source.byte(), source.byte())
    return OrderingValue("DateWrapper", day.toordinal() - _EPOCH)


def _fitting(kind: str, value: int, bits: int) -> OrderingValue:
    if value.bit_length() >= bits:
        raise ValueError(f"{value} does not fit in a {kind}")
    return OrderingValue(kind, value)


_ORDERINGS: dict[str, Callable[[_Input], OrderingValue | None]] = {
    "java.lang.Integer": lambda source: OrderingValue(INT, source.signed()),
    "java.lang.Long": lambda source: OrderingValue("LongWrapper", source.signed(9)),
    "java.lang.Float": lambda source: OrderingValue("FloatWrapper", struct.unpack(">f", source.take(4))[0]),
    "java.lang.Double": lambda source: OrderingValue("DoubleWrapper", struct.unpack(">d", source.take(8))[0]),
    "java.lang.Boolean": lambda source: OrderingValue("BooleanWrapper", source.byte() == 1),
    "java.lang.String": _string_value,
}
_SHARED_ORDERINGS: dict[str, Callable[[_Input], OrderingValue]] = {
    _UTF8_BYTES: _utf8_bytes,
    _UTF8: _utf8_fields,
    "java.math.BigDecimal": _decimal,
    "java.sql.Date": lambda source: _fitting("DateWrapper", (source.long() + _DAY_MS // 2) // _DAY_MS, 32),
    "java.sql.Timestamp": lambda source: _fitting("TimestampMicrosWrapper", source.long() * 1000, 64),
    "java.time.LocalDate": _local_date,
}
