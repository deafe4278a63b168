"""hudictl's rollbacks end as Hudi's own do where Hudi's are right; where Hudi refuses, nothing is changed."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from hudictl.storage import FileStatus
from hudictl.storage.local import LocalStorage
from tests import support
from tests.helpers import tree
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.killed import assert_listed_alike, data_files, deleted, rollbacks
from tests.interop.restore_support import upsert_and_read
from tests.interop.scenarios import digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
Case = tuple[str, str, str]

# What cannot go on for a reason of its own: nobody may write while a restore is pending.
RESTORE_PENDING = "mor_restore_interrupted"
# The stored plan names files by the path where the table was made: Hudi cannot go on with it on a copy elsewhere.
MOVED = "cow_rollback_interrupted"
QUICK = {
    ("v6", "mor_part"), ("v9", "cow_cluster"), ("v9", "cow_failed_direct"),
    ("v9", "cow_record_index"), ("v9", "mor_part"),
}  # fmt: skip
FAILED = ("cow_failed_direct", "cow_failed_tls", "mor_failed_direct", "mor_failed_lazy")
QUICK_FAILED = [("v6", "mor_failed_direct"), ("v9", "mor_failed_lazy")]


def outcome(version: str, name: str, instant: str | None, op: str = "rollback") -> dict[str, Any]:
    return next(entry for entry in support.outcomes(version, name, op) if entry["instant"] == instant)


def kind(version: str, name: str, instant: str) -> str:
    """What Hudi did: ``done``, ``refused``, or ``broken``: it deleted the files and failed then."""
    found = outcome(version, name, instant)
    if name == RESTORE_PENDING:
        return "refused"
    if found.get("error") is None:
        return "done"
    return "broken" if found["removed"] else "refused"


def rolled(wanted: str, *, quick: bool) -> list[Case]:
    """(version, table, instant) of the rollbacks in outcomes-*.json that ended in a way."""
    return [
        (version, name, entry["instant"])
        for version in support.VERSIONS
        for name in support.names(version)
        for entry in support.outcomes(version, name, "rollback")
        if kind(version, name, entry["instant"]) == wanted and ((version, name) in QUICK) is quick
    ]


def slices(files: set[str] | frozenset[str], version: str) -> list[str]:
    """Files by name; the logs that rollbacks add on version 6 by their slice, as their number and token are free."""
    return sorted(re.sub(r"\.log\..*", ".log", file) if version == "v6" else file for file in files)


def without_changes(files: Iterable[str]) -> set[str]:
    """Files but for the logs of changed rows: Hudi leaves them behind, to nobody's use."""
    return {file for file in files if not file.endswith(".cdc")}


def rows_before(version: str, name: str, instant: str) -> dict[str, object]:
    """What a reader saw before an instant was written."""
    rows = support.facts(version, name)["rows"]
    return dict(rows[max(time for time in rows if time < instant)])


def check_done(judge: Judge, version: str, name: str, instant: str, folder: Path) -> None:
    """Same files as Hudi's, same rows, the same record, and Hudi shows it and writes on."""
    base = support.unpack(version, name, folder / "own")
    before = data_files(base)
    hudi = outcome(version, name, instant)
    assert product.rollback(base, instant) == 0
    check_after(judge, version, base, instant, before, hudi)
    assert judge.both_rows(base) == hudi["rows"]["listing"]
    if name != MOVED:
        check_record(judge, version, name, instant, base, folder)
    upsert_and_read(judge, base, judge.read(base, metadata=False))


def check_after(
    judge: Judge, version: str, base: Path, rolled_back: str, before: frozenset[str], hudi: dict[str, Any]
) -> None:
    """The files that Hudi's own rollback leaves, by either way of listing."""
    after = data_files(base)
    assert without_changes(before - after) == set(hudi["removed"])
    assert slices(after - before, version) == slices(set(hudi["added"]), version)
    assert_listed_alike(judge, base)
    assert [path.name for path in base.glob(".hoodie/.temp/*")] == []
    assert not [file for file in after if file.endswith(".cdc") and rolled_back in file]


def check_record(judge: Judge, version: str, name: str, instant: str, base: Path, folder: Path) -> None:
    """The record says what Hudi's own says, made on another copy, and Hudi's procedures show it."""
    other = support.unpack(version, name, folder / "hudis")
    assert judge.rollback(other, instant)
    (own,), (hudis,) = (
        [r for r in rollbacks(judge, path) if r["commitsRollback"] == [instant]] for path in (base, other)
    )
    assert without_changes(deleted(own)) == deleted(hudis)
    assert own["totalFilesDeleted"] == len(deleted(own))
    assert hudis["totalFilesDeleted"] == len(deleted(hudis))
    assert own["instantsRollback"] == hudis["instantsRollback"]
    assert own["partitionMetadata"].keys() == hudis["partitionMetadata"].keys()
    (shown,) = [row for row in judge.show_rollbacks(base) if row[1] == instant]
    assert shown[0] == own["startRollbackTime"]
    assert shown[2] == own["totalFilesDeleted"]
    assert {Path(file).name for file in shown[3]} == {Path(file).name for file in deleted(own)}


