"""What happens to a table, or to hudictl, while a block of docs/runbooks.md runs: by the words of its marker."""

import errno
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.ops.restore import execute
from hudictl.ops.session import Monitor
from hudictl.table.locks import claim
from tests.crash.inject import DEAD_PID


@contextmanager
def emergency(words: str, table: Path) -> Iterator[None]:
    """``without PATTERN``: these files are gone from now on. The others end with the block: ``disk full``, ``disk full
    after N writes``, ``Ctrl-C in the grace``, while a restore waits for queries (``--grace``), and ``with a profile``:
    the first of docs/profiles.md is in the working folder."""
    kind, _, rest = words.partition(" ")
    with pytest.MonkeyPatch.context() as patch:
        if kind == "without":
            _delete(table, rest)
        elif kind == "with":
            _use_profile(patch, table)
        elif kind == "disk":
            _process_that_ends(patch)
            _fill_disk(patch, int("".join(filter(str.isdigit, rest)) or 0))
        elif kind == "Ctrl-C":
            _process_that_ends(patch)
            _interrupt(patch)
        else:
            assert not words, f"no such emergency: {words}"
        yield


def _delete(table: Path, pattern: str) -> None:
    """With their checksum files."""
    found = [path for path in table.glob(pattern) if path.is_file()]
    assert found, f"no file is {pattern}"
    for path in found:
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def _use_profile(patch: pytest.MonkeyPatch, table: Path) -> None:
    page = (Path(__file__).parent.parent / "docs/profiles.md").read_text(encoding="utf-8")
    text = page.partition("```toml\n")[2].partition("```")[0]
    assert "/lake/trips" in text
    file = table.parent / "lake.toml"
    file.write_text(text.replace("/lake/trips", str(table)))
    patch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    patch.setenv("HUDICTL_CONFIG", str(file))
    patch.chdir(table.parent)


def _process_that_ends(patch: pytest.MonkeyPatch) -> None:
    """A claim that it could not release is a dead process's: the next command takes it over."""
    own = claim.current_owner
    patch.setattr(claim, "current_owner", lambda command: replace(own(command), pid=DEAD_PID, process_start="gone"))


def _fill_disk(patch: pytest.MonkeyPatch, writes: int) -> None:
    real, done = os.write, 0

    def write(descriptor: int, data: bytes) -> int:
        nonlocal done
        done += 1
        if done > writes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data)

    patch.setattr(os, "write", write)


def _interrupt(patch: pytest.MonkeyPatch) -> None:
    def interrupted(monitor: Monitor, grace_s: float) -> None:
        signal.raise_signal(signal.SIGINT)
        monitor.check()

    patch.setattr(execute, "wait_for_queries", interrupted)
