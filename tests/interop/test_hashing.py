"""After a resize of consistent hashing's buckets is taken back, the next upsert of the same keys writes none twice."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.interop import product
from tests.interop.check_support import slugs
from tests.interop.judge import Judge, JudgeError
from tests.interop.killed import COMPLETED
from tests.interop.make_hashing import BY_PARTITION, OPTIONS, Resized, rescale, rescaled, resized, rows

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
Made = Callable[[str], Resized]
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
NO_CLEANER = {"hoodie.clean.commits.retained": "1", "hoodie.cleaner.commits.retained": "1"}
METADATA = ".hoodie/.bucket_index/consistent_hashing_metadata"


@pytest.fixture(scope="module")
def made(judge: Judges, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The table of a version, made once."""
    known: dict[str, Resized] = {}

    def get(version: str) -> Resized:
        if version not in known:
            known[version] = resized(judge(version), tmp_path_factory.mktemp(version) / "table")
        return known[version]

    return get


def hashing(base: Path) -> set[str]:
    return {path.name for path in (base / METADATA).rglob("*") if path.is_file() and path.suffix != ".crc"}


def upsert_again(hudi: Judge, base: Path, ts: int) -> None:
    """The same keys: each is there once, with its new value."""
    hudi.upsert(base, rows(ts), options=OPTIONS)
    assert hudi.both_rows(base)["count"] == 40
    assert hudi.read(base) == [[one, ts, f"v{ts}"] for one in range(40)]


@pytest.mark.short("v9")
@VERSIONS
def test_after_a_restore_behind_the_resize(judge: Judges, made: Made, version: str, tmp_path: Path) -> None:
    hudi, table = judge(version), made(version)
    base = shutil.copytree(table.path, tmp_path / "table")
    product.savepoint(base, table.before)
    product.restore(base, table.before)
    assert [row[1] for row in hudi.read(base)] == [2] * 40
    assert not [name for name in hashing(base) if name.startswith(table.resize)]
    upsert_again(hudi, base, 4)
    # Another resize, and what is written to its buckets.
    hudi.cluster(base, options=OPTIONS)
    upsert_again(hudi, base, 5)


@pytest.mark.short("v9")
@VERSIONS
def test_after_a_rollback_of_the_resize(judge: Judges, made: Made, version: str, tmp_path: Path) -> None:
    hudi, table = judge(version), made(version)
    base = shutil.copytree(table.path, tmp_path / "table")
    for instant in (table.after, table.resize):
        assert product.rollback(base, instant) == 0
    assert [row[1] for row in hudi.read(base)] == [2] * 40
    assert not [name for name in hashing(base) if name.startswith(table.resize)]
    upsert_again(hudi, base, 4)


