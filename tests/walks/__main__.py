"""Goes walks: ``python -m tests.walks v9 1 100``, from a first seed to a last one. Needs Java 17 and Maven.

A line of JSON for each; the exit code is 1 where one has found a problem.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from tests import support
from tests.interop.judge import Judge, JudgeDied, start
from tests.walks.kept import Outcome, summary_line
from tests.walks.shorten import shortened
from tests.walks.walk import Report, take, walk_of

# A judge grows slower with age.
WALKS_OF_A_JUDGE = 25


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", choices=support.VERSIONS)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--indexes", action="store_true", help="walks of tables with all indexes; with a summary")
    parser.add_argument("--versions", action="store_true", help="walks of tables whose version changes (v9 alone)")
    parser.add_argument("--shorten", action="store_true", help="find the fewest steps with which a walk fails alike")
    parser.add_argument("--keep", type=Path, help="leave the tables of failed walks in this folder")
    parser.add_argument("--zone", default="UTC", help="the zone of the host's clock")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no walk after so many")
    given = parser.parse_args()
    os.environ["TZ"] = given.zone
    time.tzset()
    deadline = time.monotonic() + 60 * given.minutes
    scratch = Path(
        tempfile.mkdtemp(prefix="hudictl-walks-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    )
    failed, outcomes = False, list[Outcome]()
    try:
        for first in range(given.first, given.last + 1, WALKS_OF_A_JUDGE):
            with start(given.version) as hudi:
                seeds = range(first, min(first + WALKS_OF_A_JUDGE, given.last + 1))
                for report in _walks(hudi, seeds, scratch, given, deadline):
                    failed |= bool(report.problems)
                    outcomes += report.metadata
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if given.indexes:
        print(summary_line(outcomes))
    return 1 if failed else 0


def _walks(hudi: Judge, seeds: range, scratch: Path, given: argparse.Namespace, deadline: float) -> Iterator[Report]:
    """Takes and tells the walks of some seeds."""
    for seed in seeds:
        if time.monotonic() > deadline:
            return
        folder = scratch / f"{hudi.version}-{seed}"
        try:
            report = take(hudi, walk_of(seed, given.indexes, given.versions), folder)
            if report.problems and given.shorten:
                report = shortened(hudi, report, folder)
        except JudgeDied as death:
            print(json.dumps({"version": hudi.version, "seed": seed, "judge died": str(death)[:800]}), flush=True)
            return
        print(json.dumps({"version": hudi.version, **asdict(report)}), flush=True)
        if report.problems and given.keep:
            shutil.copytree(folder, given.keep / folder.name, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        yield report


if __name__ == "__main__":
    sys.exit(main())
