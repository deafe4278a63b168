"""What the savepoint commands say where a partition was dropped after the savepoint."""

from tests.cli.conftest import Tell, Unpack
from tests.helpers import alone, savepoint
from tests.state.timeline.dropped_support import groups, replaced


def test_a_savepoint_that_the_next_clean_breaks(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    saved = savepoint(copy)
    assert tell("savepoint", "show", saved, "--verify", "-t", copy.path).code == 0
    by = replaced(copy, "part-0", groups(copy, "part-0"))
    said = tell("savepoint", "show", saved, "--verify", "-t", copy.path)
    assert said.code == 3
    assert f"can be restored now, but not after the next clean: {by} dropped 1 partition" in said.err
    assert f"`hudictl restore {saved}`" in alone(said.err)
    (row,) = tell("savepoint", "list", "-t", copy.path, "-o", "json").json["rows"]
    assert "hoodie.clean.automatic=false" in row["warning"]
    other = copy.commits[-3]
    done = tell("savepoint", "create", other, "-t", copy.path, "--yes")
    assert "Warning: " in done.out
    assert "('part-0')" in done.out
