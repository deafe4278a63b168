"""A walk: a table of some shape, and steps; the same again from the same seed."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.interop.judge import Judge, JudgeError
from tests.walks import findings, probes, steps, wild
from tests.walks.kept import Outcome
from tests.walks.probe import AT_ONCE, Probe
from tests.walks.product import ask
from tests.walks.shape import Shape, by_chance, with_indexes
from tests.walks.steps import Step
from tests.walks.table import FAILURE, Table
from tests.walks.verdict import by_hudi, wrong_indexes

STEPS: dict[Step, int] = {
    steps.insert: 4, steps.upsert: 8, steps.delete: 2, steps.insert_overwrite: 2, steps.delete_partition: 1,
    steps.two_writers: 3, steps.compaction: 6, steps.clustering: 4, steps.clean: 3, steps.archive: 2,
    steps.savepoint: 3, steps.hudi_rollback: 1, steps.hudi_restore: 2, steps.killed_write: 4, steps.killed_service: 2,
    steps.rollback_failed: 1, steps.late_index: 2, steps.without_metadata: 1, steps.nested_table: 1,
    steps.late_clustering: 3,
    steps.stray_file: 1, steps.copied_partition: 1, steps.lost_metafile: 1,
    wild.copied_without_times: 3, wild.clock_ahead: 3, wild.lost_instant_file: 5, wild.temporary_files: 2,
    wild.forty_failed_writes: 1,
}  # fmt: skip
# In every third walk: savepoints, and archiving that passes them.
ARCHIVING_STEPS: dict[Step, int] = STEPS | {steps.upsert: 20, steps.clean: 6, steps.archive: 14, steps.savepoint: 8}
# Where all indexes are to be right; without what Hudi refuses beside a record index.
INDEXED_STEPS: dict[Step, int] = {
    steps.insert: 6, steps.upsert: 10, steps.delete: 5, steps.insert_overwrite: 2, steps.delete_partition: 1,
    steps.compaction: 4, steps.clustering: 2, steps.clean: 2, steps.archive: 1, steps.savepoint: 2,
    steps.hudi_rollback: 1, steps.hudi_restore: 1, steps.killed_write: 2, steps.killed_service: 1,
    steps.rollback_failed: 1, steps.late_index: 1, steps.without_metadata: 1, steps.dropped_index: 1,
}  # fmt: skip
BY_NAME = {step.__name__: step for step in (*STEPS, *INDEXED_STEPS, wild.other_version)}


@dataclass(frozen=True)
class Walk:
    """What is done: each step by its name, with a seed for its own chances; and whether hudictl is asked after it."""

    seed: int
    shape: Shape
    steps: Sequence[tuple[str, int, bool]]


@dataclass
class Report:
    """What came of a walk. ``hudis`` are steps that Hudi itself failed, and rows that it lost without hudictl;
    ``metadata`` is what became of the metadata table in each restore and rollback, in a walk with all indexes.
    ``undone`` counts undos."""

    walk: Walk
    commands: int = 0
    undone: int = 0
    done: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    hudis: list[str] = field(default_factory=list)
    metadata: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0


def walk_of(seed: int, indexes: bool = False, versions: bool = False) -> Walk:
    """The walk of a seed; its other one, which is longer, and whose table has all indexes; or the one of a table whose
    version changes on the way."""
    chance = Random(seed)
    shape = with_indexes(chance) if indexes else by_chance(chance)
    weights, length = (INDEXED_STEPS, (6, 15)) if indexes else (STEPS, (4, 10))
    if seed % 3 == 0 and not indexes:
        weights, length = ARCHIVING_STEPS, (10, 18)
    if indexes and shape.kind == "cow":
        weights = {step: weight for step, weight in weights.items() if step != steps.compaction}
    names = chance.choices([step.__name__ for step in weights], list(weights.values()), k=chance.randrange(*length))
    for _ in range(chance.choice((1, 1, 2)) if versions else 0):
        names.insert(chance.randrange(1, len(names)), wild.other_version.__name__)
    asked = 0.35 if indexes else 0.6
    return Walk(seed, shape, [(name, chance.randrange(1 << 30), chance.random() < asked) for name in names])


def take(hudi: Judge, walk: Walk, folder: Path) -> Report:
    """Goes a walk, up to its end or the first problem."""
    begun, report = time.monotonic(), Report(walk)
    shutil.rmtree(folder, ignore_errors=True)
    base = folder / "table"
    base.parent.mkdir(parents=True)
    table = Table(hudi, base, walk.shape)
    steps.create(table, Random(walk.seed))
    for number, (name, seed, asked) in enumerate(walk.steps):
        chance = Random(seed)
        if not _step(report, table, name, chance):
            break
        last = bool(walk.shape.compact_every) and number == len(walk.steps) - 1
        due = asked or last or _blocked(table) or table.undone
        if due and not _probe(report, table, chance, folder / f"probe{number}"):
            break
    report.seconds = time.monotonic() - begun
    return report


def _step(report: Report, table: Table, name: str, chance: Random) -> bool:
    """One step of Hudi's; whether the walk goes on. What Hudi does wrong by itself ends it."""
    before = {entry.time for entry in table.active}
    try:
        if not BY_NAME[name](table, chance):
            return True
    except JudgeError as error:
        report.hudis.append(f"{name} fails: {error.errors[-1]}")
        table.past.add(FAILURE)
    report.done.append(name)
    table.past.add(name)
    if name in ("hudi_rollback", "hudi_restore"):
        left = {entry.time for entry in table.active}
        kept = {write.instant for write in table.writes if write.instant in left or write.instant not in before}
        if not table.rows_known(kept):
            return False
        table.writes = [write for write in table.writes if write.instant in kept]
    if table.undone:
        return _told(report, table)
    return _blocked(table) or _right(report, table, name, chance)


