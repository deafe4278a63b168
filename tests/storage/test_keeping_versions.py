"""A storage that keeps what it deletes as old versions of its bucket: whatever is done, what is recorded leads back."""

from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.storage import delete_all
from hudictl.storage.keeping import Keeping, drop_contents, kept_path, made_path, put_back, versions_folder
from hudictl.table.kept import Contents, Room, contents_of
from tests.crash.inject import Crash
from tests.storage.bucket import Bucket, storage

OWN = ".hoodie/.hudictl"
ROOM = Room(("1",), "restore", ("",), "2026-11-29T00:00:00+00:00", (), versions=True)
BEGINNING = {"a/1": b"first", "a/b/2": b"second", "3": b"third", f"{OWN}/claim": b"claim"}
OLDER = {"a/old": b"before", "old": b"there were versions"}
PATHS = ("a/1", "a/b/2", "3", "a/old", "old", "a/new", "n/new", f"{OWN}/claim", f"{OWN}/record")
WORK = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.sampled_from(PATHS), st.binary(max_size=3)),
        st.tuples(st.just("replace"), st.sampled_from(PATHS), st.binary(max_size=3)),
        st.tuples(st.just("delete"), st.sampled_from(PATHS), st.just(b"")),
        st.tuples(st.just("delete_folder"), st.sampled_from(["a", "a/b", "n"]), st.just(b"")),
    ),
    max_size=12,
)


def written() -> Bucket:
    """A bucket with the files of the beginning, some of them older than its versions."""
    bucket = Bucket(status="Suspended")
    for path, body in OLDER.items():
        bucket.put(f"t/{path}", body)
    bucket.status = "Enabled"
    for path, body in BEGINNING.items():
        bucket.put(f"t/{path}", body)
    return bucket


@pytest.fixture
def bucket() -> Bucket:
    return written()


def keeping(bucket: Bucket) -> Keeping:
    store = storage(bucket)
    return Keeping(store, ROOM.folder, OWN, versions=store)


def outside(bucket: Bucket) -> dict[str, bytes]:
    """All files that are there now, but hudictl's own."""
    found = {key.removeprefix("t/"): stack[0].body for key, stack in bucket.stacks.items() if stack}
    return {path: body for path, body in found.items() if body is not None and not path.startswith(OWN)}


def contents(bucket: Bucket) -> Contents:
    table: Any = SimpleNamespace(storage=storage(bucket))
    return contents_of(table, ROOM)


def bring_back(bucket: Bucket) -> None:
    """As an undo does it."""
    found = contents(bucket)
    delete_all(storage(bucket), sorted(found.made))
    assert put_back(storage(bucket), ROOM.folder, [found.versions.get(path, path) for path in found.kept]) == []


def do(store: Keeping, work: list[tuple[str, str, bytes]]) -> None:
    for action, path, body in work:
        if action == "create":
            with suppress(FileExistsError):
                store.create(path, body)
        elif action == "replace":
            store.replace(path, body)
        elif action == "delete":
            delete_all(store, [path])
        else:
            store.delete_folder(path)


@pytest.mark.slow
@given(WORK, st.integers(0, 40) | st.none())
def test_whatever_is_done_all_comes_back(work: list[tuple[str, str, bytes]], at: int | None) -> None:
    """Content of all files, also after a death at any change; and what was not written since is the same version."""
    bucket = written()
    before, stacks = outside(bucket), {key: stack[0] for key, stack in bucket.stacks.items()}
    bucket.at = at
    with suppress(Crash):
        do(keeping(bucket), work)
    bucket.at = None
    for _ in range(2):
        # A second time, as after an undo that has died.
        bring_back(bucket)
        assert outside(bucket) == before
    written_since = {path for action, path, _ in work if action in ("create", "replace")}
    for path in {"a/1", "a/b/2", "3"} - written_since:
        assert bucket.stacks[f"t/{path}"][0] == stacks[f"t/{path}"]


