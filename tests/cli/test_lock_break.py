"""``lock break``: which locks are freed, and which are not."""

import os
import re
import time
from pathlib import Path

import pytest

from hudictl.errors import Conflict
from hudictl.ops.clean_up.lock_break import break_lock, plan_lock_break
from hudictl.table.locks.config import DYNAMODB, FILE_SYSTEM, WITHIN_WRITERS, Locking
from tests.cli.conftest import Tell, Unpack
from tests.cli.lock_support import LOCKED
from tests.dynamodb import CREDENTIALS, make_dynamo
from tests.helpers import Copy, put, session, tree
from tests.s3 import S3

EXPIRING = (*LOCKED, "--hoodie-conf", "hoodie.write.lock.filesystem.expire=5")

IN_WRITERS = ("--hoodie-conf", f"hoodie.write.lock.provider={WITHIN_WRITERS[0]}")


def lock_file(copy: Copy, *, age_s: float) -> Path:
    file = put(copy.meta / "lock", "")
    os.utime(file, (time.time() - age_s,) * 2)
    return file


def test_a_lock_past_its_expiry_is_freed(unpack: Unpack, tell: Tell) -> None:
    """And the history says so; a plan changes nothing, and again is nothing to do."""
    copy = unpack("v9", "cow_part")
    file = lock_file(copy, age_s=310)
    planned = tell("lock", "break", "-t", copy.path, "--plan", "-o", "json", *EXPIRING).json["result"]
    assert (planned["path"], planned["expired"], planned["expires_in_ms"] < 0) == (".hoodie/lock", True, True)
    assert file.exists()
    said = tell("lock", "break", "-t", copy.path, "--yes", *EXPIRING)
    assert (said.code, "\nfreed the lock .hoodie/lock of an unknown owner, expired" in said.out) == (0, True)
    assert not file.exists()
    (row,) = tell("history", "-t", copy.path, "-o", "json").json["rows"]
    assert (row["operation"], row["target"]) == ("lock break", ".hoodie/lock")
    again = tell("lock", "break", "-t", copy.path, "--yes", *EXPIRING)
    assert (again.code, again.out) == (0, "no lock is held: nothing to do\n")


@pytest.mark.parametrize("settings", [LOCKED, EXPIRING], ids=["without expiry", "expiring"])
def test_where_a_lock_is_in_the_way_a_change_names_it(unpack: Unpack, tell: Tell, settings: tuple[str, ...]) -> None:
    """With the settings by which it works; a lock with an expiry ends by itself."""
    copy = unpack("v9", "cow_part")
    lock_file(copy, age_s=90)
    said = tell("savepoint", "create", "-t", copy.path, "--yes", "--lock-timeout", "0s", *settings)
    assert (said.code, "waited 0 s" in said.line) == (12, True)
    named = re.findall("`(hudictl lock break [^`]*)`", said.line)
    assert [command.split()[-2:] for command in named] == [["--dead-after", "1h"]] * (settings == LOCKED)
    if named:
        words = named[0].replace("1h", "60s").split()[1:]
        assert tell(*words, "--plan").code == 0
    without = tell("savepoint", "create", "-t", copy.path, "--yes")
    assert (without.code, "--dead-after" in without.line) == (12, True)


@pytest.mark.parametrize("settings", [(), LOCKED], ids=["not configured", "configured"])
def test_what_is_said_of_an_old_lock_leads_to_its_end(unpack: Unpack, tell: Tell, settings: tuple[str, ...]) -> None:
    """From what waits for it, to the command that frees it."""
    copy = unpack("v9", "cow_part")
    file = lock_file(copy, age_s=4_000)
    for look in ("table show", "check"):
        assert f"`hudictl lock show --table={copy.path}" in tell(*look.split(), "-t", copy.path).out
    said = tell("lock", "show", "-t", copy.path, *settings)
    (free,) = re.findall("`hudictl (lock break [^`]*)` frees it", said.out)
    assert tell("lock", "show", "-t", copy.path, *settings, "-o", "json").json["notes"] == [said.out.splitlines()[-1]]
    assert tell(*free.split(), "--yes").code == 0
    assert not file.exists()


