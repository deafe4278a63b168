"""What of a plan is shown: all of it, and amounts as eyes want them."""

from dataclasses import fields, replace

import pytest

from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import Instant, State
from hudictl.formats.layouts import HASHING_METADATA
from hudictl.ops.restore.execute import RestoreResult
from hudictl.ops.restore.plan import FoundRestore, Overlap, RestoreOptions, RestorePlan
from hudictl.ops.undo.plan import BlockTarget, KeptRow, Removal, Undo
from hudictl.render.json import plain
from hudictl.render.plans import create_again, metadata_text, restore_lines
from hudictl.state.files.changes import Needed
from hudictl.state.files.needed import Case
from hudictl.state.files.partition import View
from hudictl.state.metadata.treatment import NO_METADATA_TABLE
from hudictl.state.metadata.undo import MetadataPlan, Mode, PartitionFate
from hudictl.state.timeline.checkpoints import StreamerCheckpoint
from hudictl.table.files.hashing import HashingFile
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.files.slices import Committed, StoredFile
from hudictl.table.locks.config import LockConfig
from hudictl.table.rules import rules_of

NO_LOCK = LockConfig(None, None, "", False, 0)
FILE_ID = "0a1b2c3d-0000-1111-2222-333344445555-0"


def stored(instant: str, bytes_: int) -> StoredFile:
    data = parse_data_file(f"{FILE_ID}_0-1-2_{instant}.parquet")
    assert data is not None
    return StoredFile("p=1", data, bytes_)


def deleted(*indexes: str) -> MetadataPlan:
    """A metadata table of which nothing is kept."""
    fates = tuple(PartitionFate(name, "not readable") for name in ("files", *indexes))
    return MetadataPlan(Mode.DELETE, "not readable", (), fates)


def made(**changes: object) -> RestorePlan:
    done = Instant("20260102000000000", "deltacommit", State.COMPLETED, "20260102000001000", ())
    block = BlockTarget("p=1", FILE_ID, "20260101000000000", "log", 7)
    removals = (
        Removal("20260103000000000", "commit", None, "UNKNOWN", 0, (), (), "20260104000000000"),
        Removal(done.time, done.action, done, "UPSERT", 42, (stored(done.time, 2048),), (block,), None),
    )
    values: dict[str, object] = {
        "timezone": "UTC",
        "lock": NO_LOCK,
        "marked": (),
        "files_lost": ("p=1/lost",),
        "later_writes": (),
        "files_kept": (
            KeptRow(f"copy/{FILE_ID}_0-1-2_20260102000000000.parquet", "20260102000000000", 7, "no record"),
        ),
        "overlaps": (Overlap("20251230000000001", "commit", "COMPLETED", "20260102000000001", True),),
        "case": Case(
            View(rules_of(6, 1), Committed({}, ""), frozenset()),
            {},
            NOTHING_SAVED.files,
            NOTHING_SAVED.files,
            frozenset(),
        ),
        "table_version": 6,
        "target": "20260101000000000",
        "options": RestoreOptions(grace_s=90.0, keep_backup=True),
        "rule": "requested",
        "resumes": None,
        "withdrawn": None,
        "restores_superseded": ("20260107000000000",),
        "pending_restores": (FoundRestore("20260107000000000", "20260101000000000", False, "INFLIGHT", 3, 2, 1),),
        "removals": removals,
        "savepoints_deleted": ("20260102000000000",),
        "rollbacks_removed": ("20260104000000000",),
        "rollbacks_discarded": ("20260104000000007",),
        "cleans_discarded": {"20260105000000000": 3},
        "partition_metafiles_made": ("p=1",),
        "metadata_table": deleted("record_index"),
        "hashing": (HashingFile(f"{HASHING_METADATA}/a", "20260102000000000", ".hashing_meta"),),
        "pending_writes_that_stay": ("20251231000000000",),
        "newer_compactions_that_stay": ("20251230000000000",),
        "protecting_savepoint": True,
        "checkpoint": StreamerCheckpoint("topic,0:9", "topic,0:5"),
        "needed": {"p=1": Needed(1, 1024, b"")},
        "names": {},
        "timeline": frozenset({"b", "a"}),
        "fingerprint": {"table": "t"},
    }
    values |= changes
    names = [field.name for field in fields(Undo) if field.name in values]
    undo = Undo(**{name: values.pop(name) for name in names})  # type: ignore[arg-type]
    return RestorePlan(undo=undo, **values)  # type: ignore[arg-type]


def test_json_holds_the_whole_plan() -> None:
    view = plain(made())
    assert [row["state"] for row in view["instants"]] == ["REMOVED", "COMPLETED"]
    assert view["files"] == [{"path": f"p=1/{FILE_ID}_0-1-2_20260102000000000.parquet", **view["files"][0]}]
    assert (view["files_to_delete"], view["bytes_to_delete"]) == (1, 2048)
    assert (view["files_needed"], view["bytes_needed"]) == (1, 1024)
    assert view["rollback_blocks"][0]["target"] == "20260102000000000"
    assert view["timeline"] == ["a", "b"]
    assert (view["timezone"], view["fingerprint"]) == ("UTC", {"table": "t"})
    assert view["options"]["grace_s"] == 90.0
    (path,) = view["hashing_metadata_removed"]
    assert path == ".hoodie/.bucket_index/consistent_hashing_metadata/a/20260102000000000.hashing_meta"
    assert view["nothing_to_do"] is False
    assert view["indexes_lost"] == ["record_index"]
    assert view["checkpoint"] == {"now": "topic,0:9", "then": "topic,0:5"}
    metadata = view["metadata_table"]
    assert (metadata["fate"], metadata["reason"]) == ("deleted", "not readable")
    assert [(row["partition"], row["fate"]) for row in metadata["partitions"]] == [
        ("files", "deleted"),
        ("record_index", "deleted"),
    ]


