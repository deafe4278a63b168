"""Work on other processes of this host: the same values, whatever becomes of a process, and none is left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hudictl.engine import processes
from hudictl.engine.base import TaskResult
from hudictl.engine.local import LocalEngine
from hudictl.engine.processes import Processes
from hudictl.errors import EngineFailed

OWN = os.getpid()
# The others import this module, too.
ELSEWHERE = any("engine.processes import serve" in word for word in sys.orig_argv)
KEYS = [f"key {number}" for number in range(500)]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalEngine]:
    """All work but the first item is much."""
    monkeypatch.setattr(processes, "_MUCH_SECONDS", -1.0)
    monkeypatch.setattr(processes, "_SENT_SECONDS", -1.0)
    monkeypatch.setattr(processes, "_BUSY", -1.0)
    made = LocalEngine(processes=Processes())
    yield made
    made.close()


def pairs(key: str) -> Iterator[tuple[str, int]]:
    if key == KEYS[7]:
        raise ValueError("seven")
    print("not an answer", flush=True)
    yield key, len(key)
    yield KEYS[0], 1


def total(key: str, found: Sequence[Sequence[int]]) -> tuple[str, int, bool]:
    print("nor this", flush=True)
    return key, sum(map(sum, found)), not ELSEWHERE


def pid_then_slow(path: str) -> None:
    Path(path).write_text(str(os.getpid()))
    time.sleep(60)


def dies(key: str) -> str:
    if ELSEWHERE:
        os._exit(1)
    return key


def imports(key: str) -> str:
    if ELSEWHERE:
        raise ModuleNotFoundError("no such module", name="such")
    return key


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]


def wait_for(what: object) -> None:
    deadline = time.monotonic() + 30
    while not what() and time.monotonic() < deadline:  # type: ignore[operator]
        time.sleep(0.02)


@pytest.mark.slow
def test_the_values_are_those_of_one_process(engine: LocalEngine) -> None:
    for own, where in ((LocalEngine(), {True}), (engine, {True, False})):
        results = own.over("sum", [own.gather("list", pairs, KEYS)], total)
        sums = {(found[0], found[1]) for result in results if (found := result.value)}
        assert sums == {(KEYS[0], 499 + 5), *((key, len(key)) for key in KEYS[1:] if key != KEYS[7])}
        assert [result for result in results if result.error] == [TaskResult(None, "seven")]
        assert {result.value[2] for result in results if result.value} == where


@pytest.mark.slow
def test_the_order_is_that_of_the_tasks(engine: LocalEngine) -> None:
    assert engine.processes is not None
    assert list(engine.processes.each(str.upper, KEYS)) == [key.upper() for key in KEYS]


def odd_there(key: str) -> object:
    return (lambda: key) if ELSEWHERE else key


def test_where_no_process_can_start_this_one_works(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert engine.processes is not None
    assert list(engine.processes.each(str.upper, KEYS[:3])) == [key.upper() for key in KEYS[:3]]


@pytest.mark.slow
@pytest.mark.parametrize("function", [dies, imports, odd_there, lambda key: key])
def test_what_no_process_can_do_this_one_does(engine: LocalEngine, function: object) -> None:
    assert engine.processes is not None
    assert list(engine.processes.each(function, KEYS[:5])) == KEYS[:5]  # type: ignore[arg-type]


@pytest.mark.slow
def test_one_that_died_gets_no_other_task(engine: LocalEngine) -> None:
    assert engine.processes is not None
    list(engine.processes.each(dies, KEYS[:5]))
    assert engine.processes.idle.empty()


@pytest.mark.slow
def test_one_that_dies_without_a_task(engine: LocalEngine) -> None:
    assert engine.processes is not None
    pids = {*engine.processes.each(_pid, KEYS)}
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(map(alive, pids)))
    found = {*engine.processes.each(_pid, KEYS)}
    # Each of them, when it gets a task; the task is done by this one.
    assert OWN in found
    assert not found & pids


def test_a_module_that_is_missing_here_is_the_engines_failure(engine: LocalEngine) -> None:
    with pytest.raises(EngineFailed, match="has no module nowhere"):
        engine.over("look", [engine.keep((key, 1) for key in KEYS)], missing)


def missing(key: str, found: Sequence[Sequence[int]]) -> None:
    raise ModuleNotFoundError("No module named 'nowhere'", name="nowhere")


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_they_end_with_their_parent(tmp_path: Path, sign: signal.Signals) -> None:
    """Who interrupts it does not wait for their work."""
    noted = tmp_path / "pid"
    script = (
        # In the background of a shell it would be ignored.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from hudictl.engine.processes import Processes\n"
        "from tests.engine.test_processes import pid_then_slow\n"
        f"list(Processes().each(pid_then_slow, [{str(noted)!r}]))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, start_new_session=True)
    wait_for(lambda: noted.exists() and noted.read_text())
    pid = int(noted.read_text())
    assert alive(pid)
    parent.send_signal(sign)
    _, said = parent.communicate(timeout=30)
    assert (b"KeyboardInterrupt" in said) is (sign is signal.SIGINT)
    wait_for(lambda: not alive(pid))
    assert not alive(pid)


@pytest.mark.slow
def square(number: int) -> tuple[int, bool]:
    return number**2, not ELSEWHERE


def test_one_task_beside_other_work(engine: LocalEngine) -> None:
    assert engine.processes is not None
    with engine.processes.beside(square, 7) as value:
        assert value() == (49, False)


def test_a_task_beside_ends_with_the_work(engine: LocalEngine, tmp_path: Path) -> None:
    """Nobody waits for it if the work fails, or a Ctrl-C ends it."""
    assert engine.processes is not None
    begun = tmp_path / "pid"
    at = time.monotonic()

    def interrupt() -> None:
        while not (begun.exists() and begun.read_text()):
            time.sleep(0.01)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), engine.processes.beside(pid_then_slow, str(begun)):
        interrupt()
    assert time.monotonic() - at < 50
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)


def test_none_is_left(engine: LocalEngine) -> None:
    assert engine.processes is not None
    assert OWN not in {*engine.processes.each(_pid, KEYS)}
    (*pids,) = {*engine.processes.each(_pid, KEYS)}
    engine.close()
    assert not [pid for pid in pids if alive(pid)]


def _pid(key: str) -> int:
    return os.getpid()
