"""``hoodie.properties``: Java's Properties text, and Hudi's checksum in it (checked on Hudi 0.15.0 to 1.2.0)."""

import re
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timezone

CHECKSUM = "hoodie.table.checksum"
NAME = "hoodie.table.name"
DATABASE = "hoodie.database.name"

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"} | {c: f"\\{c}" for c in "=:#!"}
_TEXTS = (NAME, DATABASE, "hoodie.table.create.schema")
"""Properties whose values may have any signs."""
_UNWRITTEN = re.compile(r"[^ -~\t]")
"""A sign that ``Properties.store`` writes as an escape."""
_LINE_END = re.compile(r"\r\n|\n|\r")
_PAIR = re.compile(r"((?:[^=: \t\f\\]+|\\.?)*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)


def decode(body: bytes) -> dict[str, str]:
    """Reads what ``java.util.Properties.load`` reads; a later duplicate wins. Raises ValueError: a unicode escape that
    is cut or no hexadecimal."""
    properties = {}
    for line in _logical_lines(body.decode("latin-1")):
        key, value = _split(line)
        properties[_unescape(key)] = _unescape(value)
    return properties


def legible(body: bytes, known: Collection[str]) -> dict[str, str]:
    """What can still be read of a damaged file: whole lines with signs that Java writes.

    The last line of a file that is cut is none. A line with one wrong sign in its key counts where only one of the
    ``known`` keys is like it.
    """
    found = {}
    for line in _LINE_END.split(body.decode("latin-1"))[:-1]:
        key, separator, value = line.partition("=")
        if not separator or line.startswith("#") or _UNWRITTEN.search(value):
            continue
        if _UNWRITTEN.search(key):
            like = re.compile(_UNWRITTEN.sub(".", re.escape(key)))
            (key, *more) = [name for name in known if like.fullmatch(name)] or [""]
            if more or not key:
                continue
        with suppress(ValueError):
            found.update(decode(f"{key}={value}".encode()))
    return found


def illegible(body: bytes) -> list[str]:
    """The lines with signs that Java does not write, without those that an operator may have written into a value."""
    found = []
    for line in _LINE_END.split(body.decode("latin-1")):
        key = line.partition("=")[0]
        if not line.startswith("#") and _UNWRITTEN.search(key if key in _TEXTS else line):
            found.append(line)
    return found


def decode_config(body: bytes) -> list[tuple[str, str]]:
    """Reads a configuration file as Hudi's tools do (``DFSPropertiesConfiguration`` of 0.15.0 to 1.2.0): no escapes, no
    continued lines, a blank where there is no ``=``. Keys and values in the file's order, ``include`` among them.
    Raises ValueError: not UTF-8."""
    pairs = []
    for line in _LINE_END.split(body.decode()):
        # Java's white space is ASCII's.
        text = re.sub(r"\s+", " ", line, flags=re.ASCII)
        if line and not line.startswith("#") and ("=" in text or " " in text):
            key, _, value = text.partition("=" if "=" in text else " ")
            pairs.append((key.strip(" "), value.strip(" ")))
    return pairs


def encode(properties: Mapping[str, str], moment: datetime) -> bytes:
    """Writes what ``Properties.store`` writes, with Hudi's two comment lines, in the mapping's order."""
    utc = moment.astimezone(timezone.utc)
    head = [f"#Updated at {utc.strftime('%Y-%m-%dT%H:%M:%S.%f')}Z", utc.strftime("#%a %b %d %H:%M:%S UTC %Y")]
    lines = [f"{_escape(key, key=True)}={_escape(value, key=False)}" for key, value in properties.items()]
    return ("\n".join(head + lines) + "\n").encode("latin-1")


def checksum(properties: Mapping[str, str]) -> str:
    """CRC-32 of ``database.table`` as decimal text. Raises KeyError: no table name: Hudi cannot compute it either."""
    return str(zlib.crc32(f"{properties.get(DATABASE, '')}.{properties[NAME]}".encode()))


def valid(properties: Mapping[str, str]) -> bool:
    """Whether Hudi accepts the properties: a table name, and the right checksum where there is one."""
    return NAME in properties and properties.get(CHECKSUM, checksum(properties)) == checksum(properties)


def taken_whole(properties: Mapping[str, str]) -> bool:
    """Whether Hudi takes properties that are not valid all the same, and not their backup: those without a checksum, as
    in an empty file, or in one that is cut before it (0.15.0 to 1.2.0)."""
    return CHECKSUM not in properties


def _logical_lines(text: str) -> Iterator[str]:
    pending = ""
    for natural in _LINE_END.split(text):
        line = natural.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        slashes = len(line) - len(line.rstrip("\\"))
        if slashes % 2:
            pending += line[:-1]
            continue
        yield pending + line
        pending = ""
    if pending:
        yield pending


def _split(line: str) -> tuple[str, str]:
    match = _PAIR.match(line)
    assert match is not None  # it matches any text
    return match[1], match[2]


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    units, position = [], 0
    while position < len(text):
        char = text[position]
        position += 1
        if char != "\\":
            units.append(char)
            continue
        char = text[position : position + 1]
        position += 1
        if char == "u":
            digits = text[position : position + 4]
            if not re.fullmatch("[0-9a-fA-F]{4}", digits):
                raise ValueError(f"malformed \\u escape {digits!r}")
            units.append(chr(int(digits, 16)))
            position += 4
        else:
            units.append(_ESCAPES.get(char, char))
    # Java counts in UTF-16 units: two escaped surrogates are one character.
    return "".join(units).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape(text: str, *, key: bool) -> str:
    out = []
    for position, char in enumerate(text):
        if char == " ":
            out.append("\\ " if key or position == 0 else " ")
        elif char in _WRITTEN:
            out.append(_WRITTEN[char])
        elif " " < char <= "~":
            out.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass")
            out += [f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2)]
    return "".join(out)
