"""Restores beside an instant T that was requested before the target S, and completed after it: real tables."""

import shutil
from pathlib import Path

import pytest

from hudictl.errors import HudictlError, Refused
from hudictl.formats import savepoint as fmt
from hudictl.formats.file_names import parse_data_file
from hudictl.ops.restore.plan import RestoreOptions, RestorePlan
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.ops.savepoint.verify import verify_savepoint
from hudictl.reports.health.check import check_table
from hudictl.state.files import needed
from hudictl.state.timeline.removed import RULES
from tests import support
from tests.crash import reader
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, attempt, drop, first_command, plan, required, restore, savepoint, session, tree

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
OVERLAPS = ("cow_clustering", "mor_clustering", "cow_writer", "mor_writer")
TOO_LITTLE = "savepoint-protects-too-little"


def instants(copy: Copy) -> dict[str, str]:
    return dict(support.overlap_facts(copy.version, copy.name)["instants"])


def planned(copy: Copy, rule: str | None = None) -> RestorePlan:
    return plan(copy, instants(copy)["S"], RestoreOptions(to_instant=True, rule=rule))


def saved(copy: Copy, time: str | None = None) -> set[str]:
    done = copy.file(time or instants(copy)["S"], "savepoint")
    return {
        f"{path}/{name}" for path, names in fmt.decode(done.read_bytes(), done.name).files.items() for name in names
    }


@VERSIONS
@pytest.mark.parametrize("name", OVERLAPS)
def test_the_tables_own_rule_decides_and_the_plan_says_so(overlap: Unpack, version: str, name: str) -> None:
    copy = overlap(version, name)
    made = planned(copy)
    assert made.rule == ("completion" if version == "v9" else "requested")
    assert [(entry.time, entry.removed) for entry in made.overlaps] == [(instants(copy)["T"], version == "v9")]


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("name", OVERLAPS)
@pytest.mark.parametrize("rule", RULES)
def test_a_savepoint_names_what_either_rule_needs(overlap: Unpack, version: str, name: str, rule: str) -> None:
    """Also what T has replaced, or written anew. A restore by either rule ends, and T's names bind nothing."""
    copy = overlap(version, name)
    savepoint(copy, instants(copy)["S"])
    made = plan(copy, instants(copy)["S"], RestoreOptions(rule=rule))
    assert set(required(copy.table, made.undo.case)) <= saved(copy)
    restore(copy, instants(copy)["S"], options=RestoreOptions(rule=rule))
    assert set(required(copy.table, made.undo.case)) <= copy.data()
    assert (instants(copy)["T"] in copy.commits) is (rule == "requested")


@VERSIONS
def test_where_the_own_rule_would_lose_rows_the_other_is_named(overlap: Unpack, version: str) -> None:
    """A clean has taken T's files, and the savepoint has kept what T replaced. Nobody but the operator decides that T
    goes, too."""
    copy = overlap(version, "cow_clustering_cleaned")
    error = attempt(lambda: planned(copy, "requested" if version == "v9" else None))
    assert isinstance(error, HudictlError)
    assert error.exit_code == 13
    if version != "v9":
        assert f"--rule completion has all files: it also removes {instants(copy)['T']}" in error.hint
    made = planned(copy, "completion")
    assert instants(copy)["T"] in made.undo.removed
    restore(copy, instants(copy)["S"], options=RestoreOptions(rule="completion"))
    assert set(required(copy.table, made.undo.case)) <= copy.data()


@VERSIONS
@pytest.mark.parametrize("name", ["mor_compaction", "mor_compaction_cleaned", "mor_compaction_after"])
def test_beside_a_compaction_the_slices_that_are_whole_are_restored(overlap: Unpack, version: str, name: str) -> None:
    copy = overlap(version, name)
    made = planned(copy)
    restore(copy, instants(copy)["S"], options=RestoreOptions(to_instant=True))
    assert set(required(copy.table, made.undo.case)) <= copy.data()
    assert not reader.missing(copy.path)


@VERSIONS
def test_where_the_compactions_own_files_were_cleaned(overlap: Unpack, version: str) -> None:
    """On version 6 Hudi's savepoint has kept the slice before, which holds the same rows; else it named nothing."""
    copy = overlap(version, "mor_compaction_superseded")
    if version != "v6":
        before = tree(copy.path)
        error = attempt(lambda: planned(copy))
        assert isinstance(error, HudictlError)
        assert error.exit_code == 13
        assert tree(copy.path) == before
        return
    made = planned(copy)
    restore(copy, instants(copy)["S"])
    assert set(required(copy.table, made.undo.case)) <= copy.data()
    # What the clean has taken is no finding: readers take the slice before.
    assert not [entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.finding == "missing-file"]
    assert planned(copy).nothing_to_do


