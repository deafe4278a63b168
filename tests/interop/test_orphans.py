"""Orphans that a killed writer leaves, which the archive then makes visible; judged by the real Hudi."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.ops.clean_up.orphans import OrphanOptions, OrphanResult, delete_orphans, plan_orphan_deletion
from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import Finding
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.orphans.find import Orphan, find_orphans
from hudictl.table.open import open_table
from tests import support
from tests.crash.inject import copy
from tests.helpers import session
from tests.interop import product
from tests.interop.judge import Judge, JudgeError
from tests.interop.needed_support import keep
from tests.interop.scenarios import MERGE_ON_READ, batch, digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]


def find(base: Path) -> list[Orphan]:
    table = open_table(str(base))
    return find_orphans(read_facts(table, product.ENGINE, read_signs(table)), product.ENGINE)


def delete(base: Path) -> OrphanResult:
    table = open_table(str(base))
    plan = plan_orphan_deletion(session(table, engine=product.ENGINE), OrphanOptions(idle_ms=0))
    return delete_orphans(session(table, engine=product.ENGINE), plan)


def kill(base: Path, instant: str) -> None:
    """As if the writer had died before the commit's last step, and its markers had been swept away."""
    (done,) = [
        path for path in (base / ".hoodie").rglob(f"{instant}*commit") if "metadata" not in path.relative_to(base).parts
    ]
    done.unlink()
    done.with_name(f".{done.name}.crc").unlink(missing_ok=True)
    shutil.rmtree(base / ".hoodie/.temp" / instant, ignore_errors=True)


@pytest.mark.short("v6-cow", "v9-mor")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", [{}, MERGE_ON_READ], ids=["cow", "mor"])
def test_files_that_are_named_go_and_rows_are_as_before(
    judge: Judges, version: str, kind: dict[str, str], tmp_path: Path
) -> None:
    """A second base file, and a file of another tool: `check` names both, with the command."""
    hudi, base = judge(version), tmp_path / "named" / "table"
    hudi.create(base, batch(range(30), 1), kind)
    before = hudi.both_rows(base)
    file = sorted((base / "a").glob("*.parquet"))[0]
    group, _, time = file.name.rsplit("_", 2)
    others = [file.with_name(name) for name in (f"{group}_9-9-9_{time}", "of-another-tool.parquet")]
    for other in others:
        shutil.copy2(file, other)
    with pytest.raises(JudgeError):
        hudi.rows(base, metadata=False)
    found = [entry for entry in check_table(open_table(str(base)), product.ENGINE, 0).findings if entry.remedy]
    assert {entry.finding for entry in found} == {"second-base-file", "foreign-file"}
    for entry in found:
        (way,) = entry.remedy
        assert product.command(base, *shlex.split(way.command)[1:], "--idle", "0s") == 0
    assert not any(other.exists() for other in others)
    assert hudi.both_rows(base) == before
    hudi.upsert(base, batch(range(30), 2), options=kind)
    assert hudi.both_rows(base)["count"] == 30


def abandon(hudi: Judge, base: Path, kind: str) -> str:
    """A table of thirty rows, and a killed write of thirty others: Hudi takes it back by its markers, which are gone,
    so that the files stay. Returns the killed instant."""
    options = keep(2, 3) | (MERGE_ON_READ if kind == "mor" else {})
    hudi.create(base, batch(range(30), 1), options)
    hudi.upsert(base, batch(range(30), 2), options=options)
    alone = options | {"hoodie.parquet.small.file.limit": "0"}
    failed = hudi.upsert(base, batch(range(100, 130), 3), "insert", options=alone)
    kill(base, failed)
    for number in range(4, 10):
        hudi.upsert(base, batch(range(30), number), options=options)
    return failed


