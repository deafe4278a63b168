"""One hudictl at a time: a chain of claims under ``.hoodie/.hudictl``; only claims of dead processes are taken over."""

import json
import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

from hudictl.errors import Conflict, HudictlError, Refused, StorageFailed, Unsupported
from hudictl.fence import Fence, claim_links, claim_path
from hudictl.formats.decode import decode
from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import SCRATCH
from hudictl.formats.limits import RECORD_BYTES
from hudictl.storage import Storage, entries_of, read_whole
from hudictl.table.clock import compare_clocks, host_now_ms, measure_clock, storage_now_ms
from hudictl.table.writers.beat import kept_alive

DEAD_AFTER_MS = 60_000
MAX_SKEW_MS = 1_000

_LEFT: set[str] = set()
"""The ids of claims that this process has ended and could not release, as after its credentials had expired. They end
with the process, but that of a notebook goes on for days: only its own memory knows that nobody works under them."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The holder of a claim. Two processes are the same only if host, boot, pid namespace, pid and start time agree."""

    uuid: str
    host: str
    boot_id: str
    pid_namespace: str
    pid: int
    process_start: str
    command: str


@dataclass(frozen=True, slots=True)
class _Link(Owner):
    """A link of the chain, as it is stored."""

    released: bool


@dataclass(frozen=True)
class Claim:
    """A held claim: link ``number`` of the chain."""

    storage: Storage
    number: int
    owner: Owner

    @property
    def fence(self) -> Fence:
        """What its tasks ask on other hosts."""
        return Fence(self.storage, self.number, len(_encode(self.owner, released=False)))

    def check(self) -> None:
        """Raises Conflict: another process took over, because this one looked dead; or the link was deleted, so that
        another process may have begun a new chain."""
        highest = max(claim_links(self.storage), default=0)
        if highest > self.number:
            raise Conflict(
                f"another hudictl has taken over the table (claim {highest}): this process had no activity for too "
                "long",
                hint="the other process finishes the operation; check with `hudictl table show`",
                claim=highest,
            )
        if highest < self.number:
            raise Conflict(
                f"{claim_path(self.number)} was deleted while this process held it: another hudictl may be using the "
                "table now",
                hint="make sure that no other hudictl is running; then run the same command again, or `hudictl resume`",
                claim=self.number,
            )


@contextmanager
def claim(storage: Storage, command: str) -> Iterator[Claim]:
    """Keeps other hudictl processes off the table, and sends heartbeats meanwhile.

    Raises:
        Conflict: another process holds the claim, or was faster.
        Refused: this host's clock and the storage's are more than a second apart.
        Unsupported: the store does not create exclusively.
    """
    held = _acquire(storage, command)
    try:
        with kept_alive(lambda: storage.touch(claim_path(held.number))):
            _clear_scratch(storage)
            yield held
    except (Exception, KeyboardInterrupt):
        _release(held)
        raise
    else:
        _release(held)


def living_owner(storage: Storage, now_ms: int) -> Owner | None:
    """The running hudictl process with the claim; None if there is none, or its process is dead. Only reads: nothing is
    taken over. For a process on another host, only the claim's heartbeat shows whether it is alive.

    Args:
        now_ms: the storage's time.
    """
    number = max(claim_links(storage), default=0)
    found = storage.stat(claim_path(number)) if number else None
    try:
        owner = decode(_Link, parse_json(read_whole(storage, claim_path(number), RECORD_BYTES))) if found else None
    except (ValueError, FileNotFoundError):
        return None
    if found is None or owner is None or owner.released:
        return None
    alive = _alive(owner) if _is_here(owner) else now_ms - found.modified_ms <= DEAD_AFTER_MS
    return owner if alive else None


def current_owner(command: str) -> Owner:
    """This process."""
    pid = os.getpid()
    return Owner(
        str(uuid.uuid4()), socket.gethostname(), _boot_id(), _pid_namespace(), pid, _process_start(pid), command
    )


def _acquire(storage: Storage, command: str) -> Claim:
    highest = max(claim_links(storage), default=0)
    if highest:
        _refuse_living(storage, highest)
    held = Claim(storage, highest + 1, current_owner(command))
    before_ms = host_now_ms()
    try:
        storage.create(claim_path(held.number), _encode(held.owner, released=False))
    except FileExistsError as error:
        raise Conflict("another hudictl claimed the table at the same moment", hint="run the command again") from error
    after_ms = host_now_ms()
    _prove_exclusive(held)
    held.check()
    # Only the highest link counts; a slow process that creates a lower one again finds the higher one in its check.
    storage.delete([claim_path(number) for number in claim_links(storage) if number < held.number])
    try:
        _check_clock(storage, held, before_ms, after_ms)
    except HudictlError:
        _release(held)
        raise
    return held


