"""Everything that the files of an instant say, whole."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hudictl.errors import Refused, Unreadable
from hudictl.formats.instants import parse_instant_file
from hudictl.reports.instant import FileContents, InstantContents, inspect_instant
from hudictl.table.open import open_table
from tests import records, support
from tests.fixtures import Unpack
from tests.formats import generic
from tests.helpers import Copy, put

PLANS = {"clean": "HoodieCleanerPlan", "commit": "HoodieCommitMetadata"}


def inspect(copy: Copy, time: str) -> InstantContents:
    return inspect_instant(open_table(str(copy.path)), time)


def files(copy: Copy) -> Iterator[FileContents]:
    """What is said of every instant of the active timeline."""
    for time in sorted({name[:17] for name in copy.instants()}):
        found = inspect(copy, time)
        assert (found.time, found.problems) == (time, ())
        yield from found.files


def read(body: bytes) -> dict[str, Any] | None:
    """Read by somebody else."""
    if not body:
        return None
    return generic.read(body) if body.startswith(b"Obj") else dict(json.loads(body))


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_every_file_of_every_instant_whole(unpack: Unpack, version: str, name: str) -> None:
    """Nothing that a record holds is left out, in Avro and in JSON."""
    copy = unpack(version, name)
    found = {file.name: file for file in files(copy)}
    paths = [path for path in copy.timeline.iterdir() if parse_instant_file(path.name, copy.table.layout.version)]
    on_disk = {path.name: path.read_bytes() for path in paths}
    assert {name: file.record for name, file in found.items()} == {name: read(body) for name, body in on_disk.items()}
    assert {name: file.bytes for name, file in found.items()} == {name: len(body) for name, body in on_disk.items()}
    assert all((file.record_type is None) == (file.bytes == 0) for file in found.values())
    assert {file.timeline for file in found.values()} == {"active"}


@pytest.mark.parametrize("version", support.VERSIONS)
def test_all_actions_of_a_time(unpack: Unpack, version: str) -> None:
    """A savepoint has the time of its commit."""
    copy = unpack(version, "cow_savepoints")
    found = [(file.action, file.state, file.record_type) for file in inspect(copy, copy.savepoints[0]).files]
    assert found == [
        ("commit", "REQUESTED", None),
        ("commit", "INFLIGHT", "HoodieCommitMetadata"),
        ("commit", "COMPLETED", "HoodieCommitMetadata"),
        ("savepoint", "INFLIGHT", None),
        ("savepoint", "COMPLETED", "HoodieSavepointMetadata"),
    ]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_table_service_under_both_its_actions(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    time = copy.having("compaction.requested")[0][:17]
    found = [(file.action, file.state, file.record_type) for file in inspect(copy, time).files]
    assert found == [
        ("compaction", "REQUESTED", "HoodieCompactionPlan"),
        ("compaction", "INFLIGHT", None),
        ("commit", "COMPLETED", "HoodieCommitMetadata"),
    ]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_archived_instants(unpack: Unpack, version: str) -> None:
    """Layout 1 has kept every state, layout 2 the completed file and the plan."""
    copy = unpack(version, "cow_cleaned")
    times = [*support.facts(version, "cow_cleaned")["rows"]]
    found = inspect(copy, times[2])
    assert found.problems == ()
    assert {file.timeline for file in found.files} == {"archived"}
    states = ["REQUESTED", "INFLIGHT", "COMPLETED"] if version == "v6" else ["COMPLETED"]
    assert [file.state for file in found.files] == states
    done = found.files[-1]
    assert done.record_type == "HoodieCommitMetadata"
    assert done.record is not None
    stats = done.record["partitionToWriteStats"]
    assert all(times[2] in stat["path"] and stat["fileSizeInBytes"] for entry in stats.values() for stat in entry)
    assert "schema" in done.record["extraMetadata"]
    assert done.completion_time
    assert (done.bytes is None) == (version == "v6")


@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_archived_clean_with_its_plan(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    body, plan = copy.file_of("clean"), copy.file_of("clean.requested")
    time = "20200101000000000"
    if version == "v6":
        records.archive(copy, time, "clean", body)
    else:
        records.archive(copy, time, "clean", body, plan=plan)
    found = [(file.state, file.record) for file in inspect(copy, time).files]
    requested = [] if version == "v6" else [("REQUESTED", generic.read(plan))]
    assert found == [*requested, ("COMPLETED", generic.read(body))]


def test_an_instant_in_both_timelines_tells_both(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    time = copy.commits[0]
    records.archive(copy, time, body=copy.file(time, "commit").read_bytes())
    found = [(file.timeline, file.state) for file in inspect(copy, time).files]
    assert found == [
        ("active", "REQUESTED"),
        ("active", "INFLIGHT"),
        ("active", "COMPLETED"),
        ("archived", "COMPLETED"),
    ]


def test_actions_of_a_newer_hudi_are_shown_too(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    copy.write("20261121050000000.teleport.requested", records.stranger())
    (file,) = inspect(copy, "20261121050000000").files
    assert (file.action, file.record_type, file.record) == ("teleport", "Stranger", {"a": 1})


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("body", [b"garbage", b"Obj\x01", b"[1, 2]", b"\xff\xfe"])
def test_a_damaged_file_among_others(unpack: Unpack, version: str, body: bytes) -> None:
    """The others are shown, and it is named."""
    copy = unpack(version, "cow_savepoints")
    time = copy.savepoints[0]
    damaged = put(copy.file(time, "savepoint"), body)
    found = inspect(copy, time)
    (problem,) = found.problems
    assert damaged.name in problem
    assert [file.problem for file in found.files] == [None] * 4 + [problem]
    assert found.files[-1].record is None
    assert found.files[2].record is not None


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_damaged_archive(unpack: Unpack, version: str) -> None:
    """Of an instant that is active it may hold more; whether it holds another one nobody can tell."""
    copy = unpack(version, "cow_cleaned")
    path = records.archive(copy, copy.commits[0])
    put(path, path.read_bytes()[:-30] + b"\0" * 30)
    found = inspect(copy, copy.commits[0])
    assert len(found.files) == 3
    (problem,) = found.problems
    assert path.name in problem
    if version == "v6":
        with pytest.raises(Unreadable, match=path.name):
            inspect(copy, "20200101000000000")


@pytest.mark.parametrize("version", support.VERSIONS)
def test_no_such_instant_names_those_beside_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    times = [*support.facts(version, "cow_cleaned")["rows"]]
    first, second, last = times[0], times[1], max(name[:17] for name in copy.instants())
    cases = [("2", None, first), (f"{first}0", first, second), ("3", last, None), (f"{times[-2]}0", times[-2], None)]
    for asked, before, after in cases:
        with pytest.raises(Refused) as caught:
            inspect(copy, asked)
        named = caught.value.fields
        assert named["before"] == before
        assert after is None or named["after"] == after
        assert f"the one before is {before or 'none'}" in caught.value.message
    for asked, said in ((f" {first}", f"archived; write it as {first}"), ("last", "instant last, active or archived")):
        with pytest.raises(Refused) as caught:
            inspect(copy, asked)
        assert caught.value.message.endswith(said)
