"""A restore holds nothing that grows with the files that stay."""

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from hudictl.engine.base import Gathered, TaskResult
from hudictl.engine.local import LocalEngine
from hudictl.formats.savepoint import SavepointMetadata, encode
from tests.helpers import Copy, put, restore
from tests.state.files.needed_records_support import VERSIONS, at, base, done, stamp, wrote
from tests.table.conftest import Small, base_of
from tests.table.conftest import small as small


def large(small: Small, version: int, count: int) -> Path:
    """A table with a savepoint on its first commit, of so many file groups; its second commit rewrote two of them."""
    groups = [f"f-{number}" for number in range(count)]
    first, second = [base(1, group) for group in groups], [base(2, group) for group in groups[:2]]
    files = {
        done(version, 1): wrote(*(f"p/{name}" for name in first)),
        done(version, 2): wrote(*(f"p/{name}" for name in second)),
        f"{at(1)}.savepoint.inflight": b"",
        done(version, 1, "savepoint"): encode(SavepointMetadata("ann", 1, "", {"p": tuple(first)})),
    }
    folder = base_of(small(version, files))
    stamp(folder, files)
    put(folder / "p/.hoodie_partition_metadata", f"commitTime={at(1)}\npartitionDepth=1\n")
    for name in (*first, *second):
        put(folder / "p" / name, b"x")
    return folder


@VERSIONS
def test_what_comes_back_and_what_is_sent_does_not_grow_with_the_files_that_stay(
    small: Small, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through plan, deletion and verification; in the commit that stays and in the savepoint are all of their names."""
    sizes: list[int] = []
    over, keep = LocalEngine.over, LocalEngine.keep

    def looked(self: LocalEngine, *given: Any) -> list[TaskResult[Any]]:
        results = over(self, *given)
        sizes.append(sum(len(pickle.dumps(result.value)) for result in results))
        return results

    def kept(self: LocalEngine, pairs: Iterable[tuple[str, Any]]) -> Gathered:
        pairs = list(pairs)
        sizes.append(len(pickle.dumps(pairs)))
        return keep(self, pairs)

    monkeypatch.setattr(LocalEngine, "over", looked)
    monkeypatch.setattr(LocalEngine, "keep", kept)

    def moved(count: int) -> int:
        """The bytes for a table with so many file groups; the names of each have 31."""
        copy = Copy("v6" if version == 6 else "v9", "large", large(small, version, count))
        sizes.clear()
        done = restore(copy, at(1))
        assert done.files_deleted == 2
        return sum(sizes)

    few = moved(10)
    assert moved(300) - few < 300
