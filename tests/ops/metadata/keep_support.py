"""What the tests of keep share with others."""

from hudictl.ops.metadata.keep import (
    begin_keeping,
)
from hudictl.state.files.needed import needed_files
from hudictl.state.metadata.record import KeptMetadata
from hudictl.state.metadata.treatment import metadata_fate
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.files.sweep import Sweep, sweep
from tests.helpers import (
    ENGINE,
    OWN,
    Copy,
    drop,
)
from tests.state.metadata.treatment_support import facts_of

R = "20261124050000000"


def kept_of(copy: Copy) -> KeptMetadata:
    """The record of an operation that removes the newest commit."""
    facts = facts_of(copy)
    removed = copy.commits[-1:]
    plan = metadata_fate(facts, removed, needed_files(facts, removed, NOTHING_SAVED), NOTHING_SAVED)
    kept = begin_keeping(copy.table, R, R, plan)
    assert kept is not None
    return kept


def without_newest(copy: Copy) -> tuple[str, Sweep]:
    """The newest commit is removed from the data; returns it, and the listing of storage after that."""
    newest = copy.commits[-1]
    for path in [*copy.timeline.glob(f"{newest}*")]:
        drop(path)
    for path in [path for path in copy.data() if newest in path]:
        drop(copy.path / path)
    return newest, sweep(copy.table, ENGINE, set())


def own(copy: Copy) -> list[str]:
    return sorted(path.name for path in (copy.path / OWN).glob("*metadata-*"))
