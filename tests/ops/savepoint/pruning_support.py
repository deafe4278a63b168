"""Tables with many savepoints, for the tests of their pruning."""

from hudictl.formats import savepoint as fmt
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.savepoint.execute import create_savepoint
from hudictl.ops.savepoint.plan import PruneOptions, PrunePlan, PruneResult, SavepointOptions
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.ops.savepoint.pruning import plan_prune, prune_savepoints
from hudictl.state.files.retention import Rules
from hudictl.state.files.savepoints import with_tag
from tests.helpers import Copy, put, session

LAST = Rules(last=1)
NIGHTLY = PruneOptions(LAST, "nightly")


def save(copy: Copy, instant: str, tag: str | None = "nightly") -> str:
    """A savepoint with a tag."""
    options = SavepointOptions("ann", with_tag(tag, "text") if tag else "", idle_ms=0)
    create_savepoint(session(copy.table), plan_savepoint(session(copy.table), instant, options))
    return instant


def save_all(copy: Copy, *tags: str | None) -> list[str]:
    """Savepoints on the oldest commits, as many as tags; by default on all but the last one."""
    commits = copy.commits[:-1] if not tags else copy.commits[: len(tags)]
    return [save(copy, time, tag) for time, tag in zip(commits, tags or ["nightly"] * len(commits), strict=True)]


def planned(copy: Copy, options: PruneOptions = NIGHTLY) -> PrunePlan:
    return plan_prune(session(copy.table), options)


def prune(copy: Copy, options: PruneOptions = NIGHTLY, monitor: object = None) -> PruneResult:
    made = planned(copy, options)
    return prune_savepoints(session(copy.table, monitor), made)


def fates(plan: PrunePlan) -> dict[str, tuple[str, ...]]:
    """The reasons by savepoint, oldest first; none of one to delete."""
    assert all(row.kept == bool(row.reasons) for row in plan.savepoints)
    return {row.instant: row.reasons for row in reversed(plan.savepoints)}


def comment(copy: Copy, instant: str, text: str) -> None:
    """Another comment for a savepoint."""
    done = copy.file(instant, "savepoint")
    found = fmt.decode(done.read_bytes(), done.name)
    put(done, fmt.encode(fmt.SavepointMetadata(found.saved_by, found.saved_at_ms, text, found.files)))


def plant(copy: Copy, instant: str) -> None:
    """A savepoint as another tool makes it, on a commit where hudictl may make none; from table version 8 on."""
    names = {str(path.parent.relative_to(copy.path)): (path.name,) for path in copy.path.glob(f"*/*_{instant}.parquet")}
    copy.write(f"{instant}.savepoint.inflight")
    body = fmt.encode(fmt.SavepointMetadata("ann", 1_700_000_000_000, "", names))
    copy.write(f"{instant}_{time_plus_ms(copy.commits[-1], 9000)}.savepoint", body)