def test_nothing_is_copied(bucket: Bucket) -> None:
    """But what has no version that stays."""
    store = keeping(bucket)
    store.delete(["a/1", "a/b/2"])
    store.replace("3", b"other")
    assert "copy_object" not in bucket.asked
    store.delete(["old"])
    store.replace("a/old", b"other")
    assert bucket.asked.count("copy_object") == 2
    found = contents(bucket)
    assert (found.kept.keys(), found.made) == ({"a/1", "a/b/2", "3", "old", "a/old"}, frozenset())
    assert found.versions.keys() == {"a/1", "a/b/2", "3"}


def test_a_version_is_recorded_before_the_deletion(bucket: Bucket) -> None:
    """After a death before the deletion the record is there, and the file; one that was not recorded is not deleted."""
    bucket.at = 0
    with pytest.raises(Crash):
        keeping(bucket).delete(["3"])
    assert (contents(bucket).kept, outside(bucket)["3"]) == ({}, b"third")
    bucket.at, bucket.changes = 1, 0
    with pytest.raises(Crash):
        keeping(bucket).delete(["3"])
    assert (contents(bucket).kept.keys(), outside(bucket)["3"]) == ({"3"}, b"third")


def test_a_version_is_recorded_before_the_file_is_replaced(bucket: Bucket) -> None:
    """And noted, so that what it was replaced by is not recorded later."""
    bucket.at = 2
    with pytest.raises(Crash):
        keeping(bucket).replace("3", b"other")
    assert contents(bucket).kept.keys() == {"3"}
    bucket.at = None
    keeping(bucket).replace("3", b"other")
    keeping(bucket).delete(["3"])
    (version,) = contents(bucket).versions.values()
    assert storage(bucket).read_version_of(version, 10) == b"third"


def test_of_a_file_that_was_made_no_version_is_recorded(bucket: Bucket) -> None:
    store = keeping(bucket)
    do(store, [("create", "a/new", b"x"), ("replace", "a/new", b"y"), ("delete", "a/new", b"")])
    assert (contents(bucket).kept, contents(bucket).made) == ({}, {"a/new"})
    assert "a/new" not in outside(bucket)


def test_a_file_that_comes_after_the_look_is_not_deleted(bucket: Bucket) -> None:
    """No version of it is recorded."""
    store = keeping(bucket)
    outcomes = store.delete(["absent", "3"])
    assert sorted((outcome.path, outcome.error) for outcome in outcomes) == [("3", None), ("absent", None)]
    assert "t/absent" not in bucket.stacks


def test_nothing_is_deleted_where_the_version_cannot_be_asked_for(bucket: Bucket) -> None:
    bucket.denied = frozenset({"head_object"})
    with pytest.raises(Exception, match="Access Denied"):
        keeping(bucket).delete(["3", "a/1"])
    assert outside(bucket)["3"] == b"third"


def test_the_older_of_two_versions_of_a_path_counts(bucket: Bucket) -> None:
    """Another program has written it between two attempts."""
    bucket.stacks["t/3"].clear()
    bucket.put("t/3", b"third", 1_000)
    bucket.at, bucket.changes = 1, 0
    with pytest.raises(Crash):
        keeping(bucket).delete(["3"])
    bucket.at = None
    bucket.put("t/3", b"another's")
    keeping(bucket).delete(["3"])
    (version,) = contents(bucket).versions.values()
    assert storage(bucket).read_version_of(version, 10) == b"third"


def test_of_a_room_with_versions_the_notes_go_first(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its note alone, a file that was replaced would be deleted by an undo."""
    do(keeping(bucket), [("replace", "3", b"x"), ("create", "n/new", b"x")])
    gone: list[str] = []
    store = storage(bucket)
    monkeypatch.setattr(type(store), "delete_folder", lambda _self, folder: gone.append(folder))
    drop_contents(store, ROOM.folder, versions=True)
    folders = [made_path(ROOM.folder, ""), versions_folder(ROOM.folder), kept_path(ROOM.folder, "")]
    assert gone == [folder.rstrip("/") for folder in folders]
