"""In which partitions an instant may have left files."""

import pytest

from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.files.instant_files import partitions_of
from tests.fixtures import Unpack
from tests.helpers import ENGINE

GONE = "20200101000000000"


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_an_un_published_instant_has_the_partitions_that_its_copy_names(unpack: Unpack, version: str) -> None:
    """And no others; of one that has left no record every partition of the table counts."""
    copy = unpack(version, "cow_part")
    facts = read_facts(copy.table, ENGINE, read_signs(copy.table))
    kept = {GONE: CommitMetadata(stats={"written": ()}, replaced={"replaced": ()})}
    assert partitions_of(facts, {GONE: None}, kept) == {GONE: {"written", "replaced"}}
    assert partitions_of(facts, {GONE: None}, {}) == {GONE: facts.sweep.partitions}
