"""The real Hudi and hudictl on the same tables on a real HDFS: restores, rollbacks, and appends that were not ended."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from hudictl.storage.hadoop_conf import read_configuration
from tests import support
from tests.hdfs.cluster import Hdfs
from tests.helpers import At, Copy, assert_kept, metadata_instants
from tests.interop import product
from tests.interop.hdfs_lake import WRITES, HdfsLake, hdfs, lake_of, settings
from tests.interop.lake import WAYS, LakeTable, begin_restore, check_restore
from tests.interop.scenarios import Row, digest

__all__ = ["hdfs", "settings"]

pytestmark = [pytest.mark.hudi, pytest.mark.hdfs]

V6 = pytest.mark.parametrize("lake", ["v6"], indirect=True)
STEPS = (
    "check again",
    "begin the restore",
    "write rollback plans",
    "delete files",
    "remove instants",
    "publish the restore",
)
COMPACT_NOW = {"hoodie.compact.inline.max.delta.commits": "1"}


@pytest.fixture(scope="module", params=support.VERSIONS)
def lake(request: pytest.FixtureRequest, hdfs: Hdfs) -> Iterator[HdfsLake]:
    yield from lake_of(request.param, hdfs)


@pytest.mark.full
@pytest.mark.short("v6-mor-again")
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("way", WAYS, ids=["whole", "again", "restore", "rollback"])
def test_a_restore_is_hudis(lake: HdfsLake, kind: str, way: str) -> None:
    """Whole, or begun by hudictl and finished by either. 0.15.0 has appended the logs: the blocks of several writes
    are in one file."""
    check_restore(lake.lake, lake.copy(kind), way)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("way", ["restore", "rollback"])
def test_hudi_calls_the_name_node_by_another_name(lake: HdfsLake, kind: str, way: str) -> None:
    """hudictl by its host, and Hudi by the name service: Hudi finishes what hudictl has begun, and hudictl the rest."""
    made = lake.copy(kind)
    target = made.writes[1]
    host = read_configuration()["dfs.namenode.rpc-address.lake.nn1"]
    own = replace(lake.lake, root=f"hdfs://{host}", options={"http_address": lake.hdfs.http[0]})
    uri = f"{own.root}{lake.path(made.uri)}"
    lake.lake.judge.savepoint(made.uri, target, lake.lake.writer)
    begin_restore(own, uri, target)
    if way == "restore":
        lake.lake.judge.restore(made.uri, target, lake.lake.writer)
    else:
        lake.lake.judge.rollback_failed(made.uri, lake.lake.writer)
    own.restore(uri, target)
    assert lake.lake.rows(made.uri) == made.seen(1)
    lake.lake.go_on(made.uri, made.rows[target])


@pytest.mark.short("v6-mor-completed")
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("state", ["completed", "pending"])
def test_a_rollback_of_the_last_write_is_hudis(lake: HdfsLake, kind: str, state: str) -> None:
    """Its rows alone are gone. On a log that 0.15.0 has appended to, this is the work of a block in a new log, to which
    0.15.0 then appends; and a compaction takes it all for what it is."""
    made = lake.copy(kind)
    logs = {log: lake.body(made.uri, log) for log in lake.logs(made.uri)}
    appended = (lake.version, kind) == ("v6", "mor")
    if appended:
        assert list(lake.written_last(made).values()) == [made.writes[-2:]] * 3
    if state == "completed":
        lake.lake.roll_back(made.uri, made.writes[-1])
    else:
        lake.unpublish(made, kind)
        assert product.clean_failed(made.uri) == 0
    assert lake.lake.rows(made.uri) == made.seen(-2)
    if appended:
        assert {log: lake.body(made.uri, log) for log in logs} == logs
        assert lake.new_blocks(made, logs) == [[("COMMAND_BLOCK", made.writes[-1])]] * 3
    rows = lake.lake.go_on(made.uri, made.rows[made.writes[-2]])
    if appended:
        kinds = [[kind for kind, _ in blocks] for blocks in lake.new_blocks(made, logs)]
        assert kinds == [["COMMAND_BLOCK", "AVRO_DATA_BLOCK"]] * 3
    check_use(lake, made, rows, kind)


@pytest.mark.short("v6-half-unseen-appended")
@V6
@pytest.mark.parametrize("log", ["appended", "begun"])
@pytest.mark.parametrize("known", ["seen", "unseen"])
@pytest.mark.parametrize("death", ["half", "whole"])
def test_a_writer_that_died_while_it_wrote_to_a_log(lake: HdfsLake, death: str, known: str, log: str) -> None:
    """One log has its block, one has nothing of it yet, and one is still open, with half of the block or all of it,
    which the name node knows or not. While the writer's lease lasts nothing is changed; then hudictl closes the log and
    rolls back, and 0.15.0 reads right, writes on, and compacts."""
    made = lake.copy("mor", writes=WRITES if log == "appended" else WRITES - 1)
    logs = list(lake.written_last(made))
    instant = lake.unpublish(made, "mor")
    for path in logs:
        lake.hdfs.put(lake.path(f"{made.uri}/.hoodie/.temp/{instant}/{path}.marker.APPEND"), b"")
    lake.take_back(made, logs[1])
    block = lake.take_back(made, logs[2])
    torn = lake.path(f"{made.uri}/{logs[2]}")
    part = block[: len(block) // 2] if death == "half" else block
    lake.hdfs.leave_open(torn, part, append=log == "appended", unseen=known == "unseen")
    lake.hdfs.ask("abandon", path=torn)
    hidden = len(lake.hdfs.read(torn)) - lake.hdfs.ask("status", path=torn)["length"]
    assert hidden == (len(part) - 1 if known == "unseen" else 0)
    files = lake.files(made.uri)
    assert product.clean_failed(made.uri) == 3
    assert lake.hdfs.ask("is_open", path=torn)
    assert lake.files(made.uri) == files
    with lake.short_leases():
        assert product.clean_failed(made.uri, hurry=False) == 0
    assert not lake.hdfs.ask("is_open", path=torn)
    assert lake.lake.rows(made.uri) == made.seen(-2)
    assert lake.new_blocks(made, files) == [[("COMMAND_BLOCK", instant)]] * 3
    rows = lake.lake.go_on(made.uri, made.rows[made.writes[-2]])
    if (death, known, log) != ("half", "unseen", "appended"):
        check_use(lake, made, rows, "mor")


@pytest.mark.full
@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
@V6
def test_a_metadata_table_of_v6_is_kept(lake: HdfsLake, name: str, tmp_path: Path) -> None:
    """As Hudi 0.15.0 with Hadoop 2 has it on HDFS; here the same release reads what comes of it on local files."""
    base = support.unpack("v6", name, tmp_path)
    copy = Copy("v6", name, base)
    target, first = copy.savepoints[-1], metadata_instants(copy)[0]
    removed = [time for time in copy.commits if time > target]
    lake.hdfs.ask("upload", path=f"/samples/{name}", folder=str(base))
    lake.lake.restore(f"{lake.lake.root}/samples/{name}", target)
    done = Copy("v6", name, tmp_path / "done")
    lake.hdfs.ask("download", path=f"/samples/{name}", folder=str(done.path))
    assert_kept(done, first, removed)
    assert lake.lake.judge.both_rows(done.path) == support.facts("v6", name)["rows"][target]
    product.upsert(lake.lake.judge, done.path)


@pytest.mark.short("v6-delete_files-active")
@V6
@pytest.mark.parametrize("state", ["active", "stopped"])
@pytest.mark.parametrize("step", STEPS, ids=[step.replace(" ", "_") for step in STEPS])
def test_another_name_node_takes_over_during_a_restore(lake: HdfsLake, step: str, state: str) -> None:
    """The first one stands by from then on, or is gone: the restore goes on by itself. Hudi, which asks the same name
    service, reads the savepoint's rows, and writes on."""
    made = lake.copy("mor")
    target = made.writes[1]
    lake.lake.savepoint(made.uri, target)
    monitor = At(step, partial(lake.take_over, stops=state == "stopped"))
    with lake.first_again(stopped=state == "stopped"):
        lake.lake.restore(made.uri, target, monitor)
        assert monitor.done
        assert lake.lake.rows(made.uri) == made.seen(1)
        lake.lake.go_on(made.uri, made.rows[target])


@pytest.mark.full
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_name_nodes_take_over_all_the_time(lake: HdfsLake, kind: str) -> None:
    """Many a request finds one that has just ceased to be active."""
    made = lake.copy(kind)
    target = made.writes[1]
    lake.lake.savepoint(made.uri, target)
    with lake.first_again(stopped=False):
        with lake.taking_over_always() as times:
            lake.lake.restore(made.uri, target)
        assert len(times) > 2
        assert lake.lake.rows(made.uri) == made.seen(1)
        lake.lake.go_on(made.uri, made.rows[target])


def check_use(lake: HdfsLake, made: LakeTable, rows: Mapping[int, Row], kind: str) -> None:
    """Hudi writes on, appends on and compacts, and the rows are right each time."""
    rows = lake.lake.go_on(made.uri, rows, ids=range(10, 40))
    if kind == "mor":
        lake.lake.judge.compact(made.uri, options={**lake.lake.writer, **COMPACT_NOW})
        assert lake.lake.judge.timeline(made.uri)[-1][1:3] == ["commit", "COMPLETED"]
        assert lake.lake.rows(made.uri) == digest(rows.values())
        lake.lake.go_on(made.uri, rows)
