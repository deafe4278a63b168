"""Processes of this host beside hudictl's own, for work that its processor bounds: a Python process uses one core.

Each is an interpreter of its own that gets its tasks on stdin: ``multiprocessing`` would run the main module of whoever
uses hudictl as a library again in each. It ends when its parent has ended, and a Ctrl-C does not reach it.
"""

import os
import pickle
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any

from hudictl.engine.base import Item, Value
from hudictl.errors import EngineFailed

_MUCH_SECONDS = 0.6
"""Work of this process after which others are worth their start (0.3 s each)."""
_SENT_SECONDS = 0.1
"""The same where they have started."""
_BUSY = 0.8
"""The share of the time that a process bound by its processor works: one that waits for a store has threads."""
_MOST = 16
"""Each has some 50 MiB."""
_BEGIN = "import pickle, sys; sys.path[:], parent = pickle.load(sys.stdin.buffer); "
_BEGIN += "from hudictl.engine.processes import serve; serve(parent)"
_GONE = (OSError, EOFError, pickle.UnpicklingError)
Process = subprocess.Popen[bytes]


@dataclass(frozen=True)
class Effort:
    """How much this process has worked since this was made."""

    wall_s: float = field(default_factory=time.perf_counter)
    work_s: float = field(default_factory=time.process_time)

    def much(self, processes: "Processes") -> bool:
        """Whether the rest is worth other processes."""
        work_s = time.process_time() - self.work_s
        enough_s = _MUCH_SECONDS if processes.idle.empty() else _SENT_SECONDS
        return work_s > max(enough_s, _BUSY * (time.perf_counter() - self.wall_s))


@dataclass(frozen=True)
class Processes:
    """The processes that have been started: those that wait for tasks, and those that have one."""

    idle: SimpleQueue[Process] = field(default_factory=SimpleQueue)
    busy: set[Process] = field(default_factory=set)

    def each(self, function: Callable[[Item], Value], tasks: Iterable[Item]) -> Iterator[Value]:
        """The values in the order of the tasks, of which few are in memory. A task that a process cannot do, because it
        died, or has no module that is needed, this one does. The function must not change a table: whoever does not ask
        for all values ends the processes that are at work."""
        running: deque[Future[Value]] = deque()
        at_once, over = cores(), Event()
        with ThreadPoolExecutor(at_once, thread_name_prefix="hudictl-process") as threads:
            try:
                for task in tasks:
                    running.append(threads.submit(self._do, function, task, over))
                    if len(running) > at_once:
                        yield running.popleft().result()
                while running:
                    yield running.popleft().result()
            finally:
                for future in running:
                    future.cancel()
                self._stop(over)

    @contextmanager
    def beside(self, function: Callable[[Item], Value], task: Item) -> Iterator[Callable[[], Value]]:
        """One task while this process does something else: what is yielded waits for its value. It ends with the body,
        and must not change a table."""
        over = Event()
        with ThreadPoolExecutor(1, thread_name_prefix="hudictl-process") as thread:
            future = thread.submit(self._do, function, task, over)
            try:
                yield future.result
            finally:
                self._stop(over)

    def _stop(self, over: Event) -> None:
        over.set()
        for process in [*self.busy]:
            process.kill()

    def _do(self, function: Callable[[Item], Value], task: Item, over: Event) -> Value:
        try:
            request = pickle.dumps((function, task), pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError):
            return function(task)
        try:
            process = self.idle.get_nowait()
        except Empty:
            try:
                process = _start()
            except OSError:
                return function(task)
        self.busy.add(process)
        done, value = _asked(process, request)
        self.busy.discard(process)
        if done is None:
            _end(process)
        else:
            self.idle.put(process)
        if not done and over.is_set():
            raise EngineFailed("the work was stopped")
        return value if done else function(task)

    def close(self) -> None:
        """Ends them."""
        while not self.idle.empty():
            _end(self.idle.get_nowait())


def cores() -> int:
    """The cores that this process may use; 1 where it cannot start others."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(found, _MOST) if sys.executable else 1


def _start() -> Process:
    process = subprocess.Popen(
        [sys.executable, "-c", _BEGIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    process.stdin.write(pickle.dumps((sys.path, os.getpid())))
    return process


def _asked(process: Process, request: bytes) -> tuple[bool | None, Any]:
    """Whether it has done the task, and the value; None: it has died."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(request)
        process.stdin.flush()
        done, value = pickle.load(process.stdout)
    except _GONE:
        return None, None
    return done, value


def _end(process: Process) -> None:
    process.kill()
    process.communicate()


def serve(parent: int) -> None:
    """Does tasks until stdin ends, or the parent process has ended."""
    Thread(target=_end_with, args=(parent,), daemon=True).start()
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What else is printed must not get between the answers.
    os.dup2(2, 1)
    while True:
        try:
            function, task = pickle.load(asked)
            answer = pickle.dumps((True, function(task)), pickle.HIGHEST_PROTOCOL)
        except EOFError:
            return
        except Exception:
            answer = pickle.dumps((False, None))
        try:
            answers.write(answer)
            answers.flush()
        except OSError:
            # The parent has ended: nobody wants to hear of it.
            os._exit(1)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
