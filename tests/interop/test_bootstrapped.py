"""Tables that the real Hudi has bootstrapped from Parquet files: taken back, and the source is as before."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import Unsupported
from hudictl.formats.instants import BOOTSTRAPS, INITIAL
from hudictl.reports.health.check import check_table
from hudictl.table.open import open_table
from tests import support
from tests.helpers import HUDIS_OWN, put, tree
from tests.interop import product
from tests.interop.judge import Judge, JudgeError
from tests.interop.log_records_support import assert_as_queried
from tests.interop.make_bootstrapped import OPTIONS, bootstrap, rows, upserts
from tests.interop.scenarios import NO_METADATA

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
COMPLETED = r"(create|rename) \.hoodie/(timeline/)?{}(_\d+)?\.(delta)?commit$"
ONE_VERSION = {"hoodie.cleaner.commits.retained": "1", "hoodie.clean.commits.retained": "1"}
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}


def findings(base: Path) -> dict[str, str]:
    found = check_table(open_table(str(base), rule=HUDIS_OWN), product.ENGINE, 0).findings
    return {entry.finding: entry.meaning for entry in found}


@pytest.mark.full
@pytest.mark.short(
    "v6-MERGE_ON_READ-mixed",
    "v9-COPY_ON_WRITE-metadata",
)
@pytest.mark.parametrize("mode", ["full", "metadata", "mixed"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", support.VERSIONS)
def test_rollback_and_restore(judge: Judges, version: str, kind: str, mode: str, tmp_path: Path) -> None:
    """Beside cleans and compactions that have superseded the bootstrap's files; Hudi's own restore has those rows."""
    hudi, base = judge(version), tmp_path / "table"
    bootstrap(hudi, base, kind, mode)
    source = tree(tmp_path / "source")
    newest = hudi.timeline(base)[-1][0]
    assert newest in BOOTSTRAPS
    first = hudi.both_rows(base)
    product.savepoint(base, newest)
    instants = upserts(hudi, base)
    written = hudi.both_rows(base)
    rolled = shutil.copytree(base, tmp_path / "rolled")
    for instant in reversed(instants):
        assert product.rollback(rolled, instant) == 0
    assert hudi.both_rows(rolled) == first
    upserts(hudi, rolled)
    assert hudi.both_rows(rolled) == written
    services = {**OPTIONS, **ONE_VERSION, **(COMPACT if kind == "MERGE_ON_READ" else {})}
    for ts in (92, 93, 94):
        hudi.upsert(base, rows(range(40), ts), options=services)
    assert findings(base) == {}

    judged = shutil.copytree(base, tmp_path / "judged")
    product.restore(base, newest)
    # Where the metadata table was compacted since, Hudi's own restore fails with it.
    hudi.restore(judged, newest, OPTIONS | NO_METADATA)
    assert hudi.both_rows(base) == hudi.both_rows(judged) == first
    assert findings(base) == {}
    upserts(hudi, base)
    assert hudi.both_rows(base) == written
    assert findings(base) == {}
    assert tree(tmp_path / "source") == source


@pytest.mark.short("v6-COPY_ON_WRITE-metadata", "v9-MERGE_ON_READ-mixed")
@pytest.mark.parametrize("mode", ["metadata", "mixed"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", support.VERSIONS)
def test_rows_that_are_lost_outside_of_the_table(
    judge: Judges, version: str, kind: str, mode: str, tmp_path: Path
) -> None:
    """Without a source Hudi's queries fail; without the index they yield nulls. Put back, all is as before."""
    hudi, base = judge(version), tmp_path / "table"
    bootstrap(hudi, base, kind, mode)
    newest = hudi.timeline(base)[-1][0]
    first = hudi.both_rows(base)
    assert findings(base) == {}
    (source,) = (tmp_path / "source" / "p=part-0").glob("*.parquet")
    aside = source.rename(tmp_path / "aside")
    with pytest.raises(JudgeError):
        hudi.rows(base)
    assert source.name in findings(base)["bootstrap-source-lost"]
    refuses(base, newest)

    source.write_bytes(aside.read_bytes()[:-1])
    with pytest.raises(JudgeError):
        hudi.rows(base)
    assert "bytes" in findings(base)["bootstrap-source-lost"]
    refuses(base, newest)
    aside.rename(source)

    folder = base / ".hoodie/.aux/.bootstrap"
    for name in (".partitions", ".fileids"):
        (folder / name).rename(tmp_path / name)
        assert hudi.sql(base, ["SELECT count(*) > 0 FROM judged WHERE val IS NULL"]) == [[True]]
        assert list(findings(base)) == ["bootstrap-index-lost"]
        refuses(base, newest)
        (tmp_path / name).rename(folder / name)

    product.savepoint(base, newest)
    upserts(hudi, base)
    product.restore(base, newest)
    assert hudi.both_rows(base) == first
    assert findings(base) == {}


