"""Which instants a restore removes."""

import os

from hudictl.formats.instants import time_plus_ms
from hudictl.state.timeline.removed import COMPLETION, REQUESTED, instants_after, overlapping
from hudictl.table.timeline.active import load_timeline
from tests.fixtures import Unpack


def test_a_restore_to_a_compaction_keeps_what_was_requested_before_it(unpack: Unpack) -> None:
    """Also where it completed later: its logs lie below the slice that the compaction has opened."""
    copy = unpack("v9", "mor_part")
    table = copy.table
    (compaction, *_) = load_timeline(table).having("commit")
    earlier = max(time for time in copy.commits if time < compaction.time)
    late = time_plus_ms(compaction.completion_time or "", 1)
    os.rename(copy.file(earlier, "deltacommit"), copy.timeline / f"{earlier}_{late}.deltacommit")
    for rule in (REQUESTED, COMPLETION):
        after = {entry.time for entry in instants_after(table, load_timeline(table), compaction, rule)}
        assert after == {time for time in copy.commits if time > compaction.time}
    # Its readers did not see that one.
    assert [entry.time for entry in overlapping(table, load_timeline(table), compaction)] == [earlier]
