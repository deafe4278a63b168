"""What lies below the base path and is not the table's: other tables, copies, links. None of it goes."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import HudictlError
from hudictl.ops.clean_up.orphans import OrphanOptions, delete_orphans, plan_orphan_deletion
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.reports.health.check import check_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    ENGINE,
    At,
    Copy,
    assert_ended,
    attempt,
    plan,
    put,
    restore,
    roll_back,
    rollback_of,
    savepoint,
    session,
    tree,
)
from tests.ops.restore.strangers_support import partition_copy, without_metadata_table

TABLES = [(version, name) for version in support.VERSIONS for name in ("cow_savepoints", "mor_savepoints")]
Place = Callable[[Copy], Path]
OPTIONS = RestoreOptions(to_instant=True, delete_later_savepoints=True)


def inside(where: str) -> Place:
    """A whole copy of the table: a table of its own."""

    def place(copy: Copy) -> Path:
        target = copy.path / where
        shutil.copytree(copy.path, copy.path.parent / "copy", copy_function=shutil.copy2)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(copy.path.parent / "copy", target)
        return target

    return place


def without_meta(copy: Copy) -> Path:
    """A copy of the data alone: its partitions have metafiles, and no record names them."""
    target = inside("_backup")(copy)
    shutil.rmtree(target / ".hoodie")
    return target


TABLES_INSIDE: dict[str, Place] = {
    "beside the partitions": inside("_errors"),
    "deep": inside("a/b/c/errors"),
    "in a partition": inside("part-0/errors"),
}
COPIES: dict[str, Place] = {"without .hoodie": without_meta, "of a partition": partition_copy}
PLACES = TABLES_INSIDE | COPIES


@pytest.mark.short("v6-cow_savepoints", "v8-mor_savepoints", "v9-cow_savepoints", "v9-mor_savepoints")
@pytest.mark.parametrize(("version", "name"), TABLES)
@pytest.mark.parametrize("place", PLACES)
def test_a_restore_leaves_them(unpack: Unpack, version: str, name: str, place: str) -> None:
    """Their files carry the removed instants' names; no record of these instants names their folder."""
    copy = without_metadata_table(unpack(version, name))
    other = PLACES[place](copy)
    before = tree(other)
    made = plan(copy, copy.commits[0], OPTIONS)
    kept = {row.path for row in made.undo.files_kept}
    assert bool(kept) is (place in COPIES)
    assert all((copy.path / path).is_relative_to(other) for path in kept)
    assert not [row for row in made.undo.files if (copy.path / row.path).is_relative_to(other)]
    restore(copy, copy.commits[0], options=OPTIONS)
    assert tree(other) == before


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("place", COPIES)
def test_where_the_metadata_table_keeps_copies_from_readers_it_is_not_given_up(
    unpack: Unpack, version: str, place: str
) -> None:
    """Their rows would be there twice. Nothing is changed; the copies are named."""
    copy = unpack(version, "cow_savepoints")
    PLACES[place](copy)
    before = tree(copy.path)
    error = attempt(lambda: restore(copy, copy.commits[0], options=OPTIONS))
    assert isinstance(error, HudictlError)
    assert (error.exit_code, "would see their rows" in error.message) == (13, True)
    assert tree(copy.path) == before


@pytest.mark.parametrize(("version", "name"), [("v6", "cow_part"), ("v8", "mor_part"), ("v9", "cow_part")])
@pytest.mark.parametrize("place", PLACES)
def test_a_rollback_leaves_them(unpack: Unpack, version: str, name: str, place: str) -> None:
    copy = unpack(version, name) if version != "v6" else without_metadata_table(unpack(version, name))
    other = PLACES[place](copy)
    before = tree(other)
    execute_rollback(session(copy.table), rollback_of(copy, copy.commits[-1]))
    assert tree(other) == before


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), [("v6", "cow_part"), ("v8", "mor_part"), ("v9", "cow_savepoints")])
@pytest.mark.parametrize("place", TABLES_INSIDE)
def test_another_table_is_no_heap_of_orphans(unpack: Unpack, version: str, name: str, place: str) -> None:
    """check names it; once its own timeline is another one, still nothing of it is an orphan."""
    copy = unpack(version, name)
    other = PLACES[place](copy)
    restored = Copy(version, name, other)
    restore(restored, restored.commits[0], options=OPTIONS)
    before = tree(other)
    found = check_table(copy.table, ENGINE, 0).findings
    assert [entry.subject for entry in found if entry.finding == "other-table"] == [str(other.relative_to(copy.path))]
    assert not [entry for entry in found if entry.severity == "error" and entry.finding != "other-table"]
    opened = session(copy.table)
    planned = plan_orphan_deletion(opened, OrphanOptions(idle_ms=0))
    assert (planned.orphans, planned.left) == ((), ())
    delete_orphans(opened, planned)
    assert tree(other) == before


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_what_is_behind_a_link_is_never_deleted(unpack: Unpack, version: str, tmp_path: Path) -> None:
    """A partition whose folder is a link to another place: the plan refuses to delete there, and says why."""
    copy = unpack(version, "cow_savepoints")
    elsewhere = tmp_path / "elsewhere"
    shutil.move(copy.path / "part-0", elsewhere)
    (copy.path / "part-0").symlink_to(elsewhere)
    before = tree(copy.path)
    error = attempt(lambda: restore(copy, copy.commits[0], options=OPTIONS))
    assert isinstance(error, HudictlError)
    assert (error.exit_code, "symbolic link" in error.message) == (13, True)
    assert tree(copy.path) == before
    found = check_table(copy.table, ENGINE, 0).findings
    assert [entry.subject for entry in found if entry.finding == "linked-folder"] == ["part-0"]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["backup", "part-0/backup"])
