"""What check asks of a partition where it is listed, and how little of it comes back."""

import json
import pickle
from array import array
from pathlib import Path
from typing import Any

import pytest

from hudictl.engine.base import TaskResult
from hudictl.engine.local import LocalEngine
from hudictl.errors import StorageFailed
from hudictl.formats.log_blocks import AVRO_DATA, INSTANT_TIME, encode_block
from hudictl.reports.health.check import check_table
from hudictl.reports.health.partition import Differences, WrongSize, differences
from hudictl.state.timeline.unread import unread_files
from hudictl.storage.local import LocalStorage
from hudictl.table.files.slices import Committed
from hudictl.table.files.sweep import Partition
from hudictl.table.files.written import Written
from hudictl.table.open import open_table
from hudictl.workers import Listing, pack
from tests.helpers import ENGINE, put
from tests.state.files.needed_records_support import VERSIONS, at, base, done
from tests.table.conftest import Small, base_of
from tests.table.conftest import small as small

PARQUET = b"PAR1" + bytes(4) + b"PAR1"
TWO = Committed({at(1): at(1), at(2): at(2)}, at(1))


def written(number: int, files: dict[str, int], **more: Any) -> Written:
    sizes = array("q", files.values()).tobytes()
    return Written(at(number), "/".join(files), sizes, wrote=True, **more)


def compared(files: dict[str, int], *commits: Written) -> Differences | None:
    listing = pack(Listing("p", tuple((name, size, 0) for name, size in files.items()), ()))
    return differences(TWO, TWO.completion.keys(), Partition("p", listing, written=commits))


def test_a_log_has_at_least_the_largest_size_that_a_commit_has_recorded() -> None:
    """Below table version 8 several commits write into one, where a store can append."""
    log = f".f-0_{at(1)}.log.1_0-1-1"
    commits = (written(2, {log: 20}), written(1, {log: 10}))
    assert compared({log: 20}, *commits) is None
    assert compared({log: 21}, *commits) is None
    found = compared({log: 15}, *commits)
    assert found is not None
    assert found.sizes == (WrongSize(log, 15, 20, cdc=False),)


def test_each_slice_is_compared_by_itself() -> None:
    """Two base files of a file group are two slices; of two commits each names its own file."""
    names = {base(1): 5, base(2): 5, base(2, "g-0"): 5}
    assert compared(names, written(1, {base(1): 5}), written(2, {base(2): 5, base(2, "g-0"): 5})) is None
    found = compared(names, written(1, {base(1): 5}))
    assert found is not None
    assert (found.second, found.unnamed) == ((), ((base(2), at(2)), (base(2, "g-0"), at(2))))


def test_a_partition_without_files_differs_in_nothing_here() -> None:
    """Missing files are another finding."""
    assert differences(TWO, TWO.completion.keys(), Partition("p", None, written=[written(1, {base(1): 5})])) is None
    assert differences(TWO, TWO.completion.keys(), Partition("p", pack(Listing("p", (), ())))) is None


def test_only_the_newest_file_of_a_group_is_unread() -> None:
    files = [base(1), base(2), base(1, "g-0"), base(1, "h-0")]
    listing = pack(Listing("p", tuple((name, 1, 0) for name in files), ()))
    commits = [written(2, {}, replaced=("h-0",))]
    unread = unread_files({at(2)}, {at(1)}, Partition("p", listing, written=commits))
    assert unread == [f"p/{base(1, 'g-0')}"]


def large(small: Small, version: int, count: int) -> Path:
    """A sound table with so many file groups, each of a base file and a log."""
    rows = encode_block(AVRO_DATA, {INSTANT_TIME: at(2)}, b"rows")
    logs = [f".f-{number}_{at(1 if version == 6 else 2)}.log.1_0-1-1" for number in range(count)]
    bodies = {base(1, f"f-{number}"): PARQUET for number in range(count)} | dict.fromkeys(logs, rows)

    def commit(of: list[str]) -> bytes:
        stats = [{"path": f"p/{name}", "prevCommit": "null", "fileSizeInBytes": len(bodies[name])} for name in of]
        return json.dumps({"partitionToWriteStats": {"p": stats}, "operationType": "UPSERT"}).encode()

    files = {done(version, 1): commit([*bodies][:count]), done(version, 2, "deltacommit"): commit(logs)}
    folder = base_of(small(version, files, table_type="MERGE_ON_READ"))
    put(folder / "p/.hoodie_partition_metadata", f"commitTime={at(1)}\npartitionDepth=1\n")
    for name, body in bodies.items():
        put(folder / "p" / name, body)
    return folder


@pytest.mark.slow
@VERSIONS
def test_what_comes_back_does_not_grow_with_the_files_of_a_sound_table(
    small: Small, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    real = LocalEngine.over

    def over(self: LocalEngine, *given: Any) -> list[TaskResult[Any]]:
        results = real(self, *given)
        sizes.append(sum(len(pickle.dumps(result.value)) for result in results))
        return results

    monkeypatch.setattr(LocalEngine, "over", over)

    def sent(count: int) -> int:
        """The bytes that came back for a table with so many file groups; the names of each have 70."""
        folder = large(small, version, count)
        sizes.clear()
        assert check_table(open_table(str(folder), zone="UTC"), ENGINE, 0, footers=True).findings == ()
        return sum(sizes)

    few = sent(10)
    assert sent(300) - few < 300


@VERSIONS
def test_a_file_that_cannot_be_read_ends_the_look_with_one_sentence(
    small: Small, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine puts its own around it once."""
    folder = large(small, version, 2)
    real = LocalStorage.read

    def read(self: LocalStorage, path: str, *rest: int) -> bytes:
        if path.endswith(".parquet"):
            raise StorageFailed("no answer")
        return real(self, path, *rest)

    monkeypatch.setattr(LocalStorage, "read", read)
    with pytest.raises(StorageFailed) as caught:
        check_table(open_table(str(folder), zone="UTC"), ENGINE, 0, footers=True)
    assert str(caught.value) == "cannot read footers: no answer"
