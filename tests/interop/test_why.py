"""What `why` says of table services: the real Hudi runs them only when they are due, and not beyond a block.

The settings are by chance.
"""

import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from hudictl.formats.clean import decode_plan
from hudictl.formats.instants import CLEAN, State, comparable_action
from hudictl.reports.why import why
from hudictl.state.services.due import Due
from hudictl.state.timeline.service_plans import service_groups, service_of
from hudictl.table.open import open_table
from hudictl.table.settings import Settings
from hudictl.table.timeline.active import load_timeline, read_instant
from tests import support
from tests.interop.judge import Judge, JudgeError

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
POLICIES = ("KEEP_LATEST_COMMITS", "KEEP_LATEST_COMMITS", "KEEP_LATEST_BY_HOURS", "KEEP_LATEST_FILE_VERSIONS")
OFTEN = {"hoodie.metadata.compact.max.delta.commits": "3", "hoodie.clean.automatic": "false"}
"""A writer whose metadata table is compacted often: it holds back all that is newer."""
LAZY = {"hoodie.cleaner.policy.failed.writes": "LAZY"}
MERGE_ON_READ = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
STRATEGIES = ("NUM_COMMITS", "NUM_COMMITS_AFTER_LAST_REQUEST", "TIME_ELAPSED", "NUM_AND_TIME", "NUM_OR_TIME")


def any_settings(chance: random.Random, version: str, most: int = 5) -> dict[str, str]:
    """Settings of a writer of the table, by names that all releases know. None of 0.15.0 without metadata table: such a
    writer drops one that is there, and its archiving fails at one."""
    least = chance.randint(1, most)
    return {
        "hoodie.keep.min.commits": str(least),
        "hoodie.keep.max.commits": str(least + chance.randint(1, 3)),
        "hoodie.cleaner.policy": chance.choice(POLICIES),
        "hoodie.cleaner.commits.retained": str(chance.randint(1, most + 1)),
        "hoodie.cleaner.hours.retained": str(chance.choice((0, 1, 24))),
        "hoodie.archive.beyond.savepoint": chance.choice(("true", "false")),
        "hoodie.compact.inline.max.delta.commits": str(chance.randint(1, most + 1)),
        "hoodie.compact.inline.trigger.strategy": chance.choice(STRATEGIES),
        "hoodie.metadata.enable": "true" if version == "v6" else chance.choice(("true", "true", "false")),
    }


def instants(base: Path) -> set[str]:
    """The active timeline."""
    timeline = load_timeline(open_table(str(base)))
    return {f"{entry.time} {comparable_action(entry.action)}" for entry in timeline.instants}


def at(chance: random.Random) -> list[list[object]]:
    """Rows for an upsert of some partitions."""
    return [[chance.randint(0, 30), chance.randint(1, 10**6), "later", chance.choice("abc")] for _ in range(4)]


def step(judge: Judge, base: Path, chance: random.Random, kind: str, writer: dict[str, str]) -> None:
    """One change to the table, by chance: most are writes."""
    what = chance.choice(["upsert"] * 7 + ["savepoint", "unsave", "clean", "cluster", "overwrite", "compact", "killed"])
    completed = [row for row in judge.timeline(base) if row[2] == "COMPLETED"]
    commits = [row[0] for row in completed if row[1] in ("commit", "deltacommit", "replacecommit")]
    saved = [row[0] for row in completed if row[1] == "savepoint"]
    if what == "savepoint" and len(saved) < 2 and commits[-1] not in saved:
        judge.savepoint(base, commits[-1])
    elif what == "unsave" and saved:
        judge.delete_savepoint(base, saved[0])
    elif what == "clean":
        judge.clean(base, writer | {"hoodie.cleaner.commits.retained": str(chance.randint(1, 4))})
    elif what == "cluster":
        judge.cluster(base, chance.choice(("schedule", "scheduleAndExecute")))
    elif what == "overwrite":
        judge.upsert(base, at(chance), "insert_overwrite", writer)
    elif what == "compact" and kind == "mor":
        judge.compact(base, chance.choice(("schedule", "scheduleAndExecute")))
    elif what == "killed":
        with judge.dying(base, r"(create|rename) \.hoodie/(timeline/)?[0-9_]+\.(commit|deltacommit)$"):
            judge.upsert(base, at(chance), options=writer)
    else:
        judge.upsert(base, at(chance), options=writer)


@pytest.mark.full
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_archiving_of_a_long_history(judge: Judges, version: str, kind: str, seed: int, tmp_path: Path) -> None:
    chance, hudi, base = random.Random(f"{version}-{kind}-{seed}"), judge(version), tmp_path / "made" / "table"
    rows = [[one, 1, "first", "abc"[one % 3]] for one in range(30)]
    writer = OFTEN | chance.choice(({}, LAZY))
    hudi.create(base, rows, writer | (MERGE_ON_READ if kind == "mor" else {}))
    for number in range(3):
        for _ in range(5):
            # A write of what a pending clustering reads is refused, say.
            with suppress(JudgeError):
                step(hudi, base, chance, kind, writer)
        for _ in range(3):
            copy = tmp_path / "copy"
            shutil.copytree(base, copy / "table", symlinks=True)
            archived_as_told(hudi, copy / "table", any_settings(chance, version, 3 + number))
            shutil.rmtree(copy)
        archived_as_told(hudi, base, any_settings(chance, version, 3 + number))


