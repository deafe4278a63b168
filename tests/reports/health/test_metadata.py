"""What check says of a metadata table that does not list what writes have written."""

import pytest

from hudictl.reports.health.finding import ERROR
from tests import support
from tests.damage import newest_base
from tests.damage.cases import kinds
from tests.damage.harms import do_harm
from tests.fixtures import Unpack
from tests.helpers import drop, put
from tests.metadata_edits import say
from tests.reports.health.check_support import VERSIONS, brief, check

BEHIND = "metadata-table-behind"


@pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version in support.VERSIONS for name in ("cow_part", "mor_part")]
)
def test_a_metadata_table_that_has_lost_its_newest_instant_is_behind(unpack: Unpack, version: str, name: str) -> None:
    """Queries that use it see the table as it was before its newest commit."""
    copy = unpack(version, name)
    paths = [path.relative_to(copy.path).as_posix() for path in copy.meta.rglob("*") if path.is_file()]
    do_harm(copy.path, kinds(paths)["metadata-deltacommit"], "missing")
    behind = [entry for entry in check(copy) if entry.finding == BEHIND]
    assert {entry.severity for entry in behind} == {ERROR}
    found = kinds(copy.data())
    assert found.get("log", found["base"]).rpartition("/")[0] in {entry.subject for entry in behind}


@VERSIONS
def test_a_file_that_readers_do_not_need_may_be_unlisted(unpack: Unpack, version: str) -> None:
    """A clean takes it from the listing before it takes it from storage."""
    copy = unpack(version, "cow_part")
    oldest = kinds(copy.data())["base-oldest"]
    partition, _, name = oldest.rpartition("/")
    say(copy.path, {partition: {name: None}})
    assert BEHIND not in {entry.finding for entry in check(copy)}


@VERSIONS
def test_a_file_that_readers_need_and_that_is_unlisted(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    partition, _, name = newest_base(copy.path).rpartition("/")
    say(copy.path, {partition: {name: None}})
    assert (BEHIND, ERROR, partition) in map(brief, check(copy))


@VERSIONS
@pytest.mark.parametrize("harm", ["missing", "cut", "empty"])
@pytest.mark.parametrize("kind", ["metadata-log", "metadata-index-log"])
def test_files_of_the_metadata_table_that_are_gone_or_cut(unpack: Unpack, version: str, kind: str, harm: str) -> None:
    copy = unpack(version, "cow_record_index")
    paths = [path.relative_to(copy.path).as_posix() for path in copy.meta.rglob("*") if path.is_file()]
    path = kinds(paths)[kind]
    do_harm(copy.path, path, harm)
    (finding,) = [entry for entry in check(copy) if entry.finding == "metadata-files-damaged"]
    assert (finding.severity, finding.subject) == (ERROR, path.rpartition("/")[0])
    assert path.rpartition("/")[2] in finding.meaning


@pytest.mark.slow
@VERSIONS
def test_a_base_file_of_the_metadata_table_that_is_longer(unpack: Unpack, version: str) -> None:
    """At one that is there twice 0.15.0 runs out of memory. To a log others may append."""
    for kind, damaged in (("metadata-base", True), ("metadata-log", False)):
        copy = unpack(version, "mor_part")
        paths = [path.relative_to(copy.path).as_posix() for path in copy.meta.rglob("*") if path.is_file()]
        do_harm(copy.path, kinds(paths)[kind], "doubled")
        assert ("metadata-files-damaged" in {entry.finding for entry in check(copy)}) is damaged


@VERSIONS
def test_a_file_of_the_metadata_table_that_its_clean_may_have_taken(unpack: Unpack, version: str) -> None:
    """What was written before its last compaction is in what that has written."""
    copy = unpack(version, "mor_part")
    bases = (copy.meta / "metadata/files").glob("[!.]*.hfile")
    drop(min(bases, key=lambda path: path.name.rpartition("_")[2]))
    assert "metadata-files-damaged" not in {entry.finding for entry in check(copy)}


@VERSIONS
@pytest.mark.parametrize("before", [True, False])
def test_a_partition_of_the_metadata_table_that_was_built_anew(unpack: Unpack, version: str, before: bool) -> None:
    """Hudi drops an index whose setting a writer lacks, and leaves the commits that have written it."""
    copy = unpack(version, "cow_record_index")
    (base,) = (copy.meta / "metadata/files").glob("[!.]*.hfile")
    timeline = copy.meta / "metadata/.hoodie" / ("" if version == "v6" else "timeline")
    built = min(path for path in timeline.glob("*.deltacommit") if base.name.encode() in path.read_bytes())
    completion = "" if version == "v6" else "_20200101000000000" if before else "_29990101000000000"
    other = built.read_bytes().replace(b"files-0000-0", b"files-0009-0")
    # Below table version 8 the file's own time tells when it was completed.
    put(timeline / f"00000000000000009{completion}.deltacommit", other, old=before)
    assert ("metadata-files-damaged" in {entry.finding for entry in check(copy)}) is not before


@pytest.mark.parametrize("copied", [True, False])
def test_a_copy_without_times_does_not_show_what_was_built_last(unpack: Unpack, copied: bool) -> None:
    """A downgrade of Hudi 1.2.0 drops an index behind its compaction, and builds it with an older time."""
    copy = unpack("v6", "cow_record_index")
    timeline = copy.meta / "metadata/.hoodie"
    (base,) = (copy.meta / "metadata/files").glob("[!.]*.hfile")
    built = min(path for path in timeline.glob("*.deltacommit") if base.name.encode() in path.read_bytes())
    compacted = built.read_bytes().replace(b"files-0000-0", b"files-0009-0")
    put(timeline / "00000000000000009.deltacommit", built.read_bytes())
    put(timeline / "20990101000000000.commit", compacted, old=copied)
    assert ("metadata-files-damaged" in {entry.finding for entry in check(copy)}) is not copied
