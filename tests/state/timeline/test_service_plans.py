"""Which table service a pending instant is."""

import pytest

from hudictl.errors import Unreadable
from hudictl.state.timeline.lost_plans import has_lost_plan
from hudictl.state.timeline.service_plans import service_of
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack

LATER = "20261122040000000"


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_replacecommit_with_a_torn_request(unpack: Unpack, version: str) -> None:
    """Below version 8 it may be a clustering; later that would have an action of its own."""
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.replacecommit.requested", b"Obj\x01half")
    table, timeline = copy.table, load_timeline(copy.table)
    instant = timeline.find(LATER, "replacecommit")
    assert instant is not None
    assert has_lost_plan(table, timeline, instant) is (version == "v6")
    if version == "v6":
        with pytest.raises(Unreadable, match=LATER):
            service_of(table, instant)
    else:
        assert service_of(table, instant) is None
