"""Data files: the sweep, and file slices judged by Hudi's own savepoints."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.engine.local import LocalEngine
from hudictl.errors import StorageFailed
from hudictl.formats import savepoint as savepoint_format
from hudictl.formats.file_names import DataFile, log_file_name, parse_data_file
from hudictl.formats.instants import State
from hudictl.table.files.slices import Committed, StoredFile, file_slices, group_files
from hudictl.table.files.sweep import Sweep, hidden_by, sweep
from hudictl.table.files.view import metafile_path
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline, read_instant
from hudictl.workers import ListTask
from tests import support
from tests.engine.elsewhere import Elsewhere
from tests.helpers import files_of
from tests.table.conftest import Real, Small, base_of, put

ENGINE = LocalEngine()
SAVEPOINTED = ["cow_savepoints", "mor_savepoints", "cow_rollback_interrupted", "mor_restore_interrupted"]


@pytest.mark.parametrize("name", ["cow_part", "mor_part", "cow_flat_nomdt", "cow_cdc", "mor_parquet_logs"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_real_sweep(real: Real, version: str, name: str) -> None:
    """Every data file with size and time, every partition, and nothing of .hoodie."""
    table = real(version, name)
    base = base_of(table)
    found = sweep(table, ENGINE, (), sync=True)
    expected = {
        str(path.relative_to(base)): (path.stat().st_size, path.stat().st_mtime_ns // 1_000_000)
        for path in base.rglob("*")
        if path.is_file() and ".hoodie" not in path.relative_to(base).parts and parse_data_file(path.name)
    }
    assert {file.path: (file.size, file.modified_ms) for file in files_of(found)} == expected
    metafiles = {str(path.parent.relative_to(base)) for path in base.rglob(".hoodie_partition_metadata")}
    partitions = {"" if path == "." else path for path in metafiles if not path.startswith(".hoodie")}
    assert found.partitions == partitions
    assert all(table.storage.stat(metafile_path(partition)) for partition in partitions)


@pytest.mark.parametrize("name", SAVEPOINTED)
@pytest.mark.parametrize("version", support.VERSIONS)
def test_slices_at_a_real_savepoint(real: Real, version: str, name: str) -> None:
    """The newest slice of each group, seen from the savepointed commit, is what Hudi put into its savepoint."""
    table = real(version, name)
    timeline = load_timeline(table)
    files = files_of(sweep(table, ENGINE, ()))
    assert timeline.savepoints()
    for instant in timeline.savepoints():
        file = instant.file(State.COMPLETED)
        assert file is not None
        expected = savepoint_format.decode(read_instant(table, file), file.name).files
        committed = at(table, instant.time)
        found: dict[str, set[str]] = {}
        for (partition, _), members in group_files(files).items():
            visible = [entry for entry in members if before(table, entry, committed)]
            slices = file_slices(table.rules, visible, committed, None)
            if slices:
                found.setdefault(partition, set()).update(entry.data.name for entry in slices[0].files)
        assert found == {path: set(names) for path, names in expected.items() if names}


def at(table: Table, time: str) -> Committed:
    """The instants that were completed when a commit was."""
    writes = load_timeline(table).completed_writes()
    last = next(entry.completion_time for entry in writes if entry.time == time)
    completion = {entry.time: str(entry.completion_time) for entry in writes if str(entry.completion_time) <= str(last)}
    return Committed(completion, min(completion))


def before(table: Table, file: StoredFile, committed: Committed) -> bool:
    """Below version 8 the name does not tell a log's writer; the commit's time on disk does."""
    if table.rules.logs_named_by_writer or file.data.is_base:
        return True
    last = max(committed.completion)
    (path,) = (base_of(table) / ".hoodie").glob(f"{last}.*commit")
    return file.modified_ms <= path.stat().st_mtime_ns // 1_000_000


def test_the_rest_of_many_files_goes_to_the_engine(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver lists the first ones, level by level, until there are many; the answer is the same."""
    monkeypatch.setattr("hudictl.table.files.sweep._ENOUGH_FILES", 20)
    monkeypatch.setattr("hudictl.table.files.sweep._FOLDERS_AT_ONCE", 16)
    table = small(9)
    for number in range(80):
        put(table, f"2026/{number // 20}/{number}/.hoodie_partition_metadata")
        put(table, f"2026/{number // 20}/{number}/f{number}_0-0-0_1.parquet", b"x" * number)
    engine = Elsewhere()
    found = sweep(table, engine, ())
    assert sum(isinstance(item, ListTask) for item in engine.items) == 80 - 4 - 16
    assert sorted(file.size or 0 for file in files_of(found)) == [*range(80)]
    assert len(found.partitions) == 80


