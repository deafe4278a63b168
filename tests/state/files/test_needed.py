"""What readers need at an instant without a savepoint: what cleans have taken is missed, by name."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import Unreadable
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.files.needed import Names, Outcome, judged, needed_files
from hudictl.table.files.saved import NOTHING_SAVED, kept_saved
from hudictl.table.files.slices import StoredFile
from hudictl.table.open import open_table
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, drop, files_of, put, required
from tests.table.conftest import Small, base_of
from tests.table.conftest import small as small

LATER = "20261121040000000"
SILENT = json.dumps({"partitionToWriteStats": {}, "operationType": "UPSERT"})


def needed(copy: Copy, target: str) -> Outcome:
    """What is needed at a commit, once all later ones are gone."""
    return needed_in(copy.path, {time for time in copy.commits if time > target})


def needed_in(base: Path, removed: set[str]) -> Outcome:
    table = open_table(str(base), zone="UTC")
    return needed_files(read_facts(table, ENGINE, read_signs(table)), removed, NOTHING_SAVED)


def required_in(base: Path, removed: set[str], savepointed: Names | None = None) -> dict[str, StoredFile]:
    table = open_table(str(base), zone="UTC")
    return required(
        table, judged(read_facts(table, ENGINE, read_signs(table)), removed, kept_saved(savepointed or {}))[0]
    )


def forget_writes(copy: Copy) -> None:
    """No commit says any more what it wrote, as if all that was written came from archived ones."""
    for time in copy.commits:
        path = copy.file(time, "commit")
        moment = path.stat().st_mtime
        put(path, SILENT)
        os.utime(path, (moment, moment))


def written(copy: Copy, time: str) -> set[str]:
    table = open_table(str(copy.path))
    facts = read_facts(table, ENGINE, read_signs(table))
    return {str(stat.path) for stats in facts.commits[time].stats.values() for stat in stats}


def cleaned_commit(unpack: Unpack, version: str) -> tuple[Copy, str, set[str]]:
    """A commit whose files are gone, and nothing says so: no commit, no clean. Its time, and the paths of the files."""
    copy = unpack(version, "cow_cleaned")
    target = copy.commits[0]
    paths = written(copy, target)
    for path in paths:
        (copy.path / path).unlink(missing_ok=True)
    for path in copy.timeline.glob("[0-9]*.clean*"):
        drop(path)
    forget_writes(copy)
    assert needed(copy, target).missing == ()
    return copy, target, paths


@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_an_archived_clean_took_is_missed(unpack: Unpack, version: str) -> None:
    """Pitfalls 6: else a slice of which all is gone would be passed over, and its rows lost without a word."""
    copy, target, paths = cleaned_commit(unpack, version)
    records.archive(copy, LATER, "clean", records.clean_metadata(paths))
    assert set(needed(copy, target).missing) == paths


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_clean_counts_by_its_completion(unpack: Unpack, version: str) -> None:
    """One that was requested before the commit, and archived, may have been planned after it."""
    copy, target, paths = cleaned_commit(unpack, version)
    before = str(int(target) - 1)
    records.archive(copy, before, "clean", records.clean_metadata(paths), end=LATER)
    assert set(needed(copy, target).missing) == paths


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_clean_of_the_active_timeline_counts_by_its_completion(unpack: Unpack, version: str) -> None:
    """It was requested before the commit and planned after it: else the rows would be gone without a word."""
    copy, target, paths = cleaned_commit(unpack, version)
    before, body = str(int(target) - 1), records.clean_metadata(paths)
    copy.write(f"{before}.clean" if version == "v6" else f"{before}_{LATER}.clean", body, old=False)
    assert set(needed(copy, target).missing) == paths


def test_what_a_clean_took_since_a_removed_compaction_is_missed(small: Small) -> None:
    """A kept write that was requested after the clean does not make it an old one."""
    first, compaction, clean, kept = (f"20261121000000{number}00" for number in (1, 2, 4, 5))
    lost = f"p/f-0_0-1-1_{first}.parquet"
    files = {
        f"{first}_{first[:-1]}5.deltacommit": SILENT.encode(),
        f"{compaction}.compaction.requested": records.compaction_plan([]),
        f"{compaction}_{compaction[:-1]}5.commit": SILENT.encode(),
        f"{clean}_{clean[:-1]}5.clean": records.clean_metadata([lost]),
        f"{kept}_{kept[:-1]}5.deltacommit": SILENT.encode(),
    }
    base = base_of(small(9, files, table_type="MERGE_ON_READ"))
    put(base / "p/.hoodie_partition_metadata", b"x")
    put(base / f"p/f-0_0-1-1_{compaction}.parquet", b"x")
    assert needed_in(base, {compaction}).missing == (lost,)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_file_of_an_older_slice_that_the_savepoint_names_is_needed(unpack: Unpack, version: str) -> None:
    """A savepoint made beside a pending compaction has two slices, for one."""
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    older = sorted(path for path in copy.data() if path.endswith(f"_{copy.commits[0]}.parquet"))[0]
    partition, _, name = older.rpartition("/")
    facts = read_facts(copy.table, ENGINE, read_signs(copy.table))
    assert older not in required_in(copy.path, {time for time in copy.commits if time > target})
    assert needed_files(facts, (), kept_saved({partition: (name,)})).missing == ()
    drop(copy.path / older)
    facts = read_facts(copy.table, ENGINE, read_signs(copy.table))
    assert needed_files(facts, (), kept_saved({partition: (name,)})).missing == (older,)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_what_a_savepoint_names_of_a_removed_instant_does_not_bind(unpack: Unpack, version: str) -> None:
    """Hudi's own map may hold it; with the instant it goes."""
    copy = unpack(version, "cow_part")
    newest = copy.commits[-1]
    partition, _, name = next(path for path in sorted(copy.data()) if newest in path).rpartition("/")
    assert f"{partition}/{name}" not in required_in(copy.path, {newest}, {partition: (name,)})


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("archived", [False, True], ids=["active", "archived"])
def test_a_clean_that_completed_before_took_nothing(unpack: Unpack, version: str, archived: bool) -> None:
    """It may name commits that an earlier restore removed: newer than what is there, and not missed."""
    copy, target, paths = cleaned_commit(unpack, version)
    before, body = str(int(target) - 1), records.clean_metadata(paths)
    if archived:
        records.archive(copy, before, "clean", body, end=before)
    else:
        copy.write(f"{before}.clean" if version == "v6" else f"{before}_{before}.clean", body)
    assert needed(copy, target).missing == ()


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_clean_that_died_half_way_counts_by_its_plan(unpack: Unpack, version: str) -> None:
    copy, target, paths = cleaned_commit(unpack, version)
    copy.write(f"{LATER}.clean.requested", records.clean_plan(sorted(paths)))
    copy.write(f"{LATER}.clean.inflight")
    assert set(needed(copy, target).missing) == paths


