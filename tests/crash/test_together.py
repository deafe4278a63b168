"""Failed writes that are rolled back together by a process that dies at any change: `failed-writes clean`, or `resume`
and `failed-writes clean`, ends it, and readers see the same rows all the time."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hudictl.formats.instants import ROLLBACK, State, time_plus_ms
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.rollback.planning import plan_rollback
from hudictl.ops.rollback.together import plan_together
from hudictl.reports.health.check import check_table
from hudictl.state.facts import read_signs
from hudictl.state.pending import rollbacks_to_end
from hudictl.table.kept import room_times
from hudictl.table.metadata.aside import delete_dropped, drop_metadata_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.crash import reader
from tests.crash.inject import Crash, copy, deaths, dying
from tests.crash.kept import ENGINE, assert_right_if_listed, without_own_times
from tests.helpers import Copy, assert_listed, put, session, walk
from tests.ops.put_back import undo_support as undone
from tests.ops.rollback.together_support import OPTIONS, clean

pytestmark = pytest.mark.crash

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
NAMES = pytest.mark.parametrize("name", ["cow_failed_direct", "cow_failed_tls", "mor_failed_direct", "mor_failed_lazy"])
KEEPING = replace(OPTIONS, keep_files=True, idle_ms=0)
LIKE: Sequence[Callable[[str], bool]] = (
    lambda path: True,
    lambda path: ".heartbeat/" not in path,
    lambda path: ".temp/" not in path,
    lambda path: path.endswith(("requested", "inflight")),
    lambda path: path.endswith("requested"),
)
"""What each failed write has of the first one's files."""


@dataclass(frozen=True)
class Case:
    """A table with failed writes, oldest first; what readers see of it, and the files that are left in the end."""

    made: Copy
    failed: tuple[str, ...]
    seen: reader.Snapshot
    after: frozenset[str]
    findings: frozenset[str]
    mutations: int


def group(version: str, name: str, folder: Path) -> tuple[Copy, tuple[str, ...]]:
    """A real failed write and four more like it: with its markers; without markers, and a heartbeat that has expired;
    only begun; only requested."""
    made = Copy(version, name, support.unpack(version, name, folder))
    if version == "v6" and name.startswith("mor"):
        # The blocks of the rollbacks would take it out of use: then each is planned by itself.
        drop_metadata_table(made.table, "20261123000000000")
        assert delete_dropped(made.table, "20261123000000000")
    first = max(entry.time for entry in load_timeline(made.table).writes())
    failed = [first, *(time_plus_ms(first, 1000 * number) for number in range(1, 5))]
    for number, time in enumerate(failed[1:], 1):
        for path, body in written_by(made, first):
            log = re.fullmatch(r"(.*\.log\.)(\d+)(_.*)", path)
            name = f"{log[1]}{int(log[2]) + number}{log[3]}" if log else path
            if LIKE[number](path):
                put(made.path / name.replace(first, time), body.replace(first.encode(), time.encode()))
    put(made.meta / ".heartbeat" / failed[2])
    return made, tuple(failed)


def written_by(made: Copy, time: str) -> list[tuple[str, bytes]]:
    """The files of a failed write. The name of a log does not tell its writer, below table version 8."""
    names = [name for name, entry in walk(str(made.path)) if entry.is_file() and not name.endswith(".crc")]
    files = [(name, (made.path / name).read_bytes()) for name in names if ".hoodie/metadata/" not in name]
    return [(name, body) for name, body in files if time in name or (".log." in name and time.encode() in body)]


def case_of(version: str, name: str, folder: Path) -> Case:
    made, failed = group(version, name, folder)
    plans = plan_together(session(made.table), [(time, OPTIONS) for time in reversed(failed)])
    # Hudi 1.2.0 begins in the metadata table, too: what it has begun there is rolled back after the others.
    assert [plan.target for plan in plans] == [*reversed(failed[version == "v9" :])]
    assert [bool(plan.removal.files or plan.removal.blocks) for plan in plans[:4]] == [False, False, True, True]
    done = replace(made, path=copy(made.path, folder / "done"))
    with dying(None) as system:
        assert [one.exit_code for one in clean(done)] == [0] * len(failed)
    found = frozenset(entry.finding for entry in check_table(done.table, ENGINE, 600_000).findings)
    return Case(made, failed, reader.snapshot(made.path), state(done.path), found, system.count)


