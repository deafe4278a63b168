"""In which partitions an instant may have left files."""

import pytest

from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.files.instant_files import partitions_of
from tests.fixtures import Unpack
from tests.helpers import ENGINE, put

GONE = "20200101000000000"


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_an_un_published_instant_has_the_partitions_that_its_copy_names(unpack: Unpack, version: str) -> None:
    """And no others; of one that has left no record every partition of the table counts."""
    copy = unpack(version, "cow_part")
    facts = read_facts(copy.table, ENGINE, read_signs(copy.table))
    kept = {GONE: CommitMetadata(stats={"written": ()}, replaced={"replaced": ()})}
    assert partitions_of(facts, {GONE: None}, kept) == {GONE: {"written", "replaced"}}
    assert partitions_of(facts, {GONE: None}, {}) == {GONE: facts.sweep.partitions}


@pytest.mark.parametrize("version", ["v6", "v9"])
@pytest.mark.parametrize("cut", [True, False])
def test_a_cut_profile_may_have_named_every_partition(unpack: Unpack, version: str, cut: bool) -> None:
    """Although the markers name one."""
    copy, time = unpack(version, "cow_part"), "20270101000000000"
    copy.write(f"{time}.commit.requested")
    copy.write(f"{time}.inflight" if version == "v6" else f"{time}.commit.inflight", b"cut" if cut else b"")
    put(copy.meta / ".temp" / time / "part-0" / f"x-0_0-1-1_{time}.parquet.marker.CREATE")
    facts = read_facts(copy.table, ENGINE, read_signs(copy.table), damaged_ok=True)
    (instant,) = [entry for entry in facts.timeline.writes() if entry.time == time]
    found = partitions_of(facts, {time: instant}, {})[time]
    assert found == (facts.sweep.partitions if cut else {"part-0"})
