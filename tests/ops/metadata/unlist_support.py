"""What the tests of unlist share with others."""

import pytest

from hudictl.storage.local import LocalStorage

STORES = pytest.mark.parametrize("moves", [True, False], ids=["moves folders", "object store"])


def on_object_store(monkeypatch: pytest.MonkeyPatch, moves: bool) -> None:
    if not moves:
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
