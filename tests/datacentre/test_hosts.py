"""Hosts are as separate as real ones, and nothing of them is left, however the tests end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.datacentre.hosts import Datacentre, HostError, start_hosts
from tests.datacentre.services import ROOT, base

pytestmark = pytest.mark.datacentre

LISTEN = "import socket; s = socket.create_server(('', 7)); print('up', flush=True)\nwhile True: s.accept()"
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 7), 2)"
COUNT = "i=0; while true; do i=$((i+1)); echo $i; sleep 0.05; done"
NAMESPACES = ("pid", "net", "mnt", "uts")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Datacentre]:
    """Three hosts, of which one listens."""
    with start_hosts(tmp_path_factory.mktemp("hosts"), {name: base() for name in ("one", "two", "server")}) as running:
        running.wait_for_port(running.spawn("server", "listen", [python(), "-c", LISTEN]), 7)
        yield running


def python() -> str:
    """The Python that every host has."""
    return os.path.realpath(sys.executable)


def reaches(datacentre: Datacentre, host: str, other: str) -> bool:
    return datacentre.run(host, [python(), "-c", CONNECT, other]).returncode == 0


def namespaces(pid: int) -> set[str]:
    return {os.readlink(f"/proc/{pid}/ns/{kind}") for kind in NAMESPACES}


def in_use(found: set[str]) -> set[int]:
    """The processes that are in one of these namespaces."""
    inside = set()
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        try:
            if namespaces(pid) & found:
                inside.add(pid)
        except OSError:
            continue
    return inside


def of_this_machine() -> tuple[str, str]:
    """Its network devices, and what is mounted."""
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    return links, Path("/proc/self/mounts").read_text()


def test_hosts_share_no_files(three: Datacentre, tmp_path: Path) -> None:
    """Neither with each other nor with this machine; what both have installed cannot be written."""
    name = f"made-by-one-{os.getpid()}"
    assert three.check("one", ["sh", "-c", f"hostname; echo x > /tmp/{name}; echo x > /root/{name}"]) == "one\n"
    assert three.check("two", ["sh", "-c", f"ls /tmp /root | grep -c {name} || true"]) == "0\n"
    assert not [path for path in (f"/root/{name}", f"/tmp/{name}") if Path(path).exists()]
    for folder in (ROOT, tmp_path, Path.home() / ".cache", Path("/sys/class")):
        assert three.run("one", ["ls", str(folder)]).returncode == 2
    assert "Read-only" in three.run("one", ["touch", "/usr/x"]).stderr


def test_hosts_reach_each_other_and_nothing_else(three: Datacentre) -> None:
    assert reaches(three, "one", "server")
    routes = three.check("one", ["ip", "route"]).splitlines()
    assert [route.split()[0] for route in routes] == ["10.54.0.0/24"]


def test_a_cut(three: Datacentre) -> None:
    """Of a host: it reaches nobody. Of two hosts: only each other. And healed."""
    three.cut("server")
    assert not reaches(three, "one", "server")
    three.heal("server")
    assert reaches(three, "one", "server")
    three.cut("one", "server")
    assert not reaches(three, "one", "server")
    assert reaches(three, "two", "server")
    three.heal("one", "server")
    assert reaches(three, "one", "server")


def test_a_pause(three: Datacentre) -> None:
    """All processes stand still, and go on; a process that was waited for is still waited for."""
    process = three.spawn("two", "count", ["sh", "-c", COUNT])
    three.wait_for_words(process, "3")
    three.pause("two")
    said = process.said()
    time.sleep(0.3)
    assert process.said() == said
    three.resume("two")
    three.wait_for_words(process, str(len(said.splitlines()) + 3))
    process.signal(signal.SIGTERM)
    assert process.wait() != 0


def test_a_process_that_does_not_do_what_is_waited_for(three: Datacentre) -> None:
    process = three.spawn("one", "fails", ["sh", "-c", "echo because; exit 3"])
    with pytest.raises(HostError, match=r"has ended with 3: because"):
        three.wait_for_port(process, 99)
    assert three.run("one", ["sh", "-c", "exit 3"]).returncode == 3
    with pytest.raises(HostError, match="takes more than"):
        three.run("one", ["sleep", "60"], seconds=0.1)


@pytest.mark.parametrize("how", ["end", "failure", "pause", "power off"])
def test_nothing_is_left(tmp_path: Path, how: str) -> None:
    before = of_this_machine()
    found: set[str] = set()
    try:
        with start_hosts(tmp_path, {name: base() for name in ("one", "two")}) as running:
            # A process that has left its parents, too.
            running.check("one", ["sh", "-c", "setsid sleep 100 > /dev/null 2>&1 &"])
            last = running.spawn("two", "sleep", ["sleep", "100"])
            for pid in (running.pid, *(host.pid for host in running.hosts.values())):
                found |= namespaces(pid) - namespaces(os.getpid())
            assert len(in_use(found)) >= 5
            if how == "power off":
                running.power_off("two")
                assert last.wait(1) != 0
                assert reaches(running, "one", "one") is False
            if how == "pause":
                running.pause("two")
            if how == "failure":
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert how == "failure"
    assert in_use(found) == set()
    assert of_this_machine() == before


def test_nothing_is_left_of_a_killed_run(tmp_path: Path) -> None:
    """Nobody can clean up then; the kernel does. A stopped process is no exception."""
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom tests.datacentre.hosts import start_hosts\n"
        "with start_hosts(Path(sys.argv[1]), {'one': {}}) as running:\n"
        "    running.spawn('one', 'sleep', ['sleep', '100'])\n"
        "    running.pause('one')\n"
        "    print(running.pid, running.hosts['one'].pid, flush=True)\n    time.sleep(100)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = set[str]().union(*(namespaces(int(pid)) for pid in process.stdout.readline().split()))
    found -= namespaces(os.getpid())
    assert in_use(found)
    process.kill()
    process.wait()
    process.stdout.close()
    # Orphans of other namespaces are left to this machine's first process, which may take its time.
    until = time.monotonic() + 120
    while in_use(found) and time.monotonic() < until:
        time.sleep(0.05)
    assert in_use(found) == set()
