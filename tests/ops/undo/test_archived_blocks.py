"""Rollback blocks for delta commits that the archive has."""

import pytest

from tests import records
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, plan, restore, savepoint


@pytest.mark.slow
def test_an_archived_delta_commit_is_marked_as_an_active_one(unpack: Unpack) -> None:
    """Where the archive has no metadata of it, by the headers of the logs."""
    copy = unpack("v6", "mor_part")
    first = copy.commits[0]
    savepoint(copy, first)
    moved = max(block.target for block in plan(copy, first).undo.rollback_blocks)
    expected = marked(copy, first, moved)
    for file in copy.timeline.glob(f"{moved}*"):
        drop(file)
    assert not marked(copy, first, moved)
    records.archive(copy, moved, "deltacommit")
    assert marked(copy, first, moved) == expected != set()
    restore(copy, first)
    assert plan(copy, first).nothing_to_do


def marked(copy: Copy, target: str, removed: str) -> set[tuple[str, str, str]]:
    blocks = plan(copy, target).undo.rollback_blocks
    return {(block.partition, block.file_id, block.base_instant) for block in blocks if block.target == removed}
