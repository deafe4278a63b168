"""What completed writes name, by partition: the same wherever their metadata is decoded."""

from collections.abc import Sequence
from functools import partial

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.errors import EngineFailed
from hudictl.formats.commit_metadata import CommitMetadata, WriteStat
from hudictl.formats.instants import State
from hudictl.table.files import written
from hudictl.table.files.written import Written, WrittenFiles, by_partition, gather_written
from hudictl.table.timeline.active import load_timeline
from hudictl.table.timeline.commits import load_commits
from tests.engine.elsewhere import Elsewhere
from tests.fixtures import Unpack
from tests.helpers import Copy

TABLES = [("v6", "cow_cluster"), ("v8", "mor_part"), ("v9", "cow_cluster"), ("v6", "cow_flat_nomdt")]


def stat(path: str | None, size: int, previous: str | None = None, logs: Sequence[tuple[str, int]] = ()) -> WriteStat:
    return WriteStat("f-0", path, previous, 0, 0, 0, 0, 0, size, tuple(logs))


def lacks(module: str) -> None:
    raise EngineFailed("an executor lacks it", module=module)


def gathered(copy: Copy, engine: LocalEngine | None = None) -> WrittenFiles:
    timeline = load_timeline(copy.table)
    times = {entry.time for entry in timeline.writes()}
    return gather_written(copy.table, timeline, engine or LocalEngine(), times)


def named(found: WrittenFiles) -> set[tuple[str, str, int]]:
    """Each file: its commit, path and size."""
    return {
        (entry.time, f"{path}/{name}", size)
        for path, entry in found.files.engine.pairs(found.files)
        for name, size in entry.files
    }


@pytest.mark.parametrize(("version", "table"), TABLES)
def test_it_names_what_the_commits_name(unpack: Unpack, version: str, table: str) -> None:
    copy = unpack(version, table)
    timeline = load_timeline(copy.table)
    commits = load_commits(copy.table, timeline)
    completed = {entry.time for entry in timeline.completed_writes()}
    found = gathered(copy)
    assert found.times == completed
    assert not found.unreadable
    assert {(time, path.removeprefix("/"), size) for time, path, size in named(found)} == {
        (time, str(stat.path), stat.file_bytes)
        for time in completed
        for stats in commits[time].stats.values()
        for stat in stats
    }
    assert found.partitions == {path for time in completed for path in commits[time].stats}
    assert found.replaced_in == {path for time in completed for path in commits[time].replaced}
    replaced = {(entry.time, path): entry.replaced for path, entry in found.files.engine.pairs(found.files)}
    for time in completed:
        for path, ids in commits[time].replaced.items():
            assert replaced[time, path] == ids


def test_each_partition_of_a_commit_is_one_value() -> None:
    """Of a file with two statistics the larger size counts; the profile of a write in flight names no file."""
    metadata = CommitMetadata(
        "UPSERT",
        {
            "p": (stat("p/a", 5, "1"), stat("p/a", 3, "null"), stat("p/b", 0, None, [("p/.b.cdc", 9)])),
            "q": (stat(None, 0, "2"),),
            "": (stat("c", 4),),
        },
        {"q": ("f-1",), "r": ("f-2",)},
    )
    found = dict(by_partition("7", metadata))
    assert {path: [*entry.files] for path, entry in found.items()} == {
        "p": [("a", 5), ("b", 0)],
        "q": [],
        "": [("c", 4)],
        "r": [],
    }
    assert {path: entry.wrote for path, entry in found.items()} == {"p": True, "q": True, "": True, "r": False}
    assert {path: entry.replaced for path, entry in found.items()} == {"p": (), "q": ("f-1",), "": (), "r": ("f-2",)}
    assert {path: sorted(entry.previous) for path, entry in found.items()} == {"p": ["1"], "q": ["2"], "": [], "r": []}
    assert found["p"].change_logs == ((".b.cdc", 9, "b"),)
    assert {entry.time for entry in found.values()} == {"7"}


def test_a_commit_that_cannot_be_read_names_nothing_and_is_told(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    whole = named(gathered(copy))
    copy.write(f"{copy.commits[1]}.commit", b"{")
    found = gathered(copy)
    assert found.unreadable == {copy.commits[1]}
    assert named(found) == {entry for entry in whole if entry[0] != copy.commits[1]}


def test_an_empty_commit_names_nothing_and_is_whole(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    whole = named(gathered(copy))
    copy.write(f"{copy.commits[1]}.commit", b"")
    found = gathered(copy)
    assert (copy.commits[1] in found.times, found.unreadable) == (True, frozenset())
    assert named(found) == {entry for entry in whole if entry[0] != copy.commits[1]}


def test_much_metadata_is_decoded_where_the_engine_is(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """A little is not: a job costs more."""
    copy = unpack("v8", "cow_part")
    few = Elsewhere()
    expected = named(gathered(copy, few))
    assert few.items == []
    timeline = load_timeline(copy.table)
    files = [entry.file(State.COMPLETED) for entry in timeline.completed_writes()]
    monkeypatch.setattr(written, "_ENOUGH_BYTES", sum(timeline.sizes[file.name] for file in files if file) - 1)
    many = Elsewhere()
    assert named(gathered(copy, many)) == expected
    assert len(many.items) == len(files)


def test_where_executors_lack_fastavro_this_process_decodes(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """They need fsspec alone. Anything else that they lack is the engine's failure."""
    copy = unpack("v8", "cow_part")
    expected = named(gathered(copy))
    monkeypatch.setattr(written, "_ENOUGH_BYTES", 0)
    assert named(gathered(copy, Elsewhere(partial(lacks, "fastavro")))) == expected
    with pytest.raises(EngineFailed, match="an executor lacks it"):
        gathered(copy, Elsewhere(partial(lacks, "s3fs")))


def test_a_value_is_small() -> None:
    """A name with its size takes 9 bytes beside its text."""
    names = [f"{number:08}" for number in range(10_000)]
    metadata = CommitMetadata("UPSERT", {"p": tuple(stat(f"p/{name}", 7) for name in names)})
    ((_, entry),) = by_partition("7", metadata)
    assert len(entry.names) + len(entry.sizes) == 17 * len(names) - 1
    assert [*entry.files] == [(name, 7) for name in names]
    assert isinstance(entry, Written)
