"""A rollback that one tool has begun is finished by the other."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.crash.inject import Crash, dying
from tests.interop import product
from tests.interop.check_support import slugs
from tests.interop.judge import Judge, Rows
from tests.interop.killed import (
    DATA,
    INSERTED,
    MARKERS,
    UPSERTED,
    WRITES,
    Death,
    assert_listed_alike,
    assert_only_blocks_unlisted,
    data_files,
    instants,
    killed_write,
    rollbacks,
    timeline_files,
)
from tests.interop.scenarios import Made, Row, batch, digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
Tables = Callable[..., Made]
Begun = Callable[[Path], int]

# A rollback of a completed commit, in the order of Hudi's steps.
HUDIS = {
    "requested": Death((r"(create|rename) \.hoodie/(timeline/)?\d+\.rollback\.inflight$",)),
    "inflight": Death((r"delete \.hoodie/(timeline/)?\d+(_\d+)?\.(delta)?commit$",)),
    "unpublished": Death((r"delete \.hoodie/(timeline/)?\d+(_\d+)?\.(delta)?commit$",), after=True),
    # On version 6 the files of a delta commit stay, and rollback blocks are written.
    "some_files": Death((r"rollback\.inflight$", f"(create|delete) {DATA}"), 2),
    "all_files": Death((r"rollback\.inflight$", f"(close|delete) {DATA}"), 3, after=True),
    "metadata": Death((r"(create|rename) \.hoodie/metadata/\.hoodie/(timeline/)?\d+(_\d+)?\.(deltacommit|rollback)$",)),
    "target_inflight": Death((r"delete \.hoodie/(timeline/)?\d+\.((delta)?commit\.)?inflight$",)),
    "target_requested": Death((r"delete \.hoodie/(timeline/)?\d+\.(delta)?commit\.requested$",)),
    "uncompleted": Death((r"(create|rename) \.hoodie/(timeline/)?\d+(_\d+)?\.rollback$",)),
}
QUICK = [("v6", "mor", "some_files"), ("v9", "cow", "unpublished"), ("v9", "mor", "target_requested")]
ALL = [(version, kind, point) for version in support.VERSIONS for kind in ("cow", "mor") for point in HUDIS]
SHARES = tuple(share / 20 for share in range(20))


def begun_by_hudi(hudi: Judge, table: Made, point: str, folder: Path) -> Path:
    """A copy of the table in which Hudi's rollback of its last commit died."""
    base = shutil.copytree(table.path, folder / "table")
    death = HUDIS[point]
    with hudi.dying(base, *death.events, number=death.number, after=death.after):
        hudi.rollback(base, table.instants[-1], options={**table.options, **MARKERS["direct"]})
    return base


def assert_taken_back(
    hudi: Judge, base: Path, table: Made, listed: Callable[[Judge, Path], None] = assert_listed_alike
) -> None:
    """The last commit is gone, and writers go on."""
    first, last = table.instants
    assert hudi.both_rows(base) == table.rows[first]
    assert last not in instants(base)
    assert [time for record in rollbacks(hudi, base) for time in record["commitsRollback"]] == [last]
    listed(hudi, base)
    product.upsert(hudi, base)


def finished(base: Path, target: str) -> None:
    """`resume` finishes it where readers do not see the commit any more; else it names both ways, and one is taken."""
    if product.resume(base) == 13:
        assert product.rollback(base, target) == 0


@pytest.mark.parametrize(("version", "kind", "point"), QUICK)
def test_hudictl_finishes_hudis(
    judge: Judges, tables: Tables, version: str, kind: str, point: str, tmp_path: Path
) -> None:
    base = begun_by_hudi(judge(version), tables(version, kind), point, tmp_path)
    finished(base, tables(version, kind).instants[-1])
    assert_taken_back(judge(version), base, tables(version, kind))


@pytest.mark.full
@pytest.mark.parametrize(("version", "kind", "point"), [case for case in ALL if case not in QUICK])
def test_hudictl_finishes_hudis_from_every_point(
    judge: Judges, tables: Tables, version: str, kind: str, point: str, tmp_path: Path
) -> None:
    base = begun_by_hudi(judge(version), tables(version, kind), point, tmp_path)
    finished(base, tables(version, kind).instants[-1])
    assert_taken_back(judge(version), base, tables(version, kind))