def state(base: Path) -> frozenset[str]:
    """All files but hudictl's own, with the times that it has given left out. A log that a rollback has begun has the
    blocks of all that run with it."""
    names = (name for name, entry in walk(str(base)) if entry.is_file() and not name.startswith(".hoodie/.hudictl"))
    return frozenset(re.sub(r"\.log\.\d+_1-0-1", ".log.N_1-0-1", without_own_times(name)) for name in names)


def clean_again(made: Copy, options: RollbackOptions = OPTIONS) -> None:
    assert {one.exit_code for one in clean(made, options)} <= {0}


def resume_and_clean(made: Copy, options: RollbackOptions = OPTIONS) -> None:
    """What `resume` does, which says nothing of files to keep; and `failed-writes clean` for the writes whose rollback
    was not requested yet."""
    pending = rollbacks_to_end(made.table, read_signs(made.table).live_rollbacks)
    assert pending.unwanted == ()
    for time in pending.finish:
        execute_rollback(session(made.table), plan_rollback(session(made.table), time, OPTIONS))
    clean_again(made, options)


FINISHES = (clean_again, resume_and_clean)


def undo_all(made: Copy) -> None:
    """All that is kept comes back: the newest first."""
    for time in sorted(room_times(made.table), reverse=True):
        undone.undo(made, time)


def give_up(made: Copy, options: RollbackOptions = KEEPING) -> None:
    """No more begins."""


def check_ended(case: Case, made: Copy) -> None:
    assert state(made.path) == case.after
    assert reader.snapshot(made.path) == case.seen
    assert_listed(made.path)
    timeline = load_timeline(made.table)
    assert [entry.time for entry in timeline.writes() if entry.pending] == []
    rollbacks = list(timeline.having(ROLLBACK))
    assert [entry.state for entry in rollbacks] == [State.COMPLETED] * len(case.failed)
    assert {one.finding for one in check_table(made.table, ENGINE, 600_000).findings} == case.findings
    assert not [time for time in case.failed if (made.meta / ".heartbeat" / time).exists()]


def crash_everywhere(case: Case, every: int) -> None:
    """Dies before a change, which is after the one before it; each second time in the middle of a write."""
    for at in deaths(case.mutations, every):
        for finish in FINISHES:
            made = replace(case.made, path=copy(case.made.path, case.made.path.parent / f"{at}-{finish.__name__}"))
            with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
                clean(made)
            assert reader.snapshot(made.path) == case.seen
            assert not reader.missing(made.path)
            assert_right_if_listed(made.path)
            finish(made)
            check_ended(case, made)


def crash_and_undo(case: Case, every: int) -> None:
    """The same, with files that are kept: in the end, or at once, all comes back, byte for byte."""
    before = undone.state(case.made)
    with dying(None) as system:
        clean(replace(case.made, path=copy(case.made.path, case.made.path.parent / "counted")), KEEPING)
    for at in range(0, system.count, every):
        for finish in (*FINISHES, give_up):
            made = replace(case.made, path=copy(case.made.path, case.made.path.parent / f"{at}-kept-{finish.__name__}"))
            with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
                clean(made, KEEPING)
            assert reader.snapshot(made.path) == case.seen
            finish(made, KEEPING)
            if finish is not give_up:
                check_ended(case, made)
            undo_all(made)
            assert undone.state(made) == before
            assert not [*room_times(made.table)]


@pytest.mark.short("v6-mor_failed_lazy", "v9-cow_failed_direct")
@VERSIONS
@NAMES
def test_dies_anywhere(version: str, name: str, tmp_path: Path) -> None:
    crash_everywhere(case_of(version, name, tmp_path), 13)


@pytest.mark.full
@VERSIONS
@NAMES
def test_dies_at_every_mutation(version: str, name: str, tmp_path: Path) -> None:
    case = case_of(version, name, tmp_path)
    crash_everywhere(case, 1)
    crash_and_undo(case, 5)


@pytest.mark.short("v6-mor_failed_lazy", "v9-cow_failed_direct")
@VERSIONS
@NAMES
def test_what_was_kept_comes_back(version: str, name: str, tmp_path: Path) -> None:
    crash_and_undo(case_of(version, name, tmp_path), 29)
