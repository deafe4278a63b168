"""The real Hudi goes on after the plans of its pending table services were changed: the same rows, and later plans."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.formats.plans import decode_compaction_groups, decode_input_groups
from hudictl.reports.health.check import check_table
from hudictl.table.open import open_table
from tests import support
from tests.helpers import put
from tests.interop import product
from tests.interop.judge import Judge, JudgeError
from tests.interop.scenarios import batch

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
EACH = {"hoodie.compact.inline.max.delta.commits": "1"}
LATER = {"hoodie.compact.inline": "false"}
BY_HAND = {"hoodie.clean.automatic": "false"}
CLEANS = {"hoodie.cleaner.commits.retained": "1"}
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def request(base: Path, action: str) -> Path:
    folders = (base / ".hoodie", base / ".hoodie/timeline")
    return max(path for folder in folders for path in folder.glob(f"[0-9]*.{action}.requested"))


def clustering_of(base: Path) -> Path:
    return request(base, "replacecommit" if (base / ".hoodie/archived").is_dir() else "clustering")


def time_of(path: Path) -> str:
    return path.name.partition(".")[0]


def planned(base: Path) -> list[tuple[str, str]]:
    return sorted(decode_compaction_groups(request(base, "compaction").read_bytes(), "it"))


def changed(hudi: Judge, base: Path, number: int) -> None:
    """Rows of all file groups change: each gets a log."""
    rows = hudi.read(base, columns=("id", "ts", "val", "p"))
    hudi.upsert(
        base, [[row[0], 9_000_000 + number, f"change {number}", row[3]] for row in rows], options=BY_HAND | LATER
    )


@pytest.mark.full
@pytest.mark.short("v6", "v9")
@VERSIONS
def test_an_operation_that_was_taken_out_is_planned_again(judge: Judges, version: str, tmp_path: Path) -> None:
    """From version 8 on also with logs of later writes; below it that is refused."""
    hudi, base = judge(version), support.unpack(version, "mor_part", tmp_path)
    changed(hudi, base, 1)
    hudi.compact(base, "schedule", EACH)
    first, *others = planned(base)
    time, named = time_of(request(base, "compaction")), "/".join(planned(base)[0])
    if version == "v6":
        later = shutil.copytree(base, tmp_path / "later" / "table")
        changed(hudi, later, 2)
        assert product.command(later, "compaction", "unschedule", time, group=named, idle="0s") == 13
        assert hudi.both_rows(later) != hudi.both_rows(base)
    else:
        changed(hudi, base, 2)
    rows = hudi.both_rows(base)
    assert product.command(base, "compaction", "unschedule", time, group=named, idle="0s") == 0
    assert (planned(base), hudi.both_rows(base)) == (others, rows)
    assert product.command(base, "compaction", "validate", time) in (0, 2)
    hudi.compact(base, "run")
    assert hudi.both_rows(base) == rows
    changed(hudi, base, 3)
    hudi.compact(base, "schedule", EACH)
    assert first in planned(base)
    rows = hudi.both_rows(base)
    hudi.compact(base, "run")
    assert hudi.both_rows(base) == rows
    product.upsert(hudi, base)


@pytest.mark.full
@pytest.mark.short("v9")
@VERSIONS
def test_a_compaction_that_lost_its_last_operation(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), support.unpack(version, "mor_part", tmp_path)
    changed(hudi, base, 1)
    hudi.compact(base, "schedule", EACH)
    rows, time = hudi.both_rows(base), time_of(request(base, "compaction"))
    flags = [word for group in planned(base) for word in ("--group", "/".join(group))]
    assert product.command(base, "compaction", "unschedule", time, *flags, idle="0s") == 0
    assert hudi.both_rows(base) == rows
    product.upsert(hudi, base)
    hudi.compact(base, options=EACH)
    product.upsert(hudi, base, CLEANS | {"hoodie.clean.automatic": "true"})


@pytest.mark.full
@pytest.mark.short("v9")
@VERSIONS
def test_a_whole_compaction(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), support.unpack(version, "mor_part", tmp_path)
    changed(hudi, base, 1)
    hudi.compact(base, "schedule", EACH)
    rows = hudi.both_rows(base)
    time = time_of(request(base, "compaction"))
    assert product.command(base, "compaction", "unschedule", time, idle="0s") == 0
    assert hudi.both_rows(base) == rows
    hudi.compact(base, options=EACH)
    product.upsert(hudi, base)


@pytest.mark.full
@pytest.mark.short("v6", "v9")
@VERSIONS
def test_a_clustering_without_the_group_of_a_missing_file(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), support.unpack(version, "cow_part", tmp_path)
    hudi.cluster(base, "schedule", BY_HAND)
    path = clustering_of(base)
    inputs = decode_input_groups(path.read_bytes(), "it")
    partition, name = min(inputs[0].files)
    (base / partition / name).unlink()
    with pytest.raises(JudgeError):
        hudi.cluster(shutil.copytree(base, tmp_path / "fails" / "table"), "execute", BY_HAND)
    (found,) = [
        entry
        for entry in check_table(open_table(str(base)), product.ENGINE, 0).findings
        if entry.finding == "plan-names-missing-file"
    ]
    assert found.remedy[0].command == f"hudictl clustering prune {time_of(path)}"
    assert product.command(base, *found.remedy[0].command.split()[1:], idle="0s") == 0
    assert decode_input_groups(path.read_bytes(), "it") == inputs[1:]
    hudi.cluster(base, "execute", BY_HAND)
    others = [row for row in batch(range(5), 999) if row[3] != partition]
    hudi.upsert(base, others, options=BY_HAND)


@pytest.mark.full
@pytest.mark.short("v6", "v9")
@VERSIONS
def test_a_clustering_without_the_group_that_was_overwritten(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), tmp_path / "pruned" / "table"
    hudi.create(base, batch(range(30), 1), BY_HAND)
    hudi.cluster(base, "schedule", BY_HAND)
    path = clustering_of(base)
    inputs = len(decode_input_groups(path.read_bytes(), "it"))
    hudi.upsert(base, [row for row in batch(range(30), 2) if "a" in map(str, row)][:2], "insert_overwrite", BY_HAND)
    before, time = hudi.both_rows(base), time_of(path)
    found = {
        entry.finding: entry.remedy[0].command
        for entry in check_table(open_table(str(base)), product.ENGINE, 0).findings
        if entry.remedy
    }
    assert found["clustering-overwritten"] == f"hudictl clustering prune {time}"
    assert product.command(base, "clustering", "prune", time, idle="0s") == 0
    assert len(decode_input_groups(path.read_bytes(), "it")) == inputs - 1
    hudi.cluster(base, "execute", BY_HAND)
    assert hudi.both_rows(base) == before
    product.upsert(hudi, base)


@pytest.mark.full
@pytest.mark.short("v6", "v9")
@VERSIONS
def test_a_clean_that_was_discarded_is_planned_again(judge: Judges, version: str, tmp_path: Path) -> None:
    """One that Hudi could have finished."""
    hudi, base = judge(version), support.unpack(version, "cow_part", tmp_path)
    product.upsert(hudi, base, BY_HAND)
    done = shutil.copytree(base, tmp_path / "cow_done" / "table")
    hudi.clean(done, CLEANS)
    made = request(done, "clean")
    body = made.read_bytes().replace(str(done).encode(), str(base).encode())
    put(base / made.relative_to(done), body)
    rows, time = hudi.both_rows(base), time_of(made)
    assert product.rollback(base, time) == 13
    assert product.command(base, "clean", "discard", time, idle="0s") == 0
    assert hudi.both_rows(base) == rows
    hudi.clean(base, CLEANS)
    assert time_of(request(base, "clean")) != time
    assert hudi.both_rows(base) == rows
    product.upsert(hudi, base, CLEANS | {"hoodie.clean.automatic": "true"})


@pytest.mark.full
@pytest.mark.parametrize("how", ["cut", "flipped"])
def test_a_damaged_plan_is_made_again(judge: Judges, how: str, tmp_path: Path) -> None:
    hudi, base = judge("v6"), support.unpack("v6", "mor_pending_compaction", tmp_path)
    rows, path = hudi.both_rows(base), request(base, "compaction")
    body = path.read_bytes()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    middle = len(body) // 2
    put(path, body[:middle] if how == "cut" else body[:middle] + bytes([body[middle] ^ 0xFF]) + body[middle + 1 :])
    assert product.command(base, "compaction", "rebuild-plan", time_of(path), idle="0s") == 0
    assert hudi.both_rows(base) == rows
    hudi.compact(base, "run")
    assert hudi.both_rows(base) == rows
    product.upsert(hudi, base)
