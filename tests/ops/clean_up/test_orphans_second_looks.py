"""What comes in while orphans are deleted; and in which order things go."""

from collections.abc import Callable

import pytest

from hudictl.errors import Conflict, Refused
from hudictl.table.metadata.place import metadata_table_in_use
from tests.fixtures import Unpack
from tests.helpers import (
    NEVER,
    At,
    in_the_middle,
    pending_restore,
    replace_function,
    take_over,
)
from tests.ops.clean_up.orphans_second_looks_support import visible
from tests.ops.undo.verify_support import calls
from tests.state.orphans.find_support import between_commits, delete, listed_orphan, orphan

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "cow_flat_nomdt"])
def test_no_file_goes_when_the_claim_is_lost_in_the_last_look(
    unpack: Unpack, version: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, name)
    path = orphan(copy, between_commits(copy))
    in_the_middle(monkeypatch, "hudictl.ops.clean_up.orphans._with_slices", lambda: take_over(copy))
    with pytest.raises(Conflict, match="taken over"):
        delete(copy)
    assert path in copy.data()


@VERSIONS
def test_a_restore_that_has_begun_since_planning_keeps_all(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    path = orphan(copy, between_commits(copy))
    begin = At("check again", lambda: pending_restore(copy, "20991231000000000", copy.commits[0], begun=True))
    with pytest.raises(Refused, match="20991231000000000"):
        delete(copy, begin)
    assert path in copy.data()


@VERSIONS
def test_what_the_metadata_table_keeps_from_readers_goes_before_it(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "cow_part")
    path = visible(copy)
    there: list[bool] = []

    def retire(real: Callable[..., object], *given: object) -> object:
        there.append(path in copy.data())
        return real(*given)

    replace_function(monkeypatch, "hudictl.ops.clean_up.orphans.drop_metadata_table", retire)
    delete(copy, metadata="delete")
    assert not any(there)
    assert there
    assert not metadata_table_in_use(copy.table)


@VERSIONS
def test_one_of_these_that_is_owned_by_then_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = visible(copy)
    own = At("take the metadata table out of use", lambda: copy.write(f"{NEVER}.commit.requested"))
    assert delete(copy, own, metadata="delete").files_left == (path,)
    assert path in copy.data()


def test_deletions_are_on_the_disk_when_it_ends(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    path = copy.path / orphan(copy, between_commits(copy))
    log = calls(monkeypatch)
    delete(copy)
    assert f"sync {path.parent}" in log[log.index(f"unlink {path}") :]


@pytest.mark.parametrize("version", ["v8", "v9"])
@pytest.mark.parametrize("name", ["cow_part", "cow_record_index"])
@pytest.mark.parametrize("metadata", ["keep", "delete"])
def test_an_indexing_that_has_completed_since_planning_keeps_the_metadata_table(
    unpack: Unpack, version: str, metadata: str, name: str
) -> None:
    """Hudi could not make it, or an index of it, anew beside that; there is time enough while the plan is read."""
    copy = unpack(version, name)
    path = listed_orphan(copy, between_commits(copy))
    late = "20991231000000000"

    def complete() -> None:
        for name in (f"{late}.indexing.requested", f"{late}.indexing.inflight", f"{late}_{late}.indexing"):
            copy.write(name)

    with pytest.raises(Refused, match=f"{late} indexing"):
        delete(copy, At("check again", complete), metadata=metadata)
    assert path in copy.data()
    assert metadata_table_in_use(copy.table)
