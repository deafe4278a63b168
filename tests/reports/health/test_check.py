"""What check finds: each finding on a copy of a real table, and none on those that are healthy."""

import os
import re
import shutil
from dataclasses import replace

import pytest

from hudictl.formats import savepoint as savepoint_format
from hudictl.reports.health.finding import ERROR, INFO, WARNING
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    LONG_AGO,
    appended_log,
    drop,
    first_command,
    pending_restore,
    put,
    restore,
    rollback_plan,
    savepoint,
)
from tests.ops.restore.leftovers_support import remnant
from tests.reports.health.check_support import VERSIONS, brief, check, one
from tests.state.orphans.find_support import LATER, between_commits, lose

DEAD_WRITER = [("failed-write", WARNING, "hudictl failed-writes clean --policy eager")]
EXPECTED = {
    "cow_failed_direct": DEAD_WRITER,
    "cow_failed_tls": DEAD_WRITER,
    "mor_failed_direct": DEAD_WRITER,
    "mor_failed_lazy": [("failed-write", WARNING, "hudictl failed-writes clean")],
    "cow_rollback_interrupted": [("armed-rollback", ERROR, "hudictl resume --discard-rollbacks")],
    "mor_restore_interrupted": [("pending-restore", ERROR, "hudictl resume")],
    # Savepoints that Hudi made beside a pending compaction.
    "mor_compaction_pending": [("savepoint-protects-too-little", ERROR, "hudictl savepoint create")],
    "mor_compaction_cleaned": [("savepoint-protects-too-little", ERROR, "hudictl savepoint create")],
    "v8-mor_compaction_superseded": [("savepoint-broken", ERROR, "hudictl savepoint show")],
    "v9-mor_compaction_superseded": [("savepoint-broken", ERROR, "hudictl savepoint show")],
    "archived_rows_lost": [
        ("archived-rows-unread", ERROR, "hudictl savepoint delete"),
        ("savepoint-behind-archive", WARNING, ""),
    ],
    "archived_beyond_savepoint": [("savepoint-behind-archive", WARNING, "")],
    "first_write_failed": [("failed-write", ERROR, "hudictl failed-writes clean")],
    # 1.0.2 leaves the compaction of its upgrade.
    "upgraded_mor": [("failed-write", WARNING, "hudictl rollback")],
    "v6-resizing": [*DEAD_WRITER, ("temporary-file", INFO, "")],
    "v8-resizing": DEAD_WRITER,
    "v9-resizing": [*DEAD_WRITER, ("temporary-file", INFO, "")],
    "nested_partitions": [("nested-partition", WARNING, "")],
}
LAZY_WRITER = EXPECTED["mor_failed_lazy"]
EXPECTED |= {name: LAZY_WRITER for version in support.VERSIONS for name in support.base_names(version)}
EXPECTED |= {name: [*LAZY_WRITER, ("temporary-file", INFO, "")] for name in ("lance_cow", "lance_mor")}


@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_real_tables(unpack: Unpack, version: str, name: str) -> None:
    """Healthy ones have nothing; those of killed processes what was killed, others what Hudi has left."""
    found = check(unpack(version, name), idle_ms=0)
    expected = EXPECTED.get(name, EXPECTED.get(f"{version}-{name}", []))
    assert [(entry.finding, entry.severity, re.sub(r" \d+.*", "", first_command(entry))) for entry in found] == expected


