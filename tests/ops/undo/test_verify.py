"""The barrier before pending instants go: a second listing proves each deletion, each block, each needed file."""

import json
import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from hudictl.errors import Incomplete, Refused
from hudictl.formats.file_names import PARTITION_METAFILE
from hudictl.formats.log_blocks import encode_rollback_block
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.undo.verify import refuse_wrong_outcome
from hudictl.state.files.needed import Outcome
from hudictl.table.files.sweep import sweep
from hudictl.table.timeline.active import load_timeline
from hudictl.table.timeline.commits import load_commits
from tests.fixtures import Unpack
from tests.helpers import (
    ENGINE,
    At,
    Copy,
    FailDeletion,
    drop,
    files_of,
    in_the_middle,
    plan,
    put,
    required,
    restore,
    roll_back,
)
from tests.ops.undo.verify_support import calls

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
TO_INSTANT = RestoreOptions(to_instant=True)


def incomplete(copy: Copy, act: Callable[[], object], *, at: str = "verify") -> Incomplete:
    """A restore to the first commit that finds what comes in, and stays pending."""
    with pytest.raises(Incomplete, match="still pending") as caught:
        restore(copy, copy.commits[0], At(at, act), TO_INSTANT)
    assert caught.value.exit_code == 3
    assert copy.having("restore.inflight")
    assert not [name for name in copy.instants() if name.endswith(".restore")]
    return caught.value


@VERSIONS
def test_a_plan_that_does_not_lead_where_it_says_is_refused(unpack: Unpack, version: str) -> None:
    """Before any change: it deletes a file too few, or one that readers need."""
    copy = unpack(version, "cow_part")
    made = plan(copy, copy.commits[0], TO_INSTANT)
    found = sweep(copy.table, ENGINE, made.undo.case.named)
    needed = set(required(copy.table, made.undo.case))
    first, *others = made.undo.removals
    refuse_wrong_outcome(made.undo.case, Outcome(needed=made.undo.needed), made.undo.removals, made.undo.marked, found)
    too_few = replace(first, files=first.files[1:])
    too_many = replace(first, files=(*first.files, next(file for file in files_of(found) if file.path in needed)))
    for wrong, what in ((too_few, "still exist"), (too_many, "missing, empty or damaged")):
        with pytest.raises(Refused, match=f"contradicts itself.*{what}"):
            refuse_wrong_outcome(
                made.undo.case, Outcome(needed=made.undo.needed), [wrong, *others], made.undo.marked, found
            )


@VERSIONS
def test_a_plan_that_forgets_a_partition_is_refused(unpack: Unpack, version: str) -> None:
    """Before any change: nothing else looks at a partition in which nothing is to change."""
    copy = unpack(version, "cow_part")
    made = plan(copy, copy.commits[0], TO_INSTANT)
    found = sweep(copy.table, ENGINE, made.undo.case.named)
    outcome = Outcome(needed=made.undo.needed, removed={removal.time: removal.files for removal in made.undo.removals})
    left = [
        replace(removal, files=tuple(file for file in removal.files if file.partition != "part-1"))
        for removal in made.undo.removals
    ]
    refuse_wrong_outcome(made.undo.case, outcome, made.undo.removals, made.undo.marked, found)
    with pytest.raises(Refused, match="still exist: part-1/"):
        refuse_wrong_outcome(made.undo.case, outcome, left, made.undo.marked, found)


@VERSIONS
@pytest.mark.parametrize("change", ["shorter", "longer"])
def test_a_needed_file_that_has_changed_its_size_is_named(unpack: Unpack, version: str, change: str) -> None:
    """The plan does not hold the names of files that stay, but its commit has recorded the size."""
    copy = unpack(version, "cow_part")
    path = min(required(copy.table, plan(copy, copy.commits[0], TO_INSTANT).undo.case))
    body = (copy.path / path).read_bytes()
    found = incomplete(copy, lambda: put(copy.path / path, body[:-1] if change == "shorter" else body + b"x"))
    assert found.fields["findings"] == [path]


