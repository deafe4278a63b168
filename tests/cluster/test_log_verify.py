"""``log verify`` on executors: what decoding takes must be there, and what is not there is no damage."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from hudictl import workers
from hudictl.workers import CheckedPiece, PieceTask, check_log
from tests.cli.conftest import Tell, Unpack, _plain, tell, unpack
from tests.cluster.conftest import travelling_whole
from tests.cluster.engine_support import kill_executor
from tests.cluster.restore_support import on_cluster
from tests.engine.contract import leave_mark

__all__ = ["_plain", "tell", "unpack"]


def check_and_kill(task: PieceTask, mark: str) -> CheckedPiece | None:
    """The first time, the executor dies with its log read, and nobody is told."""
    found = check_log(task)
    if leave_mark(mark):
        kill_executor()
    return found


@pytest.fixture
def travelling() -> Iterator[None]:
    with travelling_whole(check_and_kill, kill_executor, leave_mark):
        yield


@pytest.fixture(scope="session")
def with_fastavro(python: Callable[..., str]) -> str:
    """What decoding takes but for Parquet blocks."""
    return python("fsspec", "fastavro")


@pytest.mark.full
def test_an_executor_without_fastavro(unpack: Unpack, tell: Tell, master: str, fsspec_only: str) -> None:
    """In one line, and with not one log called damaged."""
    copy = unpack("v9", "mor_part")
    said = tell("log", "verify", "-t", copy.path, *on_cluster(master, fsspec_only), "-o", "json")
    assert (said.code, said.out) == (16, "")
    assert said.error["fields"] == {"module": "fastavro"}
    assert "install it there" in said.error["hint"]


@pytest.mark.full
def test_an_executor_without_pyarrow(unpack: Unpack, tell: Tell, master: str, with_fastavro: str) -> None:
    """Parquet blocks take it, and they alone."""
    copy = unpack("v9", "mor_parquet_logs")
    said = tell("log", "verify", "-t", copy.path, *on_cluster(master, with_fastavro), "-o", "json")
    assert (said.code, said.error["fields"]) == (16, {"module": "pyarrow"})


@pytest.mark.usefixtures("travelling")
def test_executors_say_what_this_host_does(
    unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch, master: str, with_fastavro: str, tmp_path: Path
) -> None:
    """Also where one is killed meanwhile: Spark runs its tasks again."""
    copy = unpack("v6", "mor_part")
    for number, path in enumerate(sorted(path for path in copy.data() if ".log." in path)[:3]):
        (copy.path / path).write_bytes((copy.path / path).read_bytes()[: -1 - number])
    expected = tell("log", "verify", "-t", copy.path, "--engine", "local", "-o", "json")
    mark = tmp_path / "killed"
    monkeypatch.setattr(workers, "check_log", partial(check_and_kill, mark=str(mark)))
    said = tell("log", "verify", "-t", copy.path, *on_cluster(master, with_fastavro), "-o", "json")
    assert mark.exists()
    assert (said.code, said.json, said.error) == (3, expected.json, expected.error)
    assert len(said.json["rows"]) == 6