UNDONE = Instant("20260102000000000", "deltacommit", State.COMPLETED, "20260102000001000", ())
GIVEN_UP = PartitionFate("record_index", "it is not built to its end", (stored("20260102000000000", 1024),))


def test_a_metadata_table_that_is_rolled_back() -> None:
    kept = PartitionFate("files", None, (stored("20260102000000000", 1024),))
    lines = restore_lines(made(metadata_table=MetadataPlan(Mode.UNDO, None, (UNDONE,), (kept, GIVEN_UP))))
    assert "The metadata table is rolled back, too: 1 instant, 2 files (2.0 KiB)." in lines
    assert "Metadata partitions that are kept: files." in lines
    assert (
        "The metadata partition record_index is deleted: it is not built to its end. The next Hudi write builds it "
        "again, as configured."
    ) in lines


def test_a_metadata_table_that_is_brought_forward() -> None:
    own = PartitionFate("secondary_index_idx_val", "it depends on record_index, which is deleted")
    plan = MetadataPlan(Mode.FORWARD, "why", (), (PartitionFate("files", None), GIVEN_UP, own))
    lines = restore_lines(made(metadata_table=plan))
    assert "The metadata table is brought forward: a new delta commit corrects its listing, because why." in lines
    assert "Metadata partitions that are kept: files." in lines
    # No write builds it again by itself, and before one it would be empty.
    assert (
        "The metadata partition secondary_index_idx_val is deleted: it depends on record_index, which is deleted. "
        "Create this index again yourself (CREATE INDEX), after the first write: before it, Hudi 1.2.0 leaves it "
        "empty, and queries and writes with it fail."
    ) in lines
    (told,) = create_again(made(metadata_table=plan), plan.fate)
    assert told.startswith("Create secondary_index_idx_val again yourself (CREATE INDEX), after the first write: ")
    assert create_again(made(metadata_table=replace(plan, partitions=(GIVEN_UP,))), plan.fate) == []
    # With all of it: its definition is there still.
    assert create_again(made(metadata_table=plan), Mode.DELETE.value) == []


def test_what_has_become_of_the_metadata_table_is_said_at_the_end() -> None:
    done = RestoreResult("1", "0", (), 0, 0, 0, 0, 0)
    assert metadata_text(done) == ""
    kept = replace(done, metadata_table="rolled back", indexes_kept=("column_stats", "record_index"))
    assert metadata_text(kept) == "; metadata table: rolled back, with column_stats, record_index"
    lost = replace(done, metadata_table="deleted", metadata_table_given_up="its listing differs")
    assert metadata_text(lost) == "; metadata table: deleted, because its listing differs"


def test_the_lines_name_all_that_the_table_of_instants_does_not() -> None:
    said = "\n".join(restore_lines(made()))
    assert "its next run goes on from the checkpoint topic,0:5 (now: topic,0:9)" in said
    nothing_left = restore_lines(made(checkpoint=StreamerCheckpoint("topic,0:9", None)))
    assert any("no commit is left with a checkpoint" in line for line in nothing_left)
    for word in (
        *("newest first: 2 (42 records written)", "delete: 1 (2.0 KiB)", "that are kept: 1", "record_index"),
        *(
            "20260104000000000",
            "20260105000000000",
            "p=1",
            "20251231000000000",
            "20251230000000000",
            "No lock is taken",
            "Hudi's pending restore 20260107000000000 to 20260101000000000 (INFLIGHT)",
            "3 instants removed, 2 pending, 1 still completed",
            "20260107000000000 is removed: this one covers it",
            "Later savepoints to delete: 20260102000000000",
            "savepoint on 20260101000000000 protects",
            "rollback 20260104000000007 is discarded",
            "90 s after readers see 20260101000000000",
            "1 (1.0 KiB), present.",
            ".rollback_backup",
            "20251230000000001 commit (completed 20260102000000001) overlaps the target: it is removed with its rows",
            "p=1/lost",
            "Files kept although their names contain a removed instant: 1 (no record): copy/",
            "Hashing metadata to delete: 1 file of the bucket resizes 20260102000000000",
        ),
    ):
        assert word in said


def test_the_lines_say_nothing_of_what_is_not() -> None:
    quiet = made(
        files_kept=(),
        files_lost=(),
        overlaps=(),
        removals=made().undo.removals[:1],
        rollbacks_removed=(),
        cleans_discarded={},
        partition_metafiles_made=(),
        metadata_table=NO_METADATA_TABLE,
        hashing=(),
        pending_writes_that_stay=(),
        newer_compactions_that_stay=(),
        checkpoint=None,
        options=RestoreOptions(),
        restores_superseded=(),
        pending_restores=(),
        savepoints_deleted=(),
        rollbacks_discarded=(),
        protecting_savepoint=False,
    )
    said = "\n".join(restore_lines(quiet))
    assert "Streamer" not in said
    for word in (
        "rollback block",
        "metadata table",
        "Hashing",
        "Rollback instants",
        "clean",
        "metafile",
        "Pending writes",
        "Later",
        "protecting_savepoint",
        "Found",
        "backup",
        "after readers",
    ):
        assert word not in said


@pytest.mark.parametrize(
    ("changes", "nothing"),
    [
        ({"removals": (), "rollbacks_discarded": ()}, True),
        ({"removals": (), "rollbacks_discarded": (), "resumes": "20260106000000000"}, False),
        ({"removals": (), "rollbacks_discarded": (), "withdrawn": "20260106000000000"}, False),
        ({"removals": ()}, False),
        ({}, False),
    ],
)
def test_nothing_to_do(changes: dict[str, object], nothing: bool) -> None:
    assert made(**changes).nothing_to_do is nothing
