"""Files that are deleted because a person is sure: what they may be, and what is never taken for one."""

import json
import re
from collections.abc import Callable

import pytest

from hudictl.errors import Conflict, HudictlError, NotFound, Refused
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.clean_up.orphans import OrphanOptions, OrphanResult, delete_orphans, plan_orphan_deletion
from hudictl.ops.session import Silent
from hudictl.table.metadata.place import metadata_table_in_use
from tests import support
from tests.fixtures import Unpack
from tests.helpers import At, Copy, put, session, tree
from tests.state.orphans.find_support import LONG_AGO, between_commits, listed, orphan, stray

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def delete(copy: Copy, *paths: str, monitor: object = None, idle_ms: int = 0) -> OrphanResult:
    plan = plan_orphan_deletion(session(copy.table), OrphanOptions(idle_ms, paths=paths))
    return delete_orphans(session(copy.table, monitor or Silent()), plan)  # type: ignore[arg-type]


def refused(copy: Copy, kind: type[HudictlError], *paths: str, idle_ms: int = 0) -> str:
    before = tree(copy.path)
    with pytest.raises(kind) as caught:
        delete(copy, *paths, idle_ms=idle_ms)
    assert tree(copy.path) == before
    return caught.value.message


def base_file(copy: Copy, time: str = "") -> str:
    return sorted(path for path in copy.data() if path.endswith(f"{time}.parquet"))[-1]


def second(copy: Copy) -> str:
    """Another base file of the newest commit, in the slice of one that the commit names."""
    path = base_file(copy, copy.commits[-1])
    group, token, time = path.rsplit("_", 2)
    other = f"{group}_{'7' * (len(token) - 4)}-7-7_{time}"
    put(copy.path / other, (copy.path / path).read_bytes())
    return other


def foreign(copy: Copy) -> str:
    path = base_file(copy)
    other = f"{path.rpartition('/')[0]}/copy-of-a-file.parquet".lstrip("/")
    put(copy.path / other, (copy.path / path).read_bytes())
    return other


def unknown(copy: Copy) -> str:
    return stray(copy, LONG_AGO)


KINDS = pytest.mark.parametrize("made", [second, foreign, unknown])


@VERSIONS
@KINDS
@pytest.mark.parametrize("name", ["cow_part", "cow_flat_nomdt"])
def test_the_named_file_goes_and_no_other(unpack: Unpack, version: str, name: str, made: Callable[[Copy], str]) -> None:
    copy = unpack(version, name)
    before = copy.data()
    path, proved = made(copy), orphan(copy, between_commits(copy))
    result = delete(copy, path)
    assert (result.files_deleted, copy.data()) == (1, before | {proved})
    assert not (copy.path / path).exists()
    assert metadata_table_in_use(copy.table) == (name == "cow_part")


@VERSIONS
@pytest.mark.parametrize("made", [second, unknown])
def test_a_listed_one_is_taken_out_of_the_metadata_table(
    unpack: Unpack, version: str, made: Callable[[Copy], str]
) -> None:
    copy = unpack(version, "cow_part")
    path = listed(copy, made(copy))
    result = delete(copy, path)
    assert (result.files_deleted, result.metadata_table.startswith("brought forward")) == (1, True)
    assert metadata_table_in_use(copy.table)


@VERSIONS
def test_a_uri_is_a_path_too(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = unknown(copy)
    assert delete(copy, f"{copy.table.uri}/{path}").files_deleted == 1


@pytest.mark.slow
@VERSIONS
def test_files_of_the_table_are_refused(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    for path in copy.data():
        assert re.search(r"belongs to the instant \d+|the commit \d+ names it", refused(copy, Refused, path))


@VERSIONS
def test_a_log_that_no_commit_names_is_refused(unpack: Unpack, version: str) -> None:
    """Rollback blocks are in logs of this kind."""
    copy = unpack(version, "mor_part")
    like = next(path for path in sorted(copy.data()) if ".log.1_" in path)
    other = f"{like.rpartition('_')[0]}_9-9-9"
    put(copy.path / other, (copy.path / like).read_bytes())
    assert "belongs to the instant" in refused(copy, Refused, other)


@VERSIONS
def test_a_file_that_is_not_there(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    for path in ("part-0/none.parquet", "../other/x.parquet", ".hoodie/hoodie.properties", "part-0", "/", ""):
        assert "there is no data file" in refused(copy, NotFound, path)


@VERSIONS
def test_an_unnamed_file_of_a_commit_without_statistics_stays(unpack: Unpack, version: str) -> None:
    """What such a commit has written is not known."""
    copy = unpack(version, "cow_part")
    path = second(copy)
    if version == "v6":
        file = copy.file(copy.commits[-1], "commit")
        put(file, json.dumps(json.loads(file.read_text()) | {"partitionToWriteStats": {}}))
    else:
        put(copy.file(copy.commits[-1], "commit"), b"")
    with pytest.raises(HudictlError):
        delete(copy, path)
    assert (copy.path / path).exists()


@VERSIONS
@KINDS
def test_what_changed_lately_is_a_conflict(unpack: Unpack, version: str, made: Callable[[Copy], str]) -> None:
    copy = unpack(version, "cow_part")
    path = made(copy)
    put(copy.path / path, b"rows", old=False)
    assert "it was changed" in refused(copy, Conflict, path, idle_ms=600_000)


@VERSIONS
@KINDS
def test_one_that_is_written_again_meanwhile_stays(unpack: Unpack, version: str, made: Callable[[Copy], str]) -> None:
    copy = unpack(version, "cow_part")
    path = made(copy)
    again = At("delete files", lambda: put(copy.path / path, b"other rows", old=False))
    assert delete(copy, path, monitor=again).files_left == (path,)
    assert (copy.path / path).read_bytes() == b"other rows"


@VERSIONS
@pytest.mark.parametrize("made", [second, unknown])
def test_what_a_commit_names_by_then_stays(unpack: Unpack, version: str, made: Callable[[Copy], str]) -> None:
    copy = unpack(version, "cow_part")
    path = made(copy)
    partition, _, name = path.rpartition("/")
    like = next(
        p
        for p in sorted(copy.data())
        if p.startswith(partition) and p.endswith(f"{copy.commits[-1]}.parquet") and p != path
    )
    old = like.rpartition("/")[2]
    # Avro has the length before the text.
    assert len(old) == len(name)
    commit = copy.file(copy.commits[-1], "commit")
    body = commit.read_bytes().replace(old.encode(), name.encode())
    assert delete(copy, path, monitor=At("delete files", lambda: put(commit, body, old=False))).files_left == (path,)
    assert (copy.path / path).exists()


@VERSIONS
def test_a_later_instant_is_believed(unpack: Unpack, version: str) -> None:
    """The timeline may be a copy of yesterday: whole commits look like orphans, and only a person can know."""
    copy = unpack(version, "cow_part")
    path = stray(copy, time_plus_ms(copy.commits[-1], 999))
    assert delete(copy, path).files_deleted == 1
