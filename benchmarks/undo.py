"""A restore that keeps its files against one that deletes them, and the undo, on local files, in turns.

Each time is that of the whole process. Each table has new files with content, as a file system deletes those of no
length faster. The undo is compared with the bare renames of the same files.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import measure
from benchmarks.restore import environment, exit_problem, print_table, say
from benchmarks.table import TablePlan, generate, restore_problem, write_savepoint, yesterday


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, and prints a table; 1 if hudictl failed."""
    args = parser().parse_args(argv)
    plan = TablePlan(args.partitions, args.commits, args.files, yesterday())
    scratch = Path(tempfile.mkdtemp(prefix="hudictl-benchmark-", dir=args.scratch))
    table, body = scratch / "table", os.urandom(args.kib * 1024)
    walls: dict[str, list[float]] = {"delete": [], "keep": [], "undo": [], "bare renames": []}
    for _ in range(args.rounds):
        for kept in (False, True):
            generate(str(table), plan, body)
            write_savepoint(str(table), plan)
            os.sync()
            wall = hudictl(table, "restore", plan.savepoint, *(["--keep-files"] if kept else []))
            problem = restore_problem(str(table), plan)
            if wall is None or problem:
                say(problem)
                return 1
            walls["keep" if kept else "delete"].append(wall)
            if kept:
                walls["bare renames"].append(bare(table))
                (room,) = (table / ".hoodie/.hudictl/undo").glob("*.json")
                wall = hudictl(table, "undo", room.stem)
                if wall is None:
                    return 1
                walls["undo"].append(wall)
            shutil.rmtree(table)
    medians = {name: statistics.median(found) for name, found in walls.items()}
    print(f"{plan.removed_files:,} files of {args.kib:,} KiB are removed; median of {args.rounds}, in turns.\n")
    of = {"keep": "delete", "undo": "bare renames"}
    rows = [["", "wall s", "to"]]
    for name, wall in medians.items():
        rows.append([name, f"{wall:.2f}", f"{of[name]}: {wall / medians[of[name]]:.2f}" if name in of else ""])
    print_table(rows)
    shutil.rmtree(scratch)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.undo", description=__doc__)
    add = options.add_argument
    add("--partitions", type=int, default=200, help="partitions of the table (200)")
    add("--commits", type=int, default=10, help="commits after the savepoint (10)")
    add("--files", type=int, default=10, help="files a partition and commit (10)")
    add("--kib", type=int, default=64, help="size of each file in KiB (64)")
    add("--rounds", type=int, default=3, help="rounds (3)")
    add("--scratch", help="folder for the tables (the system's)")
    return options


def hudictl(table: Path, *words: str) -> float | None:
    """The wall time of a command, without the settle wait of a restore; None if it failed."""
    command = [sys.executable, "-m", "hudictl", *words, "-t", str(table)]
    command += ["--yes", "--timezone", "UTC", "--engine", "local", "--idle", "0s"]
    measured = measure(command, str(table.parent / "log"), environment(), None)
    if problem := exit_problem(measured):
        say(f"{problem}: {Path(table.parent / 'log').read_text()}")
        return None
    return measured.wall_s - (2.0 if words[0] == "restore" else 0.0)


def bare(table: Path) -> float:
    """The wall time of renaming all kept data files to another folder and back, halved."""
    (kept,) = table.glob(".hoodie/.hudictl/undo/*/kept")
    files = [path for path in kept.rglob("*.parquet") if ".hoodie" not in path.relative_to(kept).parts]
    aside = table.parent / "aside"
    aside.mkdir(exist_ok=True)
    begun = time.monotonic()
    for number, path in enumerate(files):
        path.rename(aside / str(number))
    for number, path in enumerate(files):
        (aside / str(number)).rename(path)
    return (time.monotonic() - begun) / 2


if __name__ == "__main__":
    sys.exit(main())