@pytest.mark.short("v9-away")
@VERSIONS
@pytest.mark.parametrize("flags", [(), ("--keep-plan",)], ids=["away", "requested again"])
def test_after_a_rollback_of_a_resize_that_died(
    judge: Judges, made: Made, version: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    hudi, table = judge(version), made(version)
    base = shutil.copytree(table.path, tmp_path / "table")
    for instant in (table.after, table.resize):
        assert product.rollback(base, instant) == 0
    hudi.cluster(base, "schedule", OPTIONS)
    (died,) = [entry[0] for entry in hudi.timeline(base) if entry[2] == "REQUESTED"]
    with hudi.dying(base, rf"(create|rename) \.hoodie/(timeline/)?{died}(_\d+)?\.replacecommit$"):
        hudi.cluster(base, "execute", OPTIONS)
    assert f"{died}.hashing_meta" in hashing(base)
    assert product.rollback(base, died, *flags) == 0
    assert f"{died}.hashing_meta" not in hashing(base)
    upsert_again(hudi, base, 4)
    if flags:
        hudi.cluster(base, "execute", OPTIONS)
        upsert_again(hudi, base, 5)


@pytest.mark.full
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_hudis_own_restore_is_what_check_warns_of(judge: Judges, made: Made, version: str, tmp_path: Path) -> None:
    """It leaves the clustering pending, and the .commit, which 0.15.0 never reads. A rollback mends it."""
    hudi, table = judge(version), made(version)
    base = shutil.copytree(table.path, tmp_path / "table")
    hudi.savepoint(base, table.before)
    hudi.restore(base, table.before)
    assert {f"{table.resize}.commit", f"{table.resize}.hashing_meta"} <= hashing(base)
    assert slugs(base) == ["hashing-metadata-left"]
    wrong = shutil.copytree(base, tmp_path / "wrong")
    hudi.upsert(wrong, rows(4), options=OPTIONS)
    assert hudi.both_rows(wrong)["count"] == 80
    assert product.rollback(base, table.resize) == 0
    assert slugs(base) == []
    upsert_again(hudi, base, 4)


@pytest.mark.short("v9-hudictl")
@pytest.mark.parametrize(("version", "who"), [("v8", "hudictl"), ("v9", "hudictl"), ("v9", "hudi")])
def test_after_a_rollback_beside_a_pending_resize(judge: Judges, version: str, who: str, tmp_path: Path) -> None:
    """The write's rows in the buckets to be: once the resize is done, and the timeline has passed the write, readers
    take for committed what Hudi's own rollback leaves there."""
    hudi, base = judge(version), tmp_path / "table"
    hudi.create(base, rows(1), OPTIONS, operation="upsert")
    hudi.cluster(base, "schedule", OPTIONS)
    beside = hudi.upsert(base, rows(2), options=OPTIONS)
    if who == "hudi":
        hudi.rollback(base, beside, OPTIONS)
    else:
        assert product.rollback(base, beside) == 0
    hudi.cluster(base, "execute", OPTIONS)
    assert {row[1] for row in hudi.read(base)} == {1}
    for ts in range(3, 9):
        hudi.upsert(base, rows(ts)[:1], options=OPTIONS)
    hudi.archive(base, {**OPTIONS, "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", **NO_CLEANER})
    assert ({row[1] for row in hudi.read(base) if row[0]} == {1}) is (who == "hudictl")


# Numbers of buckets by partition: Hudi 1.2.0 alone has them.


@pytest.fixture(scope="module")
def by_partition(judge: Judges, tmp_path_factory: pytest.TempPathFactory) -> Resized:
    return rescaled(judge("v9"), tmp_path_factory.mktemp("by_partition") / "table")


def configs(base: Path) -> set[str]:
    return {path.stem for path in (base / ".hoodie/.bucket_index").rglob("*.hashing_config")}


def write_again(hudi: Judge, base: Path, ts: int) -> None:
    """As ``upsert_again``; and a query for each key finds it."""
    hudi.upsert(base, rows(ts), options=BY_PARTITION)
    assert hudi.both_rows(base)["count"] == 40
    found = [row for key in range(0, 40, 7) for row in hudi.sql(base, [f"select id, ts from judged where id = {key}"])]
    assert found == [[key, ts] for key in range(0, 40, 7)]


@pytest.mark.parametrize("first", [True, pytest.param(False, marks=pytest.mark.full)])
def test_numbers_of_buckets_go_with_a_restore(
    judge: Judges, by_partition: Resized, first: bool, tmp_path: Path
) -> None:
    """The first ones, and later ones: then the earlier count again."""
    hudi, target = judge("v9"), by_partition.before if first else by_partition.after
    base = shutil.copytree(by_partition.path, tmp_path / "table")
    if not first:
        rescale(hudi, base, "a,5;b,1")
        hudi.upsert(base, rows(4), options=BY_PARTITION)
    product.savepoint(base, target)
    product.restore(base, target)
    assert {row[1] for row in hudi.read(base)} == {2 if first else 3}
    assert configs(base) == (set() if first else {by_partition.resize})
    write_again(hudi, base, 5)
    rescale(hudi, base, "a,4")
    write_again(hudi, base, 6)


@pytest.mark.parametrize("how", ["rollback", pytest.param("failed-writes clean", marks=pytest.mark.full)])
@pytest.mark.parametrize("first", [True, False])
def test_numbers_of_buckets_of_a_dead_resize(
    judge: Judges, by_partition: Resized, how: str, first: bool, tmp_path: Path
) -> None:
    hudi, base = judge("v9"), shutil.copytree(by_partition.path, tmp_path / "table")
    if first:
        for instant in (by_partition.after, by_partition.resize):
            assert product.rollback(base, instant) == 0
        assert not (base / ".hoodie/.bucket_index/partition_bucket_index_meta/configs").exists()
    before = configs(base)
    with hudi.dying(base, COMPLETED):
        rescale(hudi, base, "a,7;b,3")
    (died,) = configs(base) - before
    assert (product.rollback(base, died) if how == "rollback" else product.clean_failed(base)) == 0
    assert configs(base) == before
    write_again(hudi, base, 5)


@pytest.mark.full
@pytest.mark.parametrize("how", [pytest.param("restore", marks=pytest.mark.full), "rollback"])
def test_numbers_of_buckets_that_hudi_has_left(judge: Judges, by_partition: Resized, how: str, tmp_path: Path) -> None:
    """They count: its next write stores keys twice. ``orphans delete`` takes them away before."""
    hudi, base = judge("v9"), shutil.copytree(by_partition.path, tmp_path / "table")
    if how == "restore":
        hudi.savepoint(base, by_partition.before)
        hudi.restore(base, by_partition.before)
    else:
        for instant in (by_partition.after, by_partition.resize):
            hudi.rollback(base, instant, BY_PARTITION)
    assert slugs(base) == ["hashing-metadata-left"]
    wrong = shutil.copytree(base, tmp_path / "wrong")
    hudi.upsert(wrong, rows(4), options=BY_PARTITION)
    assert hudi.both_rows(wrong)["count"] > 40
    assert product.command(base, "orphans", "delete") == 0
    assert slugs(base) == []
    write_again(hudi, base, 4)


def test_a_folder_without_numbers_of_buckets_fails_all(judge: Judges, by_partition: Resized, tmp_path: Path) -> None:
    hudi, base = judge("v9"), shutil.copytree(by_partition.path, tmp_path / "table")
    folder = base / ".hoodie/.bucket_index/partition_bucket_index_meta/configs"
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(JudgeError, match="Failed to get hashing config"):
        hudi.read(base)
    assert slugs(base) == ["bucket-configs-missing"]
