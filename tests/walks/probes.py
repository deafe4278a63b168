"""hudictl's commands on copies of a walk's table, and what must hold afterwards."""

import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from tests.interop import product as finishing
from tests.interop.judge import JudgeError
from tests.interop.make_overlaps import ONE_VERSION
from tests.interop.scenarios import Row
from tests.walks.copied import copied
from tests.walks.findings import BROKEN, BY_0_15, unexpected
from tests.walks.kept import listed, made_anew, metadata_of, not_as_planned, planned
from tests.walks.probe import AT_ONCE, CHANGES, Probe, way_on
from tests.walks.product import Answer, changes
from tests.walks.rows import Instant, later, rows_after
from tests.walks.shape import LAZY
from tests.walks.table import DEATH, FAILURE, Table
from tests.walks.undone import is_undone
from tests.walks.verdict import alike, judged

EXPIRED = ("--interval", "20s", "--misses", "2")


def restore(probe: Probe, target: str = "") -> None:
    """To any instant, by either rule."""
    table, chance = probe.table, probe.chance
    if not table.active:
        return
    target, timeline = target or chance.choice(table.active).time, table.timeline
    saved = any((entry.time, entry.action) == (target, "savepoint") for entry in timeline)
    rule = chance.choice((None, None, "requested", "completion"))
    if table.ahead and table.version == "v6":
        rule = None  # hudictl does not take the time of its file for when it completed
    words = ["restore", *([target] if saved else ["--to-instant", target]), *AT_ONCE]
    words += ["--rule", rule] if rule else []
    words += chance.choice(([], ["--delete-later-savepoints", "--discard-rollbacks"]))
    words += _metadata_options(probe)
    plan = _planned(probe, words)
    if plan is None:
        by_default = "completion" if table.version == "v9" else "requested"
        _refused_rightly(probe, target, later(timeline, target, by_default), _hudi_restores)
        return
    # It is restored already, and there are leftovers of that alone: then the plan has no rule.
    by = plan.result.get("rule")
    removed = _removed(timeline, target, plan) if by else frozenset()
    _change(probe, words, removed, f"{target} restored by {by}", finish=lambda: _finish(probe, target))


def before_undone(probe: Probe) -> None:
    """The state before a clustering that has undone a commit: what readers saw then, whatever the release's rule."""
    table = probe.table
    times = [entry.time for entry in table.active]
    target, timeline = times[times.index(table.undone) - 1], table.timeline
    words = ["restore", "--to-instant", target, *AT_ONCE, *_metadata_options(probe)]
    plan = _planned(probe, words)
    if plan is not None:
        _change(probe, words, _removed(timeline, target, plan), f"{target}, before it was undone, restored")


def _removed(timeline: Sequence[Instant], target: str, plan: Answer) -> frozenset[str]:
    """What a restore takes back, with the writes after it that are archived."""
    archived = (entry["time"] for entry in plan.result["instants"] if entry["state"] == "ARCHIVED")
    return later(timeline, target, plan.result["rule"]).union(archived)


def rollback(probe: Probe, target: str = "") -> None:
    """The newest commit, or any instant, pending or not."""
    table, chance = probe.table, probe.chance
    pending = [entry for entry in table.pending if entry.action not in ("restore", "rollback", "clean", "savepoint")]
    if not table.active:
        return
    pending += [entry for entry in table.pending if entry.action == "clean" and entry.time in table.broken]
    among = [table.active[-1], table.active[-1], chance.choice(table.active), *pending]
    among += [entry for entry in (*pending, *table.active) if entry.time in table.broken] * 3
    target = target or chance.choice(among).time
    service = any(entry.time == target and entry.action not in ("commit", "deltacommit") for entry in pending)
    words = ["rollback", target, *AT_ONCE, *(["--keep-plan"] if service and chance.random() < 0.5 else [])]
    words += _metadata_options(probe)
    if _planned(probe, words) is None:
        _refused_rightly(probe, target, {target}, _hudi_rolls_back)
        return
    _change(probe, words, {target}, f"{target} rolled back", finish=lambda: table.hudi.rollback_failed(table.base))