@pytest.mark.slow
@VERSIONS
def test_a_savepoint_that_protects_too_little_is_told_and_mended(overlap: Unpack, version: str) -> None:
    """Hudi's own beside a pending compaction: told while nothing is lost yet, and adding the files ends it."""
    copy = overlap(version, "mor_compaction_pending")
    target = instants(copy)["S"]
    before = saved(copy)
    (finding,) = [entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.finding == TOO_LITTLE]
    assert (finding.subject, first_command(finding)) == (target, f"hudictl savepoint create {target}")
    opened = session(copy.table)
    told = verify_savepoint(opened, target, RestoreOptions(idle_ms=0))
    assert told.restorable
    assert told.unprotected
    savepoint(copy, target)
    assert saved(copy) >= before | set(told.unprotected)
    assert not [entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.finding == TOO_LITTLE]
    assert verify_savepoint(opened, target, RestoreOptions(idle_ms=0)).unprotected == ()
    after = tree(copy.path)
    savepoint(copy, target)
    assert tree(copy.path) == after


@VERSIONS
@pytest.mark.parametrize("name", ["mor_compaction_pending", "mor_compaction_after"])
def test_hudictls_own_savepoint_protects_all(overlap: Unpack, version: str, name: str) -> None:
    copy = overlap(version, name)
    target = instants(copy)["S"]
    for path in copy.timeline.glob(f"{target}*savepoint*"):
        path.unlink()
    savepoint(copy, target)
    assert not [entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.finding == TOO_LITTLE]


@VERSIONS
def test_hudictls_own_savepoint_protects_all_when_a_pending_compaction_completes(
    overlap: Unpack, version: str, tmp_path: Path
) -> None:
    """It names the slices before, which have the same rows; later logs in the compaction's slices are not its own."""
    copy = overlap(version, "mor_compaction")
    target, compaction = instants(copy)["S"], instants(copy)["T"]
    # Below version 8 the names of later logs in b, too.
    names = [path for path in copy.data() if compaction in path and (path.endswith(".parquet") or path[0] == "b")]
    hidden = [copy.file(compaction, "commit"), *(copy.path / path for path in names)]
    for number, path in enumerate(hidden):
        shutil.move(path, tmp_path / str(number))
    savepoint(copy, target, SavepointOptions(idle_ms=0, allow_pending=True))
    for number, path in enumerate(hidden):
        shutil.move(tmp_path / str(number), path)
    assert names
    assert not saved(copy).intersection(names)
    assert verify_savepoint(session(copy.table), target, RestoreOptions(idle_ms=0)).unprotected == ()
    assert not [entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.finding == TOO_LITTLE]
    restore(copy, target)
    assert not [entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.finding == TOO_LITTLE]


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("name", ["cow_writer", "mor_writer"])
@pytest.mark.parametrize("to", ["S", "T"])
@pytest.mark.parametrize("rule", RULES)
def test_a_savepoint_can_be_restored_again(overlap: Unpack, version: str, name: str, to: str, rule: str) -> None:
    """Its map may name files of an instant that the first restore has removed: they bind nothing then, and what is not
    there for another reason is missed all the same."""
    copy = overlap(version, name)
    target = instants(copy)[to]
    savepoint(copy, target)
    options = RestoreOptions(rule=rule)
    restore(copy, target, options=options)
    assert plan(copy, target, options).nothing_to_do
    there = (parse_data_file(path.rpartition("/")[2]) for path in saved(copy, target))
    gone = {data.instant for data in there if data is not None} - {*copy.commits}
    assert verify_savepoint(session(copy.table), target, options).taken_back == tuple(sorted(gone))
    assert not [entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.finding == "savepoint-broken"]
    lost = min(required(copy.table, plan(copy, target, options).undo.case))
    (copy.path / lost).unlink()
    assert isinstance(attempt(lambda: plan(copy, target, options)), HudictlError)


@VERSIONS
@pytest.mark.parametrize("known", ["on the timeline", "nowhere"])
def test_only_an_instant_that_is_gone_for_good_binds_nothing(
    overlap: Unpack, version: str, known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one that is there again after a rollback, as a compaction is, nor one of which no record says that it was
    removed: a lost file of it is missed."""
    copy = overlap(version, "cow_writer")
    target, other = instants(copy)["T"], instants(copy)["S"]
    savepoint(copy, target)
    for path in copy.data():
        if f"_{other}." in path:
            (copy.path / path).unlink()
    if known == "nowhere":
        for file in copy.timeline.glob(f"{other}*"):
            drop(file)
    else:
        monkeypatch.setattr(needed, "taken_back", lambda table, timeline: {other: "a rollback"})
    error = attempt(lambda: plan(copy, target, RestoreOptions(rule="completion")))
    assert isinstance(error, Refused)
