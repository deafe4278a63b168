"""Random faults: ``python -m tests.datacentre 1 100``, from a first seed to a last one. Needs root, Java 17 and Maven.

A line of JSON for each, and a table of all; the exit code is 1 where one has found a problem.
"""

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from tests.datacentre.faults import Run, start_lake, walk
from tests.datacentre.hosts import reason_to_skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--kind", default="", help="only faults with this in their names")
    parser.add_argument("--hudi", action="store_true", help="the real Hudi reads and writes each table afterwards")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no run after so many")
    given = parser.parse_args()
    if reason := reason_to_skip():
        parser.error(reason)
    until, runs = time.monotonic() + 60 * given.minutes, list[Run]()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as scratch, start_lake(Path(scratch), hudi=given.hudi) as lake:
        for seed in range(given.first, given.last + 1):
            if time.monotonic() > until:
                break
            runs.append(walk(lake, seed, Path(scratch) / str(seed), given.kind))
            said = [text[-400:] for text in runs[-1].said]
            print(json.dumps(asdict(runs[-1]) | {"said": said}), flush=True)
    met = [run for run in runs if all(run.met)]
    table = Counter((run.fault, str(run.codes[:1] and run.codes[0]), bool(run.problems)) for run in met)
    for (fault, code, wrong), count in sorted(table.items()):
        print(f"| {fault} | {count} | {code} | {'WRONG' if wrong else 'right'} |")
    print(f"{len(runs) - len(met)} more faults came after the end")
    return 1 if any(run.problems for run in runs) else 0


raise SystemExit(main())
