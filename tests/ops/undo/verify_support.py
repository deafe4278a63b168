"""What the tests of verify share with others."""

import os

import pytest

from tests.helpers import (
    whole,
)


def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A log of what is deleted, and of what is synced."""
    log: list[str] = []
    real = os.unlink

    def unlink(path: str, **more: int) -> None:
        log.append(f"unlink {whole(path, more.get('dir_fd'))}")
        real(path, **more)

    monkeypatch.setattr(os, "unlink", unlink)
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: log.append(f"sync {os.readlink(f'/proc/self/fd/{descriptor}')}")
    )
    return log
