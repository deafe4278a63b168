"""The undo in a bucket that keeps versions: nothing is copied, old times come back, and what the bucket has deleted."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.errors import Refused, Unreadable, Unsupported
from hudictl.ops.put_back.drop import execute_drop, plan_drop
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.reports.undo_list import undo_rows
from hudictl.storage.local import LocalStorage
from hudictl.storage.s3 import S3Storage
from hudictl.table.kept import contents_of, drop_room, keeping, read_room, room_folder, room_times
from tests import support
from tests.helpers import session
from tests.ops.put_back.versions_support import InBucket, in_bucket
from tests.storage.bucket import Bucket

NAMES = ("cow_savepoints", "mor_savepoints", "cow_flat_nomdt", "mor_failed_lazy", "cow_cluster")
WRITTEN_AGAIN = {".hoodie/hoodie.properties", ".hoodie/metadata/.hoodie/hoodie.properties"}


@pytest.fixture
def place(tmp_path: Path) -> InBucket:
    return in_bucket(tmp_path, "v9", "cow_savepoints")


def expire(place: InBucket, path: str) -> None:
    """The bucket deletes the old versions of a file."""
    place.bucket.stacks[f"t/{path}"] = [entry for entry in place.bucket.stacks[f"t/{path}"] if entry.body is None]


def a_kept_file(place: InBucket, time: str) -> str:
    room = read_room(place.table, time)
    assert room is not None
    return next(path for path in contents_of(place.table, room).versions if path.endswith(".parquet"))


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", NAMES)
def test_all_comes_back_and_nothing_is_copied(tmp_path: Path, version: str, name: str) -> None:
    """With version and time, but of the two files of properties, which were written since. The small logs with rollback
    blocks are set aside until the instants are back."""
    place = in_bucket(tmp_path, version, name)
    before, contents = place.state(), place.contents()
    time = place.restore()
    assert place.contents() != contents
    assert "copy_object" not in place.bucket.asked
    (row,) = undo_rows(place.table)
    assert (row.undo, row.possible, row.expires_utc) == (time, True, None)
    assert row.warning == "possible only as long as the bucket keeps old versions"
    result = place.undo(time)
    assert result.files + result.files_removed > 0
    after = place.state()
    assert place.contents() == contents
    assert {path for path, seen in before.items() if after[path] != seen} <= WRITTEN_AGAIN
    assert place.bucket.asked.count("copy_object") <= len(WRITTEN_AGAIN) + result.files_removed
    assert not list(room_times(place.table))


@pytest.mark.slow
def test_what_the_bucket_has_deleted_refuses_an_undo_before_it_begins(place: InBucket) -> None:
    """When it is planned; and if it happens after that, when it begins."""
    time = place.restore()
    made = plan_undo(session(place.table), time, 0)
    path, left = a_kept_file(place, time), place.state()
    expire(place, path)
    for act in (lambda: plan_undo(session(place.table), time, 0), lambda: execute_undo(session(place.table), made, 0)):
        with pytest.raises(
            Refused, match=f"1 file cannot come back, for example {path}: the bucket does not have"
        ) as no:
            act()
        assert f"`hudictl undo drop {time}`" in no.value.hint
    assert place.state() == left
    assert not [key for key in place.bucket.stacks if key.endswith(".begun")]


@pytest.mark.slow
def test_properties_that_the_bucket_has_deleted(place: InBucket) -> None:
    time, left = place.restore(), place.state()
    stack = place.bucket.stacks["t/.hoodie/hoodie.properties"]
    del stack[1:]
    with pytest.raises(Unreadable, match=r"hoodie\.properties, as it is or was, cannot be read"):
        place.undo(time)
    assert place.state() == left


@pytest.mark.slow
def test_until_when_an_undo_is_possible(place: InBucket) -> None:
    place.bucket.rules = [{"Status": "Enabled", "NoncurrentVersionExpiration": {"NoncurrentDays": 30}}]
    time = place.restore()
    (row,) = undo_rows(place.table)
    room = read_room(place.table, time)
    assert row.warning is None
    assert room is not None
    assert (row.expires_utc is not None, room.days) == (True, 30)
    assert str(row.expires_utc) > room.begun_at


@pytest.mark.slow
def test_a_drop_deletes_the_record_alone(place: InBucket) -> None:
    """It frees nothing: the bucket keeps its old versions."""
    time = place.restore()
    path = a_kept_file(place, time)
    plan = plan_drop(session(place.table), [time], None)
    (entry,) = plan.dropped
    assert (entry.bytes, entry.versions) == (0, entry.files)
    assert entry.files > 0
    execute_drop(session(place.table), plan)
    assert not list(room_times(place.table))
    assert [entry.body is None for entry in place.bucket.stacks[f"t/{path}"]] == [True, False]
    with pytest.raises(Refused, match="nothing is kept"):
        place.undo(time)


@pytest.mark.slow
def test_the_notes_of_the_timeline_are_dropped_first(place: InBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a death an undo is refused, because of files on the timeline: it would leave those without a note."""
    time = place.restore()
    gone: list[str] = []
    monkeypatch.setattr(S3Storage, "delete_folder", lambda _self, folder: gone.append(folder))
    drop_room(place.table, time)
    assert gone[0] == f"{room_folder(time)}/made/.hoodie"


