"""What a restore's plan says of itself."""

import io

import fastavro
import pytest

from hudictl.errors import Refused
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.render.plans import restore_lines
from hudictl.table.timeline.active import load_timeline
from tests import records, support
from tests.damage import empty_commit
from tests.fixtures import Unpack
from tests.helpers import At, attempt, die, drop, pending_restore, plan, put, restore, rollback_plan, straddle
from tests.ops.restore.strangers_support import partition_copy
from tests.ops.restore.withdraw_support import came

LATER = "20261121040000000"


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_pending_restore_without_instants_is_something_to_do(unpack: Unpack, version: str) -> None:
    """Hudi's restore to the newest commit died: it blocks all writers."""
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    options = RestoreOptions(to_instant=True)
    assert plan(copy, target, options).nothing_to_do
    pending_restore(copy, LATER, target, begun=True)
    made = plan(copy, target, options)
    assert (made.undo.removals, made.resumes, made.nothing_to_do) == ((), LATER, False)
    restore(copy, target, options=options)
    assert [entry.completed for entry in load_timeline(copy.table).having("restore")] == [True]


def test_a_plan_names_the_files_of_an_instant_by_path(unpack: Unpack) -> None:
    """Two plans of one table are equal as text."""
    copy = unpack("v9", "mor_savepoints")
    made = plan(copy, copy.savepoints[0])
    for removal in made.undo.removals:
        paths = [file.path for file in made.undo.files if file.instant == removal.time]
        assert paths == sorted(file.path for file in removal.files)
    assert made.undo.files_to_delete > 10