@pytest.mark.parametrize(
    ("version", "archived"), [*((version, False) for version in support.VERSIONS), ("v8", True), ("v9", True)]
)
def test_a_completed_clean_without_a_word_counts_by_its_plan(unpack: Unpack, version: str, archived: bool) -> None:
    """Layout 1 archives the plan by itself: see the next test."""
    copy, target, paths = cleaned_commit(unpack, version)
    plan = records.clean_plan(sorted(paths))
    if archived:
        records.archive(copy, LATER, "clean", plan=plan)
    else:
        copy.write(f"{LATER}.clean" if version == "v6" else f"{LATER}_{LATER}.clean")
        copy.write(f"{LATER}.clean.requested", plan)
    assert set(needed(copy, target).missing) == paths


def test_the_plan_of_an_archived_clean_without_a_word_in_layout_1(unpack: Unpack) -> None:
    copy, target, paths = cleaned_commit(unpack, "v6")
    records.archive(copy, LATER, "clean")
    assert needed(copy, target).missing == ()
    records.archive(copy, LATER, "clean", records.clean_plan(sorted(paths)), state="REQUESTED", number=8)
    assert set(needed(copy, target).missing) == paths


@pytest.mark.parametrize("version", ["v8", "v9"])
@pytest.mark.parametrize("body", [b"garbage", b"Obj\x01", records.stranger(), records.nameless("HoodieCleanMetadata")])
def test_an_archived_clean_that_cannot_be_read(unpack: Unpack, version: str, body: bytes) -> None:
    """Nobody knows what it took."""
    copy, target, _ = cleaned_commit(unpack, version)
    records.archive(copy, LATER, "clean", body)
    with pytest.raises(Unreadable, match=LATER):
        needed(copy, target)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_archive_that_cannot_be_read(unpack: Unpack, version: str) -> None:
    copy, target, paths = cleaned_commit(unpack, version)
    path = records.archive(copy, LATER, "clean", records.clean_metadata(paths))
    put(path, path.read_bytes()[:-30])
    with pytest.raises(Unreadable, match=path.name):
        needed(copy, target)