def _told(report: Report, table: Table) -> bool:
    """Whether check finds that a clustering has undone a commit."""
    rows = ask(table.base, "check", *AT_ONCE).result
    found = [row["subject"].split()[0] for row in rows if row["finding"] == "changes-undone"]
    if table.undone not in found:
        report.problems.append(f"check does not find that {table.undone} has undone a commit")
    return table.undone in found


def _right(report: Report, table: Table, name: str, chance: Random) -> bool:
    """Rows, findings and indexes after a step; whether the walk goes on."""
    if (table.good or table.is_broken) and (wrong := table.wrong_rows(readers=[chance.random() < 0.5])):
        found = ask(table.base, "check", *AT_ONCE)
        if table.is_broken and found.code == 3 and ("commit-ahead" in found.said or not table.ahead):
            return True
        said = {row["finding"] for row in found.result} & {"other-table", "partition-without-metafile"}
        if said and {"nested_table", "lost_metafile"} & table.past:
            report.hudis.append(f"after {name}: {wrong}, as check says")
            return False
        # A clock that is ahead by an hour shows only by the times of files. And Hudi 0.15.0 alone loses updates where
        # it compacts beside forty failed writes: no finding can say so.
        untold = {"clock_ahead", "copied_without_times"} <= table.past
        if not untold and (table.ahead or (found.code == 0 and (table.adopted or table.is_broken))):
            report.problems.append(f"after {name}: {wrong}, and check does not find it: {found.said}")
        elif table.adopted and not untold and not findings.of_hudi(table, name, found):
            report.problems.append(f"after {name}, on a table that hudictl has worked on: {wrong}: {found.said}")
        else:
            report.hudis.append(f"after {name}: {wrong}")
        return False
    check = ask(table.base, "check", *AT_ONCE)
    if missed := findings.missed(table, name, check):
        report.problems.append(f"after {name}, check does not find {missed}")
        return False
    if lost := findings.bare(table, check):
        report.hudis.append(f"after {name}: a clean had taken what readers need without what Hudi took back: {lost}")
        return False
    if not table.interrupted and (left := findings.unexpected(table, check)):
        # What Hudi itself has broken is rightly found.
        kind = report.hudis if table.good and not table.adopted and table.wrong_rows() else report.problems
        kind.append(f"after {name}, check: {left}")
        return False
    if not table.interrupted and (bad := wrong_indexes(table)):
        kind = report.problems if table.adopted and name not in ("hudi_rollback", "hudi_restore") else report.hudis
        kind.append(f"after {name}: {bad}; {by_hudi(table)}")
        return False
    return True


def _blocked(table: Table) -> bool:
    """A pending restore: Hudi's writers refuse the table."""
    return any(entry.action == "restore" for entry in table.pending)


def _probe(report: Report, table: Table, chance: Random, folder: Path) -> bool:
    """Some command of hudictl's; whether the walk goes on, by chance on what it has left."""
    folder.mkdir()
    weights = probes.WITH_INDEXES if table.shape.compact_every else probes.PROBES
    act = chance.choices(list(weights), list(weights.values()))[0]
    if blocked := _blocked(table) or bool(table.undone):
        act = probes.before_undone if table.undone else probes.resume
    probe = Probe(table, table.copy(folder), chance, folder)
    probe.table.age_heartbeats()
    try:
        act(probe)
    except JudgeError as error:
        probe.problem(f"{act.__name__}: {error}")
    report.commands += probe.commands
    report.undone += probe.undone
    report.refusals.extend(f"{act.__name__}: {reason}" for reason in probe.refusals)
    report.problems += [f"{act.__name__}: {problem}" for problem in probe.problems]
    report.hudis += probe.hudis
    report.metadata += probe.outcomes
    report.done.append(f"<{act.__name__}>")
    if probe.problems:
        return False
    if probe.adopted is not None:
        shutil.rmtree(table.base)
        shutil.move(probe.adopted.base, table.base)
        table.writes, table.adopted, table.past = probe.adopted.writes, True, probe.adopted.past
        table.undone = ""
    shutil.rmtree(folder)
    return probe.adopted is not None or not blocked
