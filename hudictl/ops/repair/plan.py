"""What every repair is: files that go into quarantine or are written, each with its reasons, and what is lost."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

from hudictl.errors import Conflict, Incomplete, StorageFailed
from hudictl.ops.session import Begun, Kind, Session, changing, keeping_files
from hudictl.ops.writers_out import request_for_nobody, settle
from hudictl.phrases import first_few
from hudictl.storage import Folders, Storage, delete_all
from hudictl.storage.keeping import put_back
from hudictl.table.archive_lost import LOST_UNTIL, note_loss
from hudictl.table.kept import contents_of, drop_room, read_room, timeline_path
from hudictl.table.locks.config import LockConfig
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline

SET_ASIDE = "set aside"
WRITE = "write"


@dataclass(frozen=True)
class FileRepair:
    """A file that a repair changes; the names in ``shown`` are those in JSON.

    ``path`` is below the base path. ``reasons`` are at least two that do not depend on each other. ``body`` is what is
    written in its place; None: it is only set aside.
    ``modified_ms``: the modification time to give it, where the store can.
    """

    shown: ClassVar = ("path", "change", "reasons", "bytes")

    path: str
    reasons: tuple[str, ...]
    body: bytes | None = None
    modified_ms: int | None = None

    @property
    def change(self) -> str:
        """``set aside`` or ``write``: what was there is in quarantine in both cases."""
        return SET_ASIDE if self.body is None else WRITE

    @property
    def bytes(self) -> int | None:
        """The size of what is written."""
        return None if self.body is None else len(self.body)


@dataclass(frozen=True)
class RepairPlan:
    """A repair; the names in ``shown`` are those in JSON.

    ``files`` change in this order. ``lost`` says what readers lose by it, ``guessed`` what is written without proof,
    ``elsewhere`` what else is damaged, and the command that ends it. ``lost_until``: instants of the archive up to this
    requested time may be lost; the record of the repair says so from then on. ``alone``: rows are lost if a writer or a
    run reads the plan of a table service while it is changed.
    """

    shown: ClassVar = ("operation", "target", "files", "lost", "guessed", "elsewhere", "lock")

    kind: Kind
    target: str
    files: tuple[FileRepair, ...]
    lock: LockConfig
    lost: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    lost_until: str = ""
    alone: bool = False

    @property
    def operation(self) -> str:
        return self.kind.value

    @property
    def summary(self) -> dict[str, object]:
        """The plan for the operation's record."""
        files = [{"path": file.path, "change": file.change, "reasons": file.reasons} for file in self.files]
        return {"files": files, "lost": self.lost, "guessed": self.guessed, LOST_UNTIL: self.lost_until}

    @property
    def written(self) -> dict[str, str]:
        """The SHA-256 of each file that is written, by path; "" of one that is set aside. An undo compares it with what
        is there then."""
        return {file.path: sha256(file.body).hexdigest() if file.body is not None else "" for file in self.files}


@dataclass(frozen=True)
class RepairResult:
    """What a repair has done. ``undo``: the number with which ``hudictl undo`` takes it back."""

    files_set_aside: int
    files_written: int
    undo: str


def execute_repair(session: Session, plan: RepairPlan, again: Callable[[], RepairPlan]) -> RepairResult:
    """Changes exactly the files of the plan, one after the other. Each is whole or as before, and what was there is
    kept.

    Args:
        again: makes the plan anew, now that nobody else can begin.

    Raises:
        Conflict: something else is to be done than was planned; a writer or table service came meanwhile.
        Incomplete: a file is not as it was written.
        Everything that ``again`` raises; StorageFailed, Interrupted.
    """

    table = session.table

    def look() -> frozenset[str]:
        names = _names(table)
        if again() != plan:
            raise Conflict("the table has changed since planning", hint="run the command again: it makes a new plan")
        return names

    def work(run: Begun[frozenset[str]]) -> RepairResult:
        # Before the note: what has a room can be undone, and so forgotten.
        kept = keeping_files(session, plan.kind, [run.time], [plan.target], asked=True, written=plan.written).table
        if plan.lost_until:
            note_loss(table, run.time, plan.lost_until)
        with _alone(table, kept, plan, run) if plan.alone else nullcontext():
            for file in plan.files:
                session.monitor.step(f"{file.change} {file.path}")
                run.held.check()
                _change(table.storage, kept, file)
        _verify(table, plan)
        aside = sum(file.body is None for file in plan.files)
        return RepairResult(aside, len(plan.files) - aside, run.time)

    return changing(session, plan.kind, plan.target, plan.summary, look=look, work=work)


@contextmanager
def _alone(table: Table, kept: Table, plan: RepairPlan, run: Begun[frozenset[str]]) -> Iterator[None]:
    """No writer begins meanwhile; if one, or a table service, came all the same, all is as it was before. Raises
    Conflict: so it is."""
    request = request_for_nobody(kept, run.time)
    own = {request, *(file.path.rpartition("/")[2] for file in plan.files)}
    try:
        settle()
        _nothing_came(table, run.found, own)
        yield
        _nothing_came(table, run.found, own)
    except Conflict:
        _as_before(table, run.time)
        raise
    finally:
        delete_all(table.storage, [timeline_path(table, request)])


def _as_before(table: Table, time: str) -> None:
    """Raises StorageFailed: what was kept can be brought back by ``undo`` then."""
    if (room := read_room(table, time)) is not None:
        contents = contents_of(table, room)
        files = [contents.versions.get(path, path) for path in contents.kept]
        if failed := put_back(table.storage, room.folder, files):
            raise StorageFailed(f"cannot put {failed[0].path} back: {failed[0].error}", path=failed[0].path)
        drop_room(table, time)


def _names(table: Table) -> frozenset[str]:
    return frozenset(load_timeline(table).sizes)


def _nothing_came(table: Table, before: frozenset[str], own: Collection[str]) -> None:
    if changed := (_names(table) ^ before).difference(own):
        raise Conflict(
            f"another process changed the timeline ({first_few(sorted(changed))}): all was left as it was",
            hint="stop all writers and table services, then run the command again",
            files=sorted(changed),
        )


def _change(storage: Storage, kept: Table, file: FileRepair) -> None:
    """Each step is durable before the next one."""
    if file.body is None:
        delete_all(kept.storage, [file.path])
    else:
        kept.storage.replace(file.path, file.body)
        if file.modified_ms is not None and isinstance(storage, Folders):
            storage.set_time(file.path, file.modified_ms)
    kept.storage.sync(file.path.rpartition("/")[0])


def _verify(table: Table, plan: RepairPlan) -> None:
    for file in plan.files:
        found = table.storage.stat(file.path)
        right = found is None if file.body is None else found is not None and found.size == len(file.body)
        if not right:
            raise Incomplete(f"{file.path} was changed meanwhile", hint="`hudictl check` shows what is wrong now")
