"""What goes with an instant: empty logs (version 6), and the rollback that is stored for it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.formats import rollback
from hudictl.formats.file_names import PARTITION_METAFILE
from hudictl.formats.rollback import InstantInfo, RollbackRequest, StoredRollbackPlan
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.ops.undo import planning as removals
from hudictl.ops.undo.instants import encode_rollback
from hudictl.ops.undo.plan import Removal
from hudictl.ops.undo.planning import empty_logs
from hudictl.state.facts import read_facts, read_signs
from hudictl.storage.hdfs import HdfsStorage
from hudictl.storage.webhdfs import Identity, WebHdfs
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, plan, put, savepoint, session

LATER = "20261121235959999"
TO_INSTANT = RestoreOptions(to_instant=True)


def empty_log(copy: Copy, *, old: bool = True) -> str:
    """A log without a byte on a slice."""
    log = next(path for path in sorted(copy.data()) if ".log." in path)
    path = f"{log.rpartition('.log.')[0]}.log.9_8-8-8"
    put(copy.path / path, old=old)
    return path


def going(copy: Copy, *begun: str, idle_ms: int = 60_000) -> list[str]:
    """The empty logs that go, by path."""
    facts = read_facts(copy.table, ENGINE, read_signs(copy.table))
    return [file.path for file in empty_logs(facts, begun, idle_ms)]


def test_an_empty_log_goes_unless_a_savepoint_names_it(unpack: Unpack) -> None:
    """As one of Hudi's does: a restore to the savepoint would miss it."""
    copy = unpack("v6", "mor_part")
    made = plan_savepoint(session(copy.table), None, SavepointOptions())
    partition, log = next((path, name) for path, names in made.file_names.items() for name in names if ".log." in name)
    path = f"{partition}/{log.rpartition('.log.')[0]}.log.9_8-8-8"
    put(copy.path / path)
    assert going(copy) == [path]
    put(copy.path / path, b"a block")
    savepoint(copy)
    put(copy.path / path)
    assert going(copy) == []


def test_a_young_one_stays_unless_the_dead_writer_has_begun_it(unpack: Unpack) -> None:
    """Somebody may be writing it."""
    copy = unpack("v6", "mor_part")
    path = empty_log(copy, old=False)
    assert going(copy) == []
    assert going(copy, path) == [path]


def test_one_in_a_folder_of_nobodys_stays(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_part")
    path = empty_log(copy)
    other = f"copies/{path.rpartition('/')[2]}"
    put(copy.path / "copies" / PARTITION_METAFILE, b"x")
    put(copy.path / other)
    assert going(copy) == [path]


def test_one_behind_a_link_stays(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v6", "mor_part")
    path = empty_log(copy)
    folder = copy.path / path.partition("/")[0]
    shutil.move(folder, tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert going(copy) == []


def test_from_version_8_on_an_empty_log_is_its_writers(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_part")
    empty_log(copy)
    assert going(copy) == []


def newest(copy: Copy) -> Removal:
    """The newest instant that has blocks, if one has."""
    removals = plan(copy, copy.commits[0], TO_INSTANT).undo.removals
    return next((removal for removal in removals if removal.blocks), removals[0])


def store(copy: Copy, body: bytes) -> None:
    copy.write(f"{LATER}.rollback.requested", body)
    copy.write(f"{LATER}.rollback.inflight")


def test_a_stored_rollback_is_kept_where_it_does_all(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_part")
    store(copy, encode_rollback(copy.table, newest(copy)))
    assert newest(copy).rollback == LATER


@pytest.mark.parametrize("lacks", ["blocks", "files"])
def test_one_that_does_less_is_superseded(unpack: Unpack, lacks: str) -> None:
    """A writer that finishes by it would leave rows."""
    copy = unpack("v6", "mor_part")
    removal = newest(copy)
    assert removal.blocks
    partition = removal.blocks[0].partition
    put(copy.path / partition / f"deadbeef-0000-4000-8000-000000000000-0_0-1-2_{removal.time}.parquet", b"rows")
    removal = newest(copy)
    assert removal.files
    store(copy, encode_rollback(copy.table, replace(removal, **{lacks: ()})))
    assert newest(copy).rollback is None


PREFIXES = [("file:", True), ("file://", True), ("/another/place", False), ("hdfs://node:8020", False)]


@pytest.mark.parametrize(("prefix", "kept"), PREFIXES)
def test_paths_are_compared_whole_and_without_their_scheme(unpack: Unpack, prefix: str, kept: bool) -> None:
    """One store has several names; but in a copy of a table a stored plan names the files of the other."""
    copy = unpack("v9", "cow_part")
    removal = newest(copy)
    assert removal.files
    stored = rollback.decode_plan(encode_rollback(copy.table, removal), "it")
    requests = tuple(replace(one, files=tuple(f"{prefix}{path}" for path in one.files)) for one in stored.requests)
    store(copy, rollback.encode_plan(replace(stored, requests=requests)))
    assert newest(copy).rollback == (LATER if kept else None)


@pytest.mark.parametrize(
    ("prefix", "kept"),
    [
        ("", True),
        ("hdfs://node:8020", True),
        ("hdfs://lake", True),
        ("//node:8020", True),
        ("webhdfs://node:9870", True),
        ("file:", False),
        ("/another", False),
    ],
)
def test_a_path_in_hdfs_is_the_same_by_each_name_of_its_name_node(unpack: Unpack, prefix: str, kept: bool) -> None:
    copy = unpack("v9", "cow_part")
    removal = newest(copy)
    requests = [RollbackRequest(file.partition, (f"{prefix}/lake/{file.path}",)) for file in removal.files]
    plan = StoredRollbackPlan(InstantInfo(removal.time, removal.action), tuple(requests))
    storage = HdfsStorage("hdfs://node", "/lake", "/lake/.tmp", WebHdfs(("http://node:9870",), Identity("hudi")))
    assert removals._covers(replace(copy.table, storage=storage), plan, removal.files, ()) is kept