@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_link_to_a_folder_hinders_nothing(unpack: Unpack, version: str, place: str, tmp_path: Path) -> None:
    """Somebody has put one into the table: the proof of what was deleted does not go through it."""
    copy = unpack(version, "mor_savepoints")
    elsewhere = tmp_path / "elsewhere"
    put(elsewhere / "notes.txt", b"theirs")
    (copy.path / place).symlink_to(elsewhere)
    before = tree(elsewhere)
    roll_back(copy, copy.commits[-1])
    restore(copy, copy.commits[0], options=OPTIONS)
    assert_ended(copy, copy.commits[0])
    assert tree(elsewhere) == before


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_names_that_lead_out_of_the_table_are_not_followed(unpack: Unpack, version: str, tmp_path: Path) -> None:
    """A commit's record that names ../other: what is there stays."""
    copy = unpack(version, "cow_part")
    last = copy.commits[-1]
    other = copy.path.parent / "other"
    name = next(path.name for path in copy.path.glob(f"part-*/*_{last}.parquet"))
    other.mkdir()
    (other / name).write_bytes(b"x")
    (other / ".hoodie_partition_metadata").write_bytes(b"")
    if version == "v6":
        done = copy.file(last, "commit")
        body = done.read_text().replace('"partitionToWriteStats" : {', '"partitionToWriteStats" : {"../other" : [],')
        assert "../other" in body
        done.write_text(body)
        done.with_name(f".{done.name}.crc").unlink(missing_ok=True)
    roll_back(copy, last)
    assert (other / name).exists()


def test_after_the_restore_the_copies_are_reported(unpack: Unpack) -> None:
    """As files of an instant that is on no timeline: kept, with the reason that is missing."""
    copy = without_metadata_table(unpack("v9", "cow_savepoints"))
    partition_copy(copy)
    restore(copy, copy.commits[0], options=OPTIONS)
    assert_ended(copy, copy.commits[0])
    opened = session(copy.table)
    planned = plan_orphan_deletion(opened, OrphanOptions(idle_ms=0))
    assert planned.orphans == ()
    assert {orphan.file.partition for orphan in planned.left} == {"part-0.bak"}


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), [("v6", "mor_part"), ("v6", "cow_part"), ("v9", "mor_part")])
def test_a_partition_that_looks_like_another_table_is_not_passed_over(unpack: Unpack, version: str, name: str) -> None:
    """A job with a wrong base path has made a .hoodie in it: nothing is done before that is cleared up."""
    copy = unpack(version, name)
    restore(copy, copy.commits[0], options=OPTIONS)
    (copy.path / "part-0" / ".hoodie").mkdir()
    before = tree(copy.path)
    for act in (lambda: roll_back(copy, copy.commits[0]), lambda: savepoint(copy, copy.commits[0])):
        error = attempt(act)
        assert isinstance(error, HudictlError)
        assert (error.exit_code, "'part-0' has its own .hoodie folder" in error.message) == (13, True)
    assert tree(copy.path) == before
    (found,) = [entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.finding == "other-table"]
    assert (found.severity, found.subject) == ("error", "part-0")
    (copy.path / "part-0" / ".hoodie").rmdir()
    roll_back(copy, copy.commits[0])


def test_a_file_that_comes_late_into_another_partition_is_not_passed_over(unpack: Unpack) -> None:
    """An executor of the dead writer goes on, in a partition that no record of the write names as yet. Where only the
    partitions in its records are listed, its marker stops the rollback: tests/ops/rollback/test_partitions.py."""
    copy = unpack("v6", "mor_failed_direct")
    (target,) = [entry.time for entry in load_timeline(copy.table).writes() if entry.pending]
    like = next(path for path in sorted(copy.data()) if path.endswith(".parquet"))
    late = copy.path / "late" / f"{Path(like).name.rpartition('_')[0]}_{target}.parquet"

    def come() -> None:
        put(late, (copy.path / like).read_bytes())
        put(late.parent / ".hoodie_partition_metadata")

    error = attempt(lambda: roll_back(copy, target, At("verify", come)))
    assert isinstance(error, HudictlError)
    assert (error.exit_code, "late/" in error.message) == (3, True)