@pytest.mark.slow
def test_without_the_rights_files_are_copied(place: InBucket) -> None:
    """As in a bucket without versions."""
    contents = place.contents()
    place.bucket.denied = frozenset({"list_object_versions"})
    time = place.restore()
    assert place.bucket.asked.count("copy_object") > 10
    assert place.table.storage.has_folder(f"{room_folder(time)}/kept")
    place.undo(time)
    assert place.contents() == contents


@pytest.mark.slow
def test_files_that_are_older_than_the_versions_are_copied(tmp_path: Path) -> None:
    """A deletion could not be undone if versions were suspended meanwhile; here they are."""
    place = in_bucket(tmp_path, "v9", "cow_savepoints", Bucket(status="Suspended"))
    contents = place.contents()
    place.bucket.status = "Enabled"
    time = place.restore()
    assert place.bucket.asked.count("copy_object") > 10
    (entry,) = plan_drop(session(place.table), [time], None).dropped
    assert entry.bytes > 0
    assert entry.versions < entry.files
    place.undo(time)
    assert place.contents() == contents


@pytest.mark.slow
def test_versions_that_are_suspended_after_the_restore(place: InBucket) -> None:
    """What is recorded stays."""
    contents = place.contents()
    time = place.restore()
    place.bucket.status = "Suspended"
    place.undo(time)
    assert place.contents() == contents


@pytest.mark.slow
def test_without_the_right_to_remove_markers_versions_are_copied(place: InBucket) -> None:
    """As with MFA."""
    contents = place.contents()
    time = place.restore()
    place.bucket.denied = frozenset({"delete_object"})
    place.undo(time)
    assert place.contents() == contents


@pytest.mark.slow
def test_a_table_that_was_copied_out_of_its_bucket(place: InBucket, tmp_path: Path) -> None:
    time = place.restore()
    copy = tmp_path / "copied"
    for key, stack in place.bucket.stacks.items():
        body = stack[0].body if stack else None
        if body is not None:
            path = copy / key.removeprefix("t/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
    table = replace(place.table, storage=LocalStorage(str(copy), ".hoodie/.hudictl/tmp"))
    room = read_room(table, time)
    assert room is not None
    with pytest.raises(Unsupported, match="old versions of a bucket"):
        keeping(table, room)
    with pytest.raises(Unsupported, match="old versions of a bucket"):
        plan_undo(session(table), time, 0)


def test_one_of_a_table_without_changed_properties(tmp_path: Path) -> None:
    """Its versions are looked for in the other bucket, where they are not."""
    place = in_bucket(tmp_path, "v9", "cow_flat_nomdt")
    time = place.restore()
    other = place.copy()
    for key, stack in other.bucket.stacks.items():
        other.bucket.stacks[key] = stack[:1]
    with pytest.raises(Refused, match="the bucket does not have its old version any more"):
        other.undo(time)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body", ["{", "[1]", '[["a", "v", "many", 0, ""]]', '[[".hoodie/.hudictl/claim-1", "v", 1, 0, ""]]']
)
def test_a_record_that_is_damaged(place: InBucket, body: str) -> None:
    """Or names hudictl's own files."""
    time = place.restore()
    place.table.storage.replace(f"{room_folder(time)}/versions/x", body.encode())
    with pytest.raises(Unreadable, match=r"is damaged|hudictl's own"):
        place.undo(time)


@pytest.mark.slow
def test_a_room_of_the_first_form(place: InBucket) -> None:
    """Without a word of versions it has none."""
    time = place.restore()
    path = f"{room_folder(time)}.json"
    record = json.loads(place.table.storage.read(path))
    record.pop("versions")
    record.pop("days")
    place.table.storage.replace(path, json.dumps(record).encode())
    room = read_room(place.table, time)
    assert room is not None
    assert (room.versions, room.days) == (False, None)
