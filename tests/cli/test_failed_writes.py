"""``failed-writes list``."""

import json

import pytest

from tests.cli.conftest import Tell, Unpack
from tests.helpers import put, rollback_plan


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_list(tell: Tell, unpack: Unpack, version: str) -> None:
    """One row and its reason; JSON has all that is known."""
    copy = unpack(version, "mor_failed_lazy")
    said = tell("failed-writes", "list", "-t", copy.path)
    head, row, reason, clock = said.out.splitlines()
    assert head.split()[:4] == ["instant", "verdict", "action", "state"]
    instant, verdict, action, state, operation, heartbeat = row.split()[:6]
    assert (verdict, action, state, operation, heartbeat) == ("failed", "deltacommit", "INFLIGHT", "UPSERT", "expired")
    assert reason.startswith(f"{instant}: its heartbeat expired: the last one was ")
    assert clock.startswith("this host's clock and the storage's agree within ")
    document = tell("failed-writes", "list", "-t", copy.path, "-o", "json").json
    (note,) = document["notes"]
    assert note.startswith("this host's clock and the storage's agree within ")
    (found,) = document["rows"]
    assert (found["instant"], found["verdict"], found["marker_type"]) == (instant, "failed", "DIRECT")
    assert reason.startswith(f"{instant}: {found['reason'][:40]}")
    assert set(found) >= {"clustering", "age_ms", "idle_ms", "heartbeat_age_ms", "rollback", "appended_logs", "bytes"}


def test_none(tell: Tell, unpack: Unpack) -> None:
    said = tell("failed-writes", "list", "-t", unpack("v9", "cow_part").path)
    assert (said.code, said.out.splitlines()[0]) == (0, "no pending writes")


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_it_fits_a_terminal_of_120_columns(tell: Tell, unpack: Unpack, version: str) -> None:
    """With the reasons as lines below, which wrap."""
    said = tell("failed-writes", "list", "-t", unpack(version, "cow_failed_direct").path)
    head, row = said.out.splitlines()[:2]
    assert max(len(head), len(row)) <= 120


def test_the_writers_rule(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    hours = ["--interval", "100000h", "--misses", "2"]
    (row,) = tell("failed-writes", "list", "-t", copy.path, "-o", "json", *hours).json["rows"]
    assert row["verdict"] == "running"


def test_idle(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    for idle, said in (("0s", "no heartbeat (eager cleaning"), ("100000h", "it may be running")):
        (row,) = tell("failed-writes", "list", "-t", copy.path, "-o", "json", "--idle", idle).json["rows"]
        assert said in row["reason"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["--interval", "999ms"], "999 ms"), (["--interval", "soon"], "soon"), (["--misses", "0"], "0")],
)
@pytest.mark.parametrize("command", ["failed-writes", "heartbeat"])
def test_a_rule_that_no_writer_can_have(
    tell: Tell, unpack: Unpack, command: str, arguments: list[str], named: str
) -> None:
    said = tell(command, "list", "-t", unpack("v9", "cow_part").path, *arguments)
    assert said.code == 2
    assert named in said.line


def test_a_damaged_restore_is_said(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    put(copy.timeline / "20271121000000000.restore.requested", b"Obj")
    said = tell("failed-writes", "list", "-t", copy.path, "-o", "json")
    assert (said.code, json.loads(said.err)["slug"]) == (14, "unreadable")


def test_an_unreadable_request_of_a_completed_restore_hides_no_failed_write(tell: Tell, unpack: Unpack) -> None:
    """Its plan decides nothing about writes any more."""
    copy = unpack("v9", "cow_failed_direct")
    time = "20271121000000000"
    for name in (f"{time}.restore.requested", f"{time}.restore.inflight", f"{time}_{time}.restore"):
        put(copy.timeline / name, b"Obj")
    copy.write("20271120000000000.rollback.requested", rollback_plan(copy.commits[-1]))
    said = tell("failed-writes", "list", "-t", copy.path, "-o", "json")
    assert (said.code, len(said.json["rows"])) == (0, 1)