@pytest.mark.short("v9-cow")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_what_a_killed_writer_left_comes_back_as_rows_and_is_deleted(
    judge: Judges, version: str, kind: str, tmp_path: Path
) -> None:
    """Nobody sees the files until the archive has passed their instant. A metadata table made then lists them."""
    hudi, base = judge(version), tmp_path / "table"
    failed = abandon(hudi, base, kind)
    right = digest(batch(range(30), 9))
    assert hudi.both_rows(base) == right
    hudi.archive(base, keep(2, 3))
    assert hudi.both_rows(base)["count"] == 60
    found = find(base)
    assert {(orphan.file.data.instant, orphan.sure, orphan.visible) for orphan in found} == {(failed, True, True)}
    hudi.upsert(base, batch(range(30), 10))
    assert "files" in hudi.properties(base)["hoodie.table.metadata.partitions"]
    assert hudi.both_rows(base)["count"] == 60

    without = copy(base, tmp_path / "without")
    for orphan in found:
        (without / orphan.file.path).unlink()
    with pytest.raises(JudgeError, match=r"FileNotFound|does not exist"):
        hudi.rows(without, metadata=True)

    result = delete(base)
    assert (result.files_deleted, result.metadata_table) == (len(found), "brought forward")
    assert hudi.both_rows(base) == digest(batch(range(30), 10))
    product.upsert(hudi, base)
    assert find(base) == []


@pytest.mark.short("v6")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_it_is_an_orphan_from_its_rollback_on(judge: Judges, version: str, tmp_path: Path) -> None:
    """While the write is pending its files are a failed write's. Deleted in time they are never seen."""
    hudi, base = judge(version), tmp_path / "table"
    hudi.create(base, batch(range(30), 1))
    failed = hudi.upsert(base, batch(range(100, 130), 2), "insert", options={"hoodie.parquet.small.file.limit": "0"})
    kill(base, failed)
    assert find(base) == []
    hudi.rollback_failed(base)
    found = find(base)
    assert found
    assert {(orphan.file.data.instant, orphan.sure, orphan.visible) for orphan in found} == {(failed, True, False)}
    # It lists none of them: all that it knows stays, and no writer builds it again.
    built = sorted(path.name for path in (base / ".hoodie/metadata").rglob("000000000000*"))
    result = delete(base)
    assert (result.files_deleted, result.metadata_table) == (len(found), "kept")
    assert hudi.both_rows(base) == digest(batch(range(30), 1))
    assert built == sorted(path.name for path in (base / ".hoodie/metadata").rglob("000000000000*"))
    product.upsert(hudi, base)
    assert find(base) == []


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_timeline_that_was_put_back_keeps_the_files_of_the_commits_it_lacks(
    judge: Judges, version: str, tmp_path: Path
) -> None:
    """Also once a writer has gone on, and the metadata table with it."""
    hudi, base = judge(version), tmp_path / "table"
    hudi.create(base, batch(range(30), 1))
    older = copy(base / ".hoodie", tmp_path / "older")
    alone = {"hoodie.parquet.small.file.limit": "0"}
    lost = hudi.upsert(base, batch(range(100, 130), 2), "insert", options=alone)
    newer = copy(base / ".hoodie", tmp_path / "newer")
    shutil.rmtree(base / ".hoodie")
    copy(older, base / ".hoodie")
    found = find(base)
    assert {(orphan.file.data.instant, orphan.sure, orphan.beyond) for orphan in found} == {(lost, False, True)}
    hudi.upsert(base, batch(range(30), 3))
    found = find(base)
    assert {(orphan.file.data.instant, orphan.sure, orphan.beyond) for orphan in found} == {(lost, False, False)}
    assert delete(base).files_deleted == 0
    shutil.rmtree(base / ".hoodie")
    copy(newer, base / ".hoodie")
    assert hudi.both_rows(base)["count"] == 60


@pytest.mark.full
def test_version_6_lost_delta_commits_are_told_and_a_compaction_leaves_their_rows_out(
    judge: Judges, tmp_path: Path
) -> None:
    hudi, base = judge("v6"), tmp_path / "table"
    hudi.create(base, batch(range(30), 1), MERGE_ON_READ)
    hudi.upsert(base, batch(range(30), 2), options=MERGE_ON_READ)
    older = copy(base / ".hoodie", tmp_path / "older")
    lost = [hudi.upsert(base, batch(range(20), ts), options=MERGE_ON_READ) for ts in (3, 4)]
    assert not without_end(base)
    shutil.rmtree(base / ".hoodie")
    copy(older, base / ".hoodie")
    (found,) = without_end(base)
    assert all(time in found.meaning for time in lost)
    assert hudi.both_rows(base) == digest(batch(range(30), 2))
    hudi.compact(base, options=MERGE_ON_READ)
    assert hudi.both_rows(base) == digest(batch(range(30), 2))


def without_end(base: Path) -> list[Finding]:
    found = check_table(open_table(str(base)), product.ENGINE, 0).findings
    return [entry for entry in found if entry.finding == "timeline-without-end"]
