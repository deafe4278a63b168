"""Changes by commands and by the library: the same plan, the same table afterwards."""

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import hudictl
from hudictl.errors import Conflict, Findings, HudictlError, Refused, UsageError
from hudictl.formats.plans import decode_input_groups
from hudictl.library.change import TableChange
from hudictl.library.table import HudiTable
from hudictl.ops.session import Silent
from hudictl.render.json import plain
from hudictl.table.kept import room_times
from hudictl.table.locks.config import FILE_SYSTEM
from tests.cli.conftest import Tell, Unpack
from tests.cli.every_command import first, pending
from tests.helpers import Copy, drop, put, tree, unlisted
from tests.library.same_support import settled
from tests.ops.repair.services_support import clustering, compaction, groups_of, request_of

LOCK = {"hoodie.write.lock.provider": FILE_SYSTEM, "hoodie.write.lock.filesystem.expire": "5"}
Some = TableChange[Any, Any]


@dataclass(frozen=True)
class Case:
    """A change: the command's words and the library's call, on a table that is made ready for it.

    ``shown``: what the command prints of a plan, if that is not the plan itself. ``saved``: ``apply`` takes the plan.
    """

    name: str
    table: str
    words: Callable[[Copy], Sequence[str]]
    call: Callable[[HudiTable, Copy], Some]
    ready: Callable[[Copy, Tell], object] = lambda _copy, _tell: None
    shown: Callable[[Any], Any] = lambda plan: plan
    saved: bool = True

    def __str__(self) -> str:
        return self.name.replace(" ", "_")


def _kept(copy: Copy, tell: Tell) -> None:
    said = tell("restore", copy.savepoints[0], "--keep-files", "--delete-later-savepoints", "--yes", "-t", copy.path)
    assert said.code == 0


def _old_lock(copy: Copy, _tell: Tell) -> None:
    file = put(copy.meta / "lock", "")
    os.utime(file, (time.time() - 500,) * 2)


def _marked(copy: Copy, _tell: Tell) -> None:
    put(copy.meta / f".temp/{first(copy)}/part-0/x-0_0-1-2_{first(copy)}.parquet.marker.CREATE", "")


def doubled(copy: Copy) -> None:
    """The inflight file of the first commit, twice in one."""
    (file,) = copy.timeline.glob(f"{copy.commits[0]}.*inflight")
    put(file, file.read_bytes() * 2)


def torn_archive(copy: Copy) -> None:
    """The newest file of the archive, cut."""
    (*_, file) = sorted([*copy.meta.glob("archived/.commits_*"), *copy.meta.glob("timeline/history/*.parquet")])
    put(file, file.read_bytes()[:-9])


def without_fields(copy: Copy) -> None:
    """hoodie.properties without the fields of the partitions."""
    file = copy.meta / "hoodie.properties"
    kept = [line for line in file.read_bytes().splitlines(keepends=True) if b"partition.fields" not in line]
    put(file, b"".join(kept))


def _cut_short(copy: Copy) -> None:
    """A clustering that has not run, and a file of its plan that is gone."""
    _, path = clustering(copy)
    partition, name = min(decode_input_groups(path.read_bytes(), "it")[0].files)
    drop(copy.path / partition / name)