def refuses(base: Path, instant: str) -> None:
    """Nothing is changed that needs the lost rows."""
    before = tree(base, ".hoodie/.hudictl")
    for words in (("savepoint", "create", instant, "--idle", "0s"), ("restore", "--to-instant", instant)):
        assert product.command(base, *words) == 13
    assert tree(base, ".hoodie/.hudictl") == before


@pytest.mark.full
@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_merged_records_are_those_of_hudi(judge: Judges, version: str, tmp_path: Path) -> None:
    """A slice of whole records has its rows in the table; that of metadata only is refused."""
    hudi, base = judge(version), tmp_path / "table"
    for mode in ("full", "metadata"):
        bootstrap(hudi, base, "MERGE_ON_READ", mode)
        upserts(hudi, base)
        if mode == "full":
            assert assert_as_queried(hudi, base) == 40
    with pytest.raises(Unsupported, match="its rows are outside the table"):
        assert_as_queried(hudi, base)


@pytest.mark.short("v6-mixed-2", "v9-metadata-1")
@pytest.mark.parametrize(("mode", "died"), [("full", "2"), ("metadata", "1"), ("mixed", "1"), ("mixed", "2")])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_bootstrap_that_died(judge: Judges, version: str, mode: str, died: str, tmp_path: Path) -> None:
    """It is an error that no command ends; nor what Hudi's next write makes of it. To bootstrap again helps."""
    hudi, base = judge(version), tmp_path / "table"
    time = INITIAL[:-1] + died
    with hudi.dying(base, COMPLETED.format(time)):
        bootstrap(hudi, base, "COPY_ON_WRITE", mode)
    source, before = tree(tmp_path / "source"), tree(base, ".hoodie/.hudictl")
    assert "bootstrap it again" in findings(base)["failed-write"]
    assert product.clean_failed(base) == 3
    assert product.rollback(base, time) == 13
    assert tree(base, ".hoodie/.hudictl") == before

    hudis = shutil.copytree(base, tmp_path / "hudis")
    if version == "v6":
        hudi.rollback_failed(hudis, OPTIONS)
    else:
        with pytest.raises(JudgeError, match="Can't restore to 00000000000000"):
            hudi.rollback_failed(hudis, OPTIONS)
        assert "bootstrap it again" in findings(hudis)["pending-restore"]
        assert product.resume(hudis) == 13
    for table in (base, hudis):
        bootstrap(hudi, table, "COPY_ON_WRITE", mode, again=True)
        assert hudi.both_rows(table)["count"] == 40
        assert findings(table) == {}
    assert tree(tmp_path / "source") == source


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_bootstrap_is_not_rolled_back(judge: Judges, version: str, tmp_path: Path) -> None:
    """Nor one of the two instants of a mixed one: half of the rows would stay."""
    hudi, base = judge(version), tmp_path / "table"
    bootstrap(hudi, base, "COPY_ON_WRITE", "mixed")
    before = tree(base, ".hoodie/.hudictl")
    for time in sorted(BOOTSTRAPS):
        assert product.rollback(base, time) == 13
    assert product.command(base, "restore", "--to-instant", min(BOOTSTRAPS)) == 13
    assert tree(base, ".hoodie/.hudictl") == before


def test_a_lost_plan_that_is_made_again_names_the_source(judge: Judges, tmp_path: Path) -> None:
    """Without it, Hudi's compaction writes nulls in its place, and says nothing."""
    hudi, base = judge("v6"), tmp_path / "table"
    bootstrap(hudi, base, "MERGE_ON_READ", "mixed")
    upserts(hudi, base)
    hudi.compact(base, "schedule", options={"hoodie.compact.inline.max.delta.commits": "1"})
    hudi.upsert(base, rows(range(0, 12), 200), options=OPTIONS | {"hoodie.compact.inline": "false"})
    before = hudi.both_rows(base)
    (request,) = (base / ".hoodie").glob("*.compaction.requested")
    put(request, b"")
    put(request.with_suffix(".inflight"), b"")
    assert product.rollback(base, request.name.partition(".")[0], "--keep-plan") == 0
    assert hudi.both_rows(base) == before
    hudi.compact(base, "execute")
    assert hudi.both_rows(base) == before
