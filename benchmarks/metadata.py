"""What it is worth to keep the metadata table: a restore, and the next write by the real Hudi.

A table with a record index, made by Hudi once and kept in the cache folder. Each contender restores a copy of it. Then
Hudi upserts ten rows by the record index: it builds the index anew where there is none. README.md says how to read the
table that is printed.
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from benchmarks.measure import Measured, measure
from benchmarks.metadata_peer import PARTITIONS
from benchmarks.restore import environment, exit_problem, print_table, say
from tests.interop.judge import BUNDLE, RELEASES, prepare

MIB = 2**20
LINKED_BYTES = MIB
FILE_ROWS = 250_000
TARGET = 2
"""The commit to go back to: the first one builds the indexes, the load before it has none."""
NEXT_TS = 1000
LABELS = {
    "keep": "hudictl restore --metadata keep",
    "delete": "hudictl restore --metadata delete",
    "hudi": "Hudi {release}, restoreToSavepoint",
}
TIMELINES = (".hoodie/timeline", ".hoodie")
"""In the folder of a table; the second one in version 6."""
METADATA = ".hoodie/metadata"
COMPLETED = re.compile(r"\.hoodie/(timeline/)?\d+(_\d+)?\.(deltacommit|commit)")
BUILD = re.compile(r"0{14}|\d{17}01\d[_.]")
"""Instants that build an index: of zeros, and in version 6 also of a time with a suffix."""

Files = dict[str, tuple[int, int, int]]
"""Inode, time of the last change and size in bytes, by path."""


@dataclass(frozen=True)
class Plan:
    """The table: ``keys`` rows, then small commits, ``TARGET`` of them up to the savepoint."""

    version: str
    keys: int
    commits: int

    @property
    def release(self) -> str:
        return RELEASES[self.version]

    @property
    def files(self) -> int:
        """Files of the load; a multiple of the partitions."""
        return max(1, round(self.keys / FILE_ROWS / PARTITIONS)) * PARTITIONS

    def ids(self, commit: int) -> list[int]:
        """The keys of a small commit: five in one file of the load, and five new ones."""
        first = commit % self.files * (self.keys // self.files)
        new = self.keys + commit * 5
        return [*range(first, first + 5), *range(new, new + 5)]

    def written(self) -> dict[int, int]:
        """``ts`` by key of all rows but those of the load, after the restore and the next write."""
        ts = {one: commit for commit in range(1, TARGET + 1) for one in self.ids(commit)}
        return ts | dict.fromkeys(self.ids(TARGET + 1), NEXT_TS)

    def sums(self) -> list[int]:
        """Number of rows, sum of ``id``, sum of ``ts``, then."""
        ts = self.written()
        new = [one for one in ts if one >= self.keys]
        return [self.keys + len(new), self.keys * (self.keys - 1) // 2 + sum(new), sum(ts.values())]


@dataclass(frozen=True)
class Settings:
    """What the command line chose."""

    plan: Plan
    scratch: Path
    jars: str
    memory: str

    @property
    def log(self) -> str:
        return str(self.scratch / "log")


@dataclass(frozen=True)
class Outcome:
    """One contender: a round, or the medians of all. ``call_s`` and ``write_s`` are Hudi's calls in them."""

    restore_s: float
    call_s: float
    upsert_s: float
    write_s: float
    cpu_s: float
    before_bytes: float
    restored_bytes: float
    written_bytes: float
    anew: str
    problem: str


