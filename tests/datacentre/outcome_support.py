"""What a restore has to do, by the same one on this machine."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hudictl.ops.restore.plan import RestoreOptions
from tests import support
from tests.helpers import Copy, restore

NAME = "cow_savepoints"
WORDS = ("--delete-later-savepoints",)
"""What the restore is asked besides its target."""


@dataclass(frozen=True)
class Outcome:
    """A table of this machine, the savepoint that it is restored to, and its data files before and after that."""

    path: Path
    target: str
    before: Mapping[str, str]
    after: Mapping[str, str]


def restored(version: str, folder: Path) -> Outcome:
    """A table that is not restored yet, and what is to come of it."""
    copy = Copy(version, NAME, support.unpack(version, NAME, folder / "there"))
    here = Copy(version, NAME, support.unpack(version, NAME, folder / "here"))
    target = copy.savepoints[0]
    restore(here, target, options=RestoreOptions(delete_later_savepoints=True))
    outcome = Outcome(copy.path, target, data(digests(copy.path)), data(digests(here.path)))
    assert outcome.after.items() < outcome.before.items()
    return outcome


def data(found: Mapping[str, str]) -> dict[str, str]:
    """Of all files of a table those outside ``.hoodie``."""
    return {name: digest for name, digest in found.items() if not name.startswith(".hoodie/")}


def digests(folder: Path) -> dict[str, str]:
    """MD5 of all files, by their names."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".crc"]
    return {path.relative_to(folder).as_posix(): hashlib.md5(path.read_bytes()).hexdigest() for path in files}