def check_broken(judge: Judge, version: str, name: str, instant: str, folder: Path) -> None:
    """Where Hudi deletes the files and fails at its metadata table, hudictl ends the rollback."""
    base = support.unpack(version, name, folder)
    before = data_files(base)
    assert product.rollback(base, instant) == 0
    check_after(judge, version, base, instant, before, outcome(version, name, instant))
    assert judge.both_rows(base) == rows_before(version, name, instant)
    assert [entry[0] for entry in judge.timeline(base) if entry[0] == instant] == []
    upsert_and_read(judge, base, judge.read(base, metadata=False))


@pytest.mark.parametrize(("version", "name", "instant"), rolled("done", quick=True))
def test_rollback(judge: Judges, version: str, name: str, instant: str, tmp_path: Path) -> None:
    check_done(judge(version), version, name, instant, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize(("version", "name", "instant"), rolled("done", quick=False))
def test_rollback_of_every_table(judge: Judges, version: str, name: str, instant: str, tmp_path: Path) -> None:
    check_done(judge(version), version, name, instant, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize(("version", "name", "instant"), rolled("broken", quick=True))
def test_rollback_that_breaks_hudis_table(judge: Judges, version: str, name: str, instant: str, tmp_path: Path) -> None:
    check_broken(judge(version), version, name, instant, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize(("version", "name", "instant"), rolled("broken", quick=False))
def test_every_rollback_that_breaks_hudis_table(
    judge: Judges, version: str, name: str, instant: str, tmp_path: Path
) -> None:
    check_broken(judge(version), version, name, instant, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize(("version", "name", "instant"), rolled("refused", quick=True) + rolled("refused", quick=False))
def test_what_hudi_refuses_changes_nothing(version: str, name: str, instant: str, tmp_path: Path) -> None:
    """Byte for byte: so what Hudi does next is what it would have done."""
    base = support.unpack(version, name, tmp_path)
    before = tree(base)
    assert product.rollback(base, instant) in {12, 13}
    assert tree(base) == before


def check_failed(judge: Judge, version: str, name: str, folder: Path) -> None:
    """A killed writer's table, cleaned as Hudi cleans it."""
    base = support.unpack(version, name, folder)
    before = data_files(base)
    hudi = outcome(version, name, None, "rollback-failed")
    (failed,) = [entry[0] for entry in judge.timeline(base) if entry[2] != "COMPLETED"]
    lazy = name == "mor_failed_lazy"
    assert product.clean_failed(base, **({"policy": "lazy", "interval": "5s", "misses": "2"} if lazy else {})) == 0
    check_after(judge, version, base, failed, before, hudi)
    assert judge.both_rows(base) == hudi["rows"]["listing"]
    assert failed in [time for record in rollbacks(judge, base) for time in record["commitsRollback"]]
    assert [path.name for path in base.glob(".hoodie/.heartbeat/*") if path.name == failed] == []
    upsert_and_read(judge, base, judge.read(base, metadata=False))


@pytest.mark.parametrize(("version", "name"), QUICK_FAILED)
def test_failed_write(judge: Judges, version: str, name: str, tmp_path: Path) -> None:
    check_failed(judge(version), version, name, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize(
    ("version", "name"), [(v, name) for v in support.VERSIONS for name in FAILED if (v, name) not in QUICK_FAILED]
)
def test_failed_write_of_every_table(judge: Judges, version: str, name: str, tmp_path: Path) -> None:
    check_failed(judge(version), version, name, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_failed_writes_wait_for_a_pending_restore(judge: Judges, version: str, tmp_path: Path) -> None:
    base = support.unpack(version, RESTORE_PENDING, tmp_path)
    before = tree(base, ".hoodie/.hudictl")
    assert product.clean_failed(base) == 3
    assert tree(base, ".hoodie/.hudictl") == before


@pytest.mark.full
@pytest.mark.parametrize("version", ["v6", "v9"])
def test_of_many_partitions_those_of_the_commit_are_listed(
    judge: Judges, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of twenty; and for Hudi the table is as if the commit had never been. A metadata table of version 6 would be
    set aside, and compared with all partitions."""
    hudi, base = judge(version), tmp_path / "table"
    options = {"hoodie.metadata.enable": "false"} if version == "v6" else {}
    hudi.create(base, [[number, 1, "first", f"part-{number % 20:02}"] for number in range(60)], options)
    rows = hudi.read(base, metadata=False)
    instant = hudi.upsert(base, [[number, 2, "wrong", f"part-{number:02}"] for number in (3, 7)], options=options)
    listed: set[str] = set()
    real = LocalStorage.list

    def noted(storage: LocalStorage, folder: str) -> list[FileStatus]:
        listed.add(folder)
        return real(storage, folder)

    monkeypatch.setattr(LocalStorage, "list", noted)
    assert product.rollback(base, instant) == 0
    assert {folder for folder in listed if folder.startswith("part-")} == {"part-03", "part-07"}
    assert hudi.both_rows(base) == digest(rows)
    upsert_and_read(hudi, base, rows)