def main(argv: Sequence[str] | None = None) -> int:
    """Makes the table if it is not there, measures, and prints; 1 if a contender failed."""
    args = parser().parse_args(argv)
    chosen = args.contenders.split(",")
    if unknown := set(chosen) - set(LABELS):
        raise SystemExit(f"unknown contenders: {', '.join(sorted(unknown))}; there are {', '.join(LABELS)}")
    plan = Plan(args.version, args.keys, args.commits)
    cache = Path(args.cache)
    cache.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="run-", dir=cache))
    jars = os.pathsep.join(map(str, prepare(f"{BUNDLE}:{plan.release}")[1]))
    settings = Settings(plan, scratch, jars, args.memory)
    source = cached_table(cache, settings)
    found = look(source)
    print_head(plan, args.rounds, source)
    rounds = [{contender: run(contender, source, settings) for contender in chosen} for _ in range(args.rounds)]
    print_results(plan, {contender: [results[contender] for results in rounds] for contender in chosen})
    if look(source) != found:
        shutil.rmtree(source.parent)
        raise SystemExit(f"a copy's files are linked, and somebody has changed {source} through them: deleted")
    failed = any(outcome.problem for results in rounds for outcome in results.values())
    if failed:
        print(f"\nLog: {settings.log}")
    else:
        shutil.rmtree(scratch)
    return int(failed)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.metadata", description=__doc__)
    add = options.add_argument
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "hudictl-benchmark")
    add("--keys", type=int, default=20_000_000, help="rows of the table, each a key of the index (%(default)s)")
    add("--commits", type=int, default=3, help="small commits after the savepoint (%(default)s)")
    add("--version", default="v9", choices=[*RELEASES], help="table version, written by its release of Hudi (v9)")
    add("--rounds", type=int, default=1, help="how often each contender runs; medians are shown (1)")
    add("--contenders", default=",".join(LABELS), help="comma list, in the order to run (%(default)s)")
    add("--cache", default=str(cache), help="folder for the table, which stays, and for its copies (%(default)s)")
    add("--memory", default="6g", help="heap of Hudi's JVM (%(default)s)")
    return options


def hudi(base: Path, settings: Settings, *steps: Sequence[Any]) -> tuple[Measured, list[list[Any]]]:
    """A process of Hudi that does some steps on a table; for each its seconds and its answer, if all went well."""
    request = {
        "base": str(base),
        "jars": settings.jars,
        "memory": settings.memory,
        "scratch": str(settings.scratch),
        "steps": steps,
    }
    command = [sys.executable, "-m", "benchmarks.metadata_peer", json.dumps(request)]
    measured = measure(command, settings.log, environment())
    lines = [line for line in measured.lines if line.startswith('{"steps"')]
    return measured, json.loads(lines[-1])["steps"] if lines and not measured.returncode else []


def cached_table(cache: Path, settings: Settings) -> Path:
    """The table, made where it is not in the cache folder yet; half of one is never there."""
    plan = settings.plan
    folder = cache / f"indexed-{plan.version}-{plan.keys}-{plan.commits}"
    if not folder.exists():
        say(f"making {folder}")
        making = settings.scratch / "making"
        try:
            make(making / "table", settings)
        except BaseException:
            shutil.rmtree(making, ignore_errors=True)
            raise
        os.sync()
        making.rename(folder)
    for path in folder.rglob("*"):  # so that the first contender does not wait for the disk more than the others
        if path.is_file():
            path.read_bytes()
    return folder / "table"


def make(base: Path, settings: Settings) -> None:
    """Loads the rows, writes the small commits, the first of which builds the indexes, and makes the savepoint."""
    plan = settings.plan
    done(hudi(base, settings, ["load", plan.keys, plan.files]), settings)
    writes = [["upsert", plan.keys, plan.ids(commit), commit] for commit in range(1, TARGET + plan.commits + 1)]
    done(hudi(base, settings, *writes[:TARGET]), settings)
    done(hudi(base, settings, ["savepoint", times_of(base, "commit")[-1]], *writes[TARGET:]), settings)


def done(result: tuple[Measured, list[list[Any]]], settings: Settings) -> None:
    """Ends the benchmark where Hudi could not make the table."""
    measured, answers = result
    if not answers:
        raise SystemExit(f"Hudi failed; log: {settings.log}")
    say(f"  {measured.wall_s:.0f} s, of them {', '.join(f'{answer[0]:.0f}' for answer in answers)}")