def test_an_archive_of_old_cleans_is_not_decoded(unpack: Unpack) -> None:
    """Their times are enough: a damaged one is nobody's business any more."""
    copy, target, _ = cleaned_commit(unpack, "v9")
    before = str(int(target) - 1)
    records.archive(copy, before, "clean", b"garbage", end=before)
    assert needed(copy, target).missing == ()


# Replaced file groups.


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("named", [False, True], ids=["unnamed", "named"])
def test_groups_that_come_back_with_their_replacement_undone(unpack: Unpack, version: str, named: bool) -> None:
    """A clean took them whole, or their partition with all in it. Where no name is left, the group's is given."""
    copy = unpack(version, "cow_cluster")
    table = open_table(str(copy.path))
    facts = read_facts(table, ENGINE, read_signs(table))
    replaced = min(entry.time for entry in facts.timeline.having("replacecommit"))
    target = max(time for time in copy.commits if time < replaced)
    groups = {(partition, one) for partition, ids in facts.commits[replaced].replaced.items() for one in ids}
    files = {file.path for file in files_of(facts.sweep) if file.group in groups and file.data.instant <= target}
    assert files
    assert needed(copy, target).missing == ()
    for file in files_of(facts.sweep):
        if file.group in groups:
            drop(copy.path / file.path)
    for time in copy.commits:
        if time != replaced and (done := [*copy.timeline.glob(f"{time}*.commit")]):
            moment = done[0].stat().st_mtime
            put(done[0], SILENT)
            os.utime(done[0], (moment, moment))
    if named:
        copy.write(f"{LATER}.clean.requested", records.clean_plan(sorted(files)))
    found = set(needed(copy, target).missing)
    newest = {max(path for path in files if path.startswith("/".join(group))) for group in groups}
    assert found == (newest if named else {"/".join(group) for group in groups})


# Log files of archived writes.


@pytest.mark.parametrize(("completed", "together"), [("20261121000000160", False), ("20261121000000250", True)])
def test_the_archive_knows_when_a_log_was_completed(
    small: Small, monkeypatch: pytest.MonkeyPatch, completed: str, together: bool
) -> None:
    """From table version 8 on a log belongs to the newest slice that was there when its write completed."""
    base_time, log_time = "20261121000000200", "20261121000000150"
    properties = {"table_initial_version": "9", "archivelog_folder": "history", "table_type": "MERGE_ON_READ"}
    completed_file = {f"{base_time}_20261121000000300.commit": SILENT.encode()}
    base = base_of(small(9, completed_file, **properties))
    copy = Copy("v9", "small", base)
    put(base / "p/.hoodie_partition_metadata", b"x")
    put(base / f"p/f-0_0-1-1_{base_time}.parquet", b"x")
    log = f"p/.f-0_{log_time}.log.1_0-1-1"
    put(base / log, b"x")
    archived = records.archive(copy, log_time, "deltacommit", end=completed)
    assert (log in required_in(base, set())) == together
    put(archived, b"damaged")
    with pytest.raises(Unreadable):
        needed_in(base, set())
    archived.rename(archived.with_name("20261121000000100_20261121000000149_0.parquet"))
    reads: list[Callable[..., object]] = []
    monkeypatch.setattr("hudictl.state.files.needed.archived_cleans", lambda *_: reads)
    manifest = max((copy.timeline / "history").glob("manifest_*"))
    put(manifest, '{"files": [{"fileName": "20261121000000100_20261121000000149_0.parquet"}]}')
    assert log not in required_in(base, set())
