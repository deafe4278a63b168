"""What check says of commits and the files that they name."""

import pytest

from hudictl.errors import Unreadable
from hudictl.formats.file_names import log_file_name, parse_data_file
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.reports.health.finding import ERROR, INFO, Finding
from hudictl.reports.table import describe_table
from tests import damage, support
from tests.damage.cases import kinds
from tests.damage.harms import do_harm
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, put, roll_back, savepoint
from tests.reports.health.check_support import VERSIONS, begun_beside, brief, check, one

TABLES = pytest.mark.parametrize("name", ["cow_part", "mor_part"])


def found(copy: Copy, name: str) -> Finding:
    (finding,) = [entry for entry in check(copy) if entry.finding == name]
    assert finding.severity == ERROR
    return finding


@pytest.mark.slow
@VERSIONS
@TABLES
def test_a_second_base_file_of_a_slice(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    right = damage.newest_base(copy.path)
    wrong = damage.second_base_file(copy.path)
    finding = found(copy, "second-base-file")
    assert (finding.subject, right in finding.meaning) == (wrong, True)
    assert finding.advice == "`hudictl orphans delete --duplicates`"
    assert "unnamed-file" not in {entry.finding for entry in check(copy)}


def test_a_second_base_file_beside_a_damaged_savepoint(unpack: Unpack) -> None:
    """Which could name it."""
    copy = unpack("v9", "cow_savepoints")
    wrong = damage.second_base_file(copy.path)
    put(copy.file(copy.savepoints[-1], "savepoint"), b"damaged")
    assert found(copy, "second-base-file").advice == f"`hudictl orphans delete {wrong}`"


@VERSIONS
def test_a_file_that_its_commit_does_not_name(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    wrong = damage.unnamed_file(copy.path)
    finding = found(copy, "unnamed-file")
    assert (finding.subject, finding.advice) == (wrong, f"`hudictl orphans delete {wrong}`")


@VERSIONS
def test_a_file_that_was_cut(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    cut = damage.cut_file(copy.path)
    finding = found(copy, "wrong-size")
    assert (finding.subject, finding.meaning.startswith("900 bytes, ")) == (cut, True)


@VERSIONS
@pytest.mark.parametrize("harm", ["cut", "empty", "missing"])
def test_a_log_that_was_cut(unpack: Unpack, version: str, harm: str) -> None:
    """Readers pass over what is not a whole block, and miss its rows. One that is gone is a missing file."""
    copy = unpack(version, "mor_part")
    log = kinds(copy.data())["log"]
    do_harm(copy.path, log, harm)
    name = "missing-file" if harm == "missing" else "wrong-size"
    assert found(copy, name).subject == log


@VERSIONS
@pytest.mark.parametrize("harm", ["cut", "empty", "missing"])
def test_a_log_of_changes_that_was_cut(unpack: Unpack, version: str, harm: str) -> None:
    """Snapshot queries do not read it, queries of changes do."""
    copy = unpack(version, "cow_cdc")
    log = kinds(copy.data())["cdc-log"]
    do_harm(copy.path, log, harm)
    finding = one(copy)
    name = "change-log-missing" if harm == "missing" else "wrong-size"
    assert (brief(finding), "queries of change data" in finding.meaning) == ((name, ERROR, log), True)


@VERSIONS
def test_a_log_of_changes_that_was_cleaned_with_its_base_file(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cdc")
    log = kinds(copy.data())["cdc-log"]
    folder, _, name = log.rpartition("/")
    file_id, instant = name[1:].split(".log.")[0].split("_")
    (base,) = (copy.path / folder).glob(f"{file_id}_*_{instant}.parquet")
    base.unlink()
    (copy.path / log).unlink()
    assert "change-log-missing" not in {entry.finding for entry in check(copy)}


@VERSIONS
def test_a_log_that_is_longer_than_its_commits_say(unpack: Unpack, version: str) -> None:
    """Others append to a log, where the file system can: a pending write, a rollback."""
    copy = unpack(version, "mor_part")
    do_harm(copy.path, kinds(copy.data())["log"], "doubled")
    assert check(copy) == []


@VERSIONS
@TABLES
def test_a_commit_without_content(unpack: Unpack, version: str, name: str) -> None:
    """No savepoint can be made on it: nobody can tell which files it needs."""
    copy = unpack(version, name)
    time = copy.commits[-1]
    file = damage.empty_commit(copy.path)
    assert ("empty-commit", ERROR, file) in map(brief, check(copy))
    assert file in describe_table(copy.table).verdict
    with pytest.raises(Unreadable, match=file):
        savepoint(copy, time, SavepointOptions(idle_ms=0))


@VERSIONS
def test_a_metadata_table_of_another_table_version(unpack: Unpack, version: str) -> None:
    """A known one, and one that nobody knows: check goes on."""
    for other in (None, "77"):
        copy = unpack(version, "cow_part")
        path = damage.metadata_table_version(copy.path, other)
        assert found(copy, "metadata-table-version").subject == path


def test_a_metadata_table_that_hudi_upgrades_with_its_next_write_is_no_error(unpack: Unpack) -> None:
    """`upgrade_table` of 1.2.0 leaves it at version 8."""
    copy = unpack("v9", "cow_part")
    damage.metadata_table_version(copy.path, "8")
    assert [(entry.finding, entry.severity) for entry in check(copy)] == [("metadata-table-version", INFO)]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_files_of_a_pending_write_are_nobodys_fault(unpack: Unpack, version: str) -> None:
    """A retried task may have left two of a slice: its writer sorts them out before it completes."""
    copy = unpack(version, "cow_failed_direct")
    damage.second_base_file(copy.path)
    assert one(copy).finding == "failed-write"


def hidden(copy: Copy) -> list[Finding]:
    return [entry for entry in check(copy) if entry.finding == "logs-hidden"]


@pytest.mark.parametrize("version", ["v8", "v9"])
@pytest.mark.parametrize("pending", [True, False])
def test_a_base_file_that_hides_later_logs(unpack: Unpack, version: str, pending: bool) -> None:
    """Hudi's readers leave out the slice that it has begun, with the logs of completed writes in it."""
    copy = unpack(version, "mor_part")
    base, log = begun_beside(copy.path)
    time = base.rpartition("_")[2].removesuffix(".parquet")
    if pending:
        for name in ("requested", "inflight"):
            copy.write(f"{time}.deltacommit.{name}")
    folder, _, name = base.rpartition("/")
    before = put(copy.path / folder / log_file_name(name.partition("_")[0], copy.commits[-2], 9, "0-1-2"))
    (finding,) = hidden(copy)
    drop(before)
    assert (finding.subject, finding.severity, log in finding.meaning) == (base, ERROR, True)
    assert before.name not in finding.meaning
    assert finding.advice == (
        "`hudictl failed-writes clean --policy eager`" if pending else f"`hudictl orphans delete {base}`"
    )
    if pending:
        roll_back(copy, time)
    else:
        drop(copy.path / base)
    assert hidden(copy) == []


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_the_first_log_of_a_group_without_base_file_hides_later_logs(unpack: Unpack, version: str) -> None:
    """Two writers have begun the group side by side, and the one that began first is not completed."""
    copy = unpack(version, "mor_part")
    log = max(path for path in copy.path.glob("part-*/.*.log.*") if not path.name.endswith(".crc"))
    data = parse_data_file(log.name)
    assert data is not None
    first, group = str(int(data.instant) - 1), data.file_id[:-1] + "7"
    mine, other = (
        put(log.with_name(log_file_name(group, time, 1, "0-1-2")), log.read_bytes()) for time in (first, data.instant)
    )
    assert [entry.advice for entry in hidden(copy)] == [f"`hudictl orphans delete {mine.relative_to(copy.path)}`"]
    for name in ("requested", "inflight"):
        copy.write(f"{first}.deltacommit.{name}")
    (finding,) = hidden(copy)
    assert (finding.subject, finding.severity) == (str(mine.relative_to(copy.path)), ERROR)
    assert str(other.relative_to(copy.path)) in finding.meaning
    beat = put(copy.meta / ".heartbeat" / first, old=False)
    assert [entry.severity for entry in hidden(copy)] == [INFO]
    drop(beat)
    drop(mine)
    assert hidden(copy) == []


def test_what_hides_no_logs(unpack: Unpack) -> None:
    """Names of version 6 tell the slice; a compaction that is pending is read with the slice before it; a base file
    that began after all writes of its group were completed has none."""
    old = unpack("v6", "mor_part")
    begun_beside(old.path)
    assert hidden(old) == []
    compacting = unpack("v9", "mor_pending_compaction")
    assert hidden(compacting) == []
    begun_beside(compacting.path)
    assert hidden(compacting) == []
    later = unpack("v9", "mor_part")
    base, _ = begun_beside(later.path)
    (later.path / base).rename(later.path / f"{base.rpartition('_')[0]}_20271121040000000.parquet")
    assert hidden(later) == []