def failed_writes(probe: Probe) -> None:
    """Cleaned by either policy: no rows change."""
    eager = probe.chance.random() < 0.7
    words = ["failed-writes", "clean", *(("--policy", "eager", *AT_ONCE) if eager else EXPIRED)]
    plan = _planned(probe, words)
    # What it is to leave to the operator it names, and ends with 3.
    if plan is None or "is pending: " in plan.said:
        return
    table = probe.table
    _change(probe, words, (), "failed writes cleaned", finish=lambda: table.hudi.rollback_failed(table.base))
    left = [entry for entry in table.pending if entry.action in ("commit", "deltacommit") and entry.state == "INFLIGHT"]
    if eager and left and not probe.problems:
        probe.problem(f"failed writes are left: {left}")


def savepoint(probe: Probe) -> None:
    """A savepoint, the deletion of older ones, a clean of all that is not protected, and the way back."""
    table = probe.table
    if not table.active:
        return
    target = probe.chance.choice(table.active[-4:]).time
    # With a tag of its own it is no other's successor.
    words = ["savepoint", "create", target, "--allow-pending", "--tag", f"walk-{target}", *AT_ONCE]
    if _planned(probe, words) is None:
        return
    if (done := probe.ask(*words, "--yes")).code != 0:
        probe.problem(f"planned, but {done}")
        return
    # An earlier one without a tag stays as it is, and is no exception then.
    if '"outcome": "nothing to do"' not in done.said:
        _prune(probe)
    if (error := _cleaned(table)) is not None:
        alone = _cleaned(probe.before.copy(_emptied(probe.folder / "before")))
        # 1.2.0's clean by file versions fails where a savepoint protects all that it would take.
        its_own = alone is not None or "For empty cleans" in str(error)
        say = probe.hudis.append if its_own else probe.problem
        say(f"Hudi does not clean beside the savepoint on {target}: {error}")
        return
    if wrong := table.wrong_rows():
        probe.hudis.append(f"after a clean: {wrong}")
        return
    timeline = table.timeline
    words = ["restore", target, *AT_ONCE, "--delete-later-savepoints", "--discard-rollbacks"]
    if (plan := _planned_at_last(probe, words)) is None or '"nothing to do"' in plan.said:
        return
    if table.shape.compact_every:
        _foretold(probe, words, plan)
    _change(probe, words, _removed(timeline, target, plan), f"savepoint {target} restored after a clean")


def _planned_at_last(probe: Probe, words: list[str]) -> Answer | None:
    """The plan of a restore to a savepoint just made: where it is refused, what the operator is told to do is done."""
    plan = probe.ask(*words, "--plan")
    if plan.refused and probe.table.ahead:
        probe.refusals.append(plan.reason)
        return None
    if plan.refused and "--rule requested has all files" in plan.complaint:
        # Beside a pending resize of buckets, which later writes have written into: the operator decides.
        words += ["--rule", "requested"]
        plan = probe.ask(*words, "--plan")
    if plan.refused and "`hudictl failed-writes clean" in plan.complaint:
        # Hudi could not build the record index again, over files that dead writers have left empty.
        probe.ask("failed-writes", "clean", "--policy", "eager", *AT_ONCE, "--yes")
        probe.ask("orphans", "delete", *AT_ONCE, "--yes")
        plan = probe.ask(*words, "--plan")
        if plan.refused and "empty data files" in plan.complaint:
            # One that nobody can tell for an orphan is left to the operator.
            probe.refusals.append(plan.reason)
            return None
    if plan.refused and "is no longer completed" in plan.complaint:
        # Hudi has lost what its pending rollback was to take back; that has nothing left to do, and ends.
        probe.ask("resume", *AT_ONCE, "--yes")
        plan = probe.ask(*words, "--plan")
    if plan.code == 0:
        return plan
    probe.problem(f"a savepoint just made cannot be restored: {plan}")
    return None


def _prune(probe: Probe) -> None:
    """Of the savepoints without a tag the newest one stays, beside the one just made."""
    words = ["savepoint", "prune", "--all", "--keep-last", "1"]
    if _planned(probe, words) is not None and (done := probe.ask(*words, "--yes")).code != 0:
        probe.problem(f"planned, but {done}")


def _cleaned(table: Table) -> JudgeError | None:
    """Hudi cleans all but the newest versions; its error, if it does not."""
    table.past.add("clean")
    try:
        with table.cleaning():
            table.hudi.clean(table.base, {**table.shape.options, **ONE_VERSION})
    except JudgeError as error:
        return error
    return None