def test_a_folder_that_cannot_be_listed(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is enough to know nothing: StorageFailed with the number of failures."""
    table = small(9)
    for number in range(40):
        put(table, f"p{number}/.hoodie_partition_metadata")
    real = os.scandir

    def scandir(path: str) -> object:
        if Path(path).name in ("p7", "p8"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr("hudictl.storage.local.os.scandir", scandir)
    with pytest.raises(StorageFailed, match="Permission denied") as caught:
        sweep(table, ENGINE, ())
    assert caught.value.fields["failed"] == 2


def base(instant: str) -> str:
    return f"f-0_0-0-0_{instant}.parquet"


def log(instant: str, version: int = 1) -> str:
    return log_file_name("f-0", instant, version, "0-0-0")


def slices(
    table: Table, names: Sequence[str], committed: Committed, pending: str | None = None
) -> dict[str, list[str]]:
    """Slice key -> names, newest first."""
    parsed: list[DataFile] = [data for name in names if (data := parse_data_file(name)) is not None]
    assert len(parsed) == len(names)
    found = file_slices(table.rules, [StoredFile("p", data, 1) for data in parsed], committed, pending)
    assert [entry.key for entry in found] == sorted((entry.key for entry in found), reverse=True)
    assert all(entry.pending is (entry.key == pending) for entry in found)
    return {entry.key: [file.data.name for file in entry.files] for entry in found}


DONE = Committed({"100": "110", "200": "290", "300": "310", "400": "410"}, "100")


@pytest.mark.parametrize(
    ("names", "pending", "expected"),
    [
        ([base("100"), log("100", 1), log("100", 2)], None, {"100": [base("100"), log("100", 1), log("100", 2)]}),
        ([base("100"), log("100", 10), log("100", 9)], None, {"100": [base("100"), log("100", 9), log("100", 10)]}),
        ([base("300"), base("100"), log("100")], None, {"300": [base("300")], "100": [base("100"), log("100")]}),
        ([log("200", 1)], None, {"200": [log("200", 1)]}),
        ([base("500"), log("500")], None, {}),
        ([base("050"), log("050")], None, {"050": [base("050"), log("050")]}),
        ([base("100"), log("350")], "350", {"350": [log("350")], "100": [base("100")]}),
        ([base("100"), log("350")], None, {"100": [base("100")]}),
    ],
)
def test_slices_below_version_8(
    small: Small, names: list[str], pending: str | None, expected: dict[str, list[str]]
) -> None:
    """A log's name holds its slice; uncommitted bases, and logs on them, are no slice; a pending compaction is."""
    assert slices(small(6), names, DONE, pending) == expected


@pytest.mark.parametrize(
    ("names", "pending", "expected"),
    [
        ([base("100"), log("200"), log("300")], None, {"100": [base("100"), log("200"), log("300")]}),
        # 200 began before 250 and completed after it: it belongs to the slice of 250.
        ([base("100"), base("250"), log("200")], None, {"250": [base("250"), log("200")], "100": [base("100")]}),
        ([base("100"), base("300"), log("200")], None, {"300": [base("300")], "100": [base("100"), log("200")]}),
        ([base("100"), log("500")], None, {"100": [base("100")]}),
        ([log("200"), log("300")], None, {"200": [log("200"), log("300")]}),
        ([base("400"), log("200")], None, {"400": [base("400")], "200": [log("200")]}),
        # 250 completed at the very time of the slice: at or after it.
        ([base("100"), log("250")], "260", {"260": [log("250")], "100": [base("100")]}),
        ([base("100"), log("300")], "305", {"305": [log("300")], "100": [base("100")]}),
        ([base("100"), log("050")], None, {"100": [base("100")], "050": [log("050")]}),
        ([base("500"), log("500")], None, {}),
    ],
)
def test_slices_from_version_8_on(
    small: Small, names: list[str], pending: str | None, expected: dict[str, list[str]]
) -> None:
    """A log belongs to the newest slice that was there when its writer completed; an open writer's is none."""
    done = Committed({**DONE.completion, "250": "260"}, DONE.start)
    assert slices(small(9), names, done, pending) == expected


@pytest.fixture(scope="module")
def either(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Table]:
    """A bare table of each kind, for rules that need no files."""
    from hudictl.table.open import open_table

    tables = {}
    for version, layout in ((6, 1), (9, 2)):
        folder = tmp_path_factory.mktemp("bare")
        (folder / ".hoodie").mkdir()
        text = f"hoodie.table.name=t\nhoodie.table.version={version}\nhoodie.timeline.layout.version={layout}\n"
        (folder / ".hoodie/hoodie.properties").write_text(text)
        tables[version] = open_table(str(folder), zone="UTC")
    return tables


@pytest.mark.slow
@given(
    version=st.sampled_from([6, 9]),
    bases=st.sets(st.sampled_from(["050", "100", "200", "300", "500"])),
    logs=st.lists(st.tuples(st.sampled_from(["050", "100", "200", "300", "500"]), st.integers(1, 12)), unique=True),
    order=st.randoms(),
)
def test_slices_do_not_depend_on_the_listings_order(
    either: dict[int, Table], version: int, bases: set[str], logs: list[tuple[str, int]], order: object
) -> None:
    """Each committed file is in exactly one slice, others in none, whatever order the store lists in."""
    names = [*map(base, sorted(bases)), *(log(instant, number) for instant, number in sorted(logs))]
    expected = slices(either[version], names, DONE)
    shuffled = list(names)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    assert slices(either[version], shuffled, DONE) == expected
    placed = [name for members in expected.values() for name in members]
    assert sorted(placed) == sorted(name for name in names if "500" not in name)


def facts_of(found: Sweep) -> tuple[object, ...]:
    return files_of(found), found.partitions, found.linked, found.tables


@pytest.mark.parametrize("named", ["part-1/below", "part-1/below/it"])
def test_a_partition_below_another_one_counts_where_it_is_named(real: Real, named: str) -> None:
    table = real("v9", "cow_part")
    base = base_of(table)
    before = sweep(table, ENGINE, ())
    file = next(path for path in (base / "part-1").glob("*.parquet"))
    put(table, f"{named}/{file.name}", file.read_bytes())
    assert facts_of(sweep(table, ENGINE, ())) == facts_of(before)
    bare = sweep(table, ENGINE, (named, "part-1/absent"))
    assert {file.path for file in files_of(bare)} - {file.path for file in files_of(before)} == {f"{named}/{file.name}"}
    assert bare.partitions == before.partitions
    put(table, metafile_path(named), b"")
    found = sweep(table, ENGINE, (named,))
    assert found.partitions == before.partitions | {named}
    assert [hidden_by(path, found.partitions) for path in ("part-1", named, "part-10/x")] == [None, "part-1", None]


@pytest.mark.parametrize("named", ["part-1/../part-0/x", "part-1//below", ".hoodie/x", "part-1/../../elsewhere"])
def test_a_path_that_leads_elsewhere_is_no_partition(real: Real, named: str) -> None:
    table = real("v9", "cow_part")
    base = base_of(table)
    before = sweep(table, ENGINE, ())
    file = next(path for path in (base / "part-1").glob("*.parquet"))
    put(table, f"{named}/{file.name}", file.read_bytes())
    assert sweep(table, ENGINE, (named,)).partitions == before.partitions
    assert named not in {found.partition for found in files_of(sweep(table, ENGINE, (named,)))}


def test_a_table_of_its_own_below_a_partition_is_not_swept(real: Real) -> None:
    table = real("v9", "cow_part")
    file = next(path for path in (base_of(table) / "part-1").glob("*.parquet"))
    put(table, f"part-1/errors/{file.name}", file.read_bytes())
    put(table, "part-1/errors/.hoodie/hoodie.properties", b"")
    assert "part-1/errors" not in {found.partition for found in files_of(sweep(table, ENGINE, ("part-1/errors",)))}


def test_a_folder_that_nobody_names_is_no_partition(real: Real) -> None:
    """An operator's copies, without a metafile, are not the table's; with one, or named by a commit, they are."""
    table = real("v9", "cow_part")
    base = Path(table.storage.absolute(""))
    (base / "keep").mkdir()
    name = next(path.name for path in (base / "part-0").glob("*.parquet"))
    (base / "keep" / name).write_bytes(b"x")
    assert not [file for file in files_of(sweep(table, ENGINE, ())) if file.partition == "keep"]
    assert [file.data.name for file in files_of(sweep(table, ENGINE, ("keep",))) if file.partition == "keep"] == [name]
