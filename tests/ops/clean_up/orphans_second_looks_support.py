"""What the tests of orphans second looks share with others."""

from hudictl.ops.clean_up.orphans import OrphanOptions, plan_orphan_deletion
from tests.helpers import (
    NEVER,
    Copy,
    session,
    unlisted,
)
from tests.state.orphans.find_support import between_commits, listed_orphan, rolled_back


def visible(copy: Copy) -> str:
    """An orphan that the metadata table alone keeps from readers, beside one that it lists."""
    listed_orphan(copy, between_commits(copy))
    rolled_back(copy, NEVER, partitions=("part-1",))
    path = unlisted(copy)
    made = plan_orphan_deletion(session(copy.table), OrphanOptions(0, "delete"))
    assert made.kept_from_readers == {path}
    return path
