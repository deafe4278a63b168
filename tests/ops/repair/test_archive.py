"""``archive repair``: what can be read stays in the archive, what is lost is said, and nothing goes by its absence."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from hudictl.errors import Conflict, Refused, Unreadable
from hudictl.formats import archived_timeline as fmt
from hudictl.formats.archived_timeline import check_lsm, lsm_instants
from hudictl.ops.guards import timeline as guards
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.reports.health.check import check_table
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.orphans.find import find_orphans
from hudictl.table.archive_lost import lost_until
from hudictl.table.open import open_table
from hudictl.table.timeline.archive import archived_after
from tests import support
from tests.damage.cases import Case, of_table
from tests.damage.harms import do_harm, flipped
from tests.helpers import ENGINE, drop, put, session
from tests.ops.repair.archive_support import BEYOND, CASES, files, plan, repair, repair_is_nothing

WHOLE = ("archive-manifest", "archive-version")
"""Kinds of damages by which no instant can be lost."""


def instants(base: Path) -> set[tuple[str, str, str]]:
    return {(entry.time, entry.action, entry.state.name) for entry in archived_after(open_table(str(base)), "")}


def unreadable(base: Path) -> list[str]:
    found = check_table(open_table(str(base)), ENGINE, 600_000).findings
    return [entry.subject for entry in found if entry.finding == "unreadable"]


def lsm(base: Path) -> Path:
    return base / ".hoodie/timeline/history"


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_what_can_be_read_stays_and_the_rest_is_named(case: Case, tmp_path: Path) -> None:
    base = support.unpack(case.version, case.table, tmp_path)
    before = instants(base)
    do_harm(base, case.path, case.harm)
    damaged, found = files(base), unreadable(base)
    made = plan(base)
    assert plan(base) == made
    assert files(base) == damaged
    if found:
        assert made.files
    if not made.files:
        assert repair_is_nothing(made)
        return
    assert all(len(set(file.reasons)) == 2 for file in made.files)

    undo = repair(base).undo
    after = instants(base)
    assert after <= before
    assert not unreadable(base)
    assert repair_is_nothing(plan(base))
    gone = {time for time, _, _ in before} - {time for time, _, _ in after}
    assert (not gone) <= (not made.lost) or case.version == "v6"
    assert all(any(time in text for text in made.lost) for time in gone if case.kind == "archive" and len(gone) < 5)
    assert not gone or case.kind not in WHOLE
    table = open_table(str(base))
    assert lost_until(table) == made.lost_until
    assert made.lost_until >= max(gone, default="")

    back = plan_undo(session(table), undo, 0)
    execute_undo(session(table), back, 0)
    assert files(base) == damaged
    assert lost_until(table) == ""


@pytest.mark.slow
def test_check_names_the_command(tmp_path: Path) -> None:
    for case in CASES:
        base = support.unpack(case.version, case.table, tmp_path / case.words)
        do_harm(base, case.path, case.harm)
        found = check_table(open_table(str(base)), ENGINE, 600_000).findings
        told = [entry for entry in found if entry.finding in ("unreadable", "torn-archive")]
        assert all(entry.remedy[0].command == "hudictl archive repair" for entry in told)
        assert bool(told) == bool(plan(base).files) or case.harm == "flipped"


@pytest.mark.slow
def test_each_flipped_byte_of_a_log_costs_at_most_its_record(tmp_path: Path) -> None:
    """Also in a frame, a length, a schema: other logs have the same one."""
    base = support.unpack("v6", "cow_cleaned", tmp_path)
    path = base / ".hoodie/archived/.commits_.archive.3_1-0-1"
    body = path.read_bytes()
    schemas = fmt.schemas_of(body)
    every = list(fmt.decode_log(body, path.name))
    for at in [*range(0, 40), *range(40, len(body), 997), *range(len(body) - 20, len(body))]:
        left, whole = fmt.log_mended(flipped(body, at), path.name, schemas)
        found = list(fmt.decode_log(left, path.name)) if left else []
        assert len(found) >= len(every) - 1 or at < 40, at
        assert whole <= (len(found) == len(every)), at


def test_what_a_log_has_behind_a_lost_beginning_of_a_block_is_not_called_whole(tmp_path: Path) -> None:
    base = support.unpack("v6", "cow_cleaned", tmp_path)
    body = (base / ".hoodie/archived/.commits_.archive.3_1-0-1").read_bytes()
    blocks = [at for at in range(len(body)) if body.startswith(b"#HUDI#", at)]
    assert len(blocks) > 1
    torn = bytes([0]) + body[1 : blocks[1]] + bytes([0]) + body[blocks[1] + 1 :]
    left, whole = fmt.log_mended(torn, "it", fmt.schemas_of(body))
    assert (len(list(fmt.decode_log(left, "it"))) < len(list(fmt.decode_log(body, "it"))), whole) == (True, False)


def merged(base: Path) -> tuple[Path, list[str]]:
    """The first two files of the archive, merged into one of the next level by a writer that has not yet deleted
    them."""
    import pyarrow
    from pyarrow import parquet

    names = sorted(path.name for path in lsm(base).glob("*.parquet"))
    low = names[:2]
    table = pyarrow.concat_tables([parquet.read_table(lsm(base) / name) for name in low])
    ends = [fmt.lsm_range(name) or ("", "") for name in low]
    high = lsm(base) / f"{min(first for first, _ in ends)}_{max(last for _, last in ends)}_1.parquet"
    parquet.write_table(table, high, compression="gzip")
    live = [high.name, *names[2:]]
    put(lsm(base) / "manifest_5", fmt.encode_manifest({name: (lsm(base) / name).stat().st_size for name in live}))
    put(lsm(base) / "_version_", b"5")
    return high, low


def live(base: Path) -> set[str]:
    number = (lsm(base) / "_version_").read_text()
    return set(fmt.decode_manifest((lsm(base) / f"manifest_{number}").read_bytes(), "it"))


@pytest.mark.parametrize("version", ["v8", "v9"])
@pytest.mark.parametrize("older", [True, False])
def test_a_merged_file_counts_instead_of_those_that_it_has_replaced(version: str, older: bool, tmp_path: Path) -> None:
    base = support.unpack(version, "cow_cleaned", tmp_path)
    high, low = merged(base)
    before, right = instants(base), live(base)
    put(lsm(base) / "manifest_5", b"")
    if not older:
        for path in lsm(base).glob("manifest_[2-4]"):
            drop(path)
    made = plan(base)
    repair(base)
    assert (instants(base), made.lost, made.lost_until) == (before, (), "")
    assert live(base) == right
    assert (high.name in right, set(low) & right) == (True, set())


@pytest.mark.parametrize("version", ["v8", "v9"])
@pytest.mark.parametrize("manifest", ["", "manifest_5"])
def test_what_a_damaged_merged_file_has_replaced_comes_back(version: str, manifest: str, tmp_path: Path) -> None:
    base = support.unpack(version, "cow_cleaned", tmp_path)
    before = instants(base)
    high, low = merged(base)
    put(high, high.read_bytes()[:-1])
    if manifest:
        put(lsm(base) / manifest, b"{")
    repair(base)
    assert instants(base) == before
    assert set(low) < live(base)
    assert not high.exists()


@pytest.mark.parametrize("folder", ["history", "archived"])
def test_a_merged_file_stands_for_one_by_its_name_unless_the_table_was_upgraded(folder: str, tmp_path: Path) -> None:
    """An upgrade names a file by instants that are not the first and the last in time: it may have had others."""
    base = support.unpack("v9", "cow_cleaned", tmp_path)
    _, low = merged(base)
    properties = base / ".hoodie/hoodie.properties"
    of_folder = "hoodie.archivelog.folder="
    put(properties, properties.read_text().replace(f"{of_folder}history", f"{of_folder}{folder}"))
    put(lsm(base) / low[0], b"")
    put(lsm(base) / "manifest_5", b"{")
    assert (plan(base).lost_until == "") is (folder == "history")


def archived_anew(base: Path) -> str:
    """The first file of the archive, written by an archiver that died before it took anything from the timeline."""
    import pyarrow
    from pyarrow import parquet

    active = next(entry for entry in read_signs(open_table(str(base))).timeline.completed_writes())
    like = parquet.read_table(sorted(lsm(base).glob("*.parquet"))[0]).slice(0, 1)
    times = {"instantTime": active.time, "completionTime": active.completion_time, "action": active.action}
    for name, value in times.items():
        column = like.schema.get_field_index(name)
        told = like.schema.field(column)
        like = like.set_column(column, told, pyarrow.array([value], told.type))
    name = f"{active.time}_{active.time}_0.parquet"
    parquet.write_table(like, lsm(base) / name, compression="gzip")
    return name


@pytest.mark.parametrize("harm", ["empty", "missing"])
def test_a_file_of_a_dead_archiver_stays_out(harm: str, tmp_path: Path) -> None:
    base = support.unpack("v9", "cow_cleaned", tmp_path)
    before, right, name = instants(base), live(base), archived_anew(base)
    do_harm(base, ".hoodie/timeline/history/manifest_4", harm)
    repair(base)
    assert (instants(base), live(base)) == (before, right)
    assert name not in live(base)


def test_a_damaged_file_that_no_manifest_names_makes_room_and_loses_nothing(tmp_path: Path) -> None:
    """As after a repair that has died."""
    base = support.unpack("v9", "cow_cleaned", tmp_path)
    before, right = instants(base), live(base)
    left = put(lsm(base) / "20261121030328017_20261121030329999_0.parquet", b"PAR1")
    made = plan(base)
    assert ([file.path for file in made.files], made.lost) == ([left.relative_to(base).as_posix()], ())
    repair(base)
    assert (instants(base), live(base), left.exists()) == (before, right, False)


def test_an_older_damaged_manifest_makes_room(tmp_path: Path) -> None:
    """Hudi's cleaning of the archive reads those that it keeps."""
    base = support.unpack("v9", "cow_cleaned", tmp_path)
    put(lsm(base) / "manifest_3", b"{")
    assert [file.path.rpartition("/")[2] for file in plan(base).files] == ["manifest_3"]
    repair(base)
    assert not (lsm(base) / "manifest_3").exists()
    assert repair_is_nothing(plan(base))