CASES = (
    Case(
        "restore",
        "mor_savepoints",
        lambda copy: ("restore", copy.savepoints[0], "--delete-later-savepoints", "--idle", "0s"),
        lambda table, copy: table.restore(
            copy.savepoints[0], hudictl.RestoreOptions(delete_later_savepoints=True, idle_ms=0)
        ),
    ),
    Case(
        "rollback",
        "mor_failed_lazy",
        lambda copy: ("rollback", pending(copy), "--idle", "0s"),
        lambda table, copy: table.rollback(pending(copy), hudictl.RollbackOptions(idle_ms=0)),
    ),
    Case(
        "savepoint create",
        "cow_part",
        lambda copy: ("savepoint", "create", "--tag", "nightly", "--comment", "before the load"),
        lambda table, copy: table.create_savepoint(
            options=hudictl.SavepointOptions(comment="before the load"), tag="nightly"
        ),
    ),
    Case(
        "savepoint delete",
        "cow_savepoints",
        lambda copy: ("savepoint", "delete", copy.savepoints[0]),
        lambda table, copy: table.delete_savepoint(copy.savepoints[0]),
    ),
    Case(
        "savepoint prune",
        "cow_savepoints",
        lambda copy: ("savepoint", "prune", "--all", "--keep-last", "1"),
        lambda table, copy: table.prune_savepoints(hudictl.PruneOptions(hudictl.KeepRules(last=1), untagged=True)),
    ),
    Case(
        "orphans delete",
        "cow_part",
        lambda copy: ("orphans", "delete", unlisted(copy), "--idle", "0s"),
        lambda table, copy: table.delete_orphans(hudictl.OrphanOptions(idle_ms=0, paths=(unlisted(copy),))),
        ready=lambda copy, _tell: unlisted(copy),
    ),
    Case(
        "metadata drop",
        "mor_part",
        lambda copy: ("metadata", "drop", "--idle", "0s"),
        lambda table, copy: table.metadata.drop(hudictl.DropOptions(idle_ms=0)),
    ),
    Case(
        "partition repair",
        "cow_part",
        lambda copy: ("partition", "repair"),
        lambda table, copy: table.files.repair_metafiles(),
        ready=lambda copy, _tell: drop(copy.path / "part-1/.hoodie_partition_metadata"),
        saved=False,
    ),
    Case(
        "table set-property",
        "mor_part",
        lambda copy: ("table", "set-property", "hoodie.database.name=lake", "--idle", "0s"),
        lambda table, copy: table.repairs.set_properties({"hoodie.database.name": "lake"}),
        saved=False,
    ),
    Case(
        "archive repair",
        "cow_cleaned",
        lambda copy: ("archive", "repair", "--idle", "0s"),
        lambda table, copy: table.repairs.archive(0),
        ready=lambda copy, _tell: torn_archive(copy),
        saved=False,
    ),
    Case(
        "table repair-properties",
        "mor_part",
        lambda copy: ("table", "repair-properties", "--idle", "0s"),
        lambda table, copy: table.repairs.properties(idle_ms=0),
        ready=lambda copy, _tell: without_fields(copy),
        saved=False,
    ),
    Case(
        "timeline quarantine",
        "cow_part",
        lambda copy: ("timeline", "quarantine", copy.commits[0], "--idle", "0s"),
        lambda table, copy: table.repairs.quarantine(copy.commits[0], 0),
        ready=lambda copy, _tell: doubled(copy),
        saved=False,
    ),
    Case(
        "compaction unschedule",
        "mor_pending_compaction",
        lambda copy: ("compaction", "unschedule", compaction(copy)[0], "--group", groups_of(compaction(copy)[1])[0]),
        lambda table, copy: table.repairs.unschedule(compaction(copy)[0], groups_of(compaction(copy)[1])[:1]),
        saved=False,
    ),
    Case(
        "clustering prune",
        "cow_cluster",
        lambda copy: ("clustering", "prune", request_of(copy, "clustering").name.split(".")[0]),
        lambda table, copy: table.repairs.prune(request_of(copy, "clustering").name.split(".")[0]),
        ready=lambda copy, _tell: _cut_short(copy),
        saved=False,
    ),
    Case(
        "undo",
        "cow_savepoints",
        lambda copy: ("undo", next(iter(room_times(copy.table)))),
        lambda table, copy: table.undo(next(iter(room_times(copy.table)))),
        ready=_kept,
        saved=False,
    ),
    Case(
        "undo drop",
        "cow_savepoints",
        lambda copy: ("undo", "drop", next(iter(room_times(copy.table)))),
        lambda table, copy: table.drop_undo(next(iter(room_times(copy.table)))),
        ready=_kept,
        saved=False,
    ),
    Case(
        "heartbeat delete",
        "cow_part",
        lambda copy: ("heartbeat", "delete", first(copy)),
        lambda table, copy: table.writers.delete_heartbeat(first(copy)),
        ready=lambda copy, _tell: put(copy.meta / ".heartbeat" / first(copy)),
        shown=lambda plan: {**plain(plan.heartbeat), "lock": plan.lock},
        saved=False,
    ),
    Case(
        "marker delete",
        "cow_part",
        lambda copy: ("marker", "delete", first(copy)),
        lambda table, copy: table.writers.delete_markers(first(copy)),
        ready=_marked,
        shown=lambda plan: {**plain(plan.folder), "lock": plan.lock},
        saved=False,
    ),
    Case(
        "lock break",
        "cow_part",
        lambda copy: ("lock", "break", *(word for pair in LOCK.items() for word in ("--hoodie-conf", "=".join(pair)))),
        lambda table, copy: table.writers.break_lock(),
        ready=_old_lock,
        shown=lambda plan: plan.lock,
        saved=False,
    ),
    Case(
        "copy",
        "cow_part",
        lambda copy: ("copy", "--as-of", first(copy), "--to", f"{copy.path}-copied"),
        lambda table, copy: table.copy(f"{copy.path}-copied", first(copy)),
        saved=False,
    ),
)
EACH = pytest.mark.parametrize("case", CASES, ids=str)
SAVED = pytest.mark.parametrize("case", [case for case in CASES if case.saved], ids=str)


