"""Guards on data files, as restores and rollbacks meet them: each refuses before the first write."""

import json
from collections.abc import Callable

import pytest

from hudictl.errors import HudictlError, Refused, Unsupported
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.properties import update_properties
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, plan, put, rollback_of, tree
from tests.ops.rollback.execute_support import newest
from tests.state.orphans.find_support import lose

TO_INSTANT = RestoreOptions(to_instant=True)


def refused(copy: Copy, error: type[HudictlError], named: str, act: Callable[[], object]) -> None:
    before = tree(copy.path)
    with pytest.raises(error, match=named):
        act()
    assert tree(copy.path) == before


def test_rows_in_a_log_under_another_name_are_from_before_an_upgrade(unpack: Unpack) -> None:
    """Such a log can neither be deleted nor, from table version 8 on, be marked: the rows would stay."""
    copy = unpack("v9", "mor_part")
    before, target = copy.commits[-2:]
    log = min(path for path in copy.data() if ".log." in path and target not in path)
    stat = {"fileId": log.rpartition("/")[2][1:].partition("_")[0], "path": log}
    body = {"partitionToWriteStats": {log.partition("/")[0]: [stat]}, "operationType": "UPSERT"}
    put(copy.file(target, "deltacommit"), json.dumps(body))
    for act in (lambda: plan(copy, before, TO_INSTANT), lambda: rollback_of(copy, target)):
        refused(copy, Unsupported, f"{target} has written into {log}", act)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_metafile_in_the_base_format_cannot_be_made(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    with (copy.meta / "hoodie.properties").open("a") as properties:
        properties.write("hoodie.partition.metafile.use.base.format=true\n")
    assert plan(copy, copy.commits[-2], TO_INSTANT).undo.partition_metafiles_made == ()
    drop(copy.path / "part-0" / ".hoodie_partition_metadata")
    refused(copy, Refused, "'part-0' has no .hoodie_part", lambda: plan(copy, copy.commits[-2], TO_INSTANT))


def test_a_partition_that_the_removed_instant_alone_names_is_not_passed_over(unpack: Unpack) -> None:
    """By its markers. A job with a wrong base path has made it look like another table."""
    copy = unpack("v9", "cow_failed_direct")
    target = newest(copy)
    put(copy.meta / ".temp" / target / "part-9" / f"a-0_0-1-1_{target}.parquet.marker.CREATE")
    assert rollback_of(copy, target).target == target
    put(copy.path / "part-9" / ".hoodie" / "hoodie.properties", "hoodie.table.name=other\n")
    refused(copy, Refused, "the partition 'part-9' cannot be listed", lambda: rollback_of(copy, target))


@pytest.mark.parametrize("version", support.VERSIONS)
def test_files_of_archived_commits_must_stay_read(unpack: Unpack, version: str) -> None:
    """Archiving has passed a savepoint: readers take what is archived after the timeline's first commit for
    uncommitted. They read the later file of its group, until that is rolled back."""
    copy = unpack(version, "cow_part")
    *_, archived, last = copy.commits
    records.archive(copy, archived)
    lose(copy, archived)
    refused(copy, Refused, "as uncommitted, for example", lambda: rollback_of(copy, last))
    assert rollback_of(unpack(version, "cow_part"), last)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_rows_of_archived_commits_in_logs_must_stay_read(unpack: Unpack, version: str) -> None:
    """The same, once the compaction that has read them is removed."""
    copy = unpack(version, "mor_part")
    compaction = next(name for name in copy.having("commit") if name.endswith(".commit")).partition("_")[0]
    archived, target = [time for time in copy.commits if time < compaction[:17]][-2:]
    assert plan(unpack(version, "mor_part"), target, TO_INSTANT)
    records.archive(copy, archived, "deltacommit")
    lose(copy, archived)
    refused(copy, Refused, ", as uncommitted", lambda: plan(copy, target, TO_INSTANT))


@pytest.mark.parametrize("version", support.VERSIONS)
def test_base_files_of_a_format_that_readers_do_not_look_for(unpack: Unpack, version: str) -> None:
    """The property was changed since: Hudi's queries find no row, without an error (0.15.0, 1.2.0). The first
    one does not know tables of several formats."""
    copy = unpack(version, "cow_part")
    target = copy.commits[-2]
    update_properties(copy.table.storage, {"hoodie.table.base.file.format": "ORC"})
    refused(
        copy, Refused, "its base files are Parquet, and readers look for ORC", lambda: plan(copy, target, TO_INSTANT)
    )
    update_properties(copy.table.storage, {"hoodie.table.multiple.base.file.formats.enable": "true"})
    if version == "v6":
        refused(copy, Refused, "readers look for ORC", lambda: plan(copy, target, TO_INSTANT))
    else:
        assert plan(copy, target, TO_INSTANT)
    update_properties(copy.table.storage, {"hoodie.table.base.file.format": "parquet"})
    assert plan(copy, target, TO_INSTANT)
