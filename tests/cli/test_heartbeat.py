"""``heartbeat list`` and ``heartbeat delete``."""

import os
import re
import time

import pytest

from hudictl.errors import StorageFailed
from hudictl.storage.base import FileStatus
from hudictl.storage.local import LocalStorage
from tests.cli.conftest import Tell, Unpack
from tests.helpers import OWN, Copy, put, tree


def instant_of(copy: Copy) -> str:
    (found,) = [path.name for path in (copy.meta / ".heartbeat").glob("[0-9]*")]
    return found


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_list(tell: Tell, unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_failed_lazy")
    head, row, clock, assumed = tell("heartbeat", "list", "-t", copy.path).out.splitlines()
    assert head.split()[:2] == ["instant", "state"]
    assert row.split()[:2] == [instant_of(copy), "expired"]
    assert clock.startswith("this host's clock and the storage's agree within ")
    assert assumed.startswith("the writers' heartbeat settings are not known: Hudi's defaults (interval 60s, misses 2)")
    asked = tell("heartbeat", "list", "-t", copy.path, "-o", "json", "--interval", "1h").json
    ((found,), (_,)) = asked["rows"], asked["notes"]
    assert found["assumed"] is False
    assert found["interval_ms"] == 3_600_000
    assert found["misses"] == found["age_ms"] // 3_600_000
    assert tell("heartbeat", "list", "-t", unpack(version, "cow_part").path).out.startswith("no heartbeats\n")


def test_the_skew_is_said_and_taken_into_account(tell: Tell, unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """The storage is an hour behind: what it says was an hour ago is now."""
    copy = unpack("v9", "mor_failed_lazy")
    moment = time.time() - 3_600
    os.utime(put(copy.meta / ".heartbeat" / instant_of(copy)), (moment, moment))
    real = LocalStorage.stat

    def stat(self: LocalStorage, path: str) -> FileStatus | None:
        found = real(self, path)
        return found and found._replace(modified_ms=found.modified_ms - 3_600_000)

    monkeypatch.setattr(LocalStorage, "stat", stat)
    document = tell("heartbeat", "list", "-t", copy.path, "-o", "json").json
    assert document["rows"][0]["state"] == "live"
    assert document["rows"][0]["age_ms"] < 60_000
    note, _ = document["notes"]
    assert note.startswith("the storage's clock is 3")
    assert note.endswith("ms behind this host's: ages are computed with the storage's")


def test_a_table_that_cannot_be_written_to(tell: Tell, unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be looked at, and only that."""
    copy = unpack("v9", "mor_failed_lazy")

    def replace(self: LocalStorage, path: str, body: bytes) -> None:
        raise StorageFailed("cannot replace: Read-only file system")

    monkeypatch.setattr(LocalStorage, "replace", replace)
    said = tell("heartbeat", "list", "-t", copy.path)
    assert said.code == 0
    assert "the storage's clock could not be measured" in said.out
    assert tell("heartbeat", "delete", instant_of(copy), "-t", copy.path, "--yes").code == 15


def test_delete(tell: Tell, unpack: Unpack) -> None:
    """Planned, not agreed to, done, and nothing to do."""
    copy = unpack("v9", "mor_failed_lazy")
    instant = instant_of(copy)
    before = tree(copy.path, OWN)
    planned = tell("heartbeat", "delete", instant, "-t", copy.path, "--plan")
    assert (planned.code, f"\nwould delete the expired heartbeat of {instant}, " in planned.out) == (0, True)
    assert "this heartbeat is the only proof that the writer is dead" in planned.out
    assert re.search(r"\d+ (d|h|min) old;", planned.out)
    planned = tell("heartbeat", "delete", instant, "-t", copy.path, "--plan", "-o", "json")
    assert planned.json["notes"] == ["planned only: nothing was changed"]
    assert tell("heartbeat", "delete", instant, "-t", copy.path).code == 4
    assert tree(copy.path, OWN) == before
    beat = copy.meta / ".heartbeat" / instant
    body, times = beat.read_bytes(), (beat.stat().st_atime, beat.stat().st_mtime)
    assert "was the only proof" in tell("heartbeat", "delete", instant, "-t", copy.path, "--yes").out
    os.utime(put(beat, body), times)
    done = tell("heartbeat", "delete", instant, "-t", copy.path, "--yes", "-o", "json")
    assert (done.code, done.json["result"]["instant"]) == (0, instant)
    assert not (copy.meta / ".heartbeat" / instant).exists()
    again = tell("heartbeat", "delete", instant, "-t", copy.path, "--yes")
    assert (again.code, again.out) == (0, f"there is no heartbeat of {instant}: nothing to do\n")
    again = tell("heartbeat", "delete", instant, "-t", copy.path, "--yes", "-o", "json")
    assert (again.json["result"], again.json["notes"]) == (
        None, [f"there is no heartbeat of {instant}: nothing to do"],
    )  # fmt: skip
    entry, _ = tell("history", "-t", copy.path, "-o", "json").json["rows"]
    assert (entry["operation"], entry["target"]) == ("heartbeat delete", instant)


@pytest.mark.parametrize("how", [["--yes"], ["--plan"]])
def test_a_live_one_is_refused(tell: Tell, unpack: Unpack, how: list[str]) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    instant = instant_of(copy)
    put(copy.meta / ".heartbeat" / instant, old=False)
    said = tell("heartbeat", "delete", instant, "-t", copy.path, *how, "-o", "json")
    assert (said.code, said.error["fields"]["instant"]) == (12, instant)
    assert (copy.meta / ".heartbeat" / instant).exists()
