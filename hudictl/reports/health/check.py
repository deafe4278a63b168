"""``check``: every family of findings, one after the other."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from hudictl.engine.base import Engine
from hudictl.errors import Unreadable, Unsupported
from hudictl.reports.health.families import FindingSelection
from hudictl.reports.health.finding import ERROR, MADE_ANEW, UNREADABLE, Finding, Look, Skipped, mended, unreadable
from hudictl.state.facts import Facts, Signs, read_facts, read_signs, signs_of_damaged
from hudictl.state.files.savepoints import readable_partitions
from hudictl.state.services.stalled import CLEAN_WITHOUT_PLAN
from hudictl.state.timeline.clean_plans import cleans_without_plan
from hudictl.state.timeline.unfinished import UNDO_BEGUN
from hudictl.state.writable import UPGRADE_INTERRUPTED, writable_kind
from hudictl.table.kept import begun_undo
from hudictl.table.locks.config import NOTHING_SAID
from hudictl.table.metadata.listing import read_known
from hudictl.table.salvage import REPAIRED
from hudictl.table.settings import NOTHING_GIVEN, Settings
from hudictl.table.table import Table


@dataclass(frozen=True)
class Found:
    """The findings, and the checks that were skipped."""

    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...] = ()


def check_table(
    table: Table,
    engine: Engine,
    idle_ms: int,
    note: Callable[[str], None] = lambda _: None,
    *,
    selection: FindingSelection = FindingSelection(),  # noqa: B008  (frozen)
    footers: bool = False,
    settings: Settings = NOTHING_GIVEN,
    seen: Callable[[Facts], None] = lambda _: None,
) -> Found:
    """Runs all selected checks. An unreadable metadata file is a finding, and ends only the checks that depend on it.

    Args:
        idle_ms: after this long without activity, something counts as dead.
        footers: whether the end of each base file is read.
        settings: those of the table's writers; a check that depends on a missing one is skipped.
        seen: gets the facts, before the checks.

    Raises:
        StorageFailed, EngineFailed; Conflict: a file of the timeline disappeared while it was read.
        UsageError: a setting has a value that Hudi refuses.
    """
    found: list[Finding] = []
    skipped: list[Skipped] = []
    signs = _signs(table, found)
    known = read_known(table, engine, any_format=True)
    # Damaged commits and savepoints are reported by themselves, with all other files of the timeline.
    named = readable_partitions(table, signs.timeline, engine)
    facts = read_facts(table, engine, signs, note, savepointed=named, known=known, damaged_ok=True)
    seen(facts)
    look = Look(facts, engine, idle_ms, footers, settings)
    for family in selection.families():
        note(family.__name__.replace("_", " "))
        try:
            # One by one: findings before a damaged file count.
            for entry in family(look):
                if isinstance(entry, Skipped):
                    skipped.append(entry)
                else:
                    found.append(entry)
        except Unreadable as error:
            found.append(unreadable(error))

    # Checks that depend on such a plan fail before its clean is removed: this is reported once, with its remedy. So is
    # each file that is a finding of its own.
    without = cleans_without_plan(table, signs.timeline) if selection.takes(CLEAN_WITHOUT_PLAN) else []
    names = {name for entry in without for name in entry.instant.names}
    named_by = [finding for finding in found if finding.finding != UNREADABLE and finding.severity == ERROR]
    names |= {finding.subject for finding in named_by if finding.subject and selection.takes(finding.finding)}
    told = [finding for finding in found if finding.finding != UNREADABLE or finding.subject not in names]
    asked = _possible(table, [finding for finding in told if selection.takes(finding.finding)])
    if begun := begun_undo(table):
        # They would be refused. And files that come back look like orphans until it ends, their traces like litter.
        first = f"first end the undo of {begun}, then run `hudictl check` again"
        asked = [entry if entry.finding == UNDO_BEGUN else _without_commands(entry, first) for entry in asked]
    # A damaged file ends several checks: the one that looks at the file itself, and first, knows the command.
    mended = {finding.subject for finding in asked if finding.finding == UNREADABLE and finding.remedy}
    asked = [entry for entry in asked if entry.finding != UNREADABLE or entry.remedy or entry.subject not in mended]
    return Found(
        tuple({(finding.finding, finding.subject): finding for finding in asked}.values()),
        tuple(entry for entry in skipped if selection.takes(entry.finding)),
    )


def _possible(table: Table, findings: list[Finding]) -> list[Finding]:
    """The findings without the commands that would refuse the table; of half an upgrade it alone, for the others see a
    part of the timeline."""
    half = [entry for entry in findings if entry.finding == UPGRADE_INTERRUPTED]
    if half:
        return half
    try:
        # That an undo has begun is a finding of its own: see the caller.
        writable_kind(table, NOTHING_SAID)
    except Unsupported as error:
        # A wrong version may be what is refused: this command opens the table by what is right.
        by_itself = mended(REPAIRED)
        return [entry if entry.remedy == by_itself else _without_commands(entry, error.message) for entry in findings]
    return findings


def _without_commands(finding: Finding, refusal: str) -> Finding:
    if not finding.remedy:
        return finding
    by_hand = ". Drop the metadata table with hudi-cli (`metadata delete`)" if MADE_ANEW in finding.remedy else ""
    return replace(finding, meaning=f"{finding.meaning}{by_hand}; {refusal}", remedy=())


def _signs(table: Table, found: list[Finding]) -> Signs:
    try:
        return read_signs(table)
    except Unreadable as error:
        # A damaged restore: operations cannot be checked then, but everything else can.
        found.append(unreadable(error))
        return signs_of_damaged(table)
