"""``clean discard``: also a clean that Hudi could finish."""

from pathlib import Path

import pytest

from hudictl.errors import Refused
from hudictl.ops.clean_up.service import ServiceOptions, execute_service_removal, plan_service_removal
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import OWN, Copy, drop, session, tree
from tests.ops.clean_up.service_support import indexing, left
from tests.state.orphans.find_support import LATER

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
DISCARD = ServiceOptions(0, discard=True)


def old_file(copy: Copy) -> str:
    """A file that the table does not need: the oldest one of a group with a newer one."""
    return min((path for path in copy.data() if path.endswith(".parquet")), key=lambda path: path.rpartition("_")[2])


def finishable(copy: Copy) -> Path:
    """A pending clean of a file that nobody needs, begun."""
    body = records.clean_plan([old_file(copy)], base=str(copy.path))
    copy.write(f"{LATER}.clean.requested", body)
    copy.write(f"{LATER}.clean.inflight", b"" if copy.version == "v9" else body)
    return copy.path / old_file(copy)


@VERSIONS
def test_one_that_hudi_could_finish_goes_if_it_is_discarded(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    before = tree(copy.path, OWN)
    finishable(copy)
    with pytest.raises(Refused, match="Hudi's next clean finishes it") as refused:
        plan_service_removal(session(copy.table), LATER, ServiceOptions(0))
    assert f"`hudictl clean discard {LATER}`" in refused.value.hint
    execute_service_removal(session(copy.table), plan_service_removal(session(copy.table), LATER, DISCARD))
    assert left(copy) == []
    assert tree(copy.path, OWN) == before


@VERSIONS
def test_not_while_the_metadata_table_lists_what_it_has_deleted(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    drop(finishable(copy))
    with pytest.raises(Refused, match="the metadata table still lists them") as refused:
        plan_service_removal(session(copy.table), LATER, DISCARD)
    assert "it finishes it" in refused.value.hint
    assert len(left(copy)) == 2


def test_an_indexing_is_no_clean(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    indexing(copy, begun=False)
    with pytest.raises(Refused, match="is no clean"):
        plan_service_removal(session(copy.table), LATER, DISCARD)
