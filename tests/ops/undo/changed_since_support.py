"""What the tests of changed since share with others."""

import pytest

from hudictl.errors import StorageFailed
from tests.helpers import (
    Copy,
    roll_back,
)
from tests.ops.rollback.execute_support import newest


def dead_rollback(copy: Copy, monkeypatch: pytest.MonkeyPatch, before: str) -> str:
    """It has set the metadata table aside; returns its target."""
    target = newest(copy)

    def dies(*_: object, **__: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        patch.setattr(f"hudictl.ops.{before}", dies)
        with pytest.raises(StorageFailed, match="dies here"):
            roll_back(copy, target)
    assert copy.table.metadata_partitions == ()
    return target