def test_a_lost_number_is_written_again_and_a_wrong_one_is_not(tmp_path: Path) -> None:
    base = support.unpack("v9", "cow_cleaned", tmp_path)
    right = live(base)
    # What manifest 4 has added is in no older one.
    drop(lsm(base) / "manifest_4")
    made = plan(base)
    assert [file.path.rpartition("/")[2] for file in made.files] == ["manifest_4"]
    repair(base)
    assert live(base) == right
    put(lsm(base) / "_version_", b"5")
    made = plan(base)
    assert [(file.path.rpartition("/")[2], file.body) for file in made.files] == [("_version_", b"4")]


def test_without_any_manifest(tmp_path: Path) -> None:
    base = support.unpack("v9", "cow_cleaned", tmp_path)
    before, right = instants(base), live(base)
    for path in lsm(base).glob("manifest_*"):
        drop(path)
    repair(base)
    assert (instants(base), live(base)) == (before, right)


def test_what_a_restore_has_removed_does_not_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merged file without it is damaged, and those that it has replaced still have it."""
    base = support.unpack("v9", "cow_cleaned", tmp_path)
    high, low = merged(base)
    put(high, b"PAR1")
    removed = sorted(time for time, action, _ in instants_of(base, low) if action == "commit")[-1]
    monkeypatch.setattr("hudictl.ops.repair.archive_files.taken_back", lambda *_: {removed: "the restore"})
    made = plan(base)
    repair(base)
    assert removed not in {time for time, _, _ in instants(base)}
    assert made.lost


def instants_of(base: Path, names: list[str]) -> set[tuple[str, str, str]]:
    found: set[tuple[str, str, str]] = set()
    for name in names:
        body = (lsm(base) / name).read_bytes()
        read: Callable[[int, int], bytes] = lambda offset, length, body=body: body[offset : offset + length]  # type: ignore[misc]  # noqa: E731
        found |= {(entry.time, entry.action, "") for entry in fmt.lsm_instants(read, len(body), name)}
    return found


@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_archive_of_the_metadata_table_is_only_told_of(version: str, tmp_path: Path) -> None:
    base = support.unpack(version, "cow_cleaned", tmp_path)
    case = next(
        case for case in of_table(version, "cow_cleaned") if case.kind == "metadata-archive" and case.harm == "cut"
    )
    do_harm(base, case.path, case.harm)
    made = plan(base)
    assert not made.files
    assert "hudictl metadata drop" in made.elsewhere[0]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_while_an_archiving_may_run(version: str, tmp_path: Path) -> None:
    base = support.unpack(version, "cow_cleaned", tmp_path)
    case = next(case for case in of_table(version, "cow_cleaned") if (case.kind, case.harm) == ("archive", "cut"))
    do_harm(base, case.path, case.harm)
    (base / case.path).touch()
    with pytest.raises(Conflict, match="an archiving may be running"):
        plan(base, 60_000)
    assert plan(base).files


@pytest.fixture(params=support.VERSIONS)
def lossy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Archived writes after the savepoint are lost, and the archive is whole again."""
    version = request.param
    base = support.unpack(version, BEYOND, tmp_path)
    case = next(case for case in of_table(version, BEYOND) if (case.kind, case.harm) == ("archive", "empty"))
    do_harm(base, case.path, case.harm)
    repair(base)
    return base


