"""Hosts out of namespaces: each has an address, a name, folders and processes of its own, and nothing else.

The whole lives in one PID namespace, whose first process ends when this one does, however it ends: the kernel then
kills all others, and the namespaces, with their networks and mounts, go with their last process. So nothing has a name
outside, and nothing has to be looked for afterwards. All that hosts write is in memory.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

WAIT_SECONDS = 60
NOTHING: Mapping[str, str] = MappingProxyType({})

# A host's root. Over /sys, which is everywhere and in which nothing is that a host gets.
_ROOT = """
set -e
root=/sys name=$1 known=$2; shift 2
mount -t tmpfs -o mode=755 host $root
cd $root
mkdir -p usr proc dev/shm etc run home opt srv var/lib var/log old
mkdir -m 1777 tmp var/tmp
mkdir -m 755 root
mount -o bind,ro /usr usr
# Links into /usr.
cp -a /bin /sbin /lib* .
cd /etc
cp -a passwd group nsswitch.conf localtime timezone ssl alternatives ld.so.* java* $root/etc 2> /dev/null || true
cd $root
for device in null zero full random urandom tty; do
    touch dev/$device
    mount --bind /dev/$device dev/$device
done
mount -t tmpfs -o mode=1777 shm dev/shm
ln -s /proc/self/fd dev/fd
while [ $# -gt 0 ]; do
    mkdir -p "$root$2"
    mount -o bind,ro "$1" "$root$2"
    shift 2
done
mount -t proc proc proc
printf %s "$known" > etc/hosts
echo $name > etc/hostname
echo $name > proc/sys/kernel/hostname
pivot_root . old
umount -l old
rmdir old
"""
# The first process of a namespace lives as long as the one that could write to it. Orphans are its children: it lets
# them go.
_LIVE = """
ip link set lo up
echo ready
trap "" CHLD
exec cat > /dev/null
"""
_SEPARATE = ("unshare", "--fork", "--pid", "--kill-child", "--mount", "--mount-proc", "--net")


class HostError(Exception):
    """A command on a host failed, or a process did not do what was waited for; the text says what it wrote."""


@dataclass(frozen=True)
class Host:
    """A running host; ``pid`` is its first process here."""

    name: str
    address: str
    pid: int

    def path(self, inside: str) -> Path:
        """Where this process has a path of the host, to read and write. Absolute links in it lead elsewhere."""
        return Path(f"/proc/{self.pid}/root{inside}")


@dataclass(frozen=True)
class Process:
    """A process on a host, which may still run; ``log`` has all that it writes. ``outside`` waits for it."""

    host: str
    name: str
    outside: subprocess.Popen[bytes] = field(repr=False)
    log: Path

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def signal(self, number: int) -> None:
        """Sends a signal, if it still runs."""
        if pid := _child(self.outside.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def wait(self, seconds: float = WAIT_SECONDS) -> int:
        """Its exit code. Raises HostError: it still runs."""
        try:
            return self.outside.wait(seconds)
        except subprocess.TimeoutExpired:
            raise HostError(f"{self.name} on {self.host} still runs: {self.said()[-4000:]}") from None


@dataclass(frozen=True)
class Datacentre:
    """Running hosts, by their names. ``folder`` is outside of them: what their processes write to the terminal."""

    pid: int
    folder: Path
    hosts: dict[str, Host]
    processes: list[Process] = field(default_factory=list, repr=False)

    def run(
        self, host: str, command: Sequence[str], env: Mapping[str, str] = NOTHING, *, seconds: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end, whatever that is. Raises HostError: it takes longer."""
        words = self.command_on(host, command, env)
        # What it writes need not be text.
        how: dict[str, Any] = {
            "capture_output": True,
            "text": True,
            "errors": "replace",
            "check": False,
            "stdin": subprocess.DEVNULL,
        }
        try:
            return subprocess.run(words, timeout=seconds, **how)
        except subprocess.TimeoutExpired as error:
            said = f"on {host} takes more than {seconds:.0f} s: {str(error.stderr)[-2000:]}"
            raise HostError(f"{' '.join(command)[:500]} {said}") from None

    def check(
        self, host: str, command: Sequence[str], env: Mapping[str, str] = NOTHING, *, seconds: float = 120
    ) -> str:
        """What a command writes. Raises HostError: it fails."""
        done = self.run(host, command, env, seconds=seconds)
        if done.returncode:
            said = f"{done.stdout[-2000:]}{done.stderr[-4000:]}"
            raise HostError(f"{' '.join(command)[:500]} on {host} ends with {done.returncode}: {said}")
        return done.stdout

    def spawn(self, host: str, name: str, command: Sequence[str], env: Mapping[str, str] = NOTHING) -> Process:
        """Starts a process, which ends at the latest with its host, and with the thread that calls this."""
        log = self.folder / f"{host}-{name}-{len(self.processes)}.log"
        # What waits for a stopped process stops, too, and would not see the end.
        words = ["setpriv", "--pdeathsig=KILL", *self.command_on(host, command, env)]
        with log.open("wb") as output:
            how: dict[str, Any] = {
                "stdin": subprocess.DEVNULL,
                "stdout": output,
                "stderr": output,
                "start_new_session": True,
            }
            process = Process(host, name, subprocess.Popen(words, **how), log)
        self.processes.append(process)
        return process

    def wait_for_port(self, process: Process, port: int, seconds: float = WAIT_SECONDS) -> None:
        """Raises HostError: no process of its host listens there in time, or it ends before."""
        _wait(process, f"listens at {port}", lambda: port in _listening(self.hosts[process.host]), seconds)

    def wait_for_words(self, process: Process, words: str, seconds: float = WAIT_SECONDS, *, times: int = 1) -> None:
        """Raises HostError: it does not write what fits the regular expression so often in time, or ends before."""
        _wait(process, f"says {words!r}", lambda: len(re.findall(words, process.said())) >= times, seconds)

    def cut(self, host: str, other: str = "") -> None:
        """Takes a host off the network, or only off another host: what is sent is lost, and nobody is told."""
        if not other:
            _ip(self.pid, "link", "set", f"v-{host}", "down")
        for one, far in ((host, other), (other, host)) if other else ():
            # A hardware address that no host has.
            lost = ("lladdr", "02:00:00:00:00:01", "dev", "eth0")
            _ip(self.hosts[one].pid, "neigh", "replace", self.hosts[far].address, *lost)

    def heal(self, host: str, other: str = "") -> None:
        """The reverse of a cut."""
        if not other:
            _ip(self.pid, "link", "set", f"v-{host}", "up")
        for one, far in ((host, other), (other, host)) if other else ():
            _ip(self.hosts[one].pid, "neigh", "del", self.hosts[far].address, "dev", "eth0")

    def pause(self, host: str) -> None:
        """Stops all processes of a host, as a virtual machine is stopped: also those that start meanwhile."""
        done: set[int] = set()
        while more := _inside(self.hosts[host]) - done:
            for pid in more:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            done |= more

    def resume(self, host: str) -> None:
        """The reverse of a pause."""
        waiting = [process.outside.pid for process in self._of(host) if process.outside.poll() is None]
        for pid in (*_inside(self.hosts[host]), *waiting):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def power_off(self, host: str) -> None:
        """Kills all processes of a host at once; its files are gone, too."""
        _kill(self.hosts[host].pid)
        for process in self._of(host):
            process.outside.kill()
            process.outside.wait()

    def _of(self, host: str) -> list[Process]:
        return [process for process in self.processes if process.host == host]

    def command_on(self, host: str, command: Sequence[str], env: Mapping[str, str]) -> list[str]:
        """The words that run a command on a host, from this machine."""
        path = "/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin"
        known = {"PATH": path, "HOME": "/root", "USER": "root", "LANG": "C.UTF-8", "TZ": "UTC"}
        words = [f"{key}={value}" for key, value in {**known, **env}.items()]
        where = ["nsenter", "-t", str(self.hosts[host].pid), "-m", "-u", "-i", "-n", "-p"]
        return [*where, "env", "-i", "-C", "/root", *words, *command]


def reason_to_skip() -> str:
    """Why there can be no data centre on this machine; empty: there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "network namespaces need Linux, and root"
    missing = [name for name in ("ip", "unshare", "nsenter", "pivot_root", "setpriv", "java") if not shutil.which(name)]
    if missing:
        return f"there is no {', '.join(missing)}: Debian's packages iproute2 and util-linux have all but java"
    tried = [*_SEPARATE, "ip", "link", "add", "name", "b", "type", "bridge"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    return f"{' '.join(tried)}: {done.stderr.strip()}" if done.returncode else ""


@contextmanager
def start_hosts(folder: Path, hosts: Mapping[str, Mapping[Path, str]]) -> Iterator[Datacentre]:
    """Starts hosts, with the folders that each has besides the system's; ends them, with all that runs there.

    Args:
        folder: for logs, outside of the hosts.
        hosts: of each name, the folders: where each is here, and there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    addresses = {name: f"10.54.0.{number}" for number, name in enumerate(hosts, 11)}
    known = "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in addresses.items())
    with ExitStack() as stack:
        bridge = "set -e; ip link add bridge0 type bridge; ip link set bridge0 up"
        centre = _begin(stack, [*_SEPARATE, "sh", "-c", bridge + _LIVE])
        running = Datacentre(centre, folder, {})
        try:
            for name, folders in hosts.items():
                pid = _start_host(stack, centre, name, addresses[name], known, folders)
                running.hosts[name] = Host(name, addresses[name], pid)
            yield running
        finally:
            # All of it at once: nothing is to see its neighbours go.
            _kill(centre)
            for process in running.processes:
                process.outside.kill()
                process.outside.wait()


def _start_host(stack: ExitStack, centre: int, name: str, address: str, known: str, folders: Mapping[Path, str]) -> int:
    words = [word for here, there in folders.items() for word in (str(here.resolve()), there)]
    inside = ["nsenter", "-t", str(centre), "-p", "-m", "-n"]
    separate = ["unshare", "--fork", "--pid", "--mount", "--net", "--uts", "--ipc"]
    pid = _begin(stack, [*inside, *separate, "sh", "-c", _ROOT + _LIVE, "sh", name, known, *words])
    _ip(centre, "link", "add", f"v-{name}", "type", "veth", "peer", "name", "eth0", "netns", str(pid))
    _ip(centre, "link", "set", f"v-{name}", "master", "bridge0", "up")
    _ip(pid, "addr", "add", f"{address}/24", "dev", "eth0")
    _ip(pid, "link", "set", "eth0", "up")
    return pid


def _begin(stack: ExitStack, command: Sequence[str]) -> int:
    """Starts the first process of a namespace; returns its number here. It ends with its input, and so with us."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    outside: Any = subprocess.Popen(command, start_new_session=True, **pipes)
    # Not as a context: after a Ctrl-C it would not wait for the end.
    stack.callback(outside.wait)
    for pipe in (outside.stdin, outside.stdout, outside.stderr):
        stack.callback(pipe.close)
    if outside.stdout.readline() != b"ready\n":
        raise HostError(f"{' '.join(command)[:200]}: {outside.stderr.read().decode(errors='replace')}")
    pid = outside.pid
    while (child := _child(pid)) is not None:
        pid = child
    return int(pid)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _ip(pid: int, *words: str) -> None:
    """Runs ip where a process is."""
    done = subprocess.run(["nsenter", "-t", str(pid), "-n", "ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise HostError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def _wait(process: Process, what: str, happened: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not happened():
        ended = process.outside.poll()
        if ended is not None or time.monotonic() > until:
            why = f"has ended with {ended}" if ended is not None else f"does not do it in {seconds:.0f} s"
            raise HostError(f"{process.name} on {process.host}: {what}: {why}: {process.said()[-4000:]}")
        time.sleep(0.1)


def _listening(host: Host) -> set[int]:
    """The ports at which processes of a host wait for connections."""
    tables = [Path(f"/proc/{host.pid}/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    found = (line.split() for lines in tables for line in lines)
    return {int(words[1].rpartition(":")[2], 16) for words in found if words[3] == "0A"}


def _child(pid: int) -> int | None:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if children else None


def _inside(host: Host) -> set[int]:
    """All processes of a host."""
    found = set()
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        with suppress(OSError):
            if os.path.samefile(f"/proc/{pid}/ns/pid", f"/proc/{host.pid}/ns/pid"):
                found.add(pid)
    return found