def orphans(probe: Probe) -> None:
    """Deleted where they are sure: no rows change."""
    words = ["orphans", "delete", *AT_ONCE]
    if _planned(probe, words) is not None:
        _change(probe, words, (), "orphans deleted")


def resume(probe: Probe) -> None:
    """A restore that Hudi has begun is finished."""
    table = probe.table
    words = ["resume", *AT_ONCE, *EXPIRED]
    if _planned(probe, words) is None:
        return
    for _ in range(4):
        done = probe.ask(*words, "--yes")
        if done.code != 3:
            break
    if done.code != 0:
        probe.problem(f"planned, but {done}")
        return
    table.writes = list(table.wanted)
    _finished(probe, table.rows, "resumed", {write.instant for write in table.writes})


def reading(probe: Probe) -> None:
    """All that looks ends with 0, or with findings, and changes nothing."""
    table, before = probe.table, changes(probe.table.base)
    for words in (
        *(["check", *AT_ONCE], ["metadata", "verify"], ["log", "verify"], ["savepoint", "list"], ["orphans", "list"]),
        *(["table", "show"], ["timeline", "show", "--archived"], ["failed-writes", "list"], ["heartbeat", "list"]),
        *(["marker", "list"], ["savepoint", "list", "--verify"], ["metadata", "files"], ["log", "slices"]),
    ):
        answer = probe.ask(*words)
        if answer.code not in (0, 2, 3, 10, 14):
            probe.problem(f"a reading command fails: {answer}")
        elif (
            answer.code in (3, 14)
            and table.good
            and FAILURE not in table.past
            and not table.interrupted
            and not table.is_broken
            and words[0] in ("metadata", "log")
            and not any(row.get("defect") in BY_0_15 for row in answer.result if table.version == "v6")
        ):
            probe.problem(f"findings on a table of Hudi's own: {answer} {answer.said[:800]}")
    if changes(table.base) != before:
        probe.problem("a reading command has changed the table")


def sweep(probe: Probe) -> None:
    """Restores to each instant, and a rollback of the newest and of each pending one, on copies: only read by Hudi."""
    table = probe.before
    acts: list[tuple[Callable[[Probe, str], None], str]] = [(restore, entry.time) for entry in table.active]
    acts += [(rollback, entry.time) for entry in [*table.active[-1:], *table.pending] if entry.action != "restore"]
    for act, target in acts:
        copy = table.copy(_emptied(probe.folder / "sweep"))
        copy.age_heartbeats()
        one = Probe(table, copy, probe.chance, _emptied(probe.folder / "one"), light=True)
        act(one, target)
        probe.commands += one.commands
        probe.undone += one.undone
        probe.outcomes += one.outcomes
        probe.refusals += one.refusals
        probe.hudis += one.hudis
        probe.problems += [f"{act.__name__} of {target}: {problem}" for problem in one.problems]


PROBES: Mapping[Callable[[Probe], None], int] = {
    restore: 8, rollback: 4, failed_writes: 2, savepoint: 4, orphans: 2, reading: 2, copied: 3,
}  # fmt: skip
WITH_INDEXES: Mapping[Callable[[Probe], None], int] = {
    sweep: 8, restore: 5, rollback: 3, failed_writes: 1, savepoint: 1, orphans: 1, reading: 1,
}  # fmt: skip


def _planned(probe: Probe, words: list[str]) -> Answer | None:
    """The plan; None where it is refused. Neither may change anything."""
    before = changes(probe.table.base)
    plan = probe.ask(*words, "--plan")
    if plan.refused:
        probe.refusals.append(f"{plan.reason}")
        done = probe.ask(*words, "--yes")
        if not done.refused:
            probe.problem(f"refused as a plan, but {done}")
    elif plan.code == 3 and probe.before.is_broken and words[0] == "failed-writes":
        # Each of them is refused, beside a commit of the future or an empty plan.
        probe.refusals.append(plan.reason)
    elif plan.code != 0:
        probe.problem(f"no plan: {plan}")
    if probe.table.shape.compact_every and plan.code == 0:
        _foretold(probe, words, plan)
    if different := set(changes(probe.table.base).items()) ^ set(before.items()):
        probe.problem(f"refused, or planned alone, and yet changed: {sorted(different)[:4]}")
    return plan if plan.code == 0 else None


