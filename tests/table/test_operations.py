"""Operation records: written before the work, completed after it, whatever becomes of it."""

import errno
import gc
import getpass
import json
import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hudictl import __version__
from hudictl.errors import Conflict, Interrupted, StorageFailed, Unreadable
from hudictl.storage.local import LocalStorage
from hudictl.table.operations import (
    Operation,
    begun_plan,
    operation_instants,
    operation_path,
    read_operation,
    recorded,
)

INSTANT = "20261121040000000"
OPERATION = Operation(INSTANT, "restore", "20261121030000000", {"instants": [1, 2]})
UTC = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$")


@dataclass(frozen=True)
class Report:
    files: int


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    (tmp_path / ".hoodie").mkdir()
    return LocalStorage(str(tmp_path), ".hoodie/.hudictl/tmp")


def read(storage: LocalStorage) -> Operation:
    found = read_operation(storage, INSTANT)
    assert found is not None
    return found


def test_it_is_written_before_the_work_and_completed_after(storage: LocalStorage) -> None:
    def work() -> Report:
        begun = read(storage)
        assert (begun.last.ended_at, begun.last.exit_code, begun.last.report) == (None, None, None)
        return Report(7)

    assert recorded(storage, OPERATION, "hudictl restore S", work) == Report(7)
    found = read(storage)
    assert (found.instant, found.operation, found.target) == (INSTANT, "restore", "20261121030000000")
    assert found.plan == {"instants": [1, 2]}
    (attempt,) = found.attempts
    assert (attempt.command, attempt.user, attempt.host) == (
        "hudictl restore S",
        getpass.getuser(),
        socket.gethostname(),
    )
    assert (attempt.pid, attempt.version) == (os.getpid(), __version__)
    assert UTC.match(attempt.started_at)
    assert attempt.ended_at is not None
    assert UTC.match(attempt.ended_at)
    assert attempt.started_at <= attempt.ended_at
    assert (attempt.exit_code, attempt.message, attempt.report) == (0, "", {"files": 7})


def test_it_is_one_readable_json_document(storage: LocalStorage) -> None:
    recorded(storage, OPERATION, "c", lambda: Report(7))
    document = json.loads(storage.read(f".hoodie/.hudictl/operations/{INSTANT}.json"))
    assert list(document) == ["schema_version", "instant", "operation", "target", "plan", "attempts"]
    assert document["schema_version"] == 1


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (Conflict("a writer came in", hint="stop it"), 12, "a writer came in"),
        (StorageFailed("cannot write"), 15, "cannot write"),
        (Interrupted("interrupted before: verify"), 130, "interrupted before: verify"),
        (KeyboardInterrupt(), 130, "KeyboardInterrupt: "),
        (ValueError("a bug"), 1, "ValueError: a bug"),
    ],
)
def test_a_failure_is_recorded_and_goes_on(
    storage: LocalStorage, error: BaseException, code: int, message: str
) -> None:
    def work() -> Report:
        raise error

    with pytest.raises(type(error)) as caught:
        recorded(storage, OPERATION, "c", work)
    assert caught.value is error
    attempt = read(storage).last
    assert (attempt.exit_code, attempt.message, attempt.report) == (code, message, None)
    assert attempt.ended_at is not None


def test_whoever_finishes_it_adds_an_attempt_and_keeps_the_plan(storage: LocalStorage) -> None:
    def fails() -> Report:
        raise Conflict("no")

    with pytest.raises(Conflict):
        recorded(storage, OPERATION, "hudictl restore S", fails)
    rest = Operation(INSTANT, "restore", OPERATION.target, {"instants": [1]})
    recorded(storage, rest, "hudictl resume", lambda: Report(1))
    found = read(storage)
    assert found.plan == OPERATION.plan
    assert [(attempt.command, attempt.exit_code) for attempt in found.attempts] == [
        ("hudictl restore S", 12),
        ("hudictl resume", 0),
    ]


def test_a_process_that_dies_leaves_an_attempt_without_end(storage: LocalStorage) -> None:
    class Death(BaseException):
        pass

    def dies() -> Report:
        raise Death

    with pytest.raises(Death):
        recorded(storage, OPERATION, "c", dies)
    assert (read(storage).last.ended_at, read(storage).last.exit_code) == (None, None)
    recorded(storage, OPERATION, "c", lambda: Report(1))
    assert [attempt.exit_code for attempt in read(storage).attempts] == [None, 0]