@pytest.mark.full
@pytest.mark.parametrize(("version", "kind", "point"), ALL)
def test_hudi_finishes_its_own(
    judge: Judges, tables: Tables, version: str, kind: str, point: str, tmp_path: Path
) -> None:
    """The scenario is what it says."""
    base = begun_by_hudi(judge(version), tables(version, kind), point, tmp_path)
    judge(version).rollback_failed(base)
    by_blocks = version == "v6" and kind == "mor"
    listed = assert_only_blocks_unlisted if by_blocks else assert_listed_alike
    assert_taken_back(judge(version), base, tables(version, kind), listed)


@pytest.mark.full
@pytest.mark.parametrize("version", ["v6", "v8"])  # 1.2.0 renames its requests into place
def test_a_request_that_never_got_its_plan_is_discarded(
    judge: Judges, tables: Tables, version: str, tmp_path: Path
) -> None:
    table, hudi = tables(version, "cow"), judge(version)
    base = shutil.copytree(table.path, tmp_path / "table")
    with hudi.dying(base, r"create \.hoodie/(timeline/)?\d+\.rollback\.requested$", after=True):
        hudi.rollback(base, table.instants[-1], options=MARKERS["direct"])
    assert product.resume(base) == 13
    assert product.resume(base, "--discard-rollbacks") == 0
    assert not [path for path in timeline_files(base) if ".rollback" in path.name]
    assert hudi.both_rows(base) == table.rows[table.instants[-1]]
    product.upsert(hudi, base)


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_hudictl_finishes_hudis_of_a_killed_process(judge: Judges, version: str, tmp_path: Path) -> None:
    base = support.unpack(version, "cow_rollback_interrupted", tmp_path)
    (outcome,) = support.outcomes(version, "cow_rollback_interrupted", "rollback-failed")
    before = data_files(base)
    finished(base, max(entry["instant"] for entry in support.outcomes(version, "cow_rollback_interrupted", "rollback")))
    assert sorted(before - data_files(base)) == sorted(outcome["removed"])
    assert judge(version).both_rows(base) == outcome["rows"]["listing"]
    product.upsert(judge(version), base)


def dies_in(begin: Begun, base: Path, share: float, folder: Path) -> None:
    """hudictl dies at a share of its changes to the table."""
    trial = shutil.copytree(base, folder / "trial")
    with dying(None) as system:
        assert begin(trial) == 0
    with dying(int(system.count * share)), pytest.raises(Crash):
        begin(base)


def check_rollback(judge: Judges, tables: Tables, version: str, kind: str, share: float, folder: Path) -> None:
    """Hudi's next writer finishes what has begun, and all its rows are there."""
    table, hudi = tables(version, kind), judge(version)
    target = table.instants[-1]
    base = shutil.copytree(table.path, folder / "table")
    dies_in(lambda path: product.rollback(path, target), base, share, folder)
    begun = any(".rollback" in path.name for path in timeline_files(base))
    changed = batch(range(3), 9)
    hudi.upsert(base, changed)
    assert hudi.both_rows(base) == rows([*INSERTED, *([] if begun else UPSERTED), *changed])
    assert (target in instants(base)) is not begun


def rows(written: list[Row]) -> Rows:
    """What is read after upserts."""
    return digest({row[0]: row for row in written}.values())


@pytest.mark.full
@pytest.mark.parametrize(("version", "kind", "share"), [("v6", "mor", 0.5), ("v9", "mor", 0.3), ("v9", "cow", 0.7)])
def test_hudi_finishes_hudictls(
    judge: Judges, tables: Tables, version: str, kind: str, share: float, tmp_path: Path
) -> None:
    check_rollback(judge, tables, version, kind, share, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("share", SHARES)
def test_hudi_finishes_hudictls_from_every_point(
    judge: Judges, tables: Tables, version: str, kind: str, share: float, tmp_path: Path
) -> None:
    check_rollback(judge, tables, version, kind, share, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("share", SHARES[::3])
def test_hudi_finishes_hudictls_of_a_failed_write(
    judge: Judges, tables: Tables, version: str, kind: str, share: float, tmp_path: Path
) -> None:
    killed = killed_write(judge(version), tables(version, kind), tmp_path, WRITES["all_files"], MARKERS["direct"])
    dies_in(product.clean_failed, killed.path, share, tmp_path)
    changed = batch(range(3), 9)
    killed.hudi.upsert(killed.path, changed)
    assert killed.time not in instants(killed.path)
    right = killed.hudi.both_rows(killed.path) == rows([*INSERTED, *UPSERTED, *changed])
    # Before hudictl's first change all is Hudi's: 0.15.0 hides what it writes next behind its own rollback block.
    hidden = (version, kind, share) == ("v6", "mor", SHARES[0])
    assert (right, "rollback-block-ahead" in slugs(killed.path)) == (not hidden, hidden)
