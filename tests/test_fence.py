"""What a task asks before it changes files."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl import fence as module
from hudictl.errors import Conflict, StorageFailed
from hudictl.fence import FRESH_MS, Fenced, claim_links
from hudictl.storage.local import LocalStorage
from hudictl.table.locks.claim import DEAD_AFTER_MS, Claim, claim
from hudictl.table.writers.beat import BEAT_SECONDS

FOLDER = ".hoodie/.hudictl"


@pytest.fixture
def store(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path), f"{FOLDER}/tmp")


def file_of(held: Claim) -> Path:
    return Path(held.storage.absolute(f"{FOLDER}/claim-{held.number}"))


def age(file: Path, age_s: float) -> None:
    os.utime(file, (time.time() - age_s,) * 2)


def done(task: str) -> str:
    return f"{task} done"


def test_tasks_of_an_operation_that_goes_on(store: LocalStorage) -> None:
    with claim(store, "restore S") as held:
        assert Fenced(held.fence, done)("one") == "one done"
        # A beat or two are missed.
        age(file_of(held), FRESH_MS / 1000 - 5)
        assert Fenced(held.fence, done)("two") == "two done"


def test_tasks_end_before_others_take_over() -> None:
    assert BEAT_SECONDS * 1000 * 3 < FRESH_MS < DEAD_AFTER_MS


def taken_over(held: Claim) -> None:
    held.storage.create(f"{FOLDER}/claim-{held.number + 1}", file_of(held).read_bytes())


def deleted(held: Claim) -> None:
    file_of(held).unlink()


def deleted_with_the_folder(held: Claim) -> None:
    for number in claim_links(held.storage):
        Path(held.storage.absolute(f"{FOLDER}/claim-{number}")).unlink()
    held.storage.delete_folder(FOLDER)


def begun_anew(held: Claim) -> None:
    """By one that found no chain."""
    file_of(held).rename(file_of(held).with_name("claim-1"))


@pytest.mark.parametrize("happens", [taken_over, deleted, deleted_with_the_folder, begun_anew])
def test_tasks_of_an_operation_that_is_anothers(store: LocalStorage, happens: Callable[[Claim], None]) -> None:
    for _ in range(2):
        with claim(store, "before"):
            pass
    with claim(store, "restore S") as held:
        happens(held)
        with pytest.raises(Conflict, match="claim 3 was released, taken over or deleted") as caught:
            Fenced(held.fence, pytest.fail)("one")
    assert caught.value.exit_code == 12


def test_tasks_of_an_operation_that_has_ended(store: LocalStorage) -> None:
    """The file of a released claim is there, and young."""
    with claim(store, "restore S") as held:
        pass
    assert claim_links(store)[held.number].modified_ms > time.time() * 1000 - FRESH_MS
    with pytest.raises(Conflict, match="released"):
        Fenced(held.fence, pytest.fail)("one")


def test_tasks_wait_for_a_process_that_is_stopped(store: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """They go on with it."""
    pauses: list[float] = []
    with claim(store, "restore S") as held:
        file = file_of(held)
        age(file, FRESH_MS / 1000 + 1)

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                file.touch()

        monkeypatch.setattr(module.time, "sleep", sleep)
        assert Fenced(held.fence, done)("one") == "one done"
    assert len(pauses) == 3


def test_tasks_of_a_process_that_does_not_come_back(store: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0.05)
    monkeypatch.setattr(module, "_LOOK_SECONDS", 0.01)
    with claim(store, "restore S") as held:
        age(file_of(held), 100)
        with pytest.raises(
            StorageFailed, match=r"claim 1 was not touched for 100 s: .* stopped or cut off, or the clock"
        ):
            Fenced(held.fence, pytest.fail)("one")
