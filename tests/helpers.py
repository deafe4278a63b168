"""Copies of real tables: edited, restored in process, and compared file by file."""

import hashlib
import importlib
import os
import re
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hudictl.engine.base import Engine
from hudictl.engine.local import LocalEngine
from hudictl.errors import HudictlError, StorageFailed
from hudictl.formats import rollback
from hudictl.formats.restore import StoredRestorePlan as StoredRestorePlan
from hudictl.formats.restore import encode_plan
from hudictl.formats.rollback import InstantInfo
from hudictl.formats.rollback import StoredRollbackPlan as StoredRollbackPlan
from hudictl.ops.restore.execute import RestoreResult, execute_restore
from hudictl.ops.restore.plan import RestoreOptions, RestorePlan
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
from hudictl.ops.rollback.planning import plan_rollback
from hudictl.ops.rollback.run import RollbackResult
from hudictl.ops.savepoint.execute import create_savepoint
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.ops.session import Session, Silent
from hudictl.reports.health.finding import Finding
from hudictl.reports.metadata_table import verify_listing
from hudictl.state.files.needed import Case
from hudictl.state.files.partition import NO_RECORDS, judge
from hudictl.storage.base import DeleteOutcome
from hudictl.storage.local import LocalStorage
from hudictl.table.beat_rule import HeartbeatRule
from hudictl.table.files.choose import is_any
from hudictl.table.files.saved import SavedNames
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.sweep import Sweep, sweep
from hudictl.table.files.written import Written
from hudictl.table.locks.config import NOTHING_SAID, Locking
from hudictl.table.locks.providers import contender_of
from hudictl.table.metadata.place import metadata_table_in_use, open_metadata_table
from hudictl.table.open import open_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.metadata_edits import say

ENGINE = LocalEngine(2)
OWN = ".hoodie/.hudictl"
# Before every time in the tables: silent for long.
LONG_AGO = 1_700_000_000


def files_of(found: Sweep) -> list[StoredFile]:
    """All files of a sweep, by path."""
    return found.select("collect files", is_any)


def required(table: Table, case: Case) -> dict[str, StoredFile]:
    """The files that readers require in a case, by path: a plan knows only their number and a digest."""
    written: dict[str, list[Written]] = {}
    for path, entry in case.written.engine.pairs(case.written):
        written.setdefault(path, []).append(entry)
    saved: dict[str, list[SavedNames]] = {}
    for path, names in case.saved.engine.pairs(case.saved):
        saved.setdefault(path, []).append(names)
    stored: dict[str, list[StoredFile]] = {path: [] for path in (*case.records, *written, *saved)}
    for file in files_of(sweep(table, ENGINE, case.named)):
        stored.setdefault(file.partition, []).append(file)
    verdicts = [
        judge(path, files, told.unpack(case.view, written.get(path, ()), saved.get(path, ())), case.view)
        for path, files in stored.items()
        for told in [case.records.get(path, NO_RECORDS)]
    ]
    return {file.path: file for verdict in verdicts for file in verdict.needed}


HUDIS_OWN = HeartbeatRule(assumed=False)
"""The heartbeat settings of writers that are known to have set none."""


@dataclass(frozen=True)
class Copy:
    """A table of tests/tables under a folder of the test."""

    version: str
    name: str
    path: Path
    rule: HeartbeatRule = HUDIS_OWN

    @property
    def table(self) -> Table:
        return open_table(str(self.path), rule=self.rule)

    @property
    def meta(self) -> Path:
        return self.path / ".hoodie"

    @property
    def timeline(self) -> Path:
        return self.meta if self.version == "v6" else self.meta / "timeline"

    @property
    def commits(self) -> list[str]:
        """Completed writes by requested time, oldest first."""
        return sorted(entry.time for entry in load_timeline(self.table).completed_writes())

    @property
    def savepoints(self) -> list[str]:
        return [entry.time for entry in load_timeline(self.table).savepoints()]

    def file(self, time: str, suffix: str) -> Path:
        """An instant's file by its action and state; the completion time in its name is looked up."""
        (found,) = [*self.timeline.glob(f"{time}.{suffix}"), *self.timeline.glob(f"{time}_*.{suffix}")]
        return found

    def file_of(self, suffix: str) -> bytes:
        """The body of some instant file of a kind."""
        return next(self.timeline.glob(f"[0-9]*.{suffix}")).read_bytes()

    def write(self, name: str, body: bytes = b"", *, old: bool = True) -> Path:
        """An instant file; ``old`` ones look as if nothing had happened to them for long."""
        return put(self.timeline / name, body, old=old)

    def instants(self) -> set[str]:
        """The names on the timeline, completion times left out."""
        return {bare(entry.name) for entry in self.timeline.iterdir() if entry.name[0].isdigit()}

    def data(self) -> set[str]:
        """The data files, by path."""
        return {name for name, entry in walk(str(self.path)) if entry.is_file() and is_data(name)}

    def having(self, action: str) -> list[str]:
        return sorted(name for name in self.instants() if f".{action}" in name)


