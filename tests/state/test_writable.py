"""What hudictl does not write, though the table's properties say nothing of it."""

import pytest

from hudictl.errors import Unsupported
from hudictl.ops.restore.plan import RestoreOptions
from tests.fixtures import Unpack
from tests.helpers import plan, rollback_of, tree


@pytest.mark.parametrize("version", ["v6", "v9"])
@pytest.mark.parametrize("time", ["00000000000001", "00000000000002"])
def test_a_bootstrap_that_the_timeline_alone_tells_of(unpack: Unpack, version: str, time: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{time}.commit" if version == "v6" else f"{time}_20200101000000000.commit", b"{}")
    before = tree(copy.path)
    with pytest.raises(Unsupported, match="bootstrapped"):
        plan(copy, copy.commits[-2], RestoreOptions(to_instant=True))
    with pytest.raises(Unsupported, match="bootstrapped"):
        rollback_of(copy, copy.commits[-1])
    assert tree(copy.path) == before