def _metadata_options(probe: Probe) -> list[str]:
    """In a walk with all indexes, the metadata table is by chance not to be kept."""
    return ["--metadata", "delete"] if probe.table.shape.compact_every and probe.chance.random() < 0.1 else []


def _foretold(probe: Probe, words: list[str], plan: Answer) -> None:
    """What the plan says of the metadata table; where all indexes are required, it is refused if one is lost."""
    partitions = listed(probe.table.base)
    outcome = probe.outcome = planned(words[0], plan.result, partitions)
    probe.outcomes.append(outcome)
    if outcome.fate in ("unsaid", "none") or "--metadata" in words or words[0] not in ("restore", "rollback"):
        return
    required = probe.ask(*words, "--require-index", "all", "--plan")
    if required.code != (13 if outcome.deleted else 0):
        outcome.wrong.append(f"all indexes are required, and {outcome} is planned: {required}")
        probe.problem(outcome.wrong[-1])
    if unknown := {*outcome.kept, *outcome.deleted} ^ partitions:
        outcome.wrong.append(f"the plan has other partitions than the table: {sorted(unknown)}")
        probe.problem(outcome.wrong[-1])


def _change(
    probe: Probe, words: list[str], removed: Collection[str], what: str, finish: Callable[[], object] | None = None
) -> None:
    """Executes, by chance with a death in between and any way on from there; then all must be as planned."""
    table, probe.broken = probe.table, probe.table.is_broken
    words, broken = [*words], set(table.broken)
    if "--keep-plan" in words:  # its plan is there afterwards
        table.broken.discard(words[1])
    probe.strays = {name: body for name in table.strays if (body := _body(table.base / name)) is not None}
    before = table.rows
    after = rows_after([write for write in table.writes if write.instant not in removed])
    present = {write.instant for write in table.writes}
    undone = is_undone(probe, words, what)
    kill_at = probe.chance.randrange(CHANGES) if probe.chance.random() < 0.4 else None
    if probe.problems:
        return
    if undone:
        table.broken, probe.outcome = broken, None
        _finished(probe, before, f"{what}, then undone", present)
        return
    done = probe.ask(*words, "--yes", kill_at=kill_at)
    if done.code is None:
        table.past.add(DEATH)
        what = f"{what}, killed at change {kill_at}"
        ways = ("again", "again", "resume", "withdraw", *(["hudi"] if finish else []))
        # With nothing done, readers would not see the rows of the model.
        way = "again" if table.undone else probe.chance.choice(ways)
        if not way_on(probe, words, way, what, finish):
            return
        what = f"{what}, then {way}"
        if probe.outcome:
            probe.outcome.ended = f"killed, then {way}"
    elif done.code != 0:
        probe.problem(f"planned, but {done}")
        return
    _given_up(probe, done)
    gone = present - {entry.time for entry in table.timeline if entry.is_write}
    undone = done.code is None and not (set(removed) & gone)
    if probe.outcome and undone:
        probe.outcome.ended += ", and nothing done"
    _finished(probe, before if undone else after, what, present - (set() if undone else set(removed)))


def _finished(probe: Probe, rows: Mapping[int, Row], what: str, kept: Collection[str]) -> None:
    """The command has ended with 0: Hudi and the storage are asked whether that is true."""
    table = probe.table
    different = [name for name, body in probe.strays.items() if _body(table.base / name) != body]
    if different:
        probe.problem(f"{what}: files that are not the table's are gone, or changed: {different[:4]}")
    known = table.rows_known(kept)
    table.writes = [write for write in table.writes if write.instant in kept]
    mended = probe.broken and not table.is_broken
    if mended:
        table.past -= set(BROKEN)
    if not known:  # what is right of them is what was built on a commit that is gone
        rows = {row[0]: row for row in table.hudi.read(table.base, columns=table.shape.columns)}
    if not table.interrupted and (found := unexpected(table, probe.ask("check", *AT_ONCE))):
        probe.problem(f"{what}: check: {found}")
    _metadata_kept(probe, what)
    metadata = metadata_of(table.base)
    if probe.chance.random() < 0.35 and not probe.light and known:
        probe.adopted = table.copy(_emptied(probe.folder / "adopted"))
        probe.adopted.adopted = True
    # Listings miss a partition without metafile, and find another table: before and after it may be other rows.
    odd = "lost_metafile" in table.past or ("nested_table" in table.past and "other-table" in probe.ask("check").said)
    # A writer's own rollback block is newer than its commit, and stands before its rows: these are read after the next.
    hidden = table.version == "v6" and "rollback-block-ahead" in probe.ask("check", *AT_ONCE).said
    state = probe.chance.getstate()
    for problem in judged(table, rows, probe.chance, probe.light):
        probe.chance.setstate(state)
        copy = probe.before.copy(_emptied(probe.folder / "before"))
        before = judged(copy, probe.before.rows, probe.chance, probe.light)
        read = problem.startswith(("rows ", "a reader fails"))
        unseen = odd and problem.startswith("rows by listing")
        unseen |= hidden and problem.startswith("rows ")
        if unseen or (any(alike(problem, other) for other in before) and not (mended and read)):
            probe.hudis.append(problem)
        else:
            probe.problem(f"{what}: {problem}")
            if probe.outcome:
                probe.outcome.wrong.append(problem)
    if probe.outcome and not (probe.problems or probe.hudis) and (wrong := made_anew(table.base, metadata)):
        probe.outcome.wrong += wrong
        probe.problem(f"{what}: {wrong}")