def run(contender: str, source: Path, settings: Settings) -> Outcome:
    """One contender on its own copy: its restore, and the next write."""
    say(label(contender, settings.plan))
    base, plan = settings.scratch / "copy", settings.plan
    shutil.copytree(source, base, copy_function=link_or_copy)
    os.sync()
    try:
        before = look(base / METADATA)
        restored, call = run_restore(contender, base, settings)
        between = look(base / METADATA)
        write, answers = hudi(base, settings, ["upsert", plan.keys, plan.ids(TARGET + 1), NEXT_TS])
        after = look(base / METADATA)
        wrong = exit_problem(restored) or exit_problem(write)
        return Outcome(
            restored.wall_s,
            call,
            write.wall_s,
            answers[0][0] if answers else 0.0,
            restored.usage.cpu_s + write.usage.cpu_s,
            total(before),
            total(between),
            total({path: entry for path, entry in after.items() if between.get(path) != entry}),
            ", ".join(built_anew(before, after)),
            wrong or metadata_problem(contender, base, before, after) or rows_problem(base, settings),
        )
    finally:
        shutil.rmtree(base)


def run_restore(contender: str, base: Path, settings: Settings) -> tuple[Measured, float]:
    """The restore, as a process of its own, and the seconds of Hudi's call in it, if it is Hudi's."""
    target = times_of(base, "savepoint")[0]
    if contender == "hudi":
        measured, answers = hudi(base, settings, ["restore", target])
        return measured, answers[0][0] if answers else 0.0
    command = [sys.executable, "-m", "hudictl", "restore", target, "-t", str(base), "--metadata", contender]
    command += ["--engine", "local", "--timezone", "UTC", "--yes"]
    return measure(command, settings.log, environment()), 0.0


def link_or_copy(source: str, target: str) -> None:
    """Nobody changes a large file in place, so a link will do; hoodie.properties and its like are small."""
    if os.path.getsize(source) >= LINKED_BYTES:
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def look(folder: Path) -> Files:
    """All files of a folder."""
    found = {path.relative_to(folder).as_posix(): path.stat() for path in folder.rglob("*") if path.is_file()}
    return {path: (stat.st_ino, stat.st_mtime_ns, stat.st_size) for path, stat in found.items()}


def total(files: Files) -> int:
    """Their bytes."""
    return sum(size for _, _, size in files.values())


def timeline(base: Path) -> Path:
    """The folder of a table's timeline."""
    return next(base / folder for folder in TIMELINES if base.joinpath(folder).is_dir())


def times_of(base: Path, action: str) -> list[str]:
    """The times of the completed instants of an action, oldest first."""
    return sorted(re.split("[_.]", path.name)[0] for path in timeline(base).glob(f"*.{action}"))


def indexes_of(base: Path) -> list[str]:
    """The partitions of the metadata table that the table's properties list."""
    found = re.search(r"^hoodie\.table\.metadata\.partitions=(.*)$", properties(base), re.MULTILINE)
    return sorted(found[1].split(",")) if found else []


def properties(base: Path) -> str:
    """The text of hoodie.properties."""
    return base.joinpath(".hoodie/hoodie.properties").read_text()


def built_anew(before: Files, after: Files) -> list[str]:
    """The partitions of the metadata table of which no base file has stayed."""
    stayed = {path for path, entry in before.items() if after.get(path) == entry}
    return sorted(base_file_partitions(before) - base_file_partitions(stayed))


def base_file_partitions(paths: Iterable[str]) -> set[str]:
    """The partitions of which a base file is among the files of a metadata table."""
    return {path.partition("/")[0] for path in paths if path.endswith(".hfile")}


def metadata_problem(contender: str, base: Path, before: Files, after: Files) -> str:
    """What is wrong with the metadata table in the end; empty if it was kept, or built anew, as it should be."""
    anew = built_anew(before, after)
    if "record_index" not in indexes_of(base):
        return f"no record index: {', '.join(indexes_of(base))}"
    if contender == "keep" and anew:
        return f"built anew: {', '.join(anew)}"
    if contender == "keep" and builds(before) != builds(after):
        return f"instants that build indexes: {builds(before)}, then {builds(after)}"
    if contender == "delete" and "record_index" not in anew:
        return "the record index was kept"
    return ""


def builds(files: Files) -> list[Any]:
    """The first completed instant of a metadata table, and all that build an index, with their inodes and times."""
    completed = sorted((path.rpartition("/")[2], entry) for path, entry in files.items() if COMPLETED.fullmatch(path))
    return [completed[:1], [instant for instant in completed if BUILD.match(instant[0])]]


