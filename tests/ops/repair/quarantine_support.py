"""Damaged instants: what the tests of their repair share."""

import json
import os
from pathlib import Path

from hudictl.formats import commit_metadata
from hudictl.formats.instants import State
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.repair.plan import RepairPlan, RepairResult, execute_repair
from hudictl.ops.repair.timeline import plan_quarantine
from hudictl.table.timeline.active import load_timeline
from tests.helpers import Copy, put, session


def plan(copy: Copy, time: str, idle_ms: int = 0) -> RepairPlan:
    return plan_quarantine(session(copy.table), time, idle_ms)


def quarantine(copy: Copy, time: str) -> RepairResult:
    made = plan(copy, time)
    return execute_repair(session(copy.table), made, lambda: plan(copy, time))


def undo(copy: Copy, number: str) -> None:
    execute_undo(session(copy.table), plan_undo(session(copy.table), number, 0), 0)


def completed(copy: Copy, time: str) -> Path:
    """The completed file of a write."""
    (instant,) = [entry for entry in load_timeline(copy.table).completed_writes() if entry.time == time]
    file = instant.file(State.COMPLETED)
    assert file is not None
    return copy.timeline / file.name


def damage(file: Path, body: bytes) -> bytes:
    """Another content, at the same time; returns what was there."""
    status, before = file.stat(), file.read_bytes()
    put(file, body)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    return before


def again(copy: Copy, time: str) -> tuple[bytes, bytes]:
    """What the file said, and what is made again when it is empty."""
    file = completed(copy, time)
    before = damage(file, b"")
    try:
        (made,) = plan(copy, time).files
    finally:
        damage(file, before)
    assert made.body is not None
    return before, made.body


def schema(body: bytes) -> object:
    return json.loads(commit_metadata.read_record(body, "it").fields["extraMetadata"]["schema"])
