"""What check finds: each finding on a copy of a real table, and none on those that are healthy."""

import os
import shutil
from dataclasses import replace

import pytest

from hudictl.formats import savepoint as savepoint_format
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import AVRO_DATA, INSTANT_TIME, encode_block, encode_rollback_block
from hudictl.reports.health.check import FAMILIES, check_table
from hudictl.reports.health.finding import ERROR, INFO, WARNING, Finding
from hudictl.table.timeline import load_timeline
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import (
    ENGINE,
    LONG_AGO,
    Copy,
    appended_log,
    drop,
    only_listed,
    pending_restore,
    put,
    restore,
    rollback_plan,
    savepoint,
    tree,
    unlisted,
)
from tests.metadata_edits import newest_log
from tests.ops.restore.test_leftovers import remnant
from tests.state.test_orphans import LATER, between, between_commits, lose, mark, orphan, rolled_back, stray

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
TEN_MINUTES = 600_000
EXPECTED = {
    "cow_failed_direct": [("failed-write", WARNING, "hudictl failed-writes clean")],
    "cow_failed_tls": [("failed-write", WARNING, "hudictl failed-writes clean")],
    "mor_failed_direct": [("failed-write", WARNING, "hudictl failed-writes clean")],
    "mor_failed_lazy": [("failed-write", WARNING, "hudictl failed-writes clean")],
    "cow_rollback_interrupted": [("armed-rollback", ERROR, "hudictl resume --discard-rollbacks")],
    "mor_restore_interrupted": [("pending-restore", ERROR, "hudictl resume")],
}


def check(copy: Copy, idle_ms: int = TEN_MINUTES) -> list[Finding]:
    """What is found; nothing is changed."""
    before = tree(copy.path)
    found = check_table(copy.table, ENGINE, idle_ms)
    assert tree(copy.path) == before
    return found


def one(copy: Copy, idle_ms: int = TEN_MINUTES) -> Finding:
    (found,) = check(copy, idle_ms)
    return found


def brief(found: Finding) -> tuple[str, str, str]:
    return found.finding, found.severity, found.subject


@pytest.mark.parametrize(("version", "name"), [(v, name) for v in support.VERSIONS for name in support.names(v)])
def test_real_tables(unpack: Unpack, version: str, name: str) -> None:
    """Healthy ones have nothing; those of killed processes what was killed, and nothing else."""
    found = check(unpack(version, name))
    assert [(entry.finding, entry.severity, entry.command) for entry in found] == EXPECTED.get(name, [])


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