def put(path: Path, body: bytes | str = b"", *, old: bool = True) -> Path:
    """Writes a file as another program would, without the sidecar of what stood there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body.encode() if isinstance(body, str) else body)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    if old:
        os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def written_in(copy: Copy, *, hours: float, files: str = "[0-9]*") -> Copy:
    """The table as if writers so many hours ahead of UTC had written it: its times are the faces of their clocks."""
    for path in copy.timeline.glob(files):
        moment = path.stat().st_mtime - hours * 3600
        os.utime(path, (moment, moment))
    return copy


def without_zone(copy: Copy) -> Copy:
    """The table as plain cp leaves it: nothing tells when its instants were requested."""
    for path in copy.timeline.glob("[0-9]*.requested"):
        path.touch()
    return copy


@contextmanager
def host_in(zone: str) -> Iterator[None]:
    """The operator's host is in another zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        yield
    time.tzset()


def drop(path: Path) -> None:
    """Deletes a file with its sidecar."""
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def bare(name: str) -> str:
    return re.sub(r"^(\d+)_\d+", r"\1", name)


def is_data(path: str) -> bool:
    return not path.startswith(".hoodie/") and not path.endswith((".crc", ".hoodie_partition_metadata"))


def walk(folder: str, prefix: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    """All that is under a folder, by its path there."""
    with os.scandir(folder) as entries:
        for entry in entries:
            yield prefix + entry.name, entry
            if entry.is_dir(follow_symlinks=False):
                yield from walk(entry.path, f"{prefix}{entry.name}/")


def tree(path: Path, *without: str) -> dict[str, tuple[str, int]]:
    """All that is under a folder: files by digest and modification time, folders by name."""
    found = {}
    for name, entry in walk(str(path)):
        if any(name == prefix or name.startswith(f"{prefix}/") for prefix in without):
            continue
        file = entry.is_file()
        body = hashlib.sha256(Path(entry.path).read_bytes()).hexdigest() if file else "folder"
        found[name] = (body, entry.stat(follow_symlinks=False).st_mtime_ns if file else 0)
    return found


def session(table: Table, monitor: object = None, engine: Engine = ENGINE, locking: Locking = NOTHING_SAID) -> Session:
    """A command at work on a table, without any of the command line."""
    return Session(table, engine, monitor or Silent(), "test", locking, contender_of, "UTC")  # type: ignore[arg-type]


def savepoint(copy: Copy, instant: str | None = None, options: SavepointOptions | None = None) -> str:
    """A savepoint on an instant; one that exists stays."""
    options = options or SavepointOptions()
    plan = plan_savepoint(session(copy.table), instant, options)
    create_savepoint(session(copy.table), plan)
    return plan.target


def plan(copy: Copy, target: str, options: RestoreOptions | None = None) -> RestorePlan:
    return plan_restore(session(copy.table), target, options)


def restore(copy: Copy, target: str, monitor: object = None, options: RestoreOptions | None = None) -> RestoreResult:
    """Plans and executes, without waiting for the timeline to settle."""
    table = copy.table
    made = plan_restore(session(table), target, replace(options or RestoreOptions(), settle_s=0.0))
    return execute_restore(session(table, monitor), made)  # type: ignore[arg-type]


def attempt(act: Callable[[], object]) -> HudictlError | None:
    """The error that hudictl raised on purpose, if any."""
    try:
        act()
    except HudictlError as error:
        return error
    return None


@dataclass
class At(Silent):
    """Acts when a step of the restore begins."""

    wanted: str
    act: Callable[[], object]
    done: bool = False

    def step(self, name: str) -> None:
        if name == self.wanted and not self.done:
            self.done = True
            self.act()


@dataclass
class Last(At):
    """Notes the last step."""

    last: str = ""

    def step(self, name: str) -> None:
        self.last = name
        super().step(name)


def die(copy: Copy, target: str, step: str, options: RestoreOptions | None = None) -> None:
    """A restore that ends when a step begins, and stays as it is then."""

    def dies() -> None:
        raise StorageFailed("the process dies here")

    with pytest.raises(StorageFailed, match="dies here"):
        restore(copy, target, At(step, dies), options)


def pending_restore(copy: Copy, time: str, target: str, *, begun: bool, named: bool = True) -> None:
    """A restore of Hudi's, which has done nothing yet; of a release whose plans do not name the target, perhaps."""
    removed = [entry for entry in load_timeline(copy.table).completed_writes() if entry.time > target]
    infos = tuple(InstantInfo(entry.time, entry.action) for entry in reversed(removed))
    copy.write(f"{time}.restore.requested", encode_plan(StoredRestorePlan(infos, target if named else None)))
    if begun:
        copy.write(f"{time}.restore.inflight")


def appended_log(copy: Copy, time: str) -> Path:
    """A log that a direct marker of an instant says it appends to."""
    folder = copy.meta / ".temp" / time
    marker = next(folder.rglob(".*.marker.APPEND"))
    return copy.path / str(marker.relative_to(folder)).removesuffix(".marker.APPEND")


def rollback_plan(target: str, action: str = "commit") -> bytes:
    return rollback.encode_plan(StoredRollbackPlan(InstantInfo(target, action), ()))


def straddle(copy: Copy) -> tuple[str, str]:
    """Makes the commit before the savepoint complete after it; returns that commit and the savepoint."""
    target = copy.savepoints[-1]
    earlier = [time for time in copy.commits if time < target][-1]
    done = copy.file(earlier, "commit")
    if copy.version == "v6":
        moment = copy.file(target, "commit").stat().st_mtime + 0.5
        os.utime(done, (moment, moment))
    else:
        os.rename(done, copy.timeline / f"{earlier}_{copy.file(target, 'commit').name[18:32]}999.commit")
    return earlier, target


def assert_ended(copy: Copy, target: str) -> None:
    """A restore to the target is over, and nothing is left of it."""
    timeline = load_timeline(copy.table)
    assert [entry.time for entry in timeline.writes() if entry.time > target] == []
    assert [str(entry) for entry in timeline.having("restore") if entry.pending] == []
    assert copy.having("rollback") == []
    assert plan(copy, target, RestoreOptions(to_instant=True)).nothing_to_do


@dataclass
class FailDeletion:
    """Stands for a file that the file system will not delete."""

    name: str
    error: str | None = "Operation not permitted"

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = LocalStorage._delete

        def delete(storage: LocalStorage, path: str, folder: int) -> DeleteOutcome:
            if path.endswith(self.name):
                return DeleteOutcome(path, self.error)
            return real(storage, path, folder)

        monkeypatch.setattr(LocalStorage, "_delete", delete)


def cases(op: str = "restore") -> Iterator[tuple[str, str, str]]:
    """Every (version, table, instant) that the real Hudi was tried on."""
    for version in support.VERSIONS:
        for name in support.names(version):
            for outcome in support.outcomes(version, name, op):
                yield version, name, outcome["instant"]


def rollback_of(copy: Copy, target: str, options: RollbackOptions | None = None) -> RollbackPlan:
    """The plan of a rollback, without waiting for the timeline to settle."""
    return plan_rollback(session(copy.table), target, replace(options or RollbackOptions(), settle_s=0.0))


def step_of(made: RollbackPlan) -> str:
    """How a rollback treats the metadata table."""
    if made.undo.metadata_table.takes_it:
        return "set aside" if made.undo.metadata_table.keeps else "deleted"
    return "rolled back in its place" if made.undo.metadata_table.keeps else "kept"


def roll_back(
    copy: Copy, target: str, monitor: object = None, options: RollbackOptions | None = None
) -> RollbackResult:
    """Plans and executes."""
    made = rollback_of(copy, target, options)
    done = execute_rollback(session(copy.table, monitor), made)  # type: ignore[arg-type]
    assert_listed(copy.path)
    return done


def assert_listed(base: Path) -> None:
    """The metadata table, where there is one in use, lists what storage has."""
    found = verify_listing(open_table(str(base)), ENGINE, [])
    assert not found, found


def metadata_timeline(copy: Copy) -> Path:
    """The folder of the metadata table's instants."""
    return copy.meta / ("metadata/.hoodie" if copy.version == "v6" else "metadata/.hoodie/timeline")


def metadata_instants(copy: Copy) -> list[str]:
    """The requested times on the metadata table's own timeline, the first one first; [] if there is none."""
    metadata = open_metadata_table(copy.table)
    return [entry.time for entry in load_timeline(metadata).instants] if metadata is not None else []


def assert_kept(copy: Copy, first: str, removed: Collection[str]) -> None:
    """The metadata table is the same one as before (``first`` begins its first instant): it lists what storage has,
    nothing of the removed instants is left in it, and nothing is left of what set it aside."""
    table = copy.table
    assert metadata_table_in_use(table)
    assert_listed(copy.path)
    assert metadata_instants(copy)[0].startswith(first)
    names = [name for name, entry in walk(str(copy.meta / "metadata")) if entry.is_file()]
    assert [name for name in names for time in removed if time in name.rpartition("/")[2]] == []
    assert sorted(path.name for path in copy.meta.iterdir() if "metadata" in path.name) == ["metadata"]
    assert [path.name for path in (copy.path / OWN).glob("*metadata-*")] == []


NEVER = "20200101000000000"
"""Before every time in the tables: readers take it for archived, and so for committed."""


def unlisted(copy: Copy, time: str = NEVER, partition: str = "part-1") -> str:
    """A base file of its own file group that no record names, in a partition or a new folder; returns its path."""
    like = min((copy.path / "part-1").glob("*.parquet"))
    token = like.name.split("_")[1]
    path = f"{partition}/deadbeef-0000-4000-8000-000000000000-0_{token}_{time}.parquet"
    put(copy.path / path, like.read_bytes())
    return path


def only_listed(copy: Copy, partition: str, time: str = NEVER) -> str:
    """A partition of a commit that the archive has, without its metafile: the metadata table alone knows it."""
    path = unlisted(copy, time, partition)
    name = path.rpartition("/")[2]
    size = (copy.path / path).stat().st_size
    say(copy.path, {"__all_partitions__": {partition: 0}, partition: {name: size}})
    return path


def in_the_middle(monkeypatch: pytest.MonkeyPatch, work: str, act: Callable[[], object]) -> None:
    """Acts once in the middle of a step: when a function of hudictl's, by its dotted name, has first done its work."""
    done: list[object] = []

    def then(result: object) -> object:
        if not done:
            done.append(None)
            done.append(act())
        return result

    replace_function(monkeypatch, work, lambda real, *given, **named: then(real(*given, **named)))


def replace_function(monkeypatch: pytest.MonkeyPatch, name: str, other: Callable[..., object]) -> None:
    """Puts another in the place of a function, by its dotted name; it is given the real one first."""
    module, _, function = name.rpartition(".")
    real = getattr(importlib.import_module(module), function)
    monkeypatch.setattr(name, lambda *given, **named: other(real, *given, **named))


def take_over(copy: Copy) -> None:
    """Another hudictl has taken this one for dead."""
    put(copy.path / OWN / "claim-999", "{}", old=False)


def whole(name: str, folder: int | None) -> str:
    """The absolute path of a name in a folder by descriptor, as the storage calls ``os``."""
    return name if folder is None else os.path.join(os.readlink(f"/proc/self/fd/{folder}"), name)


def disk_log(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is synced, deleted and moved from now on, in order: the call, then the absolute path."""
    log: list[str] = []

    def logged(name: str) -> None:
        real = getattr(os, name)

        def call(path: str, *rest: str, **options: int) -> None:
            real(path, *rest, **options)
            log.append(f"{name} {whole(path, options.get('dir_fd', options.get('src_dir_fd')))}")

        monkeypatch.setattr(os, name, call)

    for name in ("unlink", "rename"):
        logged(name)
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: log.append(f"sync {os.readlink(f'/proc/self/fd/{descriptor}')}")
    )
    return log


def assert_synced(log: list[str], folder: Path, names: str) -> None:
    """After each deletion of a folder's file of such a name the folder is synced before any other file is deleted."""
    gone = [number for number, line in enumerate(log) if re.fullmatch(f"unlink {re.escape(str(folder))}/{names}", line)]
    assert gone
    for number in gone:
        after = [line for line in log[number + 1 :] if line.startswith(("sync", "unlink")) and "/.claim" not in line]
        rest = [line for line in after if not line.endswith(".crc")]
        assert rest[:1] == [f"sync {folder}"], log[number]


def first_command(finding: Finding) -> str:
    """The command that a finding names first; "" where it names none."""
    return finding.remedy[0].command if finding.remedy else ""


def alone(command: str) -> str:
    """A command to copy without the options of the one that names it."""
    return re.sub(r" --(table|engine)=[^\s`]+", "", command)


def through_shell(command: str) -> list[str]:
    """The arguments that hudictl gets of bash."""
    program = "hudictl() { printf '%s\\0' \"$@\"; }; " + command
    out = subprocess.run(["bash", "-c", program], capture_output=True, check=True).stdout
    return [os.fsdecode(word) for word in out.split(b"\0")[:-1]]