@VERSIONS
def test_a_file_in_a_folder_without_metafile_is_looked_for(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commit alone names the folder, and the store only says that it has deleted the file."""
    copy = unpack(version, "cow_part")
    newest = copy.commits[-1]
    like = sorted(path for path in copy.data() if newest in path)[0].rpartition("/")[2]
    put(copy.path / "lonely" / like, b"rows")
    say_that_it_wrote(copy, newest, f"lonely/{like}")
    FailDeletion(f"lonely/{like}", None).install(monkeypatch)
    found = incomplete(copy, lambda: None)
    assert found.fields["findings"] == [f"lonely/{like}"]


def say_that_it_wrote(copy: Copy, time: str, path: str) -> None:
    """One more file in the metadata of a commit; JSON is read on every version."""
    stats = load_commits(copy.table, load_timeline(copy.table))[time].stats
    paths = [*(stat.path for entries in stats.values() for stat in entries), path]
    partitions: dict[str, list[dict[str, str]]] = {}
    for entry in paths:
        partitions.setdefault(str(entry).rpartition("/")[0], []).append({"fileId": "f", "path": str(entry)})
    done = copy.file(time, "commit")
    moment = done.stat().st_mtime
    put(done, json.dumps({"partitionToWriteStats": partitions, "operationType": "UPSERT"}))
    os.utime(done, (moment, moment))


@VERSIONS
def test_a_late_file_of_a_removed_instant_is_named(unpack: Unpack, version: str) -> None:
    """In a folder that its own records do not name it would not go; and it would come back as rows."""
    copy = unpack(version, "cow_part")
    like = sorted(path for path in copy.data() if copy.commits[-1] in path)[0].rpartition("/")[2]
    body = min((copy.path / "part-1").glob("*.parquet")).read_bytes()

    def come() -> None:
        put(copy.path / "late" / PARTITION_METAFILE, b"x")
        put(copy.path / "late" / like, body)

    found = incomplete(copy, come)
    assert (found.fields["findings"], "have appeared since planning" in found.message) == ([f"late/{like}"], True)


@VERSIONS
def test_a_partition_where_a_file_comes_to_what_readers_see_is_named(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    like = min((copy.path / "part-1").glob(f"*_{copy.commits[0]}.parquet"))
    path = f"part-1/deadbeef-0000-4000-8000-000000000000-0_0-1-2_{copy.commits[0]}.parquet"
    found = incomplete(copy, lambda: put(copy.path / path, like.read_bytes()))
    assert found.fields["findings"] == ["part-1"]


@VERSIONS
def test_a_needed_file_that_is_lost_is_named_if_a_record_names_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = min(required(copy.table, plan(copy, copy.commits[0], TO_INSTANT).undo.case))
    assert incomplete(copy, lambda: drop(copy.path / path)).fields["findings"] == [path]


@VERSIONS
def test_a_partition_that_loses_its_metafile_is_named(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    found = incomplete(copy, lambda: drop(next((copy.path / "part-1").glob(f"{PARTITION_METAFILE}*"))))
    assert found.fields["findings"] == ["part-1"]


def test_the_rollback_of_a_failed_write_proves_its_deletions_too(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers go on beside it, so it proves no needed file; but the store only says that it has deleted this one."""
    copy = unpack("v9", "cow_failed_direct")
    target = max(entry.time for entry in load_timeline(copy.table).writes())
    path = min(path for path in copy.data() if target in path.rpartition("/")[2])
    FailDeletion(path, None).install(monkeypatch)
    with pytest.raises(Incomplete, match=r"still exist.*the rollback is still pending") as caught:
        roll_back(copy, target)
    assert caught.value.fields["findings"] == [path]
    assert copy.having("rollback.inflight")


@pytest.mark.parametrize("left", [0, 1])
def test_a_slice_that_lacks_a_block_is_named(unpack: Unpack, left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the block of another instant stands in its log."""
    copy = unpack("v6", "mor_part")
    before = copy.data()
    made = plan(copy, copy.commits[0], TO_INSTANT)
    assert max(len(entry.targets) for entry in made.undo.marked) > 1
    slices = {entry.file_id: entry.targets for entry in made.undo.marked if len(entry.targets) > 1}

    def lose() -> None:
        for path in copy.data() - before:
            targets = slices.get(path.rpartition("/")[2][1:].split("_")[0])
            if targets:
                put(copy.path / path, b"".join(encode_rollback_block(time, time) for time in targets[:left]))

    in_the_middle(monkeypatch, "hudictl.ops.undo.execute.write_blocks", lose)
    found = incomplete(copy, lambda: None)
    assert "file slices have no rollback block" in found.message
    assert {entry.partition(" at ")[2] for entry in found.fields["findings"]} == {
        time for targets in slices.values() for time in targets[left:]
    }


@VERSIONS
@pytest.mark.parametrize("on_driver", [100, 0], ids=["driver", "executors"])
def test_deletions_are_on_the_disk_before_instants_are_removed(
    unpack: Unpack, version: str, on_driver: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power failure the files would be there again, and their instants gone."""
    copy = unpack(version, "cow_part")
    monkeypatch.setattr("hudictl.table.files.sweep._ENOUGH_FILES", on_driver)
    log = calls(monkeypatch)
    restore(copy, copy.commits[0], At("remove instants", lambda: log.append("remove instants")), TO_INSTANT)
    log = log[: log.index("remove instants")]
    gone = [line.removeprefix("unlink ") for line in log if line.startswith("unlink") and line.endswith(".parquet")]
    assert gone
    for path in gone:
        assert f"sync {os.path.dirname(path)}" in log[log.index(f"unlink {path}") :]
