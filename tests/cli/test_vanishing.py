"""A table, or a folder of it, that is removed while a command runs: never a bug of hudictl."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.storage import descriptors, local
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.cli.every_command import changes, looks
from tests.helpers import OWN, Copy, savepoint

pytestmark = pytest.mark.slow

CALLS = ("open", "scandir", "stat", "rename", "link", "unlink", "mkdir", "replace")
AFTER = (2, 5, 9, 14, 20, 30, 45, 70, 110, 180, 300)
GONE = ("", ".hoodie", OWN, f"{OWN}/tmp", ".hoodie/timeline", ".hoodie/metadata", "part-0")


class Accident:
    """Stands for ``os`` in the storage: acts before call number ``at`` to the file system."""

    def __init__(self, at: int, act: Callable[[], object]) -> None:
        self.left = at
        self.act = act

    def __getattr__(self, name: str) -> Any:
        function = getattr(os, name)
        if name == "fsync":
            return lambda descriptor: None
        return self._counted(function) if name in CALLS else function

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                self.act()
            return function(*arguments, **options)

        return call


@pytest.mark.short("v9")
@pytest.mark.parametrize("gone", GONE, ids=lambda path: path or "the table")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_by_turns(unpack: Unpack, tell: Tell, tmp_path: Path, version: str, gone: str) -> None:
    wrong = faults(unpack, tell, tmp_path, version, gone, every=False)
    assert not wrong, "\n".join(wrong)


@pytest.mark.full
@pytest.mark.parametrize("gone", GONE, ids=lambda path: path or "the table")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_all(unpack: Unpack, tell: Tell, tmp_path: Path, version: str, gone: str) -> None:
    wrong = faults(unpack, tell, tmp_path, version, gone, every=True)
    assert not wrong, "\n".join(wrong)


def test_what_nobody_expects_to_be_absent_is_the_storages_failure(
    unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_part")

    def gone(*_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", ".hoodie/x")

    monkeypatch.setattr(local.LocalStorage, "stat", gone)
    said = tell("table", "show", "-t", copy.path)
    assert (said.code, ".hoodie/x is gone: it was removed while the command ran" in said.line) == (15, True)


def faults(unpack: Unpack, tell: Tell, tmp_path: Path, version: str, gone: str, *, every: bool) -> list[str]:
    """In the short form, each command has its accident at one moment, by turns."""
    copy = unpack(version, "mor_failed_lazy")
    savepoint(copy, copy.commits[0], SavepointOptions(allow_pending=True))
    wrong = []
    for number, command in enumerate((*looks(copy), *changes(copy))):
        for after in AFTER if every else (AFTER[(number + GONE.index(gone)) % len(AFTER)],):
            base = trial(copy, tmp_path)
            at = () if command.words[:2] == ("log", "records") else ("-t", base)
            with pytest.MonkeyPatch.context() as patch:
                system = Accident(after, lambda base=base: shutil.rmtree(base / gone, True))  # type: ignore[misc]
                for module in (local, descriptors):
                    patch.setattr(module, "os", system)
                said = tell(*command.words, *at)
            if said.code == 1 or "Traceback" in said.err:
                wrong.append(f"{command}, after {after} calls: {said.code}: {said.err[-300:]}")
    return wrong


def trial(copy: Copy, tmp_path: Path) -> Path:
    base = tmp_path / "trial"
    shutil.rmtree(base, ignore_errors=True)
    return Path(shutil.copytree(copy.path, base, symlinks=True))
