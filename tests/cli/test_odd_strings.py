"""Odd texts in the place of every text in every record of a table: each command ends in an answer or in one line,
shows nothing that a terminal obeys, and reaches nothing outside the table."""

import io
import json
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pytest

from hudictl.cli.main import run
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.storage.local import LocalStorage
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.cli.every_command import LONGEST_S, Command, changes, looks
from tests.crash.inject import Crash, dying
from tests.helpers import Copy, put, savepoint, tree

pytestmark = pytest.mark.slow

ODD = (
    "..",
    "../outside/kept",
    "../../outside/kept",
    "/etc/hostname",
    "a//b",
    "",
    "nul\0",
    "line\n",
    "\x1b]0;title\x07",
    "\u202etxt.exe\u2028",
    "$(touch kept)",
    "x" * 300,
)
# What a terminal obeys, or breaks a line at: a tab and a newline come from tables of the text output alone.
OBEYED = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
CHANGE = ("--engine", "local", "--idle", "0s", "--yes")


class Hang(BaseException):
    """A command that does not end."""


@dataclass(frozen=True)
class Place:
    """A text in a record: the way to it, with * for what has other names in each record."""

    way: tuple[str, ...]
    key: bool = False

    def __str__(self) -> str:
        return "/".join(self.way) + " as a key" * self.key


def places(value: Any, way: tuple[str, ...] = ()) -> Iterator[Place]:
    """The places of all texts in a decoded record."""
    if isinstance(value, str):
        yield Place(way)
    for name, below in _below(value):
        if isinstance(value, dict) and name == "*":
            yield Place((*way, name), key=True)
        yield from places(below, (*way, name))


