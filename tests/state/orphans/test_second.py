"""The second base file of a slice: which one goes, by the commit and by the rows; and what keeps it."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from hudictl.ops.clean_up.orphans import (
    OrphanOptions,
    OrphanPlan,
    OrphanResult,
    delete_orphans,
    plan_orphan_deletion,
)
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.ops.session import Silent
from tests import damage, support
from tests.fixtures import Unpack
from tests.helpers import OWN, At, Copy, put, savepoint, session, tree
from tests.state.orphans.find_support import LONG_AGO, listed, orphan

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
TABLES = pytest.mark.parametrize("name", ["cow_part", "mor_part", "cow_flat_nomdt"])


def planned(copy: Copy, idle_ms: int = 0, keep_files: bool = False) -> OrphanPlan:
    options = OrphanOptions(idle_ms, duplicates=True, keep_files=keep_files)
    return plan_orphan_deletion(session(copy.table), options)


def delete(copy: Copy, monitor: object = None, keep_files: bool = False) -> OrphanResult:
    return delete_orphans(session(copy.table, monitor or Silent()), planned(copy, keep_files=keep_files))  # type: ignore[arg-type]


def kept(copy: Copy, *, idle_ms: int = 0) -> str:
    """Why the one second base file stays."""
    plan = planned(copy, idle_ms)
    assert plan.nothing_to_do
    (row,) = plan.files_left
    before = tree(copy.path)
    assert delete_orphans(session(copy.table), plan).files_deleted == 0
    assert tree(copy.path) == before
    return row.why


def right_of(path: str) -> Callable[[Path], bool]:
    group, _, time = Path(path).name.rsplit("_", 2)
    return lambda file: file.name.startswith(f"{group}_") and file.name.endswith(time) and file.name != Path(path).name


def stays(copy: Copy, path: str) -> Path:
    (found,) = filter(right_of(path), (copy.path / path).parent.glob("*.parquet"))
    return found


def rewritten(file: Path, change: Callable[[pyarrow.Table], pyarrow.Table]) -> None:
    rows = change(parquet.read_table(file, partitioning=None))
    file.chmod(0o644)
    parquet.write_table(rows, file)
    put(file, file.read_bytes())


def with_column(rows: pyarrow.Table, name: str, value: str, count: int) -> pyarrow.Table:
    values = [value] * count + rows[name].to_pylist()[count:]
    return rows.set_column(rows.schema.get_field_index(name), name, pyarrow.array(values, rows[name].type))


@VERSIONS
@TABLES
def test_it_goes_and_no_other(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    before = copy.data()
    wrong = damage.second_base_file(copy.path)
    orphan(copy, LONG_AGO)
    plan = planned(copy)
    (row,) = plan.files
    rows = parquet.read_metadata(copy.path / wrong).num_rows
    right = stays(copy, wrong).name
    assert row.why == f"the commit {row.instant} names {right} in its place, which has the same {rows} rows"
    assert (row.path, row.certainty, plan.files_left, plan.hashing) == (wrong, "sure", (), ())
    assert delete(copy).files_deleted == 1
    assert wrong not in copy.data()
    assert before < copy.data()
    assert planned(copy).nothing_to_do


@VERSIONS
def test_undo_brings_it_back(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    damage.second_base_file(copy.path)
    before = tree(copy.path, OWN)
    result = delete(copy, keep_files=True)
    assert result.undo
    execute_undo(session(copy.table), plan_undo(session(copy.table), result.undo, 0), 0)
    assert tree(copy.path, OWN) == before


def test_what_two_attempts_differ_in_does_not_count(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    wrong = copy.path / damage.second_base_file(copy.path)
    rewritten(wrong, lambda rows: with_column(rows, "_hoodie_commit_seqno", "other", 3))
    rewritten(wrong, lambda rows: with_column(rows, "_hoodie_file_name", wrong.name, rows.num_rows))
    assert ", which has the same " in planned(copy).files[0].why


def test_rows_that_differ_are_counted(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    wrong = copy.path / damage.second_base_file(copy.path)
    rewritten(wrong, lambda rows: with_column(rows, "val", "other", 3))
    rows = parquet.read_metadata(wrong).num_rows
    why = planned(copy).files[0].why
    assert f", which does not have 3 of its {rows} rows; readers use the file that is listed last" in why
    assert delete(copy).files_deleted == 1


def test_one_row_twice_is_more_than_once(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    wrong = copy.path / damage.second_base_file(copy.path)
    rewritten(wrong, lambda rows: pyarrow.concat_tables([rows, rows.slice(0, 1)]))
    assert "does not have 1 of its" in planned(copy).files[0].why


def test_a_torn_one_goes(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    wrong = copy.path / damage.second_base_file(copy.path)
    put(wrong, wrong.read_bytes()[:900])
    assert planned(copy).files[0].why.endswith("in its place, its rows cannot be read")
    assert delete(copy).files_deleted == 1


def test_where_the_named_one_is_damaged_both_stay(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    wrong = damage.second_base_file(copy.path)
    right = stays(copy, wrong)
    body = right.read_bytes()
    put(right, bytes(len(body)))
    assert "but the rows of both cannot be compared" in kept(copy)
    put(right, body[:-1])
    assert "with another size than it has" in kept(copy)


def named_by_commit(copy: Copy, wrong: str) -> None:
    """In the place of another file of the commit, or of the right one, as the text has the same length."""
    commit, right = copy.file(copy.commits[-1], "commit"), stays(copy, wrong).name
    body = json.loads(commit.read_text())
    for stats in body["partitionToWriteStats"].values():
        stats += [
            {**stat, "path": stat["path"].replace(right, Path(wrong).name)} for stat in stats if right in stat["path"]
        ]
    put(commit, json.dumps(body))


def test_where_the_commit_names_both_or_none_both_stay(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    wrong = damage.second_base_file(copy.path)
    commit = copy.file(copy.commits[-1], "commit")
    body = commit.read_text()
    named_by_commit(copy, wrong)
    plan = planned(copy)
    assert plan.nothing_to_do
    assert {row.why.partition(" names ")[2] for row in plan.files_left} == {"2 of the 2 base files of its slice"}
    right = stays(copy, wrong).name
    put(commit, body.replace(right, f"{'e' * 8}{right[8:]}"))
    plan = planned(copy)
    assert plan.nothing_to_do
    assert {row.why.partition(" names ")[2] for row in plan.files_left} == {"none of the 2 base files of its slice"}
    assert len(plan.files_left) == 2


def test_a_slice_before_the_timeline_stays(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    damage.second_base_file(copy.path)
    for file in copy.path.glob(f".hoodie/{copy.commits[-1]}*"):
        file.unlink()
    plan = planned(copy)
    assert plan.nothing_to_do
    assert all("is not completed on the timeline" in row.why for row in plan.files_left)


@VERSIONS
def test_what_the_metadata_table_lists_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    listed(copy, damage.second_base_file(copy.path))
    assert kept(copy).endswith("; but the metadata table names it")


@VERSIONS
def test_what_a_savepoint_names_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    wrong = damage.second_base_file(copy.path)
    right = stays(copy, wrong)
    body = right.read_bytes()
    right.unlink()
    savepoint(copy, copy.commits[-1], SavepointOptions(idle_ms=0))
    put(right, body)
    assert "; but the savepoint " in kept(copy)


def test_what_changed_lately_stays(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    wrong = copy.path / damage.second_base_file(copy.path)
    put(wrong, wrong.read_bytes(), old=False)
    assert "it was changed" in kept(copy, idle_ms=600_000)


@VERSIONS
def test_what_changes_meanwhile_stays(unpack: Unpack, version: str) -> None:
    """Also where the file that should stay is gone, or is another one."""
    copy = unpack(version, "cow_part")
    wrong = damage.second_base_file(copy.path)
    body, right = (copy.path / wrong).read_bytes(), stays(copy, wrong)
    for path, new in ((copy.path / wrong, b"other rows"), (right, b"other rows")):
        old = path.read_bytes()
        again = At("delete files", lambda path=path, new=new: put(path, new, old=False))  # type: ignore[misc]
        assert delete(copy, again).files_left == (wrong,)
        put(path, old)
    assert delete(copy, At("delete files", right.unlink)).files_left == (wrong,)
    assert (copy.path / wrong).read_bytes() == body
