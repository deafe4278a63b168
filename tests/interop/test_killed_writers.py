"""Writers of the real Hudi die at chosen changes; after a clean nothing of their writes is left."""

import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import ERROR
from hudictl.reports.table import describe_table
from hudictl.table.open import open_table
from tests import support
from tests.helpers import tree
from tests.interop import product
from tests.interop.judge import Judge, JudgeError, start
from tests.interop.killed import (
    COMPLETED,
    LAZY,
    MARKERS,
    SERVICES,
    WRITES,
    WRITTEN,
    Death,
    Killed,
    assert_cleaned,
    assert_requested_again,
    data_files,
    killed_service,
    killed_write,
    run_service,
)
from tests.interop.scenarios import Made

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
Tables = Callable[..., Made]
Case = tuple[str, str, str, str, bool]

# Version, kind, markers, death, metadata table.
QUICK: list[Case] = [
    ("v6", "cow", "server", "between_files", True),
    ("v6", "mor", "direct", "metadata_done", True),
    ("v9", "mor", "direct", "torn_file", True),
    ("v9", "cow", "server", "metadata_done", True),
]
ALL: list[Case] = [
    (version, kind, markers, death, metadata)
    for version in support.VERSIONS
    for kind in ("cow", "mor")
    for metadata in (True, False)
    for markers in MARKERS
    for death in WRITES
    # What the metadata table's deltacommit divides is one without it.
    if metadata or (death != "metadata_half" and markers == "direct")
]
QUICK_SERVICES = [("v9", "clustering", "between_files")]
ALL_SERVICES = [
    (version, service, death)
    for version in support.VERSIONS
    for service in ("compaction", "clustering")
    for death in SERVICES
]
EXPIRED = {"interval": "1s", "misses": "2"}


def name(case: Case) -> str:
    """A test's id."""
    *words, metadata = case
    return "-".join([*words, "metadata" if metadata else "listing"])


def written(
    judge: Judges, tables: Tables, case: Case, folder: Path, options: Mapping[str, str] | None = None
) -> Killed:
    version, kind, markers, death, metadata = case
    table = tables(version, kind, metadata)
    return killed_write(judge(version), table, folder, WRITES[death], MARKERS[markers] | dict(options or {}))


@pytest.mark.parametrize("case", QUICK, ids=name)
def test_a_killed_write_is_cleaned_up(judge: Judges, tables: Tables, case: Case, tmp_path: Path) -> None:
    killed = written(judge, tables, case, tmp_path)
    assert product.clean_failed(killed.path) == 0
    assert_cleaned(killed)


@pytest.mark.full
@pytest.mark.parametrize("case", [case for case in ALL if case not in QUICK], ids=name)
def test_every_killed_write_is_cleaned_up(judge: Judges, tables: Tables, case: Case, tmp_path: Path) -> None:
    killed = written(judge, tables, case, tmp_path)
    assert product.clean_failed(killed.path) == 0
    assert_cleaned(killed)


ONE_BY_ONE = {"hoodie.clean.automatic": "false", **MARKERS["direct"]}
MERGE_LOGS = {
    "hoodie.log.compaction.inline": "true",
    "hoodie.log.compaction.blocks.threshold": "1",
    "hoodie.optimized.log.blocks.scan.enable": "true",
    **ONE_BY_ONE,
}


@pytest.mark.full
@pytest.mark.short("v6-write", "v9-log compaction")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("died", ["write", "log compaction"])
def test_below_later_commits_eager_cleaning_fails_until_resume(
    judge: Judges, tables: Tables, version: str, died: str, tmp_path: Path
) -> None:
    """By its own guard each writer stops at the rollback, and lazy ones do not: check says which."""
    hudi, table = judge(version), tables(version, "mor")
    path = shutil.copytree(table.path, tmp_path / "table")
    eager = {**table.options, **(ONE_BY_ONE if died == "write" else MERGE_LOGS)}
    events = (r"create [abcd]/\..*\.log\.",) if died == "write" else (r"\.logcompaction\.inflight", r"create [abcd]/\.")
    with hudi.dying(path, *events, number=2):
        hudi.upsert(path, WRITTEN, options=eager)
    hudi.upsert(path, WRITTEN, options={**table.options, **ONE_BY_ONE, **LAZY})
    # The first one requests the rollback; a log compaction runs at the end of a write.
    for _ in range(2):
        with pytest.raises(JudgeError, match="Found commits after time"):
            hudi.upsert(path, WRITTEN, options=eager)
    (found,) = [e for e in check_table(open_table(str(path)), product.ENGINE, 0).findings if e.severity == ERROR]
    assert (found.finding, "no writer with eager cleaning" in found.meaning) == ("pending-rollback", True)
    assert not describe_table(open_table(str(path))).writers_can_start
    hudi.upsert(path, WRITTEN, options={**table.options, **ONE_BY_ONE, **LAZY})
    assert product.resume(path) == 0
    assert describe_table(open_table(str(path))).writers_can_start
    hudi.upsert(path, WRITTEN, options=eager)