def rows_problem(base: Path, settings: Settings) -> str:
    """What Hudi reads that is not right, by the metadata table, by listing, and by the record index."""
    plan = settings.plan
    removed = [one for commit in range(TARGET + 1, TARGET + plan.commits + 1) for one in plan.ids(commit)]
    written = plan.written()
    ts = {one: written.get(one, 0) for one in removed if one in written or one < plan.keys}
    measured, answers = hudi(base, settings, ["read", removed])
    if not answers:
        return f"reading: {exit_problem(measured)}"
    expected = [plan.sums(), plan.sums(), sorted(map(list, ts.items()))]
    return "" if answers[0][1] == expected else f"rows: {answers[0][1]}, not {expected}"[:200]


def label(contender: str, plan: Plan) -> str:
    """A contender's name in the table."""
    return LABELS[contender].format(release=plan.release)


def median(outcomes: Sequence[Outcome]) -> Outcome:
    """The medians of the rounds that went well; else the first problem."""
    good = [outcome for outcome in outcomes if not outcome.problem]
    if len(good) < len(outcomes):
        return next(outcome for outcome in outcomes if outcome.problem)
    numbers = [field.name for field in fields(Outcome) if field.type is float]
    return replace(good[0], **{name: statistics.median(getattr(one, name) for one in good) for name in numbers})


def print_head(plan: Plan, rounds: int, source: Path) -> None:
    """Says what runs where."""
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    size = total(look(source)) / MIB
    print(f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores, load before: {load}")
    print(f"Table of Hudi {plan.release}: {plan.keys:,} keys in {plan.files} files, {size:,.0f} MiB.")
    print(f"Metadata table: {', '.join(indexes_of(source))}.")
    print(f"Restore over {plan.commits} commits of 10 rows. Rounds: {rounds}.", flush=True)


def print_results(plan: Plan, rounds: dict[str, list[Outcome]]) -> None:
    """Prints a table of the times, and one of the metadata table's bytes."""
    rows = {contender: median(outcomes) for contender, outcomes in rounds.items()}
    times = [
        ["", "restore s", "its call", "next upsert s", "its call", "from - to", "to delete", "both s", "to delete"]
    ]
    times[0].append("cpu s")
    sizes = [["metadata table, MiB", "before", "after the restore", "the upsert wrote", "built anew", "verified"]]
    for contender, row in rows.items():
        calls = [outcome.write_s for outcome in rounds[contender]]
        name, spread = label(contender, plan), f"{min(calls):.1f} - {max(calls):.1f}"
        times.append([name, *times_cells(row, rows.get("delete"), spread)])
        mib = [f"{size / MIB:,.2f}" for size in (row.before_bytes, row.restored_bytes, row.written_bytes)]
        sizes.append([name, *mib, row.anew or "nothing", f"FAILED: {row.problem}" if row.problem else "yes"])
    for table in (times, sizes):
        print()
        print_table(table)


def times_cells(row: Outcome, deleted: Outcome | None, spread: str) -> list[str]:
    """The seconds of a contender, and their ratios to those of the deleted metadata table."""
    return [
        f"{row.restore_s:.1f}",
        f"{row.call_s:.1f}" if row.call_s else "",
        f"{row.upsert_s:.1f}",
        f"{row.write_s:.1f}",
        spread,
        ratio(row, deleted, the_write),
        f"{both(row):.1f}",
        ratio(row, deleted, both),
        f"{row.cpu_s:.1f}",
    ]


def the_write(row: Outcome) -> float:
    """Hudi's call within the next upsert: without the start of Spark."""
    return row.write_s


def both(row: Outcome) -> float:
    """From the start of the restore to the end of the next write, without what is between the two."""
    return row.restore_s + row.upsert_s


def ratio(row: Outcome, other: Outcome | None, seconds: Callable[[Outcome], float]) -> str:
    """Of the same time of another contender."""
    failed = other is None or row.problem or other.problem
    return "-" if other is None or failed else f"{seconds(row) / seconds(other):.2f}"


if __name__ == "__main__":
    sys.exit(main())