def archived_as_told(hudi: Judge, base: Path, settings: dict[str, str]) -> None:
    """No commit where archiving is not due, some where nothing blocks it, and none from a block on."""
    before, due = instants(base), of(base, "archive", settings)
    commits = {entry for entry in before if entry.split()[1] in ("commit", "deltacommit", "replacecommit")}
    hudi.archive(base, settings)
    archived = {entry.split()[0] for entry in commits - instants(base)}
    if not due.due:
        assert not archived, (settings, due)
    elif not due.blocks:
        assert archived, (settings, due)
    for block in due.blocks:
        if block.kind != "metadata-table":
            assert not any(time >= block.instant for time in archived), (settings, due)


@pytest.mark.short("v6-cow_cluster", "v9-mor_savepoints")
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_archiving_of_sample_tables(judge: Judges, version: str, name: str, tmp_path: Path) -> None:
    chance = random.Random(f"{version}-{name}")
    for number in range(4):
        base = support.unpack(version, name, tmp_path / str(number))
        for _ in range(2):
            archived_as_told(judge(version), base, any_settings(chance, version, 3))


@pytest.mark.short("v9-cow_clustering")
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_cleans_of_sample_tables(judge: Judges, version: str, name: str, tmp_path: Path) -> None:
    chance = random.Random(f"{version}-{name}-clean")
    for number in range(3):
        base = support.unpack(version, name, tmp_path / str(number))
        for _ in range(2):
            settings = any_settings(chance, version, 3) | {
                "hoodie.clean.max.commits": str(chance.randint(1, 4)),
                "hoodie.metadata.enable": "true",
            }
            before, due = cleans(base), of(base, "clean", settings)
            judge(version).clean(base, settings)
            new = {time: earliest for time, earliest in cleans(base).items() if time not in before}
            if waiting := [time for time, earliest in before.items() if earliest is None]:
                assert (new, [block.instant for block in due.blocks][:1]) == ({}, waiting)
            # A clean that finds no file to delete leaves no instant.
            elif new:
                pending = [block.instant for block in due.blocks if block.kind == "pending"]
                assert due.due, settings
                assert all(earliest < instant for earliest in new.values() for instant in pending if earliest), settings


def cleans(base: Path) -> dict[str, str | None]:
    """The cleans, each with the oldest commit that its plan keeps whole; None for one that is pending."""
    table = open_table(str(base))
    found: dict[str, str | None] = {}
    for entry in load_timeline(table).having(CLEAN):
        plan = entry.file(State.REQUESTED)
        body = read_instant(table, plan) if plan else b""
        found[entry.time] = (decode_plan(body, "the plan").earliest or "") if entry.completed else None
    return found


def of(base: Path, service: str, settings: dict[str, str]) -> Due:
    return why(open_table(str(base)), service, Settings(settings, assume_defaults=True), 600_000)


@pytest.mark.short("v9-mor_part")
@pytest.mark.parametrize(("version", "name"), [one for one in support.every_table() if "mor" in one[1]])
def test_when_compactions_are_scheduled_on_sample_tables(
    judge: Judges, version: str, name: str, tmp_path: Path
) -> None:
    """Where there are logs in a file group that no pending service has planned with."""
    chance = random.Random(f"{version}-{name}-compaction")
    for number in range(4):
        base = support.unpack(version, name, tmp_path / str(number))
        settings = any_settings(chance, version, 4) | {
            "hoodie.compact.inline.max.delta.seconds": str(chance.choice((1, 10**9))),
            "hoodie.cleaner.policy.failed.writes": chance.choice(("EAGER", "LAZY")),
            "hoodie.metadata.enable": "true",
        }
        before, due = instants(base), of(base, "compaction", settings)
        free = free_groups_with_logs(judge(version), base)
        judge(version).compact(base, "schedule", settings)
        scheduled = [entry for entry in instants(base) - before if entry.endswith(" commit")]
        pending_write = any("a pending write" in block.because for block in due.blocks)
        assert bool(scheduled) == (due.due and not pending_write and bool(free)), (settings, due)


def free_groups_with_logs(hudi: Judge, base: Path) -> set[tuple[str, str]]:
    """The file groups whose newest slice has logs, and that no pending service has planned with."""
    table = open_table(str(base))
    newest: dict[tuple[str, str], bool] = {}
    for partition, file_id, _, _, logs in hudi.slices(base):
        newest[partition, file_id] = bool(logs)
    taken: set[tuple[str, str]] = set()
    for entry in load_timeline(table).writes():
        if entry.pending and service_of(table, entry) is not None:
            taken |= service_groups(table, entry)
    return {group for group, has_logs in newest.items() if has_logs} - taken