@pytest.mark.slow
@VERSIONS
def test_no_command_of_hudictls_leaves_a_finding(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_savepoints")
    savepoint(copy, copy.commits[-1])
    assert check(copy) == []
    other = unpack(version, "cow_savepoints")
    restore(other, other.savepoints[-1])
    assert check(other) == []


# Operations


@VERSIONS
def test_a_pending_restore(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    pending_restore(copy, LATER, copy.commits[0], begun=True)
    assert brief(one(copy)) == ("pending-restore", ERROR, f"{LATER} restore INFLIGHT")


@VERSIONS
def test_a_restore_without_plan(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.restore.requested")
    assert brief(one(copy)) == ("restore-without-plan", ERROR, f"{LATER} restore REQUESTED")


@pytest.mark.slow
@VERSIONS
def test_rollbacks_that_have_not_ended(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    saved = copy.savepoints[0]
    copy.write(f"{LATER}.rollback.requested", rollback_plan(saved))
    armed = one(copy)
    assert brief(armed) == ("armed-rollback", ERROR, f"{LATER} rollback REQUESTED")
    assert f"a rollback of the completed commit {saved} has not ended, but readers still see" in armed.meaning
    assert "the commit has a savepoint: no writer can start" in armed.meaning
    copy.write(f"{LATER}.rollback.requested", rollback_plan(between_commits(copy)))
    assert brief(one(copy)) == ("pending-rollback", ERROR, f"{LATER} rollback REQUESTED")
    copy.write(f"{LATER}.rollback.requested", rollback_plan(between_commits(copy)), old=False)
    at_work = one(copy)
    assert brief(at_work) == ("at-work", INFO, f"{LATER} rollback REQUESTED")
    assert (at_work.remedy, at_work.meaning.endswith("it may be running")) == ((), True)


@VERSIONS
def test_a_rollback_that_a_restore_has_left(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    time = remnant(copy, ("requested", "inflight"))
    assert brief(one(copy)) == ("rollback-remnant", WARNING, f"{time} rollback")


@VERSIONS
@pytest.mark.parametrize("action", ["restore", "rollback"])
def test_a_result_without_content(unpack: Unpack, version: str, action: str) -> None:
    """Hudi was killed after it had created the file, before it wrote."""
    copy = unpack(version, "cow_part")
    name = f"{LATER}.{action}" if version == "v6" else f"{LATER}_{LATER}.{action}"
    copy.write(name)
    found = one(copy)
    assert brief(found) == ("empty-result", ERROR, name)
    assert first_command(found) == "hudictl resume"


@VERSIONS
def test_a_table_service_without_plan(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    copy.write(f"{LATER}.compaction.requested")
    assert ("empty-plan", ERROR, f"{LATER}.compaction.requested") in map(brief, check(copy))


@VERSIONS
@pytest.mark.parametrize("suffix", ["commit", "rollback.requested", "restore.requested", "savepoint"])
def test_a_damaged_file_ends_only_what_rests_on_it(unpack: Unpack, version: str, suffix: str) -> None:
    copy = unpack(version, "cow_savepoints")
    if suffix == "savepoint":
        damaged = put(copy.file(copy.savepoints[0], suffix), b"garbage")
    elif suffix == "commit":
        damaged = put(copy.file(copy.commits[-1], suffix), b"garbage", old=False)
    else:
        damaged = copy.write(f"{LATER}.{suffix}", b"garbage")
    put(copy.meta / "hoodie.properties.backup", (copy.meta / "hoodie.properties").read_bytes())
    found = list(map(brief, check(copy)))
    assert ("unreadable", ERROR, damaged.name) in found
    assert ("properties-backup", WARNING, ".hoodie/hoodie.properties.backup") in found
    assert len(found) == len(set(found))


@VERSIONS
def test_an_unknown_action(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.transmutation.requested")
    assert brief(one(copy)) == ("unknown-action", WARNING, f"{LATER}.transmutation.requested")


def test_an_instant_that_was_completed_twice(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    last = copy.commits[-1]
    copy.write(f"{last}_{LATER}.commit", copy.file(last, "commit").read_bytes())
    assert brief(one(copy))[:2] == ("completed-twice", ERROR)


# Writers


@pytest.mark.slow
@VERSIONS
def test_a_running_writer_is_no_finding(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_failed_lazy")
    (beat,) = [path for path in (copy.meta / ".heartbeat").iterdir() if path.name.isdigit()]
    os.utime(beat)
    assert check(copy) == []
    drop(beat)
    os.utime(next(copy.timeline.glob(f"{beat.name}.deltacommit.inflight")))
    assert check(copy) == []
    assert one(copy, idle_ms=0).finding == "failed-write"


def test_a_writer_that_appends_to_anothers_log_is_no_finding(unpack: Unpack) -> None:
    """Below table version 8, where its markers alone tell whose the log is."""
    copy = unpack("v6", "mor_failed_direct")
    assert one(copy).finding == "failed-write"
    (time,) = [entry.time for entry in load_timeline(copy.table).writes() if entry.pending]
    os.utime(appended_log(copy, time))
    assert check(copy) == []


@VERSIONS
def test_a_table_service_is_none_while_it_is_only_scheduled(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    (time,) = [
        entry.time for entry in load_timeline(copy.table).having("compaction") if entry.state.name == "REQUESTED"
    ]
    assert check(copy) == []
    copy.write(f"{time}.compaction.inflight")
    found = one(copy, idle_ms=0)
    assert brief(found) == ("failed-write", WARNING, f"{time} compaction INFLIGHT")
    assert first_command(found) == f"hudictl rollback {time} --keep-plan"


@pytest.mark.slow
@VERSIONS
def test_a_clustering_is_a_table_service(unpack: Unpack, version: str) -> None:
    """In version 6 only its plan says so."""
    copy = unpack(version, "cow_cluster")
    kind = "replacecommit" if version == "v6" else "clustering"
    plans = (path for path in sorted(copy.timeline.glob(f"*.{kind}.requested")) if b"CLUSTER" in path.read_bytes())
    copy.write(f"{LATER}.{kind}.requested", next(plans).read_bytes())
    # That plan has run: its groups are replaced. And the table is a copy.
    told = {"clustering-overwritten", "clustering-elsewhere"}
    assert {entry.finding for entry in check(copy)} == told
    copy.write(f"{LATER}.{kind}.inflight")
    (failed,) = [entry for entry in check(copy) if entry.finding not in told]
    assert first_command(failed) == f"hudictl rollback {LATER} --keep-plan"


@VERSIONS
def test_a_lock_that_is_held_long(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    put(copy.meta / "lock", b"{}", old=False)
    assert check(copy) == []
    put(copy.meta / "lock", b"{}")
    assert brief(one(copy)) == ("lock-held", WARNING, ".hoodie/lock")


@VERSIONS
def test_markers_and_heartbeats_of_instants_that_are_not_pending(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    done = copy.commits[-1]
    put(copy.meta / ".temp" / done / "a" / "x.parquet.marker.CREATE")
    put(copy.meta / ".heartbeat" / LATER)
    assert [(brief(found), first_command(found)) for found in check(copy)] == [
        (("stale-markers", INFO, done), f"hudictl marker delete {done}"),
        (("stale-heartbeat", INFO, LATER), f"hudictl heartbeat delete {LATER}"),
    ]
    put(copy.meta / ".temp" / done / "a" / "x.parquet.marker.CREATE", old=False)
    put(copy.meta / ".heartbeat" / LATER, old=False)
    assert check(copy) == []


# Savepoints


@VERSIONS
def test_a_savepoint_that_was_interrupted(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    time = copy.commits[1]
    copy.write(f"{time}.savepoint.inflight")
    found = one(copy)
    assert brief(found) == ("savepoint-interrupted", WARNING, f"{time} savepoint INFLIGHT")
    assert first_command(found) == f"hudictl savepoint create {time}"
    copy.write(f"{time}.savepoint.inflight", old=False)
    assert check(copy) == []


@VERSIONS
def test_a_savepoint_of_the_newest_commit_that_was_interrupted(unpack: Unpack, version: str) -> None:
    """It has the commit's time: Hudi's readers count what the metadata table has of the commit (0.15.0 to 1.2.0)."""
    copy = unpack(version, "cow_part")
    copy.write(f"{copy.commits[-1]}.savepoint.inflight")
    assert one(copy).finding == "savepoint-interrupted"


@VERSIONS
@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
def test_a_savepoint_with_a_missing_file(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    saved = copy.savepoints[0]
    metadata = savepoint_format.decode(copy.file(saved, "savepoint").read_bytes(), saved)
    partition, names = next((path, files) for path, files in metadata.files.items() if files)
    lost = next(entry for entry in names if entry.endswith(".parquet"))
    drop(copy.path / partition / lost)
    found = [entry for entry in check(copy) if entry.finding == "savepoint-broken"]
    assert (ERROR, saved) in [(entry.severity, entry.subject) for entry in found]
    assert all(f"{partition}/{lost}" in entry.meaning for entry in found)


@VERSIONS
def test_a_savepoint_without_files_or_commit(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    saved = copy.savepoints[0]
    empty = put(copy.file(saved, "savepoint"), b"")
    assert ("empty-result", ERROR, empty.name) in map(brief, check(copy))
    other = unpack(version, "cow_part")
    time = savepoint(other, other.commits[-1])
    lose(other, f"{time}.commit")
    for path in other.timeline.glob(f"{time}*commit"):
        drop(path)
    for path in [other.timeline / f"{time}.inflight"]:
        drop(path)
    assert ("savepoint-without-commit", ERROR, f"{time} savepoint COMPLETED") in map(brief, check(other))


def test_hudictls_own_savepoint_that_was_left(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    time = savepoint(copy, copy.commits[1])
    saved = copy.file(time, "savepoint")
    metadata = savepoint_format.decode(saved.read_bytes(), time)
    comment = f"hudictl: protects the target of restore {LATER}"
    put(saved, savepoint_format.encode(replace(metadata, comment=comment)), old=False)
    assert brief(one(copy)) == ("savepoint-remnant", WARNING, f"{time} savepoint COMPLETED")


# Beside the timeline


@VERSIONS
def test_properties_that_were_being_updated(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    properties, backup = copy.meta / "hoodie.properties", copy.meta / "hoodie.properties.backup"
    put(backup, properties.read_bytes())
    assert brief(one(copy)) == ("properties-backup", WARNING, ".hoodie/hoodie.properties.backup")
    put(properties, b"hoodie.table", old=False)
    assert brief(one(copy)) == ("properties-damaged", ERROR, ".hoodie/hoodie.properties")
    drop(properties)
    assert brief(one(copy)) == ("properties-damaged", ERROR, ".hoodie/hoodie.properties")


@VERSIONS
def test_a_metadata_table_that_is_not_what_the_properties_say(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    os.rename(copy.meta / "metadata", copy.meta / ".metadata_20261121040000000")
    os.utime(copy.meta / ".metadata_20261121040000000", (LONG_AGO, LONG_AGO))
    assert [brief(found) for found in check(copy)] == [
        ("metadata-table-absent", ERROR, ".hoodie/metadata/.hoodie/hoodie.properties"),
        ("metadata-table-leftover", INFO, ".hoodie/.metadata_20261121040000000"),
    ]
    other = unpack(version, "cow_flat_nomdt")
    shutil.copytree(copy.meta / ".metadata_20261121040000000", other.meta / "metadata")
    assert brief(one(other)) == ("metadata-table-unlisted", WARNING, ".hoodie/metadata")


@VERSIONS
def test_sidecars_that_do_not_match(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    done = copy.file(copy.commits[-1], "commit")
    body = done.read_bytes()
    done.write_bytes(body.replace(b"UPSERT", b"INSERT"))
    assert body != done.read_bytes()
    os.utime(done, (done.stat().st_mtime, done.with_name(f".{done.name}.crc").stat().st_mtime))
    subject = done.relative_to(copy.path).as_posix()
    assert brief(one(copy)) == ("checksum-mismatch", ERROR, subject)


@VERSIONS
def test_sidecars_without_file(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    put(copy.timeline / f".{LATER}.commit.crc", b"crc\0\0\0\2\0")
    partition = sorted(path for path in copy.path.iterdir() if (path / ".hoodie_partition_metadata").exists())[0]
    put(partition / ".gone.parquet.crc", b"crc\0\0\0\2\0")
    assert sorted(map(brief, check(copy))) == sorted(
        [
            ("lone-sidecars", INFO, copy.timeline.relative_to(copy.path).as_posix()),
            ("lone-sidecars", INFO, partition.name),
        ]
    )


@VERSIONS
def test_temporary_files(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    name = f"{LATER}.rollback.requested.0d5f2bb4-6a52-4b8e-9a5b-1f2f3a4b5c6d"
    path = copy.write(name).relative_to(copy.path).as_posix()
    assert brief(one(copy)) == ("temporary-file", INFO, path)
    copy.write(name, old=False)
    assert check(copy) == []
    scratch = put(copy.meta / ".hudictl/tmp/0d5f2bb4-6a52-4b8e-9a5b-1f2f3a4b5c6d")
    assert brief(one(copy))[2] == scratch.relative_to(copy.path).as_posix()


@pytest.mark.slow
def test_a_torn_end_of_the_archive(unpack: Unpack) -> None:
    """A warning where nothing is lost with it, and its archiver is dead; else a damaged file."""
    copy = unpack("v6", "cow_cleaned")
    (copy.meta / "archived").mkdir(exist_ok=True)
    log = copy.meta / "archived/.commits_.archive.4_1-0-1"
    torn = ("torn-archive", WARNING, ".hoodie/archived/.commits_.archive.4_1-0-1")
    put(log, b"", old=False)
    assert check(copy) == []
    for body in (b"", b"#HU", b"#HUDI#\0\0\0\0\0\0\1"):
        put(log, body)
        assert [brief(found) for found in check(copy)] == [torn]
    drop(log)
    newest = copy.meta / "archived/.commits_.archive.3_1-0-1"
    whole = newest.read_bytes()
    put(newest, whole[:-1])
    assert [brief(found) for found in check(copy)] == [("unreadable", ERROR, newest.name)]
    put(log, whole)
    assert [brief(found) for found in check(copy)] == [("torn-archive", WARNING, f".hoodie/archived/{newest.name}")]
