"""What check says of pending table services: of their plans, and of those that Hudi never ends."""

import pytest

from hudictl.errors import Refused
from hudictl.formats.plans import decode_compaction_groups, without_operations
from hudictl.ops.clean_up.service import plan_service_removal
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.reports.health import services
from hudictl.reports.health.finding import ERROR, INFO, WARNING, Finding, Look
from hudictl.state.facts import read_facts, read_signs
from hudictl.table.properties import update_properties
from hudictl.table.timeline.active import load_timeline
from tests import records
from tests.fixtures import Unpack
from tests.helpers import (
    ENGINE,
    Copy,
    attempt,
    drop,
    first_command,
    in_the_middle,
    put,
    restore,
    rollback_of,
    session,
    tree,
)
from tests.ops.clean_up.service_support import DAMAGES, broken_clean, index_plan, indexing, left
from tests.reports.health.check_support import VERSIONS, brief, check
from tests.reports.health.services_support import follow, planned, scheduled
from tests.state.orphans.find_support import LATER

NAMES_MISSING = "plan-names-missing-file"


def lost(copy: Copy) -> list[Finding]:
    return [finding for finding in check(copy) if finding.finding == NAMES_MISSING]


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("service", ["compaction", "logcompaction", "clustering"])
def test_a_plan_that_names_a_missing_file_is_found_and_the_remedy_takes_it_away(
    unpack: Unpack, version: str, service: str
) -> None:
    copy = unpack(version, "mor_part")
    name, (path,) = scheduled(copy, service)
    assert lost(copy) == []
    drop(copy.path / path)
    (found,) = lost(copy)
    assert brief(found) == (NAMES_MISSING, ERROR, name)
    assert path in found.meaning
    # The plan of the sample's clustering is of the folder in which the sample was made: none of it can be run here.
    assert first_command(found) == f"hudictl rollback {LATER}"
    assert follow(copy, first_command(found)) == 0
    assert lost(copy) == []