def opened(case: Case, copy: Copy, **more: Any) -> HudiTable:
    return hudictl.open(copy.path, engine="local", hoodie_conf=LOCK if case.name == "lock break" else {}, **more)


def twin(copy: Copy) -> Copy:
    """A second one, as it is now."""
    path = copy.path.with_name("twin")
    shutil.copytree(copy.path, path, symlinks=True)
    return replace(copy, path=path)


def listing(copy: Copy) -> list[str]:
    """All that is there, but for times and random names; of a copy that was made, too."""
    folders = [path for path in (copy.path, Path(f"{copy.path}-copied")) if path.exists()]
    return sorted(re.sub(r"\d{14,}|[0-9a-f]{16,}|[0-9a-f-]{32,}", "#", name) for path in folders for name in tree(path))


@pytest.mark.slow
@EACH
def test_a_plan_and_its_execution(unpack: Unpack, tell: Tell, case: Case) -> None:
    copy = unpack("v9", case.table)
    case.ready(copy, tell)
    other = twin(copy)
    before = tree(copy.path, ".hoodie/.hudictl")
    words = case.words(copy)
    said = tell(*words, "--plan", "-o", "json", "-t", copy.path)
    assert said.code == 0, said.err
    with opened(case, copy) as table:
        planned = case.call(table, copy).plan()
        assert planned.nothing is None
        assert settled(plain(case.shown(planned.plan))) == settled(said.json["result"])
    assert tree(copy.path, ".hoodie/.hudictl") == before
    assert tell(*words, "--yes", "-o", "json", "-t", copy.path).code == 0
    with opened(case, other) as table:
        case.call(table, other).plan().execute()
    assert tree(other.path, ".hoodie/.hudictl") != before or case.name in ("copy", "undo drop")
    assert listing(other) == listing(copy)


@pytest.mark.slow
@EACH
def test_again_there_is_nothing_to_do(unpack: Unpack, tell: Tell, case: Case) -> None:
    """But for a rollback or an undo, which are known by their records, a plan says so; a file that is gone was perhaps
    never there."""
    copy = unpack("v9", case.table)
    case.ready(copy, tell)
    with opened(case, copy) as table:
        change = case.call(table, copy)
        change.plan().execute()
        if case.name == "orphans delete":
            with pytest.raises(HudictlError):
                change.plan()
            return
        before = tree(copy.path, ".hoodie/.hudictl/tmp")
        again = change.plan()
        assert again.nothing is not None
        assert again.execute() is None
        assert tree(copy.path, ".hoodie/.hudictl/tmp") == before