def test_nothing_frees_a_young_lock_or_one_that_expires(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    for age_s, settings in ((3_500, LOCKED), (4_000, EXPIRING), (4_000, IN_WRITERS)):
        lock_file(copy, age_s=age_s)
        assert "lock break" not in tell("lock", "show", "-t", copy.path, *settings).out


def test_it_must_be_typed(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    file = lock_file(copy, age_s=310)
    assert tell("lock", "break", "-t", copy.path, *EXPIRING).code == 4
    assert file.exists()


@pytest.mark.parametrize(
    ("settings", "age_s", "code", "words"),
    [
        (EXPIRING, 200, 12, "expires in 99 s"),
        (LOCKED, 90_000, 13, "filesystem.expire is 0 or not specified"),
        ((), 90_000, 2, "no lock is configured"),
        (("--hoodie-conf", f"hoodie.write.lock.provider={WITHIN_WRITERS[0]}"), 90_000, 2, "no lock between processes"),
        (
            ("--hoodie-conf", "hoodie.write.lock.provider=com.example.Lock"),
            90_000,
            11,
            "cannot take locks of this kind",
        ),
    ],
)
def test_which_locks_are_not_broken(
    unpack: Unpack, tell: Tell, settings: tuple[str, ...], age_s: float, code: int, words: str
) -> None:
    """A living one, and one that never expires; nothing is changed."""
    copy = unpack("v9", "cow_part")
    lock_file(copy, age_s=age_s)
    before = tree(copy.path)
    said = tell("lock", "break", "-t", copy.path, "--yes", *settings)
    assert (said.code, words in said.err.replace("100 s", "99 s")) == (code, True), said.err
    assert tree(copy.path) == before


DEAD = (*LOCKED, "--dead-after", "1h")


def test_a_lock_without_expiry_whose_owner_is_dead(unpack: Unpack, tell: Tell) -> None:
    """Its age, and that nobody writes, are the two reasons; the provider's own default is no expiry."""
    copy = unpack("v9", "cow_part")
    file = lock_file(copy, age_s=3 * 3600)
    refused = tell("lock", "break", "-t", copy.path, "--yes", *LOCKED)
    command = f"hudictl lock break --table={copy.path} --hoodie-conf={LOCKED[1]} --dead-after 1h"
    assert (refused.code, f"`{command}`" in refused.err) == (13, True)
    assert file.exists()
    said = tell("lock", "break", "-t", copy.path, "--yes", *DEAD)
    assert (said.code, "freed the lock .hoodie/lock" in said.out) == (0, True)
    assert not file.exists()


@pytest.mark.parametrize("alive", ["young lock", "timeline", "heartbeat", "metadata table", "marker"])
def test_its_owner_may_be_at_work(unpack: Unpack, tell: Tell, alive: str) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    file = lock_file(copy, age_s=1800 if alive == "young lock" else 3 * 3600)
    if alive == "timeline":
        min(copy.timeline.glob("[0-9]*")).touch()
    if alive == "heartbeat":
        (beat,) = (copy.meta / ".heartbeat").glob("[0-9]*")
        beat.touch()
    if alive == "metadata table":
        min((copy.meta / "metadata/.hoodie/timeline").glob("[0-9]*")).touch()
    if alive == "marker":
        # Without heartbeat, as of a writer that cleans eagerly.
        (beat,) = (copy.meta / ".heartbeat").glob("[0-9]*")
        beat.unlink()
        put(copy.meta / ".temp" / beat.name / "part-0" / "f.parquet.marker.CREATE", old=False)
    said = tell("lock", "break", "-t", copy.path, "--yes", *DEAD)
    assert said.code == 12, said
    assert file.exists()


def test_a_lock_that_other_tables_may_share(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    """The signs of their writers are not looked for."""
    copy = unpack("v9", "cow_part")
    file = put(tmp_path / "locks/lock", "")
    os.utime(file, (time.time() - 3 * 3600,) * 2)
    shared = (*LOCKED, "--hoodie-conf", f"hoodie.write.lock.filesystem.path={file.parent}")
    refused = tell("lock", "break", "-t", copy.path, "--yes", *shared)
    assert (refused.code, "--dead-after" in refused.err) == (13, False)
    refused = tell("lock", "break", "-t", copy.path, "--yes", *shared, "--dead-after", "1h")
    assert (refused.code, f"delete the file {file}" in refused.err) == (13, True)
    assert file.exists()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ((*EXPIRING, "--dead-after", "1h"), "lock file without expiry"),
        ((*LOCKED, "--dead-after", "5s"), "the least"),
        ((*LOCKED, "--dead-after", "90"), "of which unit"),
    ],
)
def test_dead_after_is_for_locks_without_expiry(
    unpack: Unpack, tell: Tell, settings: tuple[str, ...], words: str
) -> None:
    copy = unpack("v9", "cow_part")
    lock_file(copy, age_s=90_000)
    said = tell("lock", "break", "-t", copy.path, "--yes", *settings)
    assert (said.code, words in said.line) == (2, True)


def test_a_writer_that_comes_while_the_lock_is_broken(unpack: Unpack) -> None:
    """It has taken the lock anew: the second look refuses."""
    copy = unpack("v9", "cow_part")
    file = lock_file(copy, age_s=3 * 3600)
    opened = session(copy.table, locking=Locking({"hoodie.write.lock.provider": FILE_SYSTEM}))
    plan = plan_lock_break(opened, 3_600_000)
    min(copy.timeline.glob("[0-9]*")).touch()
    with pytest.raises(Conflict, match="the timeline has changed"):
        break_lock(opened, plan)
    assert file.exists()


def test_a_lock_that_was_taken_meanwhile_is_not_broken(unpack: Unpack) -> None:
    """By whoever broke it first."""
    copy = unpack("v9", "cow_part")
    lock_file(copy, age_s=310)
    settings = {"hoodie.write.lock.provider": FILE_SYSTEM, "hoodie.write.lock.filesystem.expire": "5"}
    opened = session(copy.table, locking=Locking(settings))
    plan = plan_lock_break(opened)
    put(copy.meta / "lock", "another's", old=False)
    with pytest.raises(Conflict, match="expires in"):
        break_lock(opened, plan)
    os.utime(copy.meta / "lock", (time.time() - 310,) * 2)
    with pytest.raises(Conflict, match="changed since planning"):
        break_lock(opened, plan)
    assert (copy.meta / "lock").read_text() == "another's"
    (copy.meta / "lock").unlink()
    break_lock(opened, plan)
    assert not (copy.meta / ".hudictl/operations").exists()


@pytest.mark.slow
def test_an_item_is_broken_after_it_was_watched(
    unpack: Unpack, tell: Tell, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one lease: only then its owner is known to be dead."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    dynamo, copy = make_dynamo(s3), unpack("v9", "cow_part")
    settings = dynamo.settings(DYNAMODB) | {"hoodie.write.lock.wait_time_ms": "1000"}
    given = [part for key, value in settings.items() for part in ("--hoodie-conf", f"{key}={value}")]
    dynamo.put(ownerName={"S": "the dead one"}, leaseDuration={"S": "1000"})
    planned = tell("lock", "break", "-t", copy.path, "--plan", *given)
    assert "would free the lock dynamodb://" in planned.out
    assert "of the dead one, whose last heartbeat is at least 1 s ago" in planned.out
    assert dynamo.item is not None
    begun = time.monotonic()
    assert tell("lock", "break", "-t", copy.path, "--yes", *given).code == 0
    assert time.monotonic() - begun > 1
    assert dynamo.item is None
