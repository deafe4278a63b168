"""Names and words in a table that a terminal would obey: no command prints them as they are."""

import json
import shutil
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Tell, Unpack
from tests.cli.every_command import changes, looks, pending
from tests.helpers import OWN, Copy, put, tree

pytestmark = pytest.mark.slow

WORDS = "p\x1b[31m\nINJECTED\r\t\x07\x7f\x9b\u061c\u200f\u202e\u2028\u2066[red]$(id)`id`|"
BYTES = f"{WORDS}\udcff"
"""A file's name, of which not all is UTF-8."""
GONE = "aaaaaaaa-1b5f-4d92-887a-0c1bafc27850-0_2-21-24_20261121025604000.parquet"
SHOWN = ("INJECTED\\r", "INJECTED\\\\r")
"""A part of the words in text, and of a name in quotes."""


def obeyed(said: str) -> list[str]:
    """The lines in which something is left that a terminal obeys, or that a name has begun."""
    return [line for line in said.split("\n") if not line.isprintable() or line.startswith("INJECTED")]


def without_metadata(copy: Copy) -> None:
    shutil.rmtree(copy.meta / "metadata")
    with open(copy.meta / "hoodie.properties", "a") as file:
        file.write("hoodie.table.metadata.partitions=\n")


def rename(copy: Copy) -> None:
    """Gives a name to a partition, also in the records of its commits, and to their extra metadata."""
    without_metadata(copy)
    for path in copy.meta.iterdir():
        body = path.read_bytes() if path.is_file() else b""
        if body.startswith(b"{"):
            known = json.loads(body.decode().replace("part-0", json.dumps(WORDS)[1:-1]))
            put(path, json.dumps(known | {"extraMetadata": {WORDS: WORDS}}))
    (copy.path / "part-0").rename(copy.path / WORDS)


def spoil(copy: Copy, tell: Tell) -> None:
    """Gives such names and words to all that can have them, in a table that still can be restored."""
    key = "".join(f"\\u{ord(sign):04x}" for sign in WORDS)
    with open(copy.meta / "hoodie.properties", "a") as file:
        for name in ("hoodie.write.lock.provider", "hoodie.table.partition.fields", key):
            file.write(f"{name}={key}\n")
    rename(copy)
    for path in (
        *(copy.meta / ".temp" / BYTES / "p/f.parquet.marker.CREATE", copy.meta / ".heartbeat" / BYTES),
        *(copy.meta / f"{copy.commits[0]}{BYTES}.commit", copy.meta / f"{copy.commits[0]}.{BYTES}"),
        *(copy.path / WORDS / name for name in (BYTES, GONE)),
    ):
        put(path)
    made = ("savepoint", "create", copy.commits[0], "--comment", WORDS, "--user", WORDS, "--yes", "-t", copy.path)
    assert tell(*made, "--engine", "local").code == 0
    record = next((copy.path / OWN / "operations").iterdir())
    told = json.loads(record.read_text())
    put(record, json.dumps({name: WORDS if isinstance(value, str) else value for name, value in told.items()}))


def lines_of(copy: Copy) -> Iterator[tuple[str, ...]]:
    look = ("check", "--assume-defaults", "--engine", "local", "-o")
    yield from (command.words for command in looks(copy))
    yield from (("marker", "list", BYTES), ("metadata", "files", WORDS), (*look, "nagios"), (*look, "prometheus"))
    yield ("log", "records", f"{copy.path}/{WORDS}/{GONE}.log")
    yield from ((*command.words, "--plan") for command in changes(copy))
    yield from ((kind, "delete", BYTES, "--yes") for kind in ("marker", "heartbeat"))
    yield from (command.words for command in changes(copy))
    yield ("restore", "--to-instant", copy.commits[0], "--yes", "--engine", "local", "--idle", "0s")


@pytest.mark.parametrize("output", [(), ("-o", "json")], ids=["text", "json"])
def test_nothing_that_a_terminal_obeys_is_printed(unpack: Unpack, tell: Tell, output: tuple[str, ...]) -> None:
    """By no command, with or without --verbose, that ends well or in an error."""
    copy = unpack("v6", "mor_failed_lazy")
    spoil(copy, tell)
    told = set()
    for words in lines_of(copy):
        at = () if words[:2] == ("log", "records") else ("-t", copy.path)
        for more in ((), ("-v",)):
            said = tell(*words, *(() if "-o" in words else output), *at, *more)
            assert (words, "a bug" in said.out + said.err, obeyed(said.out + said.err)) == (words, False, [])
            if any(part in said.out + said.err for part in SHOWN):
                told.add((*words[:2], *more))
    # Else there would be nothing to escape. A page on standard output is no JSON.
    assert len(told) == (62 if output else 64), told


def test_14_names_that_are_no_utf_8(unpack: Unpack, tell: Tell) -> None:
    """No record of Hudi's can have them; said before the first write."""
    copy = unpack("v6", "mor_failed_lazy")
    without_metadata(copy)
    shutil.copytree(copy.path / "part-1", copy.path / BYTES)
    for time in (pending(copy), "20261121025604000"):
        put(copy.path / BYTES / GONE.replace("20261121025604000", time), "x")
    before = tree(copy.path, OWN)
    made = ("savepoint", "create", copy.commits[0], "--comment", BYTES, "--yes", "-t", copy.path)
    said = tell(*made, "--engine", "local")
    assert (said.code, r"|\udcff is no UTF-8" in said.line) == (14, True)
    assert tree(copy.path, OWN) == before
    for words in lines_of(copy):
        at = () if words[:2] == ("log", "records") else ("-t", copy.path)
        said = tell(*words, *at, "-v")
        assert (words, "a bug" in said.out + said.err, obeyed(said.out + said.err)) == (words, False, [])