@VERSIONS
def test_rollbacks_that_have_not_ended(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    saved = copy.savepoints[0]
    copy.write(f"{LATER}.rollback.requested", rollback_plan(saved))
    armed = one(copy)
    assert brief(armed) == ("armed-rollback", ERROR, f"{LATER} rollback REQUESTED")
    assert f"its target {saved} is completed, and writers fail at it" in armed.meaning
    copy.write(f"{LATER}.rollback.requested", rollback_plan(between_commits(copy)))
    assert brief(one(copy)) == ("pending-rollback", WARNING, f"{LATER} rollback REQUESTED")
    copy.write(f"{LATER}.rollback.requested", rollback_plan(between_commits(copy)), old=False)
    assert check(copy) == []


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
    assert found.command == "hudictl resume"


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
    assert found.command == f"hudictl rollback {time} --keep-plan"


@VERSIONS
def test_a_clustering_is_a_table_service(unpack: Unpack, version: str) -> None:
    """In version 6 only its plan says so."""
    copy = unpack(version, "cow_cluster")
    kind = "replacecommit" if version == "v6" else "clustering"
    plans = (path for path in sorted(copy.timeline.glob(f"*.{kind}.requested")) if b"CLUSTER" in path.read_bytes())
    copy.write(f"{LATER}.{kind}.requested", next(plans).read_bytes())
    assert check(copy) == []
    copy.write(f"{LATER}.{kind}.inflight")
    assert one(copy).command == f"hudictl rollback {LATER} --keep-plan"


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
    assert [(brief(found), found.command) for found in check(copy)] == [
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
    assert found.command == f"hudictl savepoint create {time}"
    copy.write(f"{time}.savepoint.inflight", old=False)
    assert check(copy) == []


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


# Data files


@VERSIONS
def test_orphans_are_an_error_once_readers_see_them(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    archived = between(copy)
    orphan(copy, archived)
    active = time_plus_ms(copy.commits[0], 1)
    orphan(copy, active)
    unknown = "20200101000000000"
    stray(copy, unknown)
    found = {brief(entry): entry.command for entry in check(copy)}
    assert found == {
        ("unowned-files", WARNING, unknown): "hudictl orphans list",
        ("orphans", ERROR, archived): "hudictl orphans delete",
        ("orphans", WARNING, active): "hudictl orphans delete",
    }


def without_end(copy: Copy) -> list[Finding]:
    return [entry for entry in check(copy) if entry.finding == "timeline-without-end"]


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "cow_flat_nomdt", "mor_part", "cow_cleaned"])
def test_a_timeline_that_has_lost_its_end(unpack: Unpack, version: str, name: str) -> None:
    """Put back from an older copy, or copied before the data: nothing deletes the files of the lost commits."""
    copy = unpack(version, name)
    *_, last, compaction, newest = copy.commits
    for time in (compaction, newest):
        lose(copy, time)
    if (version, name) == ("v6", "mor_part"):
        # Below table version 8 the logs of the lost commits have the names of slices that the timeline knows.
        assert without_end(copy) == []
        return
    (found,) = without_end(copy)
    assert (found.severity, found.subject, found.command) == (ERROR, last, "")
    assert "put back from an older copy" in found.meaning
    assert compaction in found.meaning
    known = "the metadata table knows" in found.meaning
    assert known == (name != "cow_flat_nomdt")
    assert not [entry for entry in check(copy) if entry.finding == "orphans"]


@VERSIONS
def test_one_that_has_lost_all(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    for time in copy.commits:
        lose(copy, time)
    (found,) = without_end(copy)
    assert found.subject == copy.table.layout.timeline


@VERSIONS
def test_a_write_in_flight_or_taken_back_is_no_lost_end(unpack: Unpack, version: str) -> None:
    """Nor is one whose markers are left, nor a table service that was taken back."""
    copy = unpack(version, "cow_part")
    running, service, marked = (time_plus_ms(LATER, number) for number in (10, 20, 30))
    copy.write(f"{running}.commit.requested", old=False)
    copy.write(f"{running}.inflight", old=False)
    stray(copy, running, old=False)
    orphan(copy, LATER)
    rolled_back(copy, service, "replacecommit")
    stray(copy, service)
    mark(copy, stray(copy, marked))
    assert without_end(copy) == []
    stray(copy, time_plus_ms(LATER, 40))
    assert without_end(copy)


@VERSIONS
@pytest.mark.parametrize("kind", [".parquet", ".log."])
def test_a_file_that_readers_need_and_that_is_missing(unpack: Unpack, version: str, kind: str) -> None:
    copy = unpack(version, "mor_part")
    newest = copy.commits[-1]
    path = max((path for path in copy.data() if kind in path), key=lambda path: (newest in path, path))
    drop(copy.path / path)
    assert ("missing-file", ERROR, path) in map(brief, check(copy))


def test_what_moves_while_it_is_listed_is_not_missing(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clean takes a slice behind a commit that the check has not seen."""
    copy = unpack("v9", "cow_part")
    lost = max(copy.data(), key=lambda path: (copy.commits[-1] in path, path))

    class Moving:
        def __getattr__(self, name: str) -> object:
            return getattr(ENGINE, name)

        def ready(self) -> None:
            drop(copy.path / lost)
            copy.write(f"{LATER}_{LATER}.commit")

    found = check_table(copy.table, Moving(), TEN_MINUTES)  # type: ignore[arg-type]
    assert [entry.finding for entry in found] == ["moved"]


def about_partitions(copy: Copy) -> list[tuple[str, str, str]]:
    """The findings, but for the one that the instant of ``only_listed`` is on no timeline."""
    return [brief(entry) for entry in check(copy) if entry.finding != "unowned-files"]


@VERSIONS
def test_what_readers_see_through_the_metadata_table_alone(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    only_listed(copy, "old")
    assert about_partitions(copy) == [("partition-without-metafile", ERROR, "old")]
    put(copy.path / "old/.hoodie_partition_metadata")
    assert not about_partitions(copy)
    shutil.rmtree(copy.path / "old")
    only_listed(copy, "part-1/below")
    put(copy.path / "part-1/below/.hoodie_partition_metadata")
    assert about_partitions(copy) == [("nested-partition", WARNING, "part-1/below")]


@VERSIONS
def test_what_the_metadata_table_keeps_from_readers(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    unlisted(copy)
    found = {brief(entry): entry.command for entry in check(copy)}
    assert found[("unlisted-files", ERROR, "part-1")] == "hudictl orphans list"
    assert {slug for slug, _, _ in found} == {"unlisted-files", "unowned-files"}


@VERSIONS
def test_a_damaged_metadata_table(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    for file in (*(copy.meta / "metadata/files").glob("*.hfile"), newest_log(copy.path)):
        put(file, b"damaged")
    assert brief(one(copy)) == ("metadata-table-unreadable", ERROR, ".hoodie/metadata")


@VERSIONS
def test_a_partition_without_metafile(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    metafile = sorted(copy.path.glob("*/.hoodie_partition_metadata"))[0]
    drop(metafile)
    assert brief(one(copy)) == ("partition-without-metafile", ERROR, metafile.parent.name)


@VERSIONS
def test_a_pending_clean_that_takes_what_is_needed(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    newest = max(copy.data(), key=lambda path: (copy.commits[-1] in path, path))
    copy.write(f"{LATER}.clean.requested", records.clean_plan([newest]))
    found = one(copy)
    assert brief(found) == ("clean-in-the-way", ERROR, f"{LATER} clean")
    assert "1 files that the table needs" in found.meaning


def test_a_rollback_block_that_is_ahead(unpack: Unpack) -> None:
    """Pitfalls 8: with rows behind it they are hidden."""
    copy = unpack("v6", "mor_part")
    path = copy.path / min(path for path in copy.data() if ".log." in path)
    body = path.read_bytes()
    put(path, body + encode_rollback_block(copy.commits[-1], copy.commits[0]), old=False)
    assert check(copy) == []
    put(path, body + encode_rollback_block(LATER, copy.commits[0]), old=False)
    name = path.relative_to(copy.path).as_posix()
    found = next(entry for entry in check(copy) if entry.subject == name)
    assert (found.finding, found.severity) in {("rollback-block-ahead", WARNING), ("rollback-block-ahead", ERROR)}
    rows = encode_block(AVRO_DATA, {INSTANT_TIME: copy.commits[-1]}, b"rows")
    put(path, body + encode_rollback_block(LATER, copy.commits[0]) + rows, old=False)
    assert ("rollback-block-ahead", ERROR, name) in map(brief, check(copy))


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
        ("metadata-table-absent", WARNING, ".hoodie/metadata"),
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


def test_every_family_has_a_name_of_its_own() -> None:
    assert len({(family.__module__, family.__name__) for family in FAMILIES}) == len(FAMILIES)


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
    put(newest, newest.read_bytes()[:-1])
    assert [brief(found) for found in check(copy)] == [("unreadable", ERROR, newest.name)]