@pytest.mark.full
@pytest.mark.parametrize("version", ["v6", "v8"])  # 1.2.0 renames it into place
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_commit_that_is_published_empty_can_be_rolled_back(
    judge: Judges, tables: Tables, version: str, kind: str, tmp_path: Path
) -> None:
    """To Hudi it is completed, so no failed write: its rows are read, and its metadata say nothing."""
    killed = killed_write(
        judge(version), tables(version, kind), tmp_path, Death((COMPLETED,), after=True), MARKERS["direct"]
    )
    assert killed.hudi.rows(killed.path, metadata=False) != killed.rows
    assert product.clean_failed(killed.path) == 0
    assert product.rollback(killed.path, killed.time) == 0
    assert_cleaned(killed)


def announced(case: Case) -> bool:
    """Whether the writer dies between a log file's marker and the file, on table version 6."""
    version, kind, _, death, metadata = case
    return (version, kind, metadata) == ("v6", "mor", True) and death in {"before_a_file", "between_files"}


@pytest.mark.full
@pytest.mark.parametrize("case", [case for case in ALL if not announced(case)], ids=name)
def test_hudis_own_clean_does_the_same(judge: Judges, tables: Tables, case: Case, tmp_path: Path) -> None:
    killed = written(judge, tables, case, tmp_path)
    assert killed.hudi.rollback_failed(killed.path, killed.options)
    assert_cleaned(killed)


@pytest.mark.full
@pytest.mark.parametrize("case", [case for case in ALL if announced(case)], ids=name)
def test_hudis_own_clean_lists_log_files_that_were_never_written(
    judge: Judges, tables: Tables, case: Case, tmp_path: Path
) -> None:
    """0.15.0 takes a marker for a file and puts it into its metadata table; then some queries through it fail."""
    killed = written(judge, tables, case, tmp_path)
    assert killed.hudi.rollback_failed(killed.path, killed.options)
    assert set(killed.hudi.files(killed.path)) - data_files(killed.path)
    assert killed.hudi.rows(killed.path, metadata=False) == killed.rows


