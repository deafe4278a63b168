"""Savepoints, read."""

import pytest

from hudictl.errors import Refused
from hudictl.formats.savepoint import SavepointMetadata, encode
from hudictl.state.savepoints import (
    PROTECTION_COMMENT,
    find_savepoint,
    is_protection,
    read_savepoint,
    savepointed_files,
    savepointed_partitions,
)
from hudictl.table.timeline import load_timeline
from tests.table.conftest import Small
from tests.table.conftest import small as small

FIRST, SECOND, THIRD = (f"20261121000000{number}00" for number in (1, 2, 3))


def saved(files: dict[str, tuple[str, ...]]) -> bytes:
    return encode(SavepointMetadata("ann", 1, "", files))


@pytest.mark.parametrize("version", [6, 9])
def test_all_completed_savepoints_are_read_and_no_others(small: Small, version: int) -> None:
    """A partition of which one names no file is none of its partitions: Hudi writes an entry for each."""
    files = {
        f"{FIRST}.savepoint": saved({"p": ("a", "b"), "empty": ()}),
        f"{SECOND}.savepoint": saved({"q": ("c",)}),
        f"{THIRD}.savepoint.inflight": b"",
    }
    table = small(version, files)
    timeline = load_timeline(table)
    assert savepointed_files(table, timeline) == {"p/a": FIRST, "p/b": FIRST, "q/c": SECOND}
    assert savepointed_partitions(table, timeline) == {"p", "q"}
    assert find_savepoint(table, timeline, SECOND).files == {"q": ("c",)}
    assert read_savepoint(table, timeline, THIRD) is None
    with pytest.raises(Refused, match=f"no savepoint {THIRD}; savepoints of this table: {FIRST}, {SECOND}"):
        find_savepoint(table, timeline, THIRD)


def test_a_comment_that_quotes_hudictls_makes_none_its_own() -> None:
    """Such a savepoint would go with the next restore."""
    assert is_protection(SavepointMetadata("hudictl", 1, f"{PROTECTION_COMMENT}{FIRST}", {}))
    assert not is_protection(SavepointMetadata("ann", 1, f"instead of '{PROTECTION_COMMENT}{FIRST}'", {}))