def test_nothing_goes_back_to_before_what_is_lost(lossy: Path) -> None:
    """The archive is whole, and would say that nothing is archived after the savepoint."""
    table = open_table(str(lossy))
    signs = read_signs(table)
    saved = signs.timeline.savepoints()[0].time
    until = lost_until(table)
    assert until > saved
    assert not archived_after(table, saved)
    with pytest.raises(Refused, match=f"lost instants up to {until}"):
        plan_restore(session(table), saved, RestoreOptions())
    with pytest.raises(Refused, match="lost instants"):
        plan_restore(session(table), saved, RestoreOptions(to_instant=True))
    with pytest.raises(Refused, match="lost instants"):
        guards.nothing_archived_after(table, saved)


def test_what_is_newer_than_the_loss_can_be_saved_and_restored(lossy: Path) -> None:
    table = open_table(str(lossy))
    commits = sorted(entry.time for entry in read_signs(table).timeline.completed_writes())
    target = next(time for time in commits if time > lost_until(table))
    assert plan_restore(session(table), target, RestoreOptions(to_instant=True)).target == target
    assert plan_savepoint(session(table), commits[-1], SavepointOptions()).target == commits[-1]


def test_no_file_of_a_lost_instant_is_an_orphan_for_sure(lossy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where a rollback says so: it may have run again under its time, and been archived."""
    table = open_table(str(lossy))
    facts = read_facts(table, ENGINE, read_signs(table))
    until = lost_until(table)
    found = [entry for entry in find_orphans(facts, ENGINE) if entry.file.data.instant <= until]
    assert found
    assert not any(entry.sure for entry in found)
    assert all(f"lost instants up to {until}" in entry.why for entry in found)
    asked = find_orphans(facts, ENGINE, [entry.file.path for entry in found])
    assert not any("a repair of the archive" in entry.why for entry in asked)


def test_the_order_puts_what_leads_to_a_file_first(tmp_path: Path) -> None:
    """A reader never meets a manifest that names what is gone, and was there."""
    base = support.unpack("v9", "cow_cleaned", tmp_path)
    do_harm(base, ".hoodie/timeline/history/20261121030329047_20261121030331568_0.parquet", "cut")
    changes = [(file.change, file.path.rpartition(".")[2]) for file in plan(base).files]
    assert changes[0][0] == "write"
    assert changes[-1] == ("set aside", "parquet")


@pytest.mark.parametrize("version", support.VERSIONS)
def test_without_a_metadata_table_there_may_have_been_archived_writes_after_a_savepoint(
    version: str, tmp_path: Path
) -> None:
    """Where the file's name does not tell: a damaged log; a file that an upgrade has named."""
    base = support.unpack(version, BEYOND, tmp_path)
    properties = base / ".hoodie/hoodie.properties"
    kept = [line for line in properties.read_text().splitlines() if "table.metadata.partitions" not in line]
    put(properties, "\n".join(kept))
    shutil.rmtree(base / ".hoodie/metadata")
    case = next(case for case in of_table(version, BEYOND) if (case.kind, case.harm) == ("archive", "empty"))
    do_harm(base, case.path, case.harm)
    if version != "v6":
        first, last, level = (base / case.path).name.split("_")
        name = f"{last}_{first}_{level}"
        (base / case.path).rename(base / case.path.replace((base / case.path).name, name))
        put(lsm(base) / "manifest_1", fmt.encode_manifest({name: 0}))
    writes = read_signs(open_table(str(base))).timeline
    saved = {entry.time for entry in writes.savepoints()}
    commits = sorted(entry.time for entry in writes.completed_writes())
    assert commits[0] in saved
    assert commits[0] < plan(base).lost_until < next(time for time in commits if time not in saved)


def test_the_merged_file_of_a_dead_writer_stands_for_a_damaged_one(tmp_path: Path) -> None:
    """No manifest names it yet: it has what the damaged file had, and also what another one has."""
    base = support.unpack("v9", "cow_cleaned", tmp_path)
    before, right = instants(base), live(base)
    high, low = merged(base)
    put(lsm(base) / "_version_", b"4")
    drop(lsm(base) / "manifest_5")
    put(lsm(base) / low[0], b"PAR1")
    made = plan(base)
    repair(base)
    assert (instants(base), made.lost) == (before, ())
    assert live(base) == right - set(low) | {high.name}


@pytest.mark.slow
def test_a_file_with_damaged_contents_makes_room(tmp_path: Path) -> None:
    """Its times can be read, and another column cannot: Hudi's merge of the archive would fail at it."""
    base = support.unpack("v9", "cow_cleaned", tmp_path)
    file = max(lsm(base).glob("*.parquet"))
    body = file.read_bytes()
    for at in range(4, len(body) - 8):
        damaged = body[:at] + bytes([body[at] ^ 0xFF]) + body[at + 1 :]
        read_at = partial(_slice, damaged)
        with suppress(Unreadable):
            list(lsm_instants(read_at, len(damaged), file.name))
            try:
                check_lsm(read_at, len(damaged), file.name)
            except Unreadable:
                break
    put(file, damaged)
    assert f".hoodie/timeline/history/{file.name}" in {entry.path for entry in plan(base).files if entry.body is None}


def _slice(body: bytes, start: int, length: int) -> bytes:
    return body[start : start + length]
