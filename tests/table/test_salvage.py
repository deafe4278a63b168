"""What is left of hoodie.properties: what counts, and by what a table is opened."""

from pathlib import Path

import pytest

from hudictl.errors import NotFound, Unreadable
from hudictl.formats import properties as fmt
from hudictl.table.open import open_table
from hudictl.table.salvage import layout_in, read_salvage, wrong_lines
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, put

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
PATH = "hoodie.properties"


def damage(copy: Copy, body: bytes) -> tuple[str, ...]:
    put(copy.meta / PATH, body)
    return read_salvage(open_table(str(copy.path), salvage={}).storage).damage


@VERSIONS
def test_a_table_is_opened_by_what_is_left(version: str, unpack: Unpack) -> None:
    copy = unpack(version, "mor_part")
    right = open_table(str(copy.path))
    body = (copy.meta / PATH).read_bytes()
    for harmed in (None, b"", body[:200], body[:-30], body.replace(b"type=MERGE", b"type\xff=MERGE")):
        drop(copy.meta / PATH) if harmed is None else put(copy.meta / PATH, harmed)
        found = open_table(str(copy.path), salvage={})
        assert (found.version, found.layout, found.type, found.name) == (
            right.version,
            right.layout,
            right.type,
            right.name,
        )
    put(copy.meta / PATH, b"")
    with pytest.raises(Unreadable, match="damaged") as error:
        open_table(str(copy.path))
    assert "`hudictl table repair-properties`" in error.value.hint


@VERSIONS
def test_a_sound_file_and_what_an_editor_makes_of_it_are_no_damage(version: str, unpack: Unpack) -> None:
    copy = unpack(version, "cow_part")
    body = (copy.meta / PATH).read_bytes()
    assert not damage(copy, body)
    assert not damage(copy, body.rstrip(b"\n"))
    assert not damage(copy, body.replace(b"\n", b"\r\n"))
    assert not damage(copy, body.replace(b"=", b" = "))
    assert not damage(copy, body + "#ä\nhoodie.table.create.schema=ä\n".encode())


@VERSIONS
def test_files_that_hudi_takes_all_the_same_can_be_damaged(version: str, unpack: Unpack) -> None:
    copy = unpack(version, "cow_part")
    values = fmt.decode((copy.meta / PATH).read_bytes())
    first = {key: values[key] for key in (fmt.NAME, fmt.CHECKSUM)}
    body = "".join(f"{key}={value}\n" for key, value in (first | values).items()).encode()
    assert not damage(copy, body)
    # The end is lost: the last line is no property.
    assert damage(copy, body[: body.index(b"hoodie.table.type") + 14])
    without = body.replace(f"{fmt.CHECKSUM}={values[fmt.CHECKSUM]}\n".encode(), b"")
    assert not damage(copy, without)
    assert damage(copy, without[: without.index(b"hoodie.table.type")])
    assert damage(copy, body.replace(b"hoodie.table.cdc", b"hoodie.table\x9bcdc"))


def test_only_a_version_that_two_things_deny_is_wrong(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_part")
    body = (copy.meta / PATH).read_bytes()
    said = body.replace(b"hoodie.table.version=9", b"hoodie.table.version=8")
    assert damage(copy, said) == ("it says table version 8, but the table has version 9",)
    assert open_table(str(copy.path), salvage={}).version == 9
    # As upgrades leave it: the metadata table is not upgraded yet.
    put(copy.meta / PATH, body)
    metadata = copy.meta / "metadata/.hoodie" / PATH
    put(metadata, metadata.read_bytes().replace(b"table.version=9", b"table.version=8"))
    assert not wrong_lines(open_table(str(copy.path)).storage)
    # An upgrade that was interrupted has another layout.
    copy = unpack("v6", "cow_part")
    (copy.meta / "timeline").mkdir()
    assert layout_in(open_table(str(copy.path)).storage) == 2
    assert not damage(copy, (copy.meta / PATH).read_bytes())


def test_one_wrong_sign_in_a_key_is_not_in_the_way(unpack: Unpack) -> None:
    known = {"hoodie.table.name", "hoodie.table.type"}
    assert fmt.legible(b"hoodie.table.\xffame=a\nb=\xff\nhoodie.\n#c=1\nd=1\ne=2", known) == {
        "hoodie.table.name": "a",
        "d": "1",
    }
    assert fmt.legible(b"hoodie.table.\xff\xff\xffe=a\n", known) == {}
    assert fmt.illegible(b"a=1\nb\xff=1\nhoodie.table.name=\xff\nc=\xff\n#\xff\n") == ["b\xff=1", "c=\xff"]


def test_what_is_no_table_stays_none(tmp_path: Path) -> None:
    (tmp_path / ".hoodie").mkdir()
    with pytest.raises(NotFound):
        open_table(str(tmp_path), salvage={})
