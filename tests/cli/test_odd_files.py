"""A link, a pipe, a folder, an empty or a huge file in the place of whatever is in a table's own folder: every command
ends in an answer or in one line, and reaches nothing outside the table."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.ops.savepoint.plan import SavepointOptions
from tests import support
from tests.cli.conftest import Unpack
from tests.cli.every_command import Command, answer, changes, looks
from tests.cli.help_support import COMMANDS
from tests.helpers import OWN, Copy, savepoint

pytestmark = pytest.mark.slow

Kind = Callable[[Path, Path], None]
SECRET = "what only the operator may read"
TABLE = "mor_failed_lazy"
MADE_BY_NOBODY = (
    ".hoodie/archived/commits",
    ".hoodie/lock",
    ".hoodie/.locks",
    ".hoodie/.metadata_20261121030630000",
    ".hoodie/.backup",
    ".hoodie/.index_defs/index.json",
    ".hoodie/timeline/history/manifest_1",
    ".hoodie/timeline/history/_version_",
    ".hoodie/.schema/20261121030630000.schemacommit",
    f"{OWN}/tmp",
    f"{OWN}/claim-9",
    f"{OWN}/operations",
    f"{OWN}/operations/20261121030630000.json",
    f"{OWN}/metadata-20261121030630000.json",
    f"{OWN}/metadata-files-20261121030630000.json",
    f"{OWN}/dropped-metadata-20261121030630000-files.json",
)
"""Places that the sample table does not have, but others do."""


def link_to_file(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "private")


def link_to_folder(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def link_to_itself(path: Path, outside: Path) -> None:
    path.symlink_to(path)


def link_to_nothing(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "absent")


def pipe(path: Path, outside: Path) -> None:
    os.mkfifo(path)


def folder(path: Path, outside: Path) -> None:
    path.mkdir()


def nothing_in_it(path: Path, outside: Path) -> None:
    path.touch()


def more_than_any(path: Path, outside: Path) -> None:
    path.touch()
    os.truncate(path, 3 * 1024**3)


LARGE = re.compile(r".*\.crc|.*/metadata/.+|.*\.log\..*")
"""Data files may have any size; what is beside them, or in the metadata table, is read as its like."""

KINDS = (link_to_file, link_to_folder, link_to_itself, link_to_nothing, pipe, folder, nothing_in_it, more_than_any)


def layout(base: Path) -> list[str]:
    """One path of each kind in a table's own folder: numbers and random names are left out of the comparison."""
    found: dict[str, str] = {}
    for name in sorted(str(path.relative_to(base)) for path in (base / ".hoodie").rglob("*")):
        shape = re.sub(r"\d+", "N", re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "U", name))
        found[shape] = name
    return [".hoodie", *found.values(), *(path for path in MADE_BY_NOBODY if path not in found.values())]


def put(base: Path, path: str, kind: Kind, outside: Path) -> None:
    place = base / path
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
        place.with_name(f".{place.name}.crc").unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    kind(place, outside)


def seen(outside: Path) -> list[tuple[int, int, int]]:
    """Access rights and times of what is outside: a look leaves a trace, too."""
    found = [path.stat() for path in (outside / "private", outside)]
    return [(it.st_mode, it.st_atime_ns, it.st_mtime_ns) for it in found]


def asked(copy: Copy, number: int, *, all_of_them: bool) -> list[Command]:
    """In the short form one command, by turns."""
    commands = [*looks(copy), *changes(copy)]
    return commands if all_of_them else [commands[number % len(commands)]]


@pytest.fixture
def copy(unpack: Unpack, version: str) -> Copy:
    """With a savepoint of hudictl's, so that there are records of its own."""
    found = unpack(version, TABLE)
    savepoint(found, found.commits[0], SavepointOptions(allow_pending=True))
    return found


@pytest.mark.parametrize("version", ["v9"])
def test_every_command_is_tried(copy: Copy) -> None:
    tried = [str(command) for command in (*looks(copy), *changes(copy))]
    missing = {name for name in COMMANDS if not any(words.startswith(name) for words in tried)}
    assert missing == {"apply", "config list", "schema", "mcp", "demo", "completion"}


@pytest.mark.short("v9")
@pytest.mark.parametrize("kind", KINDS[:-1], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("version", support.VERSIONS)
def test_by_turns(copy: Copy, kind: Kind, tmp_path: Path) -> None:
    wrong = faults(copy, kind, tmp_path, all_of_them=False)
    assert not wrong, "\n".join(wrong)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("version", support.VERSIONS)
def test_all(copy: Copy, kind: Kind, tmp_path: Path) -> None:
    wrong = faults(copy, kind, tmp_path, all_of_them=True)
    assert not wrong, "\n".join(wrong)


def faults(copy: Copy, kind: Kind, tmp_path: Path, *, all_of_them: bool) -> list[str]:
    outside, base = tmp_path / "outside", tmp_path / "odd"
    wrong = []
    # Each place has its turn with another command for each kind; in the short form, with every third kind.
    places = [path for path in layout(copy.path) if kind is not more_than_any or not LARGE.fullmatch(path)]
    for number, path in enumerate(places, start=KINDS.index(kind) * 5):
        if number % 3 and not all_of_them:
            continue
        make(base, copy, path, kind, outside)
        for command in asked(copy, number, all_of_them=all_of_them):
            before = seen(outside)
            said = answer(command, base, tmp_path / "said")
            after = seen(outside)
            told = [said.fault] if said.fault else []
            told += ["something outside the table was read or changed"] if before != after else []
            told += ["it tells or keeps what is outside the table"] if SECRET in said.said or kept(base) else []
            wrong += [f"{kind.__name__} as {path}: {command}: {fault}" for fault in told]
            if command.changes or told:
                make(base, copy, path, kind, outside)
    return wrong


def make(base: Path, copy: Copy, path: str, kind: Kind, outside: Path) -> None:
    """The table with something odd in a place, and a folder of the operator's."""
    shutil.rmtree(base, ignore_errors=True)
    shutil.copytree(copy.path, base, symlinks=True)
    shutil.rmtree(outside, ignore_errors=True)
    outside.mkdir()
    (outside / "private").write_text(SECRET)
    (outside / "private").chmod(0o600)
    # A time of the last access before the one of the last change: the next access is noted.
    for place in (outside / "private", outside):
        os.utime(place, (1_700_000_000, 1_700_000_001))
    put(base, path, kind, outside)


def kept(base: Path) -> bool:
    """Whether what is outside was copied into the table."""
    return any(
        SECRET.encode() in place.read_bytes() for place in base.rglob("*") if place.is_file() and not place.is_symlink()
    )
