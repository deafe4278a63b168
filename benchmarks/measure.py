"""Runs a process and measures it from outside: wall and processor time, memory, moments of its restore."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

COMPLETED_WRITE = re.compile(r"(\d{14,17})\.(?:commit|deltacommit|replacecommit)")
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass(frozen=True)
class Usage:
    """What the processes took: peaks of resident memory, of all together, of the JVMs among them, and of the first
    process alone; processor time, of all and of the first alone."""

    total_mib: float = 0.0
    jvm_mib: float = 0.0
    cpu_s: float = 0.0
    own_mib: float = 0.0
    own_cpu_s: float = 0.0


@dataclass(frozen=True)
class Moments:
    """When the steps of a restore became visible in the timeline folder: seconds since the process was started."""

    inflight: float | None = None
    readers_back: float | None = None
    completed: float | None = None


@dataclass(frozen=True)
class Measured:
    """One process, measured."""

    returncode: int
    wall_s: float
    usage: Usage
    moments: Moments
    lines: list[str]


def measure(command: Sequence[str], log: str, env: Mapping[str, str], watch: tuple[str, str] | None = None) -> Measured:
    """Runs a command to its end; ``watch`` is a table and the instant that it is being restored to.

    Its output goes to the log, each line with the seconds since the start, for a look at the phases.
    """
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"$ {shlex.join(command)}\n")
    lines: list[str] = []
    stop = threading.Event()
    start = time.monotonic()
    with subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        usage = UsageWatch(process.pid, stop)
        timeline = TimelineWatch(*watch, start, stop) if watch else None
        reader = threading.Thread(target=read_lines, args=(process, lines, log, start), daemon=True)
        threads = [usage, reader, *([timeline] if timeline else [])]
        for thread in threads:
            thread.start()
        returncode = process.wait()
        wall = time.monotonic() - start
        # A gateway JVM may outlive the Python that started it; it would take processor time from the next contender.
        usage.wait_for_all(60)
        stop.set()
        for thread in threads:
            thread.join()
    return Measured(returncode, wall, usage.usage, timeline.moments if timeline else Moments(), lines)


def read_lines(process: subprocess.Popen[str], lines: list[str], log: str, start: float) -> None:
    """Copies the output of a process to the log."""
    with open(log, "a", encoding="utf-8") as file:
        for line in process.stdout or ():
            lines.append(line.rstrip("\n"))
            file.write(f"{time.monotonic() - start:9.3f} {line}")


class UsageWatch(threading.Thread):
    """Samples the resident memory and processor time of a process and everything it starts."""

    def __init__(self, root: int, stop: threading.Event, interval: float = 0.1) -> None:
        super().__init__(daemon=True)
        self.usage = Usage()
        self.root, self.stop, self.interval = root, stop, interval
        self.seen: dict[int, str] = {}
        self.cpu_s: dict[tuple[int, str], float] = {}

    def run(self) -> None:
        while not self.stop.wait(self.interval):
            self.sample()

    def sample(self) -> set[int]:
        """Adds one sample to the peaks; returns the processes that still live."""
        processes = read_processes()
        tree = {pid for pid, started in self.seen.items() if pid in processes and processes[pid].started == started}
        if self.root in processes:
            tree.add(self.root)
        size = -1
        while size != len(tree):
            size = len(tree)
            tree |= {pid for pid, process in processes.items() if process.parent in tree}
        # A process whose parent died has another parent now, so what was once in the tree stays in it.
        self.seen.update({pid: processes[pid].started for pid in tree})
        alive = [processes[pid] for pid in tree if not processes[pid].borrows(processes.get(processes[pid].parent))]
        total = sum(process.resident_mib for process in alive)
        jvm = sum(process.resident_mib for process in alive if process.name == "java")
        # Each process's last sample counts: what it did after that, a tenth of a second at most, is missing.
        self.cpu_s.update({(pid, processes[pid].started): processes[pid].cpu_s for pid in tree})
        peak, jvm_peak = max(self.usage.total_mib, total), max(self.usage.jvm_mib, jvm)
        own = processes.get(self.root)
        own_mib = max(self.usage.own_mib, own.resident_mib if own and not own.zombie else 0.0)
        own_cpu_s = own.cpu_s if own else self.usage.own_cpu_s
        self.usage = Usage(peak, jvm_peak, sum(self.cpu_s.values()), own_mib, own_cpu_s)
        return {pid for pid in tree if not processes[pid].zombie}

    def wait_for_all(self, seconds: float) -> None:
        """Waits until no process of the tree is left."""
        end = time.monotonic() + seconds
        while self.sample() - {self.root} and time.monotonic() < end:
            time.sleep(self.interval)


@dataclass(frozen=True)
class Process:
    """One line of the process list."""

    name: str
    parent: int
    started: str
    virtual_bytes: int
    resident_mib: float
    cpu_s: float
    zombie: bool

    def borrows(self, parent: Process | None) -> bool:
        """Whether this is a JVM's child between vfork and exec: the memory it shows is the JVM's."""
        return parent is not None and parent.name == "java" and parent.virtual_bytes == self.virtual_bytes


def read_processes() -> dict[int, Process]:
    """The processes of this host by number; empty where there is no /proc, and memory is then shown as 0."""
    processes = {}
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                head, _, tail = file.read().rpartition(")")
        except OSError:
            continue  # it ended between the two calls
        fields = tail.split()
        processes[int(entry)] = Process(
            name=head.partition("(")[2],
            parent=int(fields[1]),
            started=fields[19],
            virtual_bytes=int(fields[20]),
            resident_mib=int(fields[21]) * PAGE_MIB,
            cpu_s=(int(fields[11]) + int(fields[12])) / TICKS,
            zombie=fields[0] in "ZX",
        )
    return processes


class TimelineWatch(threading.Thread):
    """Watches the timeline of a table during a restore.

    Readers are back when the restore is inflight and no completed write later than the target is left: from then on
    every new query sees the table as it was at the target, whatever is still to be deleted.
    """

    def __init__(self, base: str, target: str, start: float, stop: threading.Event, interval: float = 0.005) -> None:
        super().__init__(daemon=True)
        self.moments = Moments()
        self.folder, self.target = os.path.join(base, ".hoodie"), target
        self.start_time, self.stop, self.interval = start, stop, interval

    def run(self) -> None:
        while not self.stop.wait(self.interval):
            self.look()
        self.look()

    def look(self) -> None:
        """Notes what has become visible since the last look."""
        names = os.listdir(self.folder)
        now = time.monotonic() - self.start_time
        moments = self.moments
        if moments.inflight is None and any(name.endswith(".restore.inflight") for name in names):
            moments = replace(moments, inflight=now)
        if moments.inflight is not None and moments.readers_back is None and not self.later_writes(names):
            moments = replace(moments, readers_back=now)
        if moments.completed is None and any(name.endswith(".restore") for name in names):
            moments = replace(moments, completed=now)
        self.moments = moments

    def later_writes(self, names: list[str]) -> bool:
        """Whether a completed write later than the target is among the files."""
        matches = filter(None, map(COMPLETED_WRITE.fullmatch, names))
        return any(match[1] > self.target for match in matches)
