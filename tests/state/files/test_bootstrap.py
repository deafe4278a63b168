"""The rows of a bootstrap with metadata only, which are outside of the table: lost ones are told, and refused."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hudictl.errors import Refused, Unreadable
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.hfile import read_entries
from hudictl.formats.hfile_writer import encode_hfile
from hudictl.formats.instants import BOOTSTRAPS, SKELETONS
from hudictl.formats.plans import CompactedSlice
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.savepoint.verify import verify_savepoint
from hudictl.reports.health.finding import ERROR, INFO, Finding
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.files.bootstrap import INDEX, INDEX_LOST, SOURCE_ELSEWHERE, SOURCE_LOST, _place_of, with_sources
from tests import support
from tests.bootstrap import Status, bootstrapped, edit_index
from tests.helpers import ENGINE, Copy, plan, put, restore, rollback_of, savepoint, session, tree
from tests.reports.health.check_support import check

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
TO_INSTANT = RestoreOptions(to_instant=True)
NEWEST = max(BOOTSTRAPS)


@pytest.fixture
def mixed(tmp_path: Path) -> Callable[[str], Copy]:
    """A table with one base file of metadata only, which readers use."""
    return lambda version: bootstrapped(version, "mor_mixed", tmp_path)


def skeleton(copy: Copy) -> str:
    (path,) = [path for path in copy.data() if SKELETONS in path and path.endswith(".parquet")]
    return path


def source_of(copy: Copy) -> Path:
    (found,) = (copy.path.parent / "source" / "p=part-0").glob("*.parquet")
    return found


def only(copy: Copy) -> Finding:
    (found,) = check(copy, idle_ms=0)
    return found


def refused(copy: Copy, target: str = NEWEST) -> str:
    """What a savepoint, a restore and a rollback that need the base file are refused with; nothing is changed."""
    before = tree(copy.path)
    said = set()
    for act in (
        lambda: savepoint(copy, target),
        lambda: plan(copy, target, TO_INSTANT),
        lambda: rollback_of(copy, copy.commits[-1]),
    ):
        with pytest.raises(Refused, match="of the bootstrap without rows") as caught:
            act()
        said.add(caught.value.message.partition("without rows: ")[2])
        assert caught.value.fields["files"] == [skeleton(copy)]
    assert tree(copy.path) == before
    (one,) = said
    return one


@pytest.mark.slow
@VERSIONS
def test_with_source_and_index_it_is_a_table_as_others(mixed: Callable[[str], Copy], version: str) -> None:
    copy = mixed(version)
    source = tree(copy.path.parent / "source")
    assert check(copy, idle_ms=0) == []
    savepoint(copy, NEWEST)
    assert verify_savepoint(session(copy.table), NEWEST, RestoreOptions()).restorable
    restore(copy, NEWEST)
    assert copy.commits == sorted(BOOTSTRAPS)
    assert check(copy, idle_ms=0) == []
    assert tree(copy.path.parent / "source") == source


def gone(copy: Copy) -> None:
    source_of(copy).unlink()


def folder_gone(copy: Copy) -> None:
    shutil.rmtree(copy.path.parent / "source")


def shorter(copy: Copy) -> None:
    put(source_of(copy), source_of(copy).read_bytes()[:-1])


def in_a_circle(copy: Copy) -> None:
    folder = source_of(copy).parent
    shutil.rmtree(folder)
    folder.symlink_to(folder)


@VERSIONS
@pytest.mark.parametrize(
    ("lose", "said"),
    [
        (gone, "is not there"),
        (folder_gone, "is not there"),
        (shorter, "bytes, of "),
        (in_a_circle, "cannot be looked at: "),
    ],
)
def test_a_lost_source(mixed: Callable[[str], Copy], version: str, lose: Callable[[Copy], None], said: str) -> None:
    copy = mixed(version)
    source = source_of(copy)
    lose(copy)
    found = only(copy)
    assert (found.finding, found.severity, found.subject) == (SOURCE_LOST, ERROR, skeleton(copy))
    for text in (found.meaning, refused(copy)):
        assert f"its source file:{source} " in text
        assert said in text


def no_index(copy: Copy) -> None:
    (copy.path / INDEX).unlink()


def half_an_index(copy: Copy) -> None:
    """Readers use both of its files, or none."""
    (copy.path / INDEX.replace(".partitions", ".fileids")).unlink()


def of_others(copy: Copy) -> None:
    """It names the sources of other files."""
    body = (copy.path / INDEX).read_bytes()
    entries = read_entries(lambda offset, length: body[offset : offset + length], len(body))
    put(copy.path / INDEX, encode_hfile([(key + b"0", value) for key, value in entries]))


@VERSIONS
@pytest.mark.parametrize("lose", [no_index, half_an_index, of_others])
def test_a_lost_index(mixed: Callable[[str], Copy], version: str, lose: Callable[[Copy], None]) -> None:
    copy = mixed(version)
    lose(copy)
    found = only(copy)
    assert (found.finding, found.severity, found.subject) == (INDEX_LOST, ERROR, skeleton(copy))
    assert "the bootstrap index has no source for it" in refused(copy)


@VERSIONS
def test_a_savepoint_that_needs_a_lost_source_is_broken(mixed: Callable[[str], Copy], version: str) -> None:
    """Also where readers do not need it any more."""
    copy = mixed(version)
    savepoint(copy, NEWEST)
    file_id = skeleton(copy).rpartition("/")[2].partition("_")[0]
    name = f"p=part-0/{file_id}_0-0-0_{copy.commits[-1]}.parquet"
    put(copy.path / name, (copy.path / skeleton(copy)).read_bytes())
    gone(copy)
    found = [entry for entry in check(copy, idle_ms=0) if entry.finding in ("savepoint-broken", SOURCE_LOST)]
    assert [(entry.finding, entry.subject) for entry in found] == [("savepoint-broken", NEWEST)]
    assert f"the rows of {skeleton(copy)}" in found[0].meaning
    verified = verify_savepoint(session(copy.table), NEWEST, RestoreOptions())
    assert not verified.restorable
    assert "without rows" in verified.reason


@VERSIONS
def test_half_of_a_bootstrap_is_not_removed(mixed: Callable[[str], Copy], version: str) -> None:
    copy = mixed(version)
    with pytest.raises(Refused, match=f"{NEWEST} is the table's bootstrap"):
        plan(copy, SKELETONS, TO_INSTANT)


@VERSIONS
def test_the_timeline_alone_tells_of_the_bootstrap(mixed: Callable[[str], Copy], version: str) -> None:
    copy = mixed(version)
    file = copy.meta / "hoodie.properties"
    put(file, "\n".join(line for line in file.read_text().splitlines() if "hoodie.bootstrap.base.path" not in line))
    gone(copy)
    assert SOURCE_LOST in {entry.finding for entry in check(copy, idle_ms=0)}


@VERSIONS
def test_another_store_is_not_looked_at(mixed: Callable[[str], Copy], version: str) -> None:
    copy = mixed(version)

    def elsewhere(status: Status) -> None:
        status["path"]["uri"] = "s3a://lake/source/a.parquet"

    edit_index(copy, elsewhere)
    found = only(copy)
    assert (found.finding, found.severity, found.subject) == (SOURCE_ELSEWHERE, INFO, skeleton(copy))
    assert "s3a://lake/source/a.parquet is on another store, and not looked at" in found.meaning
    assert plan(copy, NEWEST, TO_INSTANT).undo.removals


@pytest.mark.parametrize("version", ["v6", "v9"])
@pytest.mark.parametrize("uri", ["file:/../../etc/passwd", "file:/a/../b", "file:/a/\0/b", "file:/./a/b"])
def test_no_path_of_the_index_leads_elsewhere(mixed: Callable[[str], Copy], version: str, uri: str) -> None:
    copy = mixed(version)

    def there(status: Status) -> None:
        status["path"]["uri"] = uri

    edit_index(copy, there)
    assert "unreadable" in {entry.finding for entry in check(copy, idle_ms=0)}
    with pytest.raises(Unreadable):
        plan(copy, NEWEST, TO_INSTANT)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_damaged_index_is_unreadable(mixed: Callable[[str], Copy], version: str) -> None:
    copy = mixed(version)
    body = (copy.path / INDEX).read_bytes()
    for damaged in (b"", body[:-1], body[:100] + bytes(200) + body[300:]):
        put(copy.path / INDEX, damaged)
        (found,) = [entry for entry in check(copy, idle_ms=0) if entry.finding == "unreadable"]
        assert found.subject == INDEX
        with pytest.raises(Unreadable):
            plan(copy, NEWEST, TO_INSTANT)


@pytest.mark.parametrize("value", [{"length": None}, {"path": None}, {"path": {"version": 1, "uri": None}}])
def test_a_source_without_path_or_length_is_unreadable(mixed: Callable[[str], Copy], value: Status) -> None:
    copy = mixed("v9")
    edit_index(copy, lambda status: status.update(value))
    with pytest.raises(Unreadable, match="HoodieBootstrapPartitionMetadata"):
        plan(copy, NEWEST, TO_INSTANT)


@dataclass(frozen=True)
class Store:
    """A storage that has only a place."""

    uri: str

    def above(self) -> "Store | None":
        base, _, _ = self.uri.rpartition("/")
        return None if base.endswith(":/") else Store(base)


@pytest.mark.parametrize(
    ("table", "source", "place"),
    [
        ("s3://lake/t/one", "s3a://lake/old/a", ("s3://lake", "old/a")),
        ("s3://lake/t/one", "s3://lake/t/two/a", ("s3://lake/t", "two/a")),
        ("s3://lake/t/one", "s3://lake/t/one/below", ("s3://lake/t/one", "below")),
        ("s3://lake/t/one", "s3://lake/t/one2", ("s3://lake/t", "one2")),
        ("s3://lake/t", "s3://lake", ("s3://lake", "")),
        ("s3://lake/t", "s3://lake2/t", None),
        ("gs://lake/t", "s3://lake/t2", None),
        ("hdfs://node:8020/t", "hdfs://node:8020/old", ("hdfs://node:8020", "old")),
        ("hdfs://node:8020/t", "hdfs://other:8020/old", None),
        ("s3://lake/t", "no URI", None),
        ("s3://lake/t", "", None),
    ],
)
def test_where_a_source_is(table: str, source: str, place: tuple[str, str] | None) -> None:
    found = _place_of(Store(table), source)  # type: ignore[arg-type]
    assert (found and (found[0].uri, found[1])) == place


def test_a_slice_of_a_plan_that_is_made_again_has_its_source(mixed: Callable[[str], Copy]) -> None:
    """Those of whole records have none; where the index is lost, nothing is planned."""
    copy = mixed("v6")
    data = parse_data_file(skeleton(copy).rpartition("/")[2])
    assert data is not None
    facts = read_facts(copy.table, ENGINE, read_signs(copy.table))
    bare = CompactedSlice("p=part-0", data.file_id, SKELETONS, data.name, (), 1, 0)
    whole = replace(bare, base=data.name.replace(SKELETONS, NEWEST))
    logs = replace(bare, base=None)
    found = with_sources(facts, [bare, whole, logs])
    assert [entry.source for entry in found] == [f"file:{source_of(copy)}", None, None]
    assert with_sources(facts, [replace(bare, partition=skeleton(copy).rpartition("/")[0])]) == found[:1]
    (copy.path / INDEX).unlink()
    assert with_sources(facts, [whole, logs]) == (whole, logs)
    with pytest.raises(Unreadable, match=f"the bootstrap index has no source for {skeleton(copy)}"):
        with_sources(facts, [bare])
