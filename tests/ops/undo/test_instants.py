"""How an instant is un-published, and what its rollback says."""

import pytest

from hudictl.errors import Unreadable
from hudictl.formats.rollback import InstantInfo, RollbackRequest, StoredRollbackPlan, encode_plan
from hudictl.ops.undo.instants import create_metafile, rollback_result, unpublish
from hudictl.storage.base import DeleteOutcome
from hudictl.storage.local import LocalStorage
from hudictl.table.timeline.active import load_timeline
from tests.fixtures import Unpack
from tests.helpers import At, roll_back, rollback_of, rollback_plan
from tests.ops.rollback.execute_support import newest

LATER = "20261121040000000"


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_compaction_that_is_un_published_is_never_a_pending_one(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside another pending compaction of its file groups every reader would fail, for good after a death there."""
    copy = unpack(version, "mor_part")
    table = copy.table
    (compaction, *_) = [entry for entry in load_timeline(table).completed_writes() if entry.action == "commit"]
    real, seen = LocalStorage._delete, []

    def delete(storage: LocalStorage, path: str, folder: int) -> DeleteOutcome:
        outcome = real(storage, path, folder)
        now = load_timeline(table).find(compaction.time, "commit", "compaction")
        seen.append(now is not None and now.pending and now.action)
        return outcome

    monkeypatch.setattr(LocalStorage, "_delete", delete)
    unpublish(table, compaction)
    assert "compaction" not in seen
    now = load_timeline(table).find(compaction.time, "commit")
    assert now is not None
    assert [file.state.name for file in now.files] == ["REQUESTED", "INFLIGHT"]


def test_a_plan_of_another_instant_un_publishes_nothing(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    target, other = newest(copy), copy.commits[0]

    def exchange() -> None:
        (request,) = copy.having("rollback.requested")
        copy.write(request, rollback_plan(other))

    with pytest.raises(Unreadable, match=f"rolls back {other}, not {target}"):
        roll_back(copy, target, At("un-publish the instant", exchange))
    assert target in copy.commits


@pytest.mark.parametrize(("partition", "depth"), [("", 0), ("a", 1), ("a/b/c", 3)])
def test_a_metafile_tells_its_depth(unpack: Unpack, partition: str, depth: int) -> None:
    copy = unpack("v9", "cow_part")
    (copy.path / ".hoodie_partition_metadata").unlink(missing_ok=True)
    create_metafile(copy.table, partition, copy.commits[0])
    body = (copy.path / partition / ".hoodie_partition_metadata").read_text()
    assert f"commitTime={copy.commits[0]}\npartitionDepth={depth}\n" in body


def test_the_result_names_the_files_of_all_requests_of_a_partition(unpack: Unpack) -> None:
    """Hudi writes one for each file group; hudictl's own has the slices to mark behind the files."""
    copy = unpack("v9", "cow_part")
    removal = rollback_of(copy, newest(copy)).removal
    requests = (RollbackRequest("part-0", ("a", "b")), RollbackRequest("part-0", ("c",)), RollbackRequest("part-0", ()))
    stored = StoredRollbackPlan(InstantInfo(removal.time, "commit"), requests)
    copy.write(f"{LATER}.rollback.requested", encode_plan(stored))
    result = rollback_result(copy.table, removal, LATER, (), 0)
    assert result.partitions["part-0"].deleted == tuple(copy.table.storage.absolute(f"part-0/{n}") for n in "abc")
