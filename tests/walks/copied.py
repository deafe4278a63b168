"""A copy as of a commit is a table of its own, with the rows of then; its source is as it was."""

import shutil
from dataclasses import replace
from pathlib import Path

from tests.interop.scenarios import digest
from tests.walks.findings import unexpected
from tests.walks.probe import AT_ONCE, Probe
from tests.walks.product import ask, changes
from tests.walks.rows import Write, rows_after
from tests.walks.table import DEATH, Table
from tests.walks.verdict import alike, judged

# A copy of a small table makes about so many changes.
CHANGES = 60
# What of its source's past is found in a copy.
ITS_PAST = {DEATH, "copied_without_times"}


def copied(probe: Probe) -> None:
    """As of any commit that is still active; by chance it dies once, and the same command goes on."""
    table, chance = probe.table, probe.chance
    active = {entry.time for entry in table.active}
    targets = [write for write in table.writes if write.instant in active]
    if not targets or table.broken:
        return
    target, to = chance.choice(targets), probe.folder / "copy"
    words = ["copy", "--as-of", target.instant, "--to", str(to), *chance.choice(([], ["--checksum"]))]
    before = changes(table.base)
    plan = probe.ask(*words, "--plan")
    if plan.refused:
        probe.refusals.append(plan.reason)
        return
    done = probe.ask(*words, "--yes", kill_at=chance.randrange(CHANGES) if chance.random() < 0.5 else None)
    if done.code is None:
        table.past.add(DEATH)
        done = probe.ask(*words, "--yes")
    if plan.code != 0 or done.code != 0:
        probe.problem(f"{plan}, {done}")
        return
    if different := set(changes(table.base).items()) ^ set(before.items()):
        probe.problem(f"a copy has changed its source: {sorted(different)[:4]}")
        return
    _judge(probe, target, to)


def _judge(probe: Probe, target: Write, to: Path) -> None:
    """The copy has the rows of then, to Hudi and to check; and Hudi writes on, as well as on the source."""
    what, source = f"a copy as of {target.instant}", probe.table
    writes = _then(source, target, source.hudi.rows(to, metadata=False))
    if writes is None:
        found, then = source.hudi.rows(to, metadata=False), source.hudi.rows(source.base, False, as_of=target.instant)
        say = probe.hudis.append if found == then else probe.problem
        say(f"{what} has {found}, time travel finds {then}")
        return
    copy = replace(source, base=to, writes=writes, strays=set(), good=True, past=source.past & ITS_PAST, undone="")
    left = unexpected(copy, ask(to, "check", *AT_ONCE))
    problems = [f"check: {left}"] if left else judged(copy, rows_after(writes), probe.chance)
    if problems:
        shutil.rmtree(probe.folder / "before", ignore_errors=True)
        before = probe.before.copy(probe.folder / "before")
        known = judged(before, before.rows, probe.chance)
        for problem in problems:
            kind = probe.hudis if any(alike(problem, other) for other in known) else probe.problems
            kind.append(f"{what}: {problem}")


def _then(table: Table, target: Write, found: object) -> list[Write] | None:
    """The writes up to the target: those that were requested before it, or completed; None where neither is found."""
    by_completion = table.writes[: table.writes.index(target) + 1]
    by_request = [write for write in table.writes if write.instant <= target.instant]
    return next((one for one in (by_completion, by_request) if digest(rows_after(one).values()) == found), None)