NEWEST = RestoreOptions(to_instant=True, discard_rollbacks=True, idle_ms=0)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_rollback_to_discard_is_something_to_do(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.rollback.requested", rollback_plan(copy.commits[0]))
    made = plan(copy, copy.commits[-1], NEWEST)
    assert (made.undo.removals, made.rollbacks_discarded, made.nothing_to_do) == ((), (LATER,), False)
    restore(copy, copy.commits[-1], options=NEWEST)
    assert copy.having("rollback") == []


def test_it_is_not_planned_at_a_time_that_cannot_be_given(unpack: Unpack) -> None:
    """Also where it takes no instant back."""
    copy = unpack("v9", "cow_part")
    copy.write(f"{LATER}.rollback.requested", rollback_plan(copy.commits[0]))
    copy.write("99991121000000000_99991121000000001.clean", records.clean_metadata([]))
    with pytest.raises(Refused, match="99991121000000001"):
        plan(copy, copy.commits[-1], NEWEST)


@pytest.mark.parametrize("version", ["v6", "v9"])
@pytest.mark.parametrize("begun", [True, False])
def test_the_rule_that_was_asked_for_holds_for_its_rest(unpack: Unpack, version: str, begun: bool) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    rule = "completion" if version == "v6" else "requested"
    die(copy, target, "prepare", RestoreOptions(rule=rule))
    if not begun:
        drop(copy.timeline / copy.having("restore.inflight")[0])
    made = plan(copy, target)
    assert (made.rule, made.resumes is None) == (rule, not begun)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_consent_to_discard_rollbacks_holds_for_its_rest(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    copy.write(f"{LATER}.rollback.requested", rollback_plan(copy.commits[0]))
    die(copy, target, "prepare", RestoreOptions(discard_rollbacks=True))
    assert plan(copy, target).rollbacks_discarded == (LATER,)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_later_write_goes_before_those_that_it_may_rest_on(unpack: Unpack, version: str) -> None:
    """It was un-published just now, by the restore itself: nobody is at work on it."""
    copy = unpack(version, "cow_savepoints")
    target, (removed,) = copy.savepoints[-1], plan(copy, copy.savepoints[-1]).undo.removed
    with_later = RestoreOptions(with_later_writes=True)
    assert attempt(lambda: restore(copy, target, At("delete files", came(copy)))) is not None
    order = ["20261121050000000", removed]
    assert [removal.time for removal in plan(copy, target, with_later).undo.removals] == order
    die(copy, target, "delete files", with_later)
    assert [removal.time for removal in plan(copy, target).undo.removals] == order


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_compaction_that_was_un_published_is_named_by_what_it_completed_as(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_savepoints")
    target = copy.savepoints[-1]
    actions = {removal.time: removal.action for removal in plan(copy, target).undo.removals}
    assert "commit" in actions.values()
    die(copy, target, "delete files")
    assert {removal.time: removal.action for removal in plan(copy, target).undo.removals} == actions


def test_compactions_are_told_where_they_stay_and_are_some(unpack: Unpack) -> None:
    mor = unpack("v9", "mor_savepoints")
    assert plan(mor, mor.savepoints[-1]).newer_compactions_that_stay == ()
    cow = unpack("v9", "cow_savepoints")
    earlier, target = straddle(cow)
    made = plan(cow, target, RestoreOptions(rule="requested"))
    assert (earlier in made.undo.removed, made.newer_compactions_that_stay) == (False, ())


def test_indexes_that_go_with_the_metadata_table_are_named(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_record_index")
    assert "record_index" in copy.table.indexes
    target = copy.commits[0]
    kept = plan(copy, target, RestoreOptions(to_instant=True))
    assert (kept.undo.metadata_table.fate, kept.undo.indexes_lost) == ("rolled back", ())
    assert set(kept.undo.metadata_table.indexes_kept) == set(copy.table.indexes)
    gone = plan(copy, target, RestoreOptions(to_instant=True, metadata="delete"))
    assert (gone.undo.metadata_table.fate, set(gone.undo.indexes_lost)) == ("deleted", set(copy.table.indexes))


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_what_goes_with_a_write_whose_file_is_empty_is_told(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target, options = copy.commits[-2], RestoreOptions(to_instant=True)
    told = plan(copy, target, options).undo.catalog
    assert told.vanishing_partitions
    empty_commit(copy.path)
    made = plan(copy, target, options)
    assert ([removal.records for removal in made.undo.removals], made.records_written) == ([None], 0)
    assert made.undo.catalog == told
    assert "(0 records written, without those of 1 instant whose file does not tell them)" in "".join(
        restore_lines(made)
    )
    die(copy, target, "remove instants", options)
    assert not [path for path in told.vanishing_partitions if list((copy.path / path).glob("*.parquet"))]
    resumed = plan(copy, target, options)
    assert not list(resumed.undo.files)
    assert resumed.undo.catalog == told, "the rollback's plan names them"


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_records_that_a_compaction_has_written_anew_are_not_counted(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_savepoints")
    made = plan(copy, copy.savepoints[-1])
    anew = [removal for removal in made.undo.removals if removal.operation == "COMPACT"]
    assert sum(removal.records for removal in anew) > 0
    assert made.records_written == sum(removal.records for removal in made.undo.removals if removal not in anew)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_partition_that_looks_like_another_table_is_not_passed_over(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    (copy.path / "part-0" / ".hoodie").mkdir()
    with pytest.raises(Refused, match=r"'part-0' has its own \.hoodie folder"):
        plan(copy, copy.savepoints[-1])


def test_the_other_rule_helps_where_files_are_missing_and_nowhere_else(
    overlap: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other refusal is told."""
    copy = overlap("v9", "cow_clustering")
    target = support.overlap_facts("v9", copy.name)["instants"]["S"]
    asked: list[object] = []

    def refuse(*given: object) -> None:
        asked.append(given)
        if len(asked) == 1:
            raise Refused("once")

    monkeypatch.setattr("hudictl.ops.guards.files.metafiles_can_be_made", refuse)
    with pytest.raises(Refused, match="once") as refused:
        plan(copy, target, RestoreOptions(to_instant=True))
    assert "--rule" not in refused.value.hint


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_restore_of_hudis_goes_on_only_where_no_rows_come_back(unpack: Unpack, version: str) -> None:
    """What hudictl has begun had passed; of Hudi's own nobody has looked."""
    copy = unpack(version, "cow_savepoints")
    partition_copy(copy)
    target = copy.savepoints[-1]
    pending_restore(copy, LATER, target, begun=True)
    with pytest.raises(Refused, match="would see their rows"):
        plan(copy, target, RestoreOptions(idle_ms=0))


def test_a_metafile_that_hudictl_does_not_write_is_asked_for_first(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    drop(copy.path / "part-0/.hoodie_partition_metadata")
    assert plan(copy, copy.savepoints[-1]).undo.partition_metafiles_made == ("part-0",)
    properties = copy.meta / "hoodie.properties"
    put(properties, properties.read_text() + "hoodie.partition.metafile.use.base.format=true\n")
    with pytest.raises(Refused, match="in the base file format"):
        plan(copy, copy.savepoints[-1])


def test_an_empty_log_goes_with_the_restore(unpack: Unpack) -> None:
    """Of a writer that died when it had just created it: 0.15.0 never again makes a metadata table of such a table."""
    copy = unpack("v6", "mor_part")
    log = min(path for path in copy.data() if ".log." in path)
    empty = f"{log.rpartition('.log.')[0]}.log.99_0-1-1"
    put(copy.path / empty)
    made = plan(copy, copy.commits[0], RestoreOptions(to_instant=True))
    assert empty in {row.path for row in made.undo.files}


def test_rollback_blocks_stand_in_the_order_of_their_commits(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_part")
    made = plan(copy, copy.commits[0], RestoreOptions(to_instant=True))
    targets = [marked.targets for marked in made.undo.marked]
    assert max(map(len, targets)) > 1
    assert all(list(times) == sorted(times) for times in targets)


def test_the_result_names_the_rollback_blocks(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_part")
    target = copy.commits[0]
    before = copy.data()
    restore(copy, target, options=RestoreOptions(to_instant=True))
    (done,) = copy.timeline.glob("[0-9]*.restore")
    metadata = next(iter(fastavro.reader(io.BytesIO(done.read_bytes()))))
    partitions = [
        partition
        for rollbacks in metadata["hoodieRestoreMetadata"].values()
        for rollback in rollbacks
        for partition in rollback["partitionMetadata"].values()
    ]
    named = {path.rpartition("/")[2] for partition in partitions for path in partition["rollbackLogFiles"] or ()}
    assert named == {path.rpartition("/")[2] for path in copy.data() - before}
    assert named
