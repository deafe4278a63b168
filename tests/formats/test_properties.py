"""hoodie.properties: Java's reading and writing rules, judged by java.util.Properties itself where there is a Java."""

import shutil
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hudictl.formats import properties
from tests import support
from tests.formats import real_files

MOMENT = datetime(2026, 11, 21, 2, 20, 22, 123456, timezone.utc)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
AWKWARD = st.text(st.sampled_from("a =:#!\\\t\n\r\f\x00\x7fé\u07c0\U0001f600"), max_size=12)


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("a=b", "a", "b"),
        ("a:b", "a", "b"),
        ("a b", "a", "b"),
        ("a\tb", "a", "b"),
        ("  a  =  b  ", "a", "b  "),
        ("a = : b", "a", ": b"),
        ("a", "a", ""),
        ("a=", "a", ""),
        ("a==b", "a", "=b"),
        ("a\\=b=c", "a=b", "c"),
        ("a\\ b=c", "a b", "c"),
        ("a\\:b:c", "a:b", "c"),
        ("a=b\\tc\\nd\\re\\ff", "a", "b\tc\nd\re\ff"),
        ("a=b\\qc", "a", "bqc"),
        ("a=\\u00e9\\u20AC", "a", "é€"),
        ("a=\\ud83d\\ude00", "a", "\U0001f600"),
        ("a=b\\\n   c", "a", "bc"),
        ("a=b\\\r\n\tc", "a", "bc"),
        ("a=b\\\\\nx=y", "a", "b\\"),
        ("a=b\\\n#c", "a", "b#c"),
        ("a=b\\", "a", "b"),
        ("a=1\na=2", "a", "2"),
        ("#x=1\n  !y=2\n\n \t\na=b", "a", "b"),
        ("a=b#c!d", "a", "b#c!d"),
    ],
)
def test_reading_rules(line: str, key: str, value: str) -> None:
    """Each rule of Properties.load that a hand-edited or generated file may use."""
    found = properties.decode(line.encode())
    assert found[key] == value
    assert set(found) <= {key, "x"}


def test_bytes_above_ascii_are_latin_1() -> None:
    assert properties.decode(b"a=\xe9\xff") == {"a": "\xe9\xff"}


@pytest.mark.parametrize("line", ["a=\\u12", "a=\\u12g4", "a=\\u", "\\uzzzz=a", "a=\\u+123"])
def test_malformed_unicode_escape_is_an_error(line: str) -> None:
    """As in Java: a cut file must not pass for a whole one."""
    with pytest.raises(ValueError, match="malformed"):
        properties.decode(line.encode())


@pytest.mark.slow
@given(st.dictionaries(TEXT | AWKWARD, TEXT | AWKWARD, max_size=6))
@example({"": ""})
@example({" a": " b ", "#": "#", "!": "!", "\\": "\\"})
def test_round_trip(values: dict[str, str]) -> None:
    """Every text survives, in the mapping's order, as printable ASCII with one line an entry."""
    body = properties.encode(values, MOMENT)
    assert list(properties.decode(body).items()) == list(values.items())
    assert all(byte == 10 or 32 <= byte < 127 for byte in body)
    assert body.count(b"\n") == 2 + len(values)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"a b": " c d"}, rb"a\ b=\ c d"),
        ({"a": '{"type":"record"}'}, rb'a={"type"\:"record"}'),
        ({"a#!=": "#!=\\"}, rb"a\#\!\==\#\!\=\\"),
        ({"a": "é\U0001f600\x7f\x00"}, rb"a=\u00E9\uD83D\uDE00\u007F\u0000"),
    ],
)
def test_written_form(values: dict[str, str], line: bytes) -> None:
    """Byte for byte what Properties.store writes."""
    assert properties.encode(values, MOMENT).splitlines()[2:] == [line]


def test_heading_lines_are_in_utc() -> None:
    """Hudi's comment line with the ISO time, then Java's date line; both in UTC whatever zone the moment is in."""
    moment = MOMENT.astimezone(timezone(timedelta(hours=9)))
    assert properties.encode({}, moment) == b"#Updated at 2026-11-21T02:20:22.123456Z\n#Sat Nov 21 02:20:22 UTC 2026\n"


REAL = [*real_files.matching(lambda path: path.endswith("hoodie.properties"))]


@pytest.mark.parametrize("body", [body for _, body in REAL], ids=[label for label, _ in REAL])
def test_real_files(body: bytes) -> None:
    """Hudi's own checksum is the one computed here, and its lines are those written here, in any order."""
    values = properties.decode(body)
    assert values[properties.CHECKSUM] == properties.checksum(values)
    assert properties.valid(values)
    assert sorted(properties.encode(values, MOMENT).splitlines()[2:]) == sorted(body.splitlines()[2:])