def _given_up(probe: Probe, done: Answer) -> None:
    """A metadata table that was to be kept is deleted all the same: nothing but another writer may be a reason."""
    result = done.result if done.code == 0 else None
    if probe.outcome and isinstance(result, list):  # what `failed-writes clean` has done to each instant
        fates = sorted({row["metadata_table"] for row in result if row.get("metadata_table")})
        probe.outcome.fate = ", ".join(fates) or probe.outcome.fate
    if probe.outcome and isinstance(result, dict) and (reason := result.get("metadata_table_given_up")):
        probe.outcome.wrong.append(f"given up: {reason}")
        probe.problem(f"the metadata table was given up: {reason}")


def _metadata_kept(probe: Probe, what: str) -> None:
    """What was planned for the metadata table is done; after a death less of it may be kept."""
    outcome = probe.outcome
    if outcome is None or outcome.ended not in ("whole", "killed, then again", "killed, then resume"):
        return
    wrong = not_as_planned(outcome, metadata_of(probe.table.base))
    if outcome.ended == "whole":
        outcome.wrong += wrong
        probe.problems += [f"{what}: planned {outcome}: {one}" for one in wrong]
    else:
        outcome.lost += wrong


def _body(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _finish(probe: Probe, target: str) -> None:
    table = probe.table
    # By default 1.2.0 upgrades the table first, and then fails at what its restore has to remove.
    finishing.finish(table.hudi, table.base, target, table.shape.options if table.shape.version else None)


def _hudi_restores(table: Table, target: str) -> None:
    options = {**table.shape.options, **LAZY}
    if not any((entry.time, entry.action) == (target, "savepoint") for entry in table.timeline):
        table.hudi.savepoint(table.base, target, options)
    table.hudi.restore(table.base, target, options)


def _hudi_rolls_back(table: Table, target: str) -> None:
    table.hudi.rollback(table.base, target, table.shape.options)


def _refused_rightly(probe: Probe, target: str, removed: Collection[str], act: Callable[[Table, str], None]) -> None:
    """What hudictl refuses, Hudi does on a copy: where it does it rightly, the refusal is a fault of its own. But not
    where the world has broken something: its mending comes first."""
    # Hudi's rollback of a lazy writer does not ask for later commits: what they build on would be gone.
    # And 0.15.0's compaction passes over logs of its plan that are gone.
    stricter = ("the lock of the table's writers", "later commits may build on", "names files of")
    if probe.light or probe.table.broken or any(said in probe.refusals[-1] for said in stricter):
        return
    other = probe.table.copy(_emptied(probe.folder / "hudis"))
    rows = rows_after([write for write in other.writes if write.instant not in removed])
    try:
        act(other, target)
    except JudgeError:
        return
    try:
        # A service that has planned with what is gone cannot run any more.
        for act in (other.hudi.cluster, other.hudi.compact) if other.pending else ():
            act(other.base, "execute" if act == other.hudi.cluster else "run", other.shape.options)
    except JudgeError:
        return
    undone = any(entry.time in removed and entry.state == "COMPLETED" for entry in other.timeline)
    if not undone and not other.interrupted and not judged(other, rows, probe.chance):
        probe.problem(f"refused, though Hudi does it to {target}: {probe.refusals[-1]}")
