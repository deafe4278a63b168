"""Plants each fault in a copy of the project, and runs the tests that must notice it.

    python -m tests.mutants [--jobs N] [--all-tests] [WORD ...]

WORD: only faults whose list, file or harm has one of these in it. Exits with 1 where a fault is not noticed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.fault import PACKAGE, Fault
from tests.mutants.faults import LISTS

ROOT = PACKAGE.parent
SECONDS = 120
ASKED = "not hudi and not hdfs and not stores and not crash and not cluster and not datacentre and not full"
# pytest's exit codes: all passed; some failed. Everything else says nothing about the fault.
PASSED, FAILED = 0, 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--all-tests", action="store_true", help="ask all unit tests, not those that mirror the file")
    given = parser.parse_args()
    faults = [fault for name, faults in LISTS.items() for fault in faults if _asked_for(name, fault, given.words)]

    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as scratch:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(given.jobs):
            copies.put(_copy(Path(scratch) / f"copy{number}"))
        if not _sound(copies, faults, given.all_tests):
            print("the tests fail as it is: nothing can be said")
            return 1
        with ThreadPoolExecutor(given.jobs) as pool:
            results = list(pool.map(lambda fault: _try(fault, copies, given.all_tests), faults))

    missed = [fault for fault, noticed in zip(faults, results, strict=True) if not noticed]
    share = 100 * (len(faults) - len(missed)) / max(1, len(faults))
    print(f"{len(faults)} faults planted, {len(faults) - len(missed)} noticed ({share:.1f} %)")
    for fault in missed:
        print(f"NOT NOTICED  {fault.file}: {fault.harm}")
    return 1 if missed or not faults else 0


def _asked_for(name: str, fault: Fault, words: list[str]) -> bool:
    return not words or any(word in f"{name} {fault.file} {fault.harm}" for word in words)


def _copy(folder: Path) -> Path:
    """The project without what is made from it."""
    ignore = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info")
    return shutil.copytree(ROOT, folder, ignore=ignore)


def _sound(copies: SimpleQueue[Path], faults: list[Fault], all_tests: bool) -> bool:
    """Whether the tests pass without any fault."""
    copy = copies.get()
    tests = ("tests",) if all_tests else tuple(sorted({test for fault in faults for test in fault.asked()}))
    try:
        return _run(copy, tests, "auto", 30 * SECONDS) == PASSED
    finally:
        copies.put(copy)


def _try(fault: Fault, copies: SimpleQueue[Path], all_tests: bool) -> bool:
    """Whether a test fails, or hangs, with the fault."""
    copy = copies.get()
    module = copy / "hudictl" / fault.file
    text = module.read_text()
    begun = time.monotonic()
    try:
        module.write_text(fault.planted(text))
        code = _run(copy, ("tests",) if all_tests else fault.asked())
    finally:
        module.write_text(text)
        copies.put(copy)
    if code not in (PASSED, FAILED, None):
        raise RuntimeError(f"pytest ended with {code} for {fault.file}: {fault.harm}: {' '.join(fault.asked())}")
    verdict = {PASSED: "NOT NOTICED", FAILED: "noticed", None: "hangs"}[code]
    print(f"{verdict:11}  {time.monotonic() - begun:4.0f} s  {fault.file}: {fault.harm}", flush=True)
    return code != PASSED


def _run(copy: Path, tests: tuple[str, ...], workers: str = "0", seconds: int = SECONDS) -> int | None:
    """pytest's exit code; None where it has not ended."""
    command = [sys.executable, "-m", "pytest", "-n", workers, "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command += ["-m", ASKED, "--products", f"--basetemp={copy.parent / (copy.name + '.tmp')}"]
    try:
        return subprocess.run(
            command, cwd=copy, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds
        ).returncode
    except subprocess.TimeoutExpired:
        return None


if __name__ == "__main__":
    sys.exit(main())