@pytest.mark.parametrize("case", [case for case in CASES if case.saved and case.name != "orphans delete"], ids=str)
def test_a_plan_of_another_state_is_not_executed(unpack: Unpack, tell: Tell, case: Case) -> None:
    """Another has been there first."""
    copy = unpack("v9", case.table)
    case.ready(copy, tell)
    with opened(case, copy) as table:
        planned = case.call(table, copy).plan()
        if case.name == "savepoint create":
            copy.file(copy.commits[-1], "commit").unlink()
        elif case.name == "rollback":
            put(copy.meta / ".heartbeat" / pending(copy), old=False)
        elif case.name == "metadata drop":
            for name in ("deltacommit.requested", "deltacommit.inflight"):
                copy.write(f"20261125000000000.{name}", old=False)
            put(copy.meta / ".heartbeat" / "20261125000000000", old=False)
        else:
            table.create_savepoint(copy.commits[-1 if copy.commits[-1] not in copy.savepoints else 0]).plan().execute()
        before = tree(copy.path, ".hoodie/.hudictl")
        with pytest.raises((Conflict, Refused)):
            planned.execute()
    assert tree(copy.path, ".hoodie/.hudictl") == before


def test_an_orphan_that_has_changed_since_the_plan_is_kept(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    path = unlisted(copy)
    with hudictl.open(copy.path, engine="local") as table:
        planned = table.delete_orphans(hudictl.OrphanOptions(paths=(path,))).plan()
        put(copy.path / path, b"another", old=False)
        result = planned.execute()
    assert result is not None
    assert result.files_deleted == 0
    assert (copy.path / path).read_bytes() == b"another"


@SAVED
@pytest.mark.parametrize("by", ["command", "library"])
def test_a_plan_is_saved_and_applied(unpack: Unpack, tell: Tell, tmp_path: Path, case: Case, by: str) -> None:
    copy = unpack("v9", case.table)
    case.ready(copy, tell)
    with opened(case, copy) as table:
        planned = case.call(table, copy).plan()
        text = planned.to_json()
        assert json.loads(text)["result"] == planned.to_dict()
        (tmp_path / "plan.json").write_text(text)
        before = tree(copy.path, ".hoodie/.hudictl")
        if by == "library":
            table.apply(text).plan().execute()
        else:
            assert tell("apply", tmp_path / "plan.json").code == 0
        assert tree(copy.path, ".hoodie/.hudictl") != before


@pytest.mark.parametrize("case", [case for case in CASES if not case.saved], ids=str)
def test_a_plan_that_cannot_be_applied_is_refused(unpack: Unpack, tell: Tell, case: Case) -> None:
    copy = unpack("v9", case.table)
    case.ready(copy, tell)
    with opened(case, copy) as table, pytest.raises(UsageError, match="cannot be saved"):
        case.call(table, copy).plan().to_json()


def test_findings_have_the_report(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done, but with a finding, is not lost."""
    copy = unpack("v9", "cow_savepoints")
    with hudictl.open(copy.path, engine="local") as table:
        planned = table.restore(copy.savepoints[-1]).plan()

        def lost(*given: object) -> None:
            raise Findings("done, but an index could not be kept", report=given[-1])

        monkeypatch.setattr("hudictl.ops.restore.execute.nothing_required_lost", lost)
        with pytest.raises(Findings) as caught:
            planned.execute()
    assert caught.value.report is not None
    assert copy.commits[-1] == copy.savepoints[-1]


class Stops(Silent):
    """Ctrl-C, as a file is about to be deleted."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def step(self, name: str) -> None:
        self.steps.append(name)
        if name.startswith("delete"):
            raise KeyboardInterrupt


def test_an_interrupted_restore_goes_on(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target, options = copy.savepoints[0], hudictl.RestoreOptions(delete_later_savepoints=True)
    stops = Stops()
    with hudictl.open(copy.path, engine="local", monitor=stops) as table, pytest.raises(HudictlError) as caught:
        table.restore(target, options).plan().execute()
    assert caught.value.slug == "interrupted", stops.steps
    with hudictl.open(copy.path, engine="local") as table:
        planned = table.restore(target, options).plan()
        assert planned.plan is not None
        assert planned.plan.resumes is not None
        assert planned.execute() is not None
        assert table.restore(target, options).plan().nothing is not None
    assert copy.commits[-1] == target
