"""The removal of a pending clean, or indexing, that dies at any change: what is left is pending, or gone as a whole."""

from pathlib import Path

import pytest

from hudictl.ops.clean_up.service import (
    ServiceOptions,
    execute_service_removal,
    is_service,
    plan_service_removal,
    removed_already,
)
from hudictl.table.open import open_table
from tests import support
from tests.crash import reader
from tests.crash.inject import Crash, copy, deaths, dying
from tests.helpers import Copy, session
from tests.ops.clean_up.service_support import broken_clean, indexing, left
from tests.ops.rollback.harmful_clean_support import harmful
from tests.state.orphans.find_support import LATER

pytestmark = pytest.mark.crash


def remove(base: Path) -> None:
    """As the command does it."""
    table = open_table(str(base))
    if is_service(table, LATER) and removed_already(table, LATER) is None:
        made = plan_service_removal(session(table), LATER, ServiceOptions(idle_ms=0))
        execute_service_removal(session(table), made)


@pytest.mark.parametrize("version", ["v6", "v9"])
@pytest.mark.parametrize("what", ["clean", "harmful clean", "indexing"])
def test_dies_anywhere(version: str, what: str, tmp_path: Path) -> None:
    base = support.unpack(version, "cow_cleaned", tmp_path)
    made = Copy(version, "cow_cleaned", base)
    wanted = reader.snapshot(base).digest
    if what == "clean":
        broken_clean(made, "garbage", begun=True)
    elif what == "harmful clean":
        harmful(made, begun=True)
    else:
        indexing(made, begun=True)
    files = left(made)
    with dying(None) as system:
        remove(copy(base, tmp_path / "done"))
    for at in deaths(system.count):
        died = copy(base, tmp_path / f"crash-{at}")
        with dying(at), pytest.raises(Crash):
            remove(died)
        # Never an inflight file without its request.
        assert left(Copy(version, "cow_cleaned", died)) in (files, files[1:], []), at
        remove(died)
        assert left(Copy(version, "cow_cleaned", died)) == [], at
        assert reader.snapshot(died).digest == wanted, at
