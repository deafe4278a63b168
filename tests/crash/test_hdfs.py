"""A restore over WebHDFS that dies, or loses an answer, at any change: the same command ends it, as on local files."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.planning import plan_restore
from hudictl.storage import webhdfs
from hudictl.storage.webhdfs import WebHdfs
from hudictl.table.open import open_table
from tests.crash import reader
from tests.crash.inject import Crash, copy, deaths, dying
from tests.crash.restore_support import ALL_OPTIONS, OPTIONS, Case, _case, _check_promise, _state
from tests.helpers import attempt, session
from tests.storage.name_node import LOST, NameNode, Request, serving

pytestmark = pytest.mark.crash

CHANGES = frozenset({"CREATE", "RENAME", "DELETE", "MKDIRS"})
WAYS = ["name node", "HttpFS"]
TABLES = [
    ("v9", "mor_savepoints", 1, OPTIONS),
    ("v6", "mor_savepoints", 1, OPTIONS),
    ("v8", "cow_cluster", 0, OPTIONS),
    ("v6", "cow_part", 1, OPTIONS),
    ("v9", "cow_savepoints", 0, ALL_OPTIONS),
]


@dataclass(frozen=True)
class Place:
    """A case's table, without the checksum files that only local files have, and the name node that serves copies."""

    node: NameNode
    case: Case

    def copy(self, name: str) -> Path:
        return copy(self.case.base, self.node.folder / name)

    def restore(self, base: Path) -> None:
        table = open_table(f"webhdfs:{self.node.address.removeprefix('http:')}/{base.name}", {"user": "hudi"})
        plan = plan_restore(session(table), self.case.target, self.case.options)
        if not plan.nothing_to_do:
            execute_restore(session(table), plan)

    def finish(self, base: Path) -> None:
        """What is left keeps the promise; the same command finishes it."""
        _check_promise(self.case, base)
        self.restore(base)
        self.assert_done(base)

    def assert_done(self, base: Path) -> None:
        assert _state(base) == {name for name in self.case.after if not name.endswith(".crc")}
        assert reader.snapshot(base).digest == reader.as_of(base, self.case.target).digest
        shutil.rmtree(base)


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setattr(webhdfs, "_PAUSES_S", (0, 0))
    version, name, number, options = request.param
    case = _case(version, name, number, tmp_path, options)
    for sidecar in [*case.base.rglob(".*.crc")]:
        sidecar.unlink()
    (tmp_path / "hdfs").mkdir()
    with serving(NameNode(tmp_path / "hdfs")) as node:
        yield Place(node, case)


@contextmanager
def counting(at: int | None, after: bool = False) -> Iterator[list[str]]:
    """The client's changes; the process is gone at number ``at`` (from 0), before the request or after it."""
    seen: list[str] = []
    answered = WebHdfs._answer

    def answer(client: WebHdfs, method: str, url: str, body: bytes | None = None) -> Any:
        op = url.partition("?op=")[2].partition("&")[0]
        if op not in CHANGES:
            return answered(client, method, url, body)
        seen.append(op)
        if at is not None and len(seen) > at + after:
            raise Crash(url)
        return answered(client, method, url, body)

    with pytest.MonkeyPatch.context() as patch, dying(None):
        patch.setattr(WebHdfs, "_answer", answer)
        yield seen


def number_of_changes(place: Place) -> int:
    """Of a whole restore."""
    base = place.copy("whole")
    with counting(None) as changes:
        place.restore(base)
    place.assert_done(base)
    return len(changes)


@pytest.mark.short("place0-11-name node", "place1-13-name node", "place0-13-HttpFS")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("every", [1, 11, 13])
@pytest.mark.parametrize("place", TABLES, indirect=True)
def test_dies_anywhere(place: Place, every: int, way: str) -> None:
    """Before each request that changes something: so also after each."""
    place.node.gateway = way == "HttpFS"
    for at in deaths(number_of_changes(place), every):
        base = place.copy(f"at-{at}")
        with counting(at), pytest.raises(Crash):
            place.restore(base)
        place.finish(base)


@pytest.mark.short("place0-11")
@pytest.mark.parametrize("every", [1, 11])
@pytest.mark.parametrize("place", TABLES, indirect=True)
def test_loses_any_answer(place: Place, every: int) -> None:
    """The change is made, and its answer is lost: the command goes on by itself, and ends as if nothing had been."""
    for at in deaths(number_of_changes(place), every):
        base = place.copy(f"at-{at}")
        place.node.after = _Losing(at)
        with dying(None):
            assert attempt(lambda base=base: place.restore(base)) is None
        assert place.node.after.lost
        place.node.after = lambda _: None
        place.assert_done(base)


class _Losing:
    def __init__(self, at: int) -> None:
        self.at, self.count, self.lost = at, 0, False

    def __call__(self, request: Request) -> Any:
        if request.op not in CHANGES:
            return None
        self.count += 1
        self.lost = self.lost or self.count - 1 == self.at
        return LOST if self.count - 1 == self.at else None
