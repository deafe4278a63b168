"""A table was merge on read and is copy on write now: what readers would not see is refused, or the type comes back."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from hudictl.errors import Conflict, Incomplete, Refused
from hudictl.ops.copy.plan import CopyOptions
from hudictl.ops.copy.planning import plan_copy
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.restore import execute
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.verify import verify_timeline
from hudictl.ops.session import Silent
from hudictl.render.plans import restore_lines
from hudictl.storage.local import LocalStorage
from hudictl.table.table import COPY_ON_WRITE, MERGE_ON_READ
from tests import support
from tests.crash import reader
from tests.fixtures import Unpack
from tests.helpers import At, Copy, die, plan, put, restore, rollback_of, session, tree
from tests.ops.restore.withdraw_support import withdraw
from tests.retyped import LATER, retype, retyped

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
TO_INSTANT = RestoreOptions(to_instant=True, settle_s=0.0)
TYPE_TOO = replace(TO_INSTANT, table_type=MERGE_ON_READ)
OWN = (".hoodie/.hudictl", ".hoodie/.heartbeat")
NOW_COW = "merge on read then, and is copy on write now"


@pytest.fixture
def mixed(unpack: Unpack) -> Callable[[str], Copy]:
    """A table with delta commits that its readers do not count."""

    def made(version: str) -> Copy:
        copy = unpack(version, "mor_part")
        retyped(copy.path)
        return copy

    return made


Mixed = Callable[[str], Copy]


def rows(copy: Copy) -> dict[str, str]:
    """What readers saw after each instant, while the table was merge on read."""
    return {time: seen["digest"] for time, seen in sorted(support.facts(copy.version, copy.name)["rows"].items())}


def deltas(copy: Copy) -> list[str]:
    return [time for time in rows(copy) if any(name.startswith(time) for name in copy.having("deltacommit"))]


def refused(copy: Copy, named: str, act: Callable[[], object]) -> Refused:
    before = tree(copy.path)
    with pytest.raises(Refused, match=named) as found:
        act()
    assert tree(copy.path) == before
    return found.value


@pytest.mark.slow
@VERSIONS
def test_what_readers_would_not_see_is_refused(mixed: Mixed, version: str, tmp_path: Path) -> None:
    copy = mixed(version)
    for target in deltas(copy):
        error = refused(copy, NOW_COW, lambda: plan(copy, target, TO_INSTANT))  # noqa: B023
        assert "--table-type MERGE_ON_READ" in error.hint
        assert error.fields["unseen"]
    target = deltas(copy)[-1]
    to = LocalStorage(str(tmp_path / "to"), "")
    refused(
        copy,
        f"cannot be copied: .*{NOW_COW}",
        lambda: plan_copy(session(copy.table), to, deltas(copy)[-1], CopyOptions()),
    )


@VERSIONS
def test_a_delta_commit_that_has_changed_nothing_is_no_last_commit_either(unpack: Unpack, version: str) -> None:
    """All commands that change the table would refuse it (14): to them the type is wrong."""
    copy = unpack(version, "mor_part")
    restore(copy, copy.having("commit")[-1][:17], options=TO_INSTANT)
    retyped(copy.path)
    time = "20261121100000000"
    assert copy.commits[-2] < time < LATER == copy.commits[-1]
    stem = time if version == "v6" else f"{time}_20261121100001000"
    path = copy.write(f"{stem}.deltacommit", b'{"partitionToWriteStats": {}, "operationType": "UPSERT"}')
    if version == "v6":
        moment = copy.file(LATER, "commit").stat().st_mtime - 0.005
        os.utime(path, (moment, moment))
    error = refused(copy, NOW_COW, lambda: plan(copy, time, TO_INSTANT))
    assert error.fields["unseen"] == []


@VERSIONS
def test_a_compaction_of_all_is_seen_by_readers_of_both_types(mixed: Mixed, version: str) -> None:
    """Below table version 8, logs of later delta commits are in its slices: they get rollback blocks all the same, or
    their rows would come back once the archive has passed them, and the table is merge on read again."""
    copy = mixed(version)
    compaction = copy.having("commit")[0].partition(".")[0]
    assert bool(plan(copy, compaction, TO_INSTANT).undo.rollback_blocks) == (version == "v6")
    restore(copy, compaction, options=TO_INSTANT)
    assert reader.snapshot(copy.path).digest == rows(copy)[compaction]
    retype(copy.path, MERGE_ON_READ)
    assert reader.snapshot(copy.path).digest == rows(copy)[compaction]


@VERSIONS
def test_what_copy_on_write_has_seen_can_be_restored(mixed: Mixed, version: str) -> None:
    """Its readers did not count the delta commits at the target either."""
    copy = mixed(version)
    before = reader.snapshot(copy.path).digest
    stem = "20261121120000000" if version == "v6" else "20261121120000000_20261121120001000"
    path = copy.write(f"{stem}.commit", json.dumps({"partitionToWriteStats": {}, "operationType": "UPSERT"}), old=False)
    assert path.exists()
    restore(copy, LATER, options=TO_INSTANT)
    assert reader.snapshot(copy.path).digest == before


@VERSIONS
def test_a_rollback_that_would_show_delta_commits_is_refused(mixed: Mixed, version: str) -> None:
    copy = mixed(version)
    refused(copy, f"cannot be rolled back: .*{NOW_COW}", lambda: rollback_of(copy, LATER))
    retype(copy.path, MERGE_ON_READ)
    assert rollback_of(copy, LATER)


@pytest.mark.slow
@VERSIONS
def test_a_rollback_may_leave_hidden_what_is_hidden(unpack: Unpack, version: str) -> None:
    """A file group that no compaction has read is not seen before either. A restore to the compaction would lose it."""
    copy = unpack(version, "mor_part")
    compaction = copy.having("commit")[-1][:17]
    restore(copy, compaction, options=TO_INSTANT)
    retyped(copy.path)
    assert rollback_of(copy, LATER)
    base = next(copy.path.glob(f"part-0/*_{compaction}.parquet"))
    delta = max(time for time in copy.commits if time < compaction)
    hidden = put(base.with_name(f"{base.name[:8][::-1]}-0000-0000-0000-000000000000-0_0-1-1_{delta}.parquet"))
    hidden.write_bytes(base.read_bytes())
    assert rollback_of(copy, LATER)
    error = refused(copy, NOW_COW, lambda: plan(copy, compaction, TO_INSTANT))
    assert error.fields["unseen"] == [hidden.relative_to(copy.path).as_posix()]


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("keeps", [False, True], ids=["deletes", "keeps"])
def test_the_type_comes_back_with_the_table(mixed: Mixed, version: str, keeps: bool) -> None:
    copy = mixed(version)
    before = tree(copy.path, *OWN)
    target = deltas(copy)[-1]
    options = replace(TYPE_TOO, keep_files=keeps)
    made = plan(copy, target, options)
    assert (made.table_type_before, made.fingerprint["table type"]) == (COPY_ON_WRITE, COPY_ON_WRITE)
    assert "The table becomes MERGE_ON_READ again" in "\n".join(restore_lines(made))
    assert "The table becomes" not in "\n".join(restore_lines(plan(copy, copy.having("commit")[0][:17], TO_INSTANT)))
    result = restore(copy, target, options=options)
    assert (copy.table.type, reader.snapshot(copy.path).digest) == (MERGE_ON_READ, rows(copy)[target])
    assert not (copy.meta / "hoodie.properties.backup").exists()
    assert plan(copy, target, TYPE_TOO).nothing_to_do
    if keeps:
        undo = session(copy.table)
        execute_undo(undo, plan_undo(undo, result.restore, 0), 0)
        assert tree(copy.path, *OWN) == before


@dataclass
class Types(Silent):
    """Notes the type behind each un-published instant."""

    copy: Copy
    seen: list[tuple[str, str]] = field(default_factory=list)

    def note(self, text: str) -> None:
        if text.startswith("un-published"):
            self.seen.append((text.split()[1], self.copy.table.type))


@VERSIONS
def test_the_type_changes_between_the_commits_of_both_types(mixed: Mixed, version: str) -> None:
    """Readers of copy on write never lose the base files of a compaction, those of merge on read never see its own."""
    copy = mixed(version)
    types = Types(copy)
    restore(copy, deltas(copy)[0], types, TYPE_TOO)
    assert [kind for time, kind in types.seen if time == LATER] == [COPY_ON_WRITE]
    assert {kind for time, kind in types.seen if time != LATER} == {MERGE_ON_READ}


@pytest.mark.slow
@VERSIONS
def test_all_targets_of_merge_on_read_come_back(mixed: Mixed, version: str) -> None:
    """Also from one to the next older one: the type is merge on read already."""
    copy = mixed(version)
    for target in reversed(rows(copy)):
        restore(copy, target, options=TYPE_TOO)
        assert reader.snapshot(copy.path).digest == rows(copy)[target]


@VERSIONS
@pytest.mark.parametrize("step", ["write rollback plans", "un-publish instants", "delete files"])
def test_the_type_is_withdrawn_with_the_restore(mixed: Mixed, version: str, step: str) -> None:
    copy = mixed(version)
    before = reader.snapshot(copy.path).digest
    die(copy, deltas(copy)[1], step, TYPE_TOO)
    assert (copy.table.type == MERGE_ON_READ) == (step == "delete files")
    withdraw(copy)
    assert (copy.table.type, reader.snapshot(copy.path).digest) == (COPY_ON_WRITE, before)


@pytest.mark.slow
@VERSIONS
def test_copy_on_write_comes_back_from_merge_on_read(unpack: Unpack, version: str) -> None:
    """The other way round, after delta commits: below table version 8 their rows in logs are hidden, too."""
    copy = unpack(version, "mor_part")
    compaction = copy.having("commit")[0][:17]
    refused(copy, NOW_COW, lambda: plan(copy, deltas(copy)[-2], replace(TO_INSTANT, table_type=COPY_ON_WRITE)))
    die(copy, compaction, "delete files", replace(TO_INSTANT, table_type=COPY_ON_WRITE))
    assert copy.table.type == COPY_ON_WRITE
    restore(copy, compaction, options=TO_INSTANT)
    for kind in (COPY_ON_WRITE, MERGE_ON_READ):
        retype(copy.path, kind)
        assert reader.snapshot(copy.path).digest == rows(copy)[compaction]


@pytest.mark.slow
def test_a_restore_that_was_begun_without_a_type_does_not_end_with_one(mixed: Mixed) -> None:
    copy = mixed("v9")
    compaction = copy.having("commit")[1][:17]
    die(copy, compaction, "verify", TO_INSTANT)
    refused(copy, "was begun without --table-type MERGE_ON_READ", lambda: plan(copy, compaction, TYPE_TOO))


@pytest.mark.slow
def test_a_restore_that_was_begun_with_a_type_ends_with_it(mixed: Mixed) -> None:
    copy = mixed("v6")
    target = deltas(copy)[0]
    die(copy, target, "verify", TYPE_TOO)
    assert plan(copy, target, TO_INSTANT).table_type_before == COPY_ON_WRITE
    restore(copy, target, options=TYPE_TOO)
    assert reader.snapshot(copy.path).digest == rows(copy)[target]


def test_the_type_alone_is_not_changed(mixed: Mixed) -> None:
    copy = mixed("v9")
    refused(copy, "is already at", lambda: plan(copy, LATER, TYPE_TOO))


def test_a_type_that_was_changed_since_planning_stops_it(mixed: Mixed) -> None:
    """Before the first file is deleted; and a plan that was saved is not applied."""
    copy = mixed("v9")
    target = copy.having("commit")[0][:17]
    saved = plan(copy, target, TO_INSTANT)
    data = copy.data()
    with pytest.raises(Conflict, match=r"hoodie\.table\.type was changed"):
        restore(copy, target, At("un-publish instants", lambda: retype(copy.path, MERGE_ON_READ)), TO_INSTANT)
    assert copy.data() == data
    assert plan(copy, target, TO_INSTANT).fingerprint["table type"] != saved.fingerprint["table type"]


def test_a_type_that_is_changed_at_the_end_is_no_success(mixed: Mixed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verification asks the timeline as readers of the type that is there then."""
    copy = mixed("v9")

    def late(*told: object) -> None:
        retype(copy.path, COPY_ON_WRITE)
        verify_timeline(*told)  # type: ignore[arg-type]

    monkeypatch.setattr(execute, "verify_timeline", late)
    with pytest.raises(Incomplete, match="the timeline is that of a merge-on-read table"):
        restore(copy, deltas(copy)[-1], options=TYPE_TOO)


def test_an_undo_wants_a_type_that_the_restore_has_not_changed(mixed: Mixed) -> None:
    copy = mixed("v9")
    result = restore(copy, copy.having("commit")[0][:17], options=replace(TO_INSTANT, keep_files=True))
    # As a restore leaves it that has taken the metadata table out of use.
    kept = copy.meta / ".hudictl" / "undo" / result.restore / "kept" / ".hoodie" / "hoodie.properties"
    put(kept, (copy.meta / "hoodie.properties").read_bytes())
    assert plan_undo(session(copy.table), result.restore, 0)
    retype(copy.path, MERGE_ON_READ)
    refused(copy, "hoodie.table.type has changed", lambda: plan_undo(session(copy.table), result.restore, 0))