@pytest.mark.parametrize(
    ("values", "sum_"),
    [
        ({"hoodie.table.name": "cow_savepoints", "hoodie.database.name": ""}, "2741092015"),
        ({"hoodie.table.name": "v6_nonpartitioned", "hoodie.database.name": "default"}, "1363530505"),
    ],
)
def test_checksum_of_known_tables(values: dict[str, str], sum_: str) -> None:
    assert properties.checksum(values) == sum_
    assert properties.valid(values | {properties.CHECKSUM: sum_})
    assert not properties.valid(values | {properties.CHECKSUM: sum_, "hoodie.table.name": "other"})
    assert properties.valid(values)


def test_without_a_name_nothing_is_valid() -> None:
    """A file cut before its name line must not be taken for the properties."""
    assert not properties.valid({properties.CHECKSUM: "0"})
    assert not properties.valid({})


def test_a_cut_real_file_is_never_valid_with_another_value() -> None:
    """Of a file cut at any byte either the checksum line is gone, or what is read is a part of the whole."""
    body = real_files.files("v6", "cow_part")[".hoodie/hoodie.properties"]
    whole = properties.decode(body)
    for end in range(len(body)):
        values = properties.decode(body[:end])
        if properties.CHECKSUM in values and properties.valid(values):
            assert values["hoodie.table.name"] == whole["hoodie.table.name"]


@pytest.fixture(scope="module")
def java() -> Iterator[Any]:
    """A bare JVM."""
    if shutil.which("java") is None:
        pytest.skip("no Java")
    from py4j.java_gateway import JavaGateway

    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    jar = next(Path(spark.origin).parent.glob("jars/py4j-*.jar"))
    gateway = JavaGateway.launch_gateway(jarpath=str(jar), die_on_exit=True)
    yield gateway.jvm
    gateway.shutdown()


@pytest.fixture(scope="module")
def java_load(java: Any) -> Callable[[bytes], dict[str, str]]:
    """What ``Properties.load`` makes of some bytes."""

    def load(body: bytes) -> dict[str, str]:
        found = java.java.util.Properties()
        found.load(java.java.io.ByteArrayInputStream(bytearray(body)))
        return dict(found)

    return load


@pytest.mark.slow
def test_java_reads_what_is_written(java_load: Callable[[bytes], dict[str, str]]) -> None:
    """java.util.Properties gets back every text."""

    @settings(max_examples=60, deadline=None)
    @given(st.dictionaries(TEXT | AWKWARD, TEXT | AWKWARD, max_size=6))
    def judge(values: dict[str, str]) -> None:
        assert java_load(properties.encode(values, MOMENT)) == values

    judge()


@pytest.mark.slow
def test_any_file_reads_as_in_java(java_load: Callable[[bytes], dict[str, str]]) -> None:
    """Files of an editor's making: continuations, comments and separators in any order."""
    pieces = st.sampled_from(
        ["a", "b", "=", ":", " ", "\t", "\f", "\\", "\n", "\r", "\r\n", "#", "!", "\\u0041", "\\n"]
    )

    @settings(max_examples=150, deadline=None)
    @given(st.lists(pieces, max_size=14).map("".join))
    @example("a=b\\\n\n#c")
    @example("\\\n#a\nb=c")
    def judge(text: str) -> None:
        assert properties.decode(f"{text}\nz=".encode()) == java_load(f"{text}\nz=".encode())

    judge()


def test_every_real_table_has_a_properties_file() -> None:
    """The parametrised test above has seen them all."""
    tables = sum(len(support.names(version)) for version in support.VERSIONS)
    assert sum("/metadata/" not in label for label, _ in REAL) == tables


@pytest.mark.parametrize(
    ("line", "pair"),
    [
        ("a=b", ("a", "b")),
        ("  a = b ", ("a", "b")),
        ("a b c", ("a", "b c")),
        ("a\tb", ("a", "b")),
        ("a b=c", ("a b", "c")),
        ("a==b", ("a", "=b")),
        ("a:b=c", ("a:b", "c")),
        ("a=b\\:c\\", ("a", "b\\:c\\")),
        ("a=b  c", ("a", "b c")),
        ("a=\u00e9", ("a", "\u00e9")),
        ("a=", ("a", "")),
        ("a=\u2028 b", ("a", "\u2028 b")),
        ("include = x", ("include", "x")),
        ("#a=b", None),
        ("", None),
        ("a", None),
        (" # a", ("", "# a")),
    ],
)
def test_a_line_of_hudis_configuration(line: str, pair: tuple[str, str] | None) -> None:
    """Not Java's properties: no escapes, no colons, no continued lines; judged by Hudi in tests/interop."""
    assert properties.decode_config(f"{line}\r\nz=1".encode()) == [*([pair] if pair else []), ("z", "1")]


def test_a_configuration_that_is_no_utf_8() -> None:
    with pytest.raises(ValueError, match="utf-8"):
        properties.decode_config(b"a=\xff")


def test_the_last_line_of_a_cut_file_is_not_legible() -> None:
    """Half of a value looks like a value."""
    assert properties.legible(b"a=1\nb=MERGE_ON", ()) == {"a": "1"}
    assert properties.legible(b"a=1\nb=MERGE_ON_READ\n", ()) == {"a": "1", "b": "MERGE_ON_READ"}
