"""The fingerprint of a restore: what moves it, by which name, and what does not (pitfalls 26)."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timezone
from zoneinfo import ZoneInfo

import pytest

from hudictl.errors import Conflict
from hudictl.formats import savepoint as savepoint_format
from hudictl.formats.layouts import Layout
from hudictl.ops.fingerprint import body_digest, refuse_moved, table_fingerprint
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.properties import update_properties
from hudictl.table.timeline.active import load_timeline
from tests import records
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, metadata_timeline, pending_restore, plan, put, required, rollback_plan, savepoint

LATER = "20261121040000000"
BY_REQUEST = RestoreOptions(rule="requested")
VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])
Change = Callable[[Copy], object]


def moved(copy: Copy, change: Change, options: RestoreOptions = BY_REQUEST) -> set[str]:
    """The names of what a change moves."""
    target = copy.savepoints[-1]
    before = plan(copy, target, BY_REQUEST).fingerprint
    change(copy)
    after = plan(copy, target, options).fingerprint
    return {key for key in {**before, **after} if before.get(key) != after.get(key)}


def older_pending_write(copy: Copy) -> None:
    copy.write(f"{copy.savepoints[-1][:-3]}000.commit.requested")


def newer_pending_write(copy: Copy) -> None:
    copy.write(f"{LATER}.commit.requested")


def begun_restore(copy: Copy) -> None:
    pending_restore(copy, LATER, copy.savepoints[-1], begun=True)


def requested_restore(copy: Copy) -> None:
    pending_restore(copy, LATER, copy.savepoints[-1], begun=False)


def clean(copy: Copy) -> None:
    spare = sorted(copy.data() - set(required(copy.table, plan(copy, copy.savepoints[-1], BY_REQUEST).undo.case)))
    copy.write(f"{LATER}.clean.requested", records.clean_plan(spare[:1]))


def clean_of_more(copy: Copy) -> None:
    spare = sorted(copy.data() - set(required(copy.table, plan(copy, copy.savepoints[-1], BY_REQUEST).undo.case)))
    copy.write(f"{LATER}.clean.requested", records.clean_plan(spare[:2]))


def armed_rollback(copy: Copy) -> None:
    copy.write(f"{LATER}.rollback.requested", rollback_plan(copy.commits[-1]))


def un_published(copy: Copy) -> None:
    drop(copy.file(copy.commits[-1], "commit"))


def larger_file(copy: Copy) -> None:
    """A log: a base file would be damaged."""
    required_files = required(copy.table, plan(copy, copy.savepoints[-1], BY_REQUEST).undo.case)
    needed = min(path for path in required_files if ".log." in path)
    put(copy.path / needed, (copy.path / needed).read_bytes() + b"x")


def one_file_less(copy: Copy) -> None:
    drop(copy.path / plan(copy, copy.savepoints[-1], BY_REQUEST).undo.removals[0].files[0].path)


@VERSIONS
@pytest.mark.parametrize(
    ("change", "names"),
    [
        (older_pending_write, {"pending writes that stay"}),
        (newer_pending_write, {f"instant {LATER}"}),
        (begun_restore, {"pending restores"}),
        (lambda copy: savepoint(copy, copy.commits[0]), {"savepoints"}),
        (clean, {"pending cleans"}),
        (armed_rollback, {"pending rollbacks"}),
        (larger_file, {"files that are needed"}),
        (one_file_less, {"files to delete"}),
    ],
)
def test_each_change_moves_its_own_part(unpack: Unpack, version: str, change: Change, names: set[str]) -> None:
    assert moved(unpack(version, "mor_savepoints" if change is larger_file else "cow_savepoints"), change) == names


@VERSIONS
def test_an_instant_by_its_state(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    newest = copy.commits[-1]
    assert moved(copy, un_published) == {f"instant {newest}"}


@VERSIONS
def test_a_clean_by_its_plan(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    clean(copy)
    assert moved(copy, clean_of_more) == {"pending cleans"}


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_an_instant_by_its_completion(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    newest = copy.commits[-1]

    def completed_again(copy: Copy) -> None:
        done = copy.file(newest, "commit")
        os.rename(done, done.with_name(f"{newest}_{LATER}.commit"))

    assert moved(copy, completed_again) == {f"instant {newest}"}


@pytest.mark.parametrize("options", [RestoreOptions(rule="requested", grace_s=1.0), RestoreOptions(idle_ms=7)])
def test_what_was_asked_for(unpack: Unpack, options: RestoreOptions) -> None:
    assert moved(unpack("v9", "cow_savepoints"), lambda copy: None, options) == {"options"}


def completed_clean(copy: Copy) -> None:
    copy.write(f"{LATER}.clean" if copy.version == "v6" else f"{LATER}_{LATER}.clean")
    copy.write(f"{LATER}.clean.requested")


def heartbeat(copy: Copy) -> None:
    put(copy.meta / ".heartbeat" / LATER, old=False)


def marker(copy: Copy) -> None:
    put(copy.meta / ".temp" / LATER / "MARKERS0", "part-0/x")


def no_metadata_table(copy: Copy) -> None:
    shutil.rmtree(copy.meta / "metadata")


def another_time(copy: Copy) -> None:
    for path in copy.data():
        os.utime(copy.path / path, (1_800_000_000, 1_800_000_000))


def an_older_archive(copy: Copy) -> None:
    records.archive(copy, "20260101000000000")


def completed_rollback(copy: Copy) -> None:
    copy.write(f"{LATER}.rollback" if copy.version == "v6" else f"{LATER}_{LATER}.rollback")


@VERSIONS
@pytest.mark.parametrize(
    "change",
    [
        *(completed_clean, heartbeat, marker, another_time, an_older_archive, completed_rollback, requested_restore),
    ],
)
def test_what_it_does_not_rest_on_moves_nothing(unpack: Unpack, version: str, change: Change) -> None:
    assert moved(unpack(version, "cow_savepoints"), change) == set()


def another_metadata_commit(copy: Copy) -> None:
    """A write of the metadata table alone, which must be undone with the others."""
    put(metadata_timeline(copy) / f"{LATER}.deltacommit.requested")


def an_unlisted_index(copy: Copy) -> None:
    update_properties(copy.table.storage, {"hoodie.table.metadata.partitions": "files"})


@pytest.mark.parametrize(
    ("version", "change"),
    [
        *((version, no_metadata_table) for version in ("v6", "v9")),
        *((version, another_metadata_commit) for version in ("v6", "v9")),
        # On version 6 the table has no index.
        ("v9", an_unlisted_index),
    ],
)
def test_it_rests_on_what_becomes_of_the_metadata_table(unpack: Unpack, version: str, change: Change) -> None:
    assert moved(unpack(version, "cow_savepoints"), change) == {"metadata table"}


def test_the_table(unpack: Unpack) -> None:
    table = unpack("v9", "cow_savepoints").table
    before = table_fingerprint(table, {})

    def changed(other: object) -> set[str]:
        after = table_fingerprint(other, {})  # type: ignore[arg-type]
        return {key for key in before if before[key] != after[key]}

    def having(key: str, value: str) -> object:
        return replace(table, properties={**table.properties, key: value})

    assert changed(replace(table, version=8)) == {"table version"}
    assert changed(replace(table, layout=Layout(1, "", ""))) == {"table version"}
    assert changed(having("hoodie.table.name", "another")) == {"table"}
    assert changed(having("hoodie.table.type", "MERGE_ON_READ")) == {"table type"}
    assert changed(having("hoodie.table.base.file.format", "ORC")) == {"base file format"}
    assert changed(replace(table, zone=ZoneInfo("Asia/Tokyo"))) == {"time zone"}
    assert changed(replace(table, zone=timezone.utc)) == set()


def test_the_first_of_many_are_named_and_the_rest_counted() -> None:
    before = {str(number): "a" for number in range(5)}
    refuse_moved(before, dict(before))
    with pytest.raises(Conflict) as caught:
        refuse_moved(before, {**{str(number): "b" for number in range(1, 5)}, "new": "c"})
    assert "0: was a, is now absent; 1: was a, is now b; 2: was a, is now b; and 3 more" in caught.value.message
    assert caught.value.fields["moved"]["new"] == {"planned": None, "now": "c"}


@VERSIONS
def test_a_savepoint_by_what_it_names(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")

    def made_anew(copy: Copy) -> None:
        done = copy.file(copy.savepoints[-1], "savepoint")
        metadata = savepoint_format.decode(done.read_bytes(), done.name)
        put(done, savepoint_format.encode(replace(metadata, comment="again")), old=False)

    assert moved(copy, made_anew) == {"target"}


def test_an_instant_without_savepoint_by_its_commit(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    target, options = copy.commits[0], RestoreOptions(to_instant=True)
    before = plan(copy, target, options).fingerprint
    done = copy.file(target, "commit")
    modified = done.stat().st_mtime
    put(done, done.read_bytes() + b" ")
    os.utime(done, (modified, modified))
    after = plan(copy, target, options).fingerprint
    assert {key for key in before if before[key] != after[key]} == {"target"}


def test_a_large_file_is_digested_in_parts(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    timeline = load_timeline(copy.table)
    saved = timeline.savepoints()[-1]
    whole = body_digest(copy.table, saved)
    monkeypatch.setattr("hudictl.ops.fingerprint._WINDOW_BYTES", 100)
    assert body_digest(copy.table, saved, timeline.sizes) == whole
    copy.file(saved.time, "savepoint").unlink()
    with pytest.raises(Conflict, match="disappeared"):
        body_digest(copy.table, saved, timeline.sizes)