def expire(killed: Killed) -> None:
    """Its heartbeat was last heard of an hour ago."""
    beat = killed.path / ".hoodie/.heartbeat" / killed.time
    moment = beat.stat().st_mtime - 3600
    os.utime(beat, (moment, moment))


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        pytest.param(v, k, marks=() if (v, k) == ("v6", "cow") else pytest.mark.full)
        for v in support.VERSIONS
        for k in ("cow", "mor")
    ],
)
def test_a_killed_write_with_a_heartbeat_is_cleaned_up_once_it_has_expired(
    judge: Judges, tables: Tables, version: str, kind: str, tmp_path: Path
) -> None:
    killed = written(judge, tables, (version, kind, "direct", "between_files", True), tmp_path, LAZY)
    assert product.clean_failed(killed.path, "lazy", interval="1h") == 0
    assert any(entry[0] == killed.time for entry in killed.hudi.timeline(killed.path))
    expire(killed)
    assert product.clean_failed(killed.path, "lazy", **EXPIRED) == 0
    assert_cleaned(killed)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_hudis_own_lazy_clean_does_the_same(
    judge: Judges, tables: Tables, version: str, kind: str, tmp_path: Path
) -> None:
    killed = written(judge, tables, (version, kind, "direct", "all_files", True), tmp_path, LAZY)
    expire(killed)
    assert killed.hudi.rollback_failed(killed.path, LAZY)
    assert_cleaned(killed)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_lock_that_a_killed_writer_left_stops_everything(
    judge: Judges, tables: Tables, version: str, tmp_path: Path
) -> None:
    """Nobody has configured it, so nobody can say whose it is."""
    provider = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
    options = LAZY | {"hoodie.write.lock.provider": provider}
    killed = written(judge, tables, (version, "cow", "direct", "metadata_done", True), tmp_path, options)
    expire(killed)
    assert (killed.path / ".hoodie/lock").exists()
    before = tree(killed.path, ".hoodie/.hudictl")
    assert product.clean_failed(killed.path, "lazy", **EXPIRED) == 3
    assert product.rollback(killed.path, killed.time) == 12
    assert tree(killed.path, ".hoodie/.hudictl") == before
    (killed.path / ".hoodie/lock").unlink()
    assert product.clean_failed(killed.path, "lazy", **EXPIRED) == 0
    assert_cleaned(killed)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_dead_file_system_leaves_what_a_dead_process_leaves(
    judge: Judges, tables: Tables, version: str, tmp_path: Path
) -> None:
    """So one JVM can stand for all that are killed here."""
    table, death = tables(version, "mor"), WRITES["metadata_done"]
    frozen = killed_write(judge(version), table, tmp_path / "frozen", death, MARKERS["direct"])
    base = shutil.copytree(table.path, tmp_path / "halted")
    with start(version) as hudi, hudi.dying(base, *death.events, halt=True):
        hudi.upsert(base, WRITTEN, options={**table.options, **MARKERS["direct"]})
    assert kinds(base) == kinds(frozen.path)


def kinds(base: Path) -> list[str]:
    """All files, without what is different in every write: times, file ids and write tokens."""
    names = (path.relative_to(base).as_posix() for path in base.rglob("*") if path.is_file())
    return sorted(re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+-\d+-\d+|\d{17}", "*", name) for name in names)


def serviced(judge: Judges, tables: Tables, version: str, service: str, death: str, folder: Path) -> Killed:
    table = tables(version, "mor" if service == "compaction" else "cow")
    killed = killed_service(judge(version), table, folder, SERVICES[death], service)
    # Of 0.15.0's procedures, which nobody has configured: the next run would wait a minute, and take it over.
    (killed.path / ".hoodie/.aux/lock").unlink(missing_ok=True)
    return killed


@pytest.mark.full
@pytest.mark.parametrize(("version", "service", "death"), QUICK_SERVICES)
def test_a_killed_table_service_is_requested_again(
    judge: Judges, tables: Tables, version: str, service: str, death: str, tmp_path: Path
) -> None:
    killed = serviced(judge, tables, version, service, death, tmp_path)
    assert product.clean_failed(killed.path) == 0
    assert_requested_again(killed, service)


@pytest.mark.full
@pytest.mark.parametrize(("version", "service", "death"), [case for case in ALL_SERVICES if case not in QUICK_SERVICES])
def test_every_killed_table_service_is_requested_again(
    judge: Judges, tables: Tables, version: str, service: str, death: str, tmp_path: Path
) -> None:
    killed = serviced(judge, tables, version, service, death, tmp_path)
    assert product.clean_failed(killed.path) == 0
    assert_requested_again(killed, service)


@pytest.mark.full
@pytest.mark.parametrize(("version", "service", "death"), ALL_SERVICES)
def test_hudis_next_run_finishes_it(
    judge: Judges, tables: Tables, version: str, service: str, death: str, tmp_path: Path
) -> None:
    """The scenario is what it says: Hudi itself takes the run back and does it again."""
    killed = serviced(judge, tables, version, service, death, tmp_path)
    run_service(killed.hudi, killed.path, service, "run", killed.options)
    assert killed.hudi.both_rows(killed.path) == killed.rows
    assert [entry[2] for entry in killed.hudi.timeline(killed.path) if entry[0] == killed.time] == ["COMPLETED"]
    product.upsert(killed.hudi, killed.path, killed.options)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("service", ["compaction", "clustering"])
def test_a_killed_table_service_goes_with_its_plan(
    judge: Judges, tables: Tables, version: str, service: str, tmp_path: Path
) -> None:
    killed = serviced(judge, tables, version, service, "between_files", tmp_path)
    assert product.rollback(killed.path, killed.time) == 0
    assert_cleaned(killed)
