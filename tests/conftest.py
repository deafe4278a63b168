"""For all tests."""

import os
import shutil
import time
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from xdist.scheduler import LoadFileScheduling

    from tests.s3 import S3

# Where all tests of a mark are, of those that are run by themselves.
ROOMS = {"hudi": Path(__file__).parent / "interop", "crash": Path(__file__).parent / "crash"}
# Folders in which all tests have a mark: who leaves it out need not import them.
MARKED = {**ROOMS, **{mark: Path(__file__).parent / mark for mark in ("cluster", "datacentre", "hdfs", "stores")}}
# Of a test's cases in the short form, so many are unit tests; the others are slow ones.
UNIT_CASES = 3

# The sample tables' LOCAL times are UTC: west of it, a host's clock would be behind their timelines for some hours.
os.environ["TZ"] = "UTC"
time.tzset()

# Tests make and remove thousands of small files: in memory, where there is enough of it.
with suppress(OSError):
    if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free >= 2 << 30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")

# Properties are not held to a clock: a busy host is no fault of theirs.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


# Version 8 differs from 9 in what Hudi writes, not in what hudictl does: what operations and commands promise is proved
# on 6 or 9 each time (tests take turns), and on all three with the long form. These look at what each Hudi has written.
_EACH_VERSION = ("test_parity", "test_needed", "test_metadata")
# A crash in these is tried on both: their timelines are published in other ways.
_CRASH_EACH = ("tests/crash/test_restore.py", "tests/crash/test_rollback.py", "tests/crash/test_savepoint.py")
_VERSIONS = ("v6", "v8", "v9")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--products", action="store_true", help="the short form, but with all cases of each product")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "short(*cases): the short form runs, of all cases, those with all words of one of these in their ids"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Who leaves a mark out need not import its tests, a third of all; who wants one room, no other."""
    wanted = config.option.markexpr
    if any(collection_path == room and f"not {mark}" in wanted for mark, room in MARKED.items()):
        return True
    room = None if " or " in wanted else ROOMS.get(wanted.partition(" ")[0])
    inside = room is None or room in (collection_path, *collection_path.parents) or collection_path in room.parents
    return None if inside else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the cases that the long form alone runs."""
    missing: dict[str, set[str]] = {}
    products: dict[str, list[pytest.Function]] = {}
    for item in items:
        folder, _, module = item.path.with_suffix("").as_posix().rpartition("/")
        words = set(item.callspec.id.split("-")) if hasattr(item, "callspec") else set()
        marks = {mark.name for mark in item.iter_markers()}
        crash = "crash" in marks
        copies = crash or any(f"/tests/{room}" in folder for room in ("state", "reports", "ops", "cli", "interop"))
        long = copies and module not in _EACH_VERSION and "v8" in words
        if short := item.get_closest_marker("short"):
            name = item.nodeid.partition("[")[0]
            cases = {case for case in short.args if words >= set(case.split("-"))}
            missing.setdefault(name, set(short.args)).difference_update(cases)
            # The real Hudi takes seconds: a quick look is at one of them.
            quick = short.args[zlib.crc32(name.encode()) % len(short.args)] if short.args else ""
            long = quick not in cases if "hudi" in marks else not cases
        elif copies and not long and isinstance(item, pytest.Function) and words:
            products.setdefault(item.nodeid.partition("[")[0], []).append(item)
        if long:
            item.add_marker(pytest.mark.full)
    for name, cases in [] if config.option.products else products.items():
        each = name.startswith(_CRASH_EACH) or any(f"/{module}.py" in name for module in _EACH_VERSION)
        chosen = covering(cases, zlib.crc32(name.encode()), () if each else _VERSIONS)
        judged = "tests/interop/" in name
        # One is a quick look, as above.
        chosen = chosen[:1] if judged else chosen
        for item in set(cases) - set(chosen):
            item.add_marker(pytest.mark.full)
        for item in [] if judged or "tests/crash/" in name else chosen[UNIT_CASES:]:
            item.add_marker(pytest.mark.slow)
    # A case that is renamed would leave the short form, and nobody would see it. Who asks for single tests has not all.
    for item in items:
        lost = missing.get(item.nodeid.partition("[")[0])
        if lost and not any("::" in argument for argument in config.args):
            item.own_markers[:] = [mark for mark in item.own_markers if mark.name != "full"]
            item.runtest = partial(pytest.fail, f"marked as short, but there is no such case: {lost}")


def covering(items: list[pytest.Function], turn: int, by_turns: Collection[str] = ()) -> list[pytest.Function]:
    """Few cases of a test, in which each value of each parameter (a kind, a step) comes once at least.

    Values that may be missing, and those that have to come again, take turns; the turn says which comes first.
    """
    first = turn % len(items)
    values = {item: {(name, _shown(value)) for name, value in item.callspec.params.items()} for item in items}
    needed = {item: {value for value in values[item] if value[1] not in by_turns} | {("", None)} for item in items}
    chosen: list[pytest.Function] = []
    seen: Counter[tuple[str, object]] = Counter()
    while new := [item for item in items[first:] + items[:first] if not needed[item] <= seen.keys()]:
        uses = {item: sum(seen[value] for value in values[item]) for item in new}
        chosen.append(max(new, key=lambda item: (len(needed[item] - seen.keys()), -uses[item])))
        seen.update(values[chosen[-1]] | needed[chosen[-1]])
    return chosen


def _shown(value: object) -> object:
    return value if isinstance(value, str | int | None) else id(value)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> "LoadFileScheduling | None":
    """Who asks for ``--dist loadfile`` gets it with one difference: see there."""
    from tests.scheduling import ByRelease

    return ByRelease(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def s3() -> "Iterator[S3]":
    """An S3 of this process; each test has keys of its own."""
    from tests.s3 import serve

    with serve() as running:
        yield running


@pytest.fixture(scope="session", autouse=True)
def no_settling() -> Iterator[None]:
    """No writer is about to begin, unless a test lets one begin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hudictl.ops.writers_out.SETTLE_S", 0.0)
        yield