def full(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", write)


def test_without_room_for_the_record_nothing_is_done(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    full(monkeypatch)
    with pytest.raises(StorageFailed, match="No space"):
        recorded(storage, OPERATION, "c", lambda: pytest.fail("worked"))
    assert operation_instants(storage) == []


@pytest.mark.parametrize("fails", [False, True])
def test_a_disk_that_is_full_at_the_end_does_not_change_the_outcome(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    def work() -> Report:
        full(monkeypatch)
        if fails:
            raise Conflict("no")
        return Report(7)

    if fails:
        with pytest.raises(Conflict):
            recorded(storage, OPERATION, "c", work)
    else:
        assert recorded(storage, OPERATION, "c", work) == Report(7)
    assert read(storage).last.ended_at is None


def edited(change: Callable[[dict[str, object]], object]) -> bytes:
    attempt = {
        **{"command": "c", "user": "u", "host": "h", "pid": 1, "version": "0", "started_at": "2026", "ended_at": None},
        **{"exit_code": None, "message": "", "report": None},
    }
    document: dict[str, object] = {
        **{"schema_version": 1, "instant": INSTANT, "operation": "restore", "target": "t", "plan": {}},
        "attempts": [attempt],
    }
    change(document)
    return json.dumps(document).encode()


def test_the_edited_document_is_one_if_it_is_not_changed(storage: LocalStorage) -> None:
    storage.create(operation_path(INSTANT), edited(lambda document: None))
    assert read(storage).last.command == "c"


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"\xff\xfe", b"null", b"7", b"[]", b"{}", b"[" * 100_000),
        edited(lambda document: document.pop("attempts")),
        edited(lambda document: document.pop("target")),
        edited(lambda document: document.update(attempts=[])),
        edited(lambda document: document.update(attempts=[7])),
        edited(lambda document: document.update(attempts=[{"command": "c"}])),
        edited(lambda document: document.update(attempts=7)),
        edited(lambda document: document.update(plan=None)),
        edited(lambda document: document.update(plan=["a"])),
        edited(lambda document: document.update(surprise=1)),
        edited(lambda document: document.update(target=7)),
        edited(lambda document: document.update(schema_version=2)),
    ],
)
def test_a_damaged_record_is_named(storage: LocalStorage, body: bytes) -> None:
    storage.create(operation_path(INSTANT), body)
    gc.disable()  # what other tests have left cannot be collected at the end of the stack
    try:
        with pytest.raises(Unreadable, match=f"{INSTANT}.json") as caught:
            read_operation(storage, INSTANT)
    finally:
        gc.enable()
    assert caught.value.hint
    assert "\n" not in caught.value.message


def test_they_are_found_by_their_names_oldest_first(storage: LocalStorage) -> None:
    assert operation_instants(storage) == []
    assert read_operation(storage, INSTANT) is None
    for name in (f"{INSTANT}.json", "20260101000000000.json", "notes.txt", f".{INSTANT}.json.crc", "x.json"):
        storage.create(f".hoodie/.hudictl/operations/{name}", b"")
    assert operation_instants(storage) == ["20260101000000000", INSTANT]


@pytest.mark.parametrize(
    "plan",
    [
        {"options": {"require_index": "record_index"}},
        {"options": {"keep_backup": "no"}},
        {"options": []},
        {"instants": [{"time": 1}]},
        {"later_writes": [7]},
        {"fingerprint": {"table": None}},
    ],
)
def test_a_plan_of_other_types_is_damage(plan: dict[str, object]) -> None:
    """It decides which options apply, and which instants go."""
    with pytest.raises(Unreadable, match=r"the plan in .*1\.json is damaged"):
        begun_plan(Operation("1", "restore", "0", plan))


def test_of_a_plan_only_what_is_gone_by_is_read() -> None:
    assert begun_plan(None) == begun_plan(Operation("1", "restore", "0", {"partitions": {}, "options": {"paths": 3}}))
