"""The names in savepoints: what fastavro writes is read the same, a window at a time, and damage is found."""

import io
from collections.abc import Mapping
from contextlib import suppress

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats import savepoint_names
from hudictl.formats.savepoint import SCHEMA, SavepointMetadata, encode
from hudictl.formats.savepoint_names import Head, read_head, read_names

NAMES = st.text(st.characters(exclude_characters="/", exclude_categories=("Cs",)), min_size=1, max_size=200)
FILES = st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=20), st.lists(NAMES, max_size=8))
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=300)


def read(body: bytes) -> dict[str, str]:
    return dict(read_names(lambda at, length: body[at : at + length], len(body), "x.savepoint"))


def joined(files: Mapping[str, list[str]]) -> dict[str, str]:
    return {path: "/".join(names) for path, names in files.items()}


@pytest.mark.slow
@given(FILES, TEXT, st.integers(-(2**63), 2**63 - 1), TEXT, st.integers(1, 400))
def test_it_reads_what_fastavro_writes(
    files: dict[str, list[str]], by: str, at_ms: int, comment: str, window: int
) -> None:
    """However little of it is read at a time."""
    record = {
        "savepointedBy": by,
        "savepointedAt": at_ms,
        "comments": comment,
        "partitionMetadata": {
            path: {"partitionPath": path, "savepointDataFile": names} for path, names in files.items()
        },
        "version": 1,
    }
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(SCHEMA), [record])
    body = out.getvalue()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(savepoint_names, "_WINDOW", window)
        assert read(body) == joined(files)
        assert read_head(lambda at, length: body[at : at + length], len(body), "x") == Head(by, at_ms, comment)


def test_a_version_that_is_null_and_blocks_that_tell_their_size() -> None:
    """As other writers of Avro may have it: a negative number of items, then their bytes."""
    body = encode(SavepointMetadata("a", 1, "b", {"p": ("n1", "n2")}))
    names = b"\x04" + b"\x04n1\x04n2" + b"\x00"
    assert body.count(names) == 1
    other = b"\x03\x0c" + b"\x04n1\x04n2" + b"\x00"
    at = body.index(names)
    # The block of the file is a byte longer then; its length stands before the record.
    start = body.index(b"\x02a\x02\x02b") - 1
    longer = body[:start] + bytes([body[start] + 2]) + body[start + 1 : at] + other + body[at + len(names) :]
    assert read(longer) == {"p": "n1/n2"}
    null = bytearray(body)
    end = len(body) - 16
    assert null[end - 2 : end] == b"\x00\x02"
    null[end - 2 : end] = b"\x02"
    null[start] -= 2
    assert read(bytes(null)) == {"p": "n1/n2"}


@pytest.mark.slow
@given(st.data())
def test_damage_never_looks_like_a_savepoint(data: st.DataObject) -> None:
    """Cut off anywhere, it is damage; with a byte changed it is damage, or says something else."""
    body = encode(SavepointMetadata("ann", 1, "why", {"p": ("a_0_1.parquet", "b_0_1.parquet"), "q": ()}))
    cut = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises((Unreadable, Unsupported)):
        read(body[:cut])
    changed = bytearray(body)
    changed[cut] ^= data.draw(st.integers(1, 255))
    with suppress(Unreadable, Unsupported):
        read(bytes(changed))


def test_a_record_of_another_length_than_told_is_damage() -> None:
    """And a name of a negative length, which has the bytes of a longer one."""
    body = encode(SavepointMetadata("a", 1, "b", {"p": ("n1", "n2")}))
    start = body.index(b"\x02a\x02\x02b") - 1
    for more in (-2, 2):
        with pytest.raises(Unreadable, match="does not end where it should"):
            read(body[:start] + bytes([body[start] + more]) + body[start + 1 :])
    with pytest.raises(Unreadable, match="cut off"):
        read(body.replace(b"\x04n1", b"\x05n1"))


@pytest.mark.parametrize("names", [("",), ("a/b",), ("a", "")])
def test_a_name_that_is_none_of_a_file(names: tuple[str, ...]) -> None:
    with pytest.raises(Unreadable, match="not that of a file"):
        read(encode(SavepointMetadata("a", 1, "b", {"p": names})))


@pytest.mark.parametrize(
    "schema",
    [
        {**SCHEMA, "fields": [*SCHEMA["fields"], {"name": "more", "type": "int", "default": 1}]},
        {**SCHEMA, "fields": [{**SCHEMA["fields"][0], "name": "by"}, *SCHEMA["fields"][1:]]},
    ],
)
def test_another_schema_is_not_guessed(schema: Mapping[str, object]) -> None:
    record = {
        "savepointedBy": "a",
        "by": "a",
        "savepointedAt": 1,
        "comments": "",
        "partitionMetadata": {},
        "version": 1,
        "more": 1,
    }
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(dict(schema)), [record])
    with pytest.raises(Unsupported, match="another schema"):
        read(out.getvalue())


def test_a_compressed_one_is_not_guessed() -> None:
    out = io.BytesIO()
    record = {"savepointedBy": "", "savepointedAt": 1, "comments": "", "partitionMetadata": {}, "version": 1}
    fastavro.writer(out, fastavro.parse_schema(SCHEMA), [record], codec="deflate")
    with pytest.raises(Unsupported):
        read(out.getvalue())