def changed(value: Any, place: Place, odd: str) -> Any:
    """A record with an odd text in a place: in all of a list, as one key of a map."""
    if not place.way:
        return odd if isinstance(value, str) and not place.key else value
    first, rest = place.way[0], Place(place.way[1:], place.key)
    if isinstance(value, list) and first == "*":
        return [changed(below, rest, odd) for below in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, below in value.items():
        wanted = _name(key) == first
        renamed = wanted and place.key and not rest.way and odd not in found
        found[odd if renamed else key] = changed(below, rest, odd) if wanted else below
    return found


def _below(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((_name(key), below) for key, below in value.items())
    elif isinstance(value, list):
        yield from (("*", below) for below in value)


def _name(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z_]+|hoodie\.[a-z.]+", key) else "*"


Encode = Callable[[Any], bytes]


def decoded(body: bytes) -> tuple[Any, Encode] | None:
    """A record, and how to write it again; None for what holds no texts."""
    if body.startswith(b"Obj\x01"):
        reader = fastavro.reader(io.BytesIO(body))
        schema = reader.writer_schema

        def avro(value: Any) -> bytes:
            out = io.BytesIO()
            fastavro.writer(out, schema, value)
            return out.getvalue()

        return list(reader), avro
    try:
        text = body.decode()
        return json.loads(text), lambda value: json.dumps(value).encode()
    except UnicodeDecodeError:
        return None
    except ValueError:
        pass
    pairs = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    if pairs:
        return pairs, lambda value: "".join(f"{key}={text}\n" for key, text in value.items()).encode()
    return text.splitlines(), lambda value: "\n".join(value).encode()


def records(base: Path) -> Iterator[tuple[Path, Any, Encode]]:
    """One record of each kind in a table's own folder."""
    seen = set()
    for path in sorted((base / ".hoodie").rglob("*")):
        inside = str(path.relative_to(base))
        kind = re.sub(r"\d+", "N", re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "U", inside))
        data = inside.startswith(".hoodie/metadata/") and "/.hoodie/" not in inside.removeprefix(".hoodie")
        if path.is_file() and path.suffix != ".crc" and kind not in seen and not data:
            seen.add(kind)
            found = decoded(path.read_bytes())
            if found:
                yield path.relative_to(base), *found


@contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    def end(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def sound(unpack: Unpack, version: str) -> Copy:
    """With a failed write and its markers, a savepoint, and records of hudictl's own."""
    copy = unpack(version, "mor_failed_lazy")
    savepoint(copy, copy.commits[0], SavepointOptions(allow_pending=True))
    return copy


def stopped(unpack: Unpack, version: str) -> Copy:
    """A restore died: its claim, its plan and the metadata table that it has set aside are there."""
    copy = sound(unpack, version)
    options = ("--delete-later-savepoints", "--discard-rollbacks", *CHANGE)
    with dying(99), pytest.raises(Crash):
        run(["restore", copy.commits[0], "-t", str(copy.path), *options])
    assert list((copy.meta / ".hudictl").glob("claim-*"))
    assert list((copy.meta / ".hudictl").glob("metadata-*.json"))
    return copy


def dropped(unpack: Unpack, version: str) -> Copy:
    """With an index and its definition, and what a store without renames keeps of a metadata table on its way out."""
    copy = unpack(version, "cow_record_index")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalStorage, "move", lambda self, source, target: False)
        with dying(40), pytest.raises(Crash):
            run(["metadata", "drop", "-t", str(copy.path), "--idle", "0s", "--yes"])
    assert list((copy.meta / ".hudictl").glob("dropped-*.json"))
    return copy


Make = Callable[[Unpack, str], Copy]
MAKERS: tuple[Make, ...] = (sound, stopped, dropped)
made_by = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
of_versions = pytest.mark.parametrize("version", support.VERSIONS)


def commands(copy: Copy) -> list[Command]:
    """Those that a table without pending instants has, too."""
    pending = {name.split(".")[0] for name in copy.instants()} - set(copy.commits)
    if pending:
        return [*looks(copy), *changes(copy)]
    return [Command(("table", "show")), Command(("metadata", "drop", "--idle", "0s", "--yes"), changes=True)]


@pytest.mark.short("v9-sound", "v9-stopped", "v6-dropped")
@made_by
@of_versions
def test_by_turns(unpack: Unpack, tmp_path: Path, capfd: pytest.CaptureFixture[str], make: Make, version: str) -> None:
    wrong = faults(make(unpack, version), tmp_path, capfd, every=False)
    assert not wrong, "\n".join(wrong)


@pytest.mark.full
@made_by
@of_versions
def test_all(unpack: Unpack, tmp_path: Path, capfd: pytest.CaptureFixture[str], make: Make, version: str) -> None:
    wrong = faults(make(unpack, version), tmp_path, capfd, every=True)
    assert not wrong, "\n".join(wrong)


def faults(copy: Copy, tmp_path: Path, capfd: pytest.CaptureFixture[str], *, every: bool) -> list[str]:
    """In the short form, each place has one odd text and one command by turns."""
    base, outside = tmp_path / "odd", tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("of the operator")
    asked = commands(copy)
    wrong, turn = [], 0
    for path, value, encode in records(copy.path):
        for place in dict.fromkeys(places(value)):
            turn += 1
            for odd in ODD if every else [ODD[turn % len(ODD)]]:
                turn += every
                try:
                    body = encode(changed(value, place, odd))
                except (ValueError, TypeError):
                    # Of another type: the record has no such text.
                    continue
                shutil.rmtree(base, ignore_errors=True)
                shutil.copytree(copy.path, base, symlinks=True)
                put(base / path, body)
                command = asked[turn % len(asked)]
                fault = told(command, base, capfd) or moved(outside, tmp_path)
                if fault:
                    wrong.append(f"{odd!r:.40} in {path}: {place}: {command}: {fault}")
    assert turn > 20
    return wrong


def told(command: Command, base: Path, capfd: pytest.CaptureFixture[str]) -> str | None:
    at = () if command.words[:2] == ("log", "records") else ("-t", str(base))
    capfd.readouterr()
    try:
        with no_longer_than(LONGEST_S):
            code = run([*command.words, *at])
    except Hang:
        return f"no end in {LONGEST_S} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    said = "".join(capfd.readouterr())
    if code == 1 or "Traceback" in said:
        return f"exit code {code}: {said[-500:]}"
    obeyed = OBEYED.search(said)
    return f"a terminal gets {obeyed[0]!r}" if obeyed else None


def moved(outside: Path, tmp_path: Path) -> str | None:
    found = {path.name for path in tmp_path.iterdir()} - {"odd", "mor_failed_lazy", "cow_record_index"}
    kept = [path.name for path in outside.iterdir()]
    return None if (found, kept) == ({"outside"}, ["kept"]) else f"outside the table there is {found}, {kept}"


@pytest.mark.parametrize("version", ["v9"])
def test_a_saved_plan(sane: Path, unpack: Unpack, version: str, tell: Tell, tmp_path: Path) -> None:
    copy = sound(unpack, version)
    command = ("restore", copy.commits[0], "-t", str(copy.path), "--delete-later-savepoints", "--discard-rollbacks")
    document = tell(*command, "--engine", "local", "--plan", "-o", "json").json
    before = tree(copy.path)
    tried = set()
    for turn, place in enumerate(dict.fromkeys(places(document["result"]))):
        odd = ODD[turn % len(ODD)]
        plan = put(tmp_path / "plan.json", json.dumps(document | {"result": changed(document["result"], place, odd)}))
        said = tell("apply", plan, "--engine", "local", "--plan")
        # What it decides by is refused; the rest, such as the rows that it shows, is not read.
        decides = place.way[0] in (
            "plan_version",
            "operation",
            "timezone",
            "target",
            "options",
            "fingerprint",
        )
        assert said.code not in ((0, 1) if decides else (1,)), f"{odd[:99]!r} in {place}"
        assert OBEYED.search(said.err) is None
        tried.add(place)
        # A plan that names another table creates none.
        assert tree(copy.path) == before
    assert len(tried) > 10


@pytest.fixture
def sane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path
