"""A withdrawal that dies at any change to the file system: the same command ends it, and the table is as it was."""

from pathlib import Path

import pytest

from tests import support
from tests.crash import reader
from tests.crash.inject import Crash, copy, deaths, dying
from tests.crash.withdraw_support import begun, withdraw

pytestmark = pytest.mark.crash


@pytest.mark.parametrize(("version", "name"), [("v6", "mor_part"), ("v9", "cow_cluster")])
def test_dies_anywhere(version: str, name: str, tmp_path: Path) -> None:
    base = begun(version, name, tmp_path)
    done = copy(base, tmp_path / "done")
    with dying(None) as system:
        withdraw(done)
    # Of its rollbacks no heartbeat is left, which rollbacks of version 9 have.
    assert not [*(done / ".hoodie/.heartbeat").glob("*")]
    wanted = reader.snapshot(done).digest
    assert wanted == reader.snapshot(support.unpack(version, name, tmp_path / "fresh")).digest
    for at in deaths(system.count):
        died = copy(base, tmp_path / f"crash-{at}")
        with dying(at), pytest.raises(Crash):
            withdraw(died)
        withdraw(died)
        assert reader.snapshot(died).digest == wanted, at
        assert not [entry for entry in reader.instants(died) if entry[1] in ("restore", "rollback")], at
        assert not [*(died / ".hoodie/.heartbeat").glob("*")], at