@VERSIONS
def test_a_missing_log_of_a_plan_is_found(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    (compaction,) = load_timeline(copy.table).having("compaction")
    path = next(path for path in planned(copy, compaction.time) if ".log." in path)
    drop(copy.path / path)
    (found,) = lost(copy)
    assert brief(found) == (NAMES_MISSING, ERROR, str(compaction))
    assert path in found.meaning


@pytest.mark.parametrize("state", ["requested", "inflight", "completed"])
def test_logs_of_later_writes_without_their_operation(unpack: Unpack, state: str) -> None:
    """Version 6: an operation has left the plan while a writer went on by it."""
    copy = unpack("v6", "mor_pending_compaction")
    (compaction,) = load_timeline(copy.table).having("compaction")
    (log, *_) = sorted(copy.path.rglob(f".[!.]*_{compaction.time}.log.*"))
    group = log.parent.relative_to(copy.path).as_posix(), log.name[1:].partition("_")[0]
    for file in [] if state == "requested" else [f"{compaction.time}.compaction.inflight"]:
        copy.write(file)
    if state == "completed":
        copy.write(f"{compaction.time}.commit", b"{}")

    def outside() -> list[Finding]:
        return [finding for finding in check(copy) if finding.finding == "logs-outside-plan"]

    assert outside() == []
    request = copy.timeline / f"{compaction.time}.compaction.requested"
    put(request, without_operations(request.read_bytes(), request.name, {group}))
    (found,) = outside()
    assert found.severity == ERROR
    assert found.subject.startswith(compaction.time)
    assert log.relative_to(copy.path).as_posix() in found.meaning
    put(request, b"")
    assert outside() == []
    way = f"`hudictl compaction rebuild-plan {compaction.time}` finds these operations by the logs"
    assert (way in found.meaning) == (state != "completed")
    if state == "requested":
        assert follow(copy, f"hudictl compaction rebuild-plan {compaction.time}") == 0
        assert group in decode_compaction_groups(request.read_bytes(), request.name)
        assert outside() == []


@pytest.mark.slow
@VERSIONS
def test_one_that_is_inflight_fails_no_less(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    _, (path,) = scheduled(copy, "compaction")
    copy.write(f"{LATER}.compaction.inflight")
    drop(copy.path / path)
    (found,) = lost(copy)
    assert (found.subject, first_command(found)) == (f"{LATER} compaction INFLIGHT", f"hudictl rollback {LATER}")
    assert follow(copy, first_command(found)) == 0
    assert lost(copy) == []


def test_no_command_is_named_where_logs_of_later_writes_lie_on_the_slices(unpack: Unpack) -> None:
    """`rollback` refuses: the plan is what readers find these logs by."""
    copy = unpack("v6", "mor_pending_compaction")
    (compaction,) = load_timeline(copy.table).having("compaction")
    drop(copy.path / planned(copy, compaction.time)[0])
    (found,) = lost(copy)
    assert found.remedy == ()
    assert "put the file back" in found.meaning
    assert isinstance(attempt(lambda: rollback_of(copy, compaction.time)), Refused)


@VERSIONS
@pytest.mark.parametrize("name", ["mor_part", "cow_cluster"])
def test_a_completed_service_is_not_asked(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    (*_, last) = [
        entry
        for entry in load_timeline(copy.table).completed_writes()
        if any(copy.timeline.glob(f"{entry.time}.{kind}.requested") for kind in ("compaction", "clustering"))
        or entry.action == "replacecommit"
    ]
    for path in planned(copy, last.time):
        if (copy.path / path).exists():
            drop(copy.path / path)
    assert lost(copy) == []


@VERSIONS
def test_one_that_ends_while_the_table_is_looked_at_is_not_told(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are a clean's to take then."""
    copy = unpack(version, "mor_part")
    _, (path,) = scheduled(copy, "compaction")
    drop(copy.path / path)
    in_the_middle(monkeypatch, f"{services.__name__}._lost", lambda: drop(copy.file(LATER, "compaction.requested")))
    assert list(services.plans(Look(read_facts(copy.table, ENGINE, read_signs(copy.table)), ENGINE, 600_000))) == []


@pytest.mark.slow
@VERSIONS
def test_a_file_that_no_listing_shows_is_looked_up(unpack: Unpack, version: str) -> None:
    """Of a folder without metafile, that no commit names, nothing is listed."""
    copy = unpack(version, "mor_part")
    other = copy.path / "part-1" / "below"
    other.mkdir()
    body = records.compaction_plan(
        [{"partitionPath": "part-1/below", "fileId": "a", "dataFilePath": f"a_1-0-1_{copy.commits[0]}.parquet"}]
    )
    copy.write(f"{LATER}.compaction.requested", body)
    assert len(lost(copy)) == 1
    (other / f"a_1-0-1_{copy.commits[0]}.parquet").touch()
    assert lost(copy) == []


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("begun", [False, True], ids=["requested", "inflight"])
def test_a_clean_whose_plan_cannot_be_read_is_told_once_with_its_way_out(
    unpack: Unpack, version: str, damage: str, begun: bool
) -> None:
    copy = unpack(version, "cow_cleaned")
    broken_clean(copy, damage, begun=begun)
    # Releases before 1.2.0 read the newest file, and delete it where it has no content.
    dropped = damage == "empty" and version != "v9"
    name = f"{LATER} clean {'INFLIGHT' if begun else 'REQUESTED'}"
    (found,) = check(copy)
    assert brief(found) == ("clean-without-plan", INFO if dropped else ERROR, name)
    assert first_command(found) == f"hudictl clean discard {LATER}"
    assert ("removes it" in found.meaning) is dropped
    assert follow(copy, first_command(found)) == 0
    assert (check(copy), left(copy)) == ([], [])


@VERSIONS
def test_a_clean_that_is_just_being_requested_is_at_work(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    copy.write(f"{LATER}.clean.requested", b"garbage", old=False)
    (found,) = check(copy)
    assert (found.finding, found.severity) == ("at-work", INFO)


@pytest.mark.slow
@pytest.mark.parametrize(("version", "sound"), [("v6", True), ("v8", True), ("v9", False)])
def test_the_plan_of_a_clean_is_read_where_hudi_reads_it(unpack: Unpack, version: str, sound: bool) -> None:
    """0.15.0 and 1.0.2 read the newest of its files that has content, 1.2.0 the request alone."""
    copy = unpack(version, "cow_cleaned")
    copy.write(f"{LATER}.clean.inflight", copy.file_of("clean.requested"))
    copy.write(f"{LATER}.clean.requested", b"garbage")
    assert ("clean-without-plan" not in {entry.finding for entry in check(copy)}) is sound


@VERSIONS
def test_what_savepoints_lack_is_told_beside_a_clean_without_plan(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    copy.write(f"{LATER}.clean.requested", b"garbage")
    assert [entry.finding for entry in check(copy)] == ["clean-without-plan"]


@VERSIONS
@pytest.mark.parametrize("begun", [False, True], ids=["requested", "inflight"])
def test_a_pending_indexing_of_which_nothing_is_there_is_removed(unpack: Unpack, version: str, begun: bool) -> None:
    copy = unpack(version, "cow_part")
    indexing(copy, begun=begun)
    (found,) = check(copy)
    assert brief(found) == ("pending-indexing", WARNING, f"{LATER} indexing {'INFLIGHT' if begun else 'REQUESTED'}")
    assert "an indexing of bloom_filters has not ended" in found.meaning
    assert ("--mode execute" in found.meaning) is not begun
    assert follow(copy, first_command(found)) == 0
    assert (check(copy), left(copy)) == ([], [])


@VERSIONS
def test_an_indexing_that_has_outlived_a_restore_is_not_executed(unpack: Unpack, version: str) -> None:
    """HoodieIndexer of 1.2.0 makes an empty index of it, and each write fails; that of 1.0.2 does not."""
    copy = unpack(version, "cow_part")
    indexing(copy, begun=False)
    done = restore(copy, copy.commits[0], options=RestoreOptions(to_instant=True))
    (found,) = [entry for entry in check(copy) if entry.finding == "pending-indexing"]
    late = version == "v9"
    assert done.indexings == ((LATER,) if late else ())
    assert found.severity == (ERROR if late else WARNING)
    assert (
        f"Do not let Hudi's HoodieIndexer execute it: it is older than the restore {done.restore}" in found.meaning
    ) is late
    assert ("--mode execute" in found.meaning) is not late
    assert follow(copy, first_command(found)) == 0
    assert left(copy) == []


@VERSIONS
@pytest.mark.parametrize(
    ("listed", "told"),
    [
        (True, "bloom_filters is in use: other writes have built it"),
        (False, "readers do not use the files in bloom_filters"),
    ],
)
def test_an_index_that_is_there_beside_its_indexing_is_said(
    unpack: Unpack, version: str, listed: bool, told: str
) -> None:
    """CREATE INDEX that died (1.2.0): another write has built the index, or files of it are in no use."""
    copy = unpack(version, "cow_part")
    indexing(copy, begun=True)
    put(copy.meta / f"metadata/bloom_filters/bloom-filters-0000-0_0-1-2_{copy.commits[-1]}.hfile")
    if listed:
        update_properties(copy.table.storage, {"hoodie.table.metadata.partitions": "bloom_filters,files"})
    (found,) = [entry for entry in check(copy) if entry.finding == "pending-indexing"]
    assert told in found.meaning
    assert "not built" not in found.meaning
    assert told in plan_service_removal(session(copy.table), LATER).reason


@VERSIONS
@pytest.mark.parametrize("what", ["listed", "written"])
def test_an_indexing_that_has_begun_is_hudis_to_drop(unpack: Unpack, version: str, what: str) -> None:
    copy = unpack(version, "cow_part")
    indexing(copy, begun=True)
    if what == "listed":
        path = copy.meta / "hoodie.properties"
        kept = [line for line in path.read_text().splitlines() if "metadata.partitions.inflight" not in line]
        put(path, "\n".join([*kept, "hoodie.table.metadata.partitions.inflight=bloom_filters", ""]))
    else:
        put(copy.meta / f"metadata/bloom_filters/col-stats-0000-0_0-1-2_{LATER}004.hfile")
    (found,) = [entry for entry in check(copy) if entry.finding == "pending-indexing"]
    # A partition without a file is what writers fail at.
    assert (found.severity, found.remedy) == (ERROR if what == "listed" else WARNING, ())
    assert "--mode dropindex --index-types BLOOM_FILTERS" in found.meaning
    before = tree(copy.path)
    assert follow(copy, f"hudictl rollback {LATER}") == Refused.exit_code
    assert tree(copy.path) == before


@VERSIONS
@pytest.mark.parametrize(
    "sign",
    [".heartbeat/{}", "metadata/.hoodie/.heartbeat/{}", "metadata/bloom_filters/col-stats-0000-0_0-1-2_{}004.hfile"],
)
def test_an_indexer_that_works_in_the_metadata_table_is_at_work(unpack: Unpack, version: str, sign: str) -> None:
    """It does nothing on the table's timeline for as long as it builds."""
    copy = unpack(version, "cow_part")
    indexing(copy, begun=True)
    put(copy.meta / sign.format(LATER), old=False)
    assert ("at-work", INFO) in {(entry.finding, entry.severity) for entry in check(copy)}
    assert "pending-indexing" not in {entry.finding for entry in check(copy)}


@VERSIONS
def test_a_completed_indexing_is_not_pending(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    indexing(copy, begun=True)
    copy.write(f"{LATER}.indexing" if version == "v6" else f"{LATER}_{LATER}.indexing", index_plan())
    assert check(copy) == []