def _prove_exclusive(held: Claim) -> None:
    """A second create must fail: some stores accept the condition but ignore it. Then the link is released already."""
    try:
        held.storage.create(claim_path(held.number), _encode(held.owner, released=True))
    except FileExistsError:
        return
    raise Unsupported(
        f"{held.storage.uri}: the store does not support exclusive creation: it created an existing file again",
        hint="if no other hudictl uses this table: --single-operator",
    )


def _refuse_living(storage: Storage, number: int) -> None:
    found = storage.stat(claim_path(number))
    try:
        owner = decode(_Link, parse_json(read_whole(storage, claim_path(number), RECORD_BYTES)))
    except (ValueError, FileNotFoundError):
        # Claims are created complete: this one was created by hand, or by another version.
        raise Conflict(
            f"{claim_path(number)} cannot be read",
            hint="if no other hudictl is running, delete the file",
            file=claim_path(number),
        ) from None
    if owner.released:
        return
    if _is_here(owner):
        alive = _alive(owner)
    else:
        # Heartbeats have the storage's times, and this host's clock is not verified yet.
        alive = storage_now_ms(measure_clock(storage)) - (found.modified_ms if found else 0) <= DEAD_AFTER_MS
    if alive:
        raise Conflict(
            f"another hudictl is using this table: `{owner.command}` on {owner.host}, process {owner.pid}",
            hint="wait for this process to end, then run the command again",
            claim=number,
            host=owner.host,
            pid=owner.pid,
        )


def _check_clock(storage: Storage, held: Claim, before_ms: int, after_ms: int) -> None:
    """The claim file was created between two times of this host, and has the storage's time."""
    found = storage.stat(claim_path(held.number))
    skew_ms = compare_clocks(found.modified_ms if found else 0, before_ms, after_ms).skew_ms
    if abs(skew_ms) > MAX_SKEW_MS:
        raise Refused(
            f"this host's clock differs from the storage's by {-skew_ms} ms",
            hint="synchronize the clocks (NTP): a later write must have a later instant time",
            skew_ms=-skew_ms,
        )


def _release(held: Claim) -> None:
    _LEFT.add(held.owner.uuid)
    # On a full disk the claim cannot be released, but it ends with this process anyway.
    with suppress(StorageFailed):
        held.storage.replace(claim_path(held.number), _encode(held.owner, released=True))
        _LEFT.discard(held.owner.uuid)


def _clear_scratch(storage: Storage) -> None:
    """Deletes temporary files of dead processes; a young one may become another process's claim."""
    entries = entries_of(storage, SCRATCH)
    dead_ms = host_now_ms() - DEAD_AFTER_MS
    storage.delete([f"{SCRATCH}/{entry.name}" for entry in entries if entry.modified_ms < dead_ms])


def _encode(owner: Owner, *, released: bool) -> bytes:
    return json.dumps(asdict(_Link(**asdict(owner), released=released)), indent=2).encode()


def _is_here(owner: Owner) -> bool:
    return (owner.host, owner.boot_id, owner.pid_namespace) == (socket.gethostname(), _boot_id(), _pid_namespace())


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _pid_namespace() -> str:
    """Processes of another container are not visible here, even on the same host and boot."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _process_start(pid: int) -> str:
    """The start of a process, in the kernel's ticks since boot: a time of day would change when the clock is set. "" if
    it cannot be read, or the clock is being set, or the system counts from a boot time that changes."""
    import psutil

    if not psutil.LINUX:
        return ""
    try:
        boot_s = psutil.boot_time()
        begun_s = psutil.Process(pid).create_time() - boot_s
        if psutil.boot_time() != boot_s:
            return ""
    except (psutil.Error, OSError, LookupError, ValueError, RuntimeError):
        return ""
    return str(round(begun_s * os.sysconf("SC_CLK_TCK")))


def _alive(owner: Owner) -> bool:
    """Whether the process runs on this host, and has not ended what it did under this claim. A signal also finds
    processes that /proc hides; for psutil these do not exist."""
    if owner.uuid in _LEFT:
        return False
    try:
        os.kill(owner.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    start = _process_start(owner.pid)
    return start in ("", owner.process_start) or not owner.process_start
