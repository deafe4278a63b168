"""A restore, a rollback, or a savepoint that dies at any change to the file system: all commands that look at what it
leaves say the same, and each way that they name ends it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.cli.conftest import Tell, _plain, no_waiting, tell
from tests.cli.one_verdict_support import LOCAL, Remedies, assert_agreed, by_show, end
from tests.crash.inject import Crash, copy, deaths, dying
from tests.helpers import alone

__all__ = ["_plain", "no_waiting", "tell"]
pytestmark = pytest.mark.crash
# The table, the command with {} for the newest instant or savepoint, and how many changes the short form leaves out.
CASES = {
    "restore": ("cow_savepoints", "restore {} --delete-later-savepoints", 13),
    "rollback": ("mor_part", "rollback {}", 11),
    "rollback of a failed write": ("cow_failed_tls", "rollback {} --idle 0s", 13),
    "failed writes": ("mor_failed_lazy", "failed-writes clean", 11),
    "savepoint": ("cow_part", "savepoint create {}", 5),
}


def command_of(case: str, base: Path) -> tuple[str, ...]:
    """With ``{}`` filled in: the oldest savepoint of a restore, else the newest write."""
    timeline = load_timeline(open_table(str(base)))
    newest = max(entry.time for entry in timeline.writes())
    target = min((entry.time for entry in timeline.savepoints()), default=newest) if case == "restore" else newest
    return *CASES[case][1].format(target).split(), "-t", str(base), *LOCAL, "--yes"


def states(case: str, base: Path, folder: Path, tell: Tell, step: int) -> Iterator[Path]:
    """Copies of a table on which the command has died at each ``step``-th change."""
    done = copy(base, folder / "done" / "table")
    with dying(None) as system:
        assert tell(*command_of(case, done)).code == 0
    for at in deaths(system.count, step):
        other = copy(base, folder / f"at-{at}" / "table")
        with dying(at), pytest.raises(Crash):
            tell(*command_of(case, other))
        # What beats no more is silent at once, as it is after minutes.
        shutil.rmtree(other / ".hoodie/.heartbeat", ignore_errors=True)
        yield other


def assert_ended(tell: Tell, base: Path, folder: Path) -> None:
    """By each way that is named; only a withdrawal of which this is said may come too late, and says so then."""
    remedy = tell("table", "show", "-t", base, "-o", "json").json["result"]["remedy"]
    leaves = {alone(way["command"]): way["leaves"] for way in remedy}
    for key, ways in assert_agreed(tell, base).items():
        for number, way in enumerate(ways):
            other = copy(base, folder / str(number) / "table")
            said = end(tell, other, way)
            if said.code == 3 and "rollbacks are still pending" in said.err:
                # What was left of earlier changes has gone first; it says to run it again.
                said = end(tell, other, way)
            if "--withdraw" in way and said.code == 13:
                assert by_show(tell, other) == by_show(tell, base)
                assert "only possible while no data file is deleted" in leaves[way]
                continue
            assert (key, way, said.code, said.err) == (key, way, 0, "")
            left: Remedies = assert_agreed(tell, other)
            assert key not in left


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.short("restore-v6", "failed writes-v9")
def test_all_say_the_same(tell: Tell, case: str, version: str, tmp_path: Path) -> None:
    base = support.unpack(version, CASES[case][0], tmp_path)
    for number, state in enumerate(states(case, base, tmp_path / "states", tell, CASES[case][2])):
        assert_ended(tell, state, tmp_path / f"ways-{number}")


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("case", CASES)
def test_after_every_change(tell: Tell, case: str, version: str, tmp_path: Path) -> None:
    base = support.unpack(version, CASES[case][0], tmp_path)
    for number, state in enumerate(states(case, base, tmp_path / "states", tell, 1)):
        assert_ended(tell, state, tmp_path / f"ways-{number}")
