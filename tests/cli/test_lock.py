"""``lock show``, and the lock in the commands that write."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from hudictl.cli.command_line import command_line
from hudictl.storage.local import LocalStorage
from hudictl.table.locks.claim import Owner
from hudictl.table.locks.config import DYNAMODB, FILE_SYSTEM, METASTORE, ZOOKEEPER, MetastoreLock
from hudictl.table.locks.hive_metastore import metastore_lock
from hudictl.table.operations import operation_instants
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.cli.lock_support import LOCKED
from tests.dynamodb import CREDENTIALS, make_dynamo
from tests.helpers import Copy, put, tree
from tests.s3 import S3
from tests.table.locks.metastore_server import Queue, serving

LOCAL = ("--engine", "local")
STORAGE_BASED = (
    "--hoodie-conf",
    "hoodie.write.lock.provider=org.apache.hudi.client.transaction.lock.StorageBasedLockProvider",
)
NODE = (
    *("--hoodie-conf", f"hoodie.write.lock.provider={ZOOKEEPER}"),
    *("--hoodie-conf", "hoodie.write.lock.zookeeper.url=zk:2181"),
    *("--hoodie-conf", "hoodie.write.lock.zookeeper.base_path=/hudi"),
    *("--hoodie-conf", "hoodie.write.lock.zookeeper.connection_timeout_ms=100"),
)


def commands(copy: Copy) -> list[tuple[str, ...]]:
    """Every command that writes, with what it needs."""
    return [
        ("restore", copy.savepoints[-1], *LOCAL),
        ("savepoint", "create", *LOCAL),
        ("savepoint", "delete", copy.savepoints[-1]),
    ]


# Showing


@pytest.mark.slow
def test_an_item_of_dynamodb(unpack: Unpack, tell: Tell, s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who holds it, and how it expires; the region is that of the writers' environment."""
    for name, value in (CREDENTIALS | {"AWS_REGION": "eu-west-1"}).items():
        monkeypatch.setenv(name, value)
    dynamo, copy = make_dynamo(s3, "eu-west-1"), unpack("v9", "cow_part")
    settings = dynamo.settings(DYNAMODB)
    del settings["hoodie.write.lock.dynamodb.region"]
    said = [part for key, value in settings.items() for part in ("--hoodie-conf", f"{key}={value}")]
    dynamo.put(ownerName={"S": "the writer"})
    text = tell("lock", "show", "-t", copy.path, *said).out
    for word in (f"/{dynamo.table}/trips", "60 s after the holder's last heartbeat", "the writer"):
        assert word in text
    shown = tell("lock", "show", "-t", copy.path, "-o", "json", *said).json["result"]
    assert shown["configured"]["lock"]["region"] == "eu-west-1"
    assert [file["owner"] for file in shown["locks"]] == ["the writer"]
    dynamo.delete()
    assert tell("lock", "show", "-t", copy.path, "-o", "json", *said).json["result"]["locks"] == []


@pytest.mark.slow
def test_a_change_waits_for_the_item_and_leaves_none(
    unpack: Unpack, tell: Tell, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    dynamo, copy = make_dynamo(s3), unpack("v9", "cow_part")
    said = [part for key, value in dynamo.settings(DYNAMODB).items() for part in ("--hoodie-conf", f"{key}={value}")]
    create = ("savepoint", "create", "-t", copy.path, "--yes", *LOCAL, *said, "--lock-timeout", "0s")
    dynamo.put()
    refused = tell(*create)
    assert (refused.code, "another process holds dynamodb://" in refused.err) == (12, True)
    assert not list(copy.meta.rglob("*.savepoint*"))
    dynamo.delete()
    assert tell(*create).code == 0
    assert dynamo.item is None


def test_nothing_is_configured(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    said = tell("lock", "show", "-t", copy.path)
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == ["provider  none is configured", "", "no lock exists"]
    shown = tell("lock", "show", "-t", copy.path, "-o", "json").json
    assert shown["command"] == "lock show"
    assert shown["result"] == {
        "configured": {"provider": None, "lock": None, "unsupported": "", "off": False, "wait_ms": 250_000},
        "locks": [],
        "problem": "",
    }


def test_lock_settings_of_the_table_are_told_and_not_obeyed(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    copy, victim = unpack("v9", "cow_part"), put(tmp_path / "victim/lock", "held")
    os.utime(victim, (1, 1))
    with (copy.meta / "hoodie.properties").open("a") as file:
        settings = {"provider": FILE_SYSTEM, "filesystem.path": str(victim.parent), "filesystem.expire": "1"}
        file.writelines(f"hoodie.write.lock.{key}={value}\n" for key, value in settings.items())
    (copy.meta / ".hoodie.properties.crc").unlink(missing_ok=True)
    assert tell("savepoint", "create", "-t", copy.path, "--yes", *LOCAL).code == 0
    assert victim.read_text() == "held"
    shown = tell("lock", "show", "-t", copy.path, "-o", "json").json
    assert shown["result"]["configured"]["provider"] is None
    keys = "filesystem.expire, hoodie.write.lock.filesystem.path, hoodie.write.lock.provider"
    note = f"ignored, because they are the table's and not the operator's: hoodie.write.lock.{keys}"
    assert shown["notes"] == [note]
    assert note in " ".join(tell("lock", "show", "-t", copy.path).out.split())


def test_a_lock_file_and_its_configuration(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    os.utime(put(copy.meta / "lock", '{"owner": "me"}'), (time.time() - 90,) * 2)
    put(copy.meta / ".locks/table_lock.json", '{"expired":true,"validUntil":1,"owner":"x"}')
    more = ("--hoodie-conf", "hoodie.write.lock.filesystem.expire=5", "--lock-timeout", "7s")
    shown = tell("lock", "show", "-t", copy.path, "-o", "json", *LOCKED, *more).json["result"]
    lock = {"place": f"file://{copy.path}/.hoodie/lock", "inside": ".hoodie/lock", "expire_ms": 300_000}
    assert (shown["configured"]["lock"], shown["configured"]["wait_ms"]) == (lock, 7000)
    file, other = shown["locks"]
    age_ms = file.pop("age_ms")
    assert 90_000 <= age_ms < 200_000
    assert file.pop("expires_in_ms") == 300_000 - age_ms
    assert file == {
        "path": ".hoodie/lock",
        "provider": "FileSystemBasedLockProvider",
        "held": True,
        "expired": False,
        "owner": "me",
        "content": '{"owner": "me"}',
    }
    assert (other["provider"], other["held"]) == ("StorageBasedLockProvider", False)
    text = tell("lock", "show", "-t", copy.path, *LOCKED, *more).out
    for word in (FILE_SYSTEM, f"{copy.path}/.hoodie/lock", "longest wait  7 s", "after 5 min", '{"owner": "me"}'):
        assert word in text


def test_a_lock_file_outside_the_table(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    put(tmp_path / "locks/lock", "theirs")
    more = ("--hoodie-conf", f"hoodie.write.lock.filesystem.path={tmp_path}/locks")
    (file,) = tell("lock", "show", "-t", copy.path, "-o", "json", *LOCKED, *more).json["result"]["locks"]
    assert (file["path"], file["content"]) == (f"{tmp_path}/locks/lock", "theirs")


@pytest.mark.slow
def test_other_providers_are_shown(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    shown = tell("lock", "show", "-t", copy.path, *NODE).out
    assert "zookeeper://zk:2181/hudi/" in shown
    assert "does not answer" in shown, "the settings are shown all the same"
    assert "not supported" in tell("lock", "show", "-t", copy.path, *STORAGE_BASED).out
    within = "hoodie.write.lock.provider=org.apache.hudi.client.transaction.lock.InProcessLockProvider"
    assert "it works only inside one writer" in tell("lock", "show", "-t", copy.path, "--hoodie-conf", within).out


@pytest.mark.slow
def test_a_lock_in_a_metastore(unpack: Unpack, tell: Tell) -> None:
    """Who holds it is shown, and a command that changes the table waits for it."""
    copy, queue = unpack("v9", "cow_part"), Queue()
    with serving(queue) as uri:
        settings = {"provider": METASTORE, "hivemetastore.uris": uri, "hivemetastore.database": "db"}
        settings |= {"hivemetastore.table": "t"}
        more = [
            text for key, value in settings.items() for text in ("--hoodie-conf", f"hoodie.write.lock.{key}={value}")
        ]
        assert tell("lock", "show", "-t", copy.path, "-o", "json", *more).json["result"]["locks"] == []
        owner = Owner("theirs", "host", "boot", "space", 7, "1", "restore 1")
        with metastore_lock(MetastoreLock("place", uri, "db", "t", 60_000), owner):
            (sign,) = tell("lock", "show", "-t", copy.path, "-o", "json", *more).json["result"]["locks"]
            assert (sign["path"], sign["owner"]) == (f"{uri}/db.t", "hudictl@host (hudictl theirs pid 7: restore 1)")
            assert 200_000 < sign["expires_in_ms"] <= 300_000
            waited = ("--lock-timeout", "0s", "--yes", "--engine", "local")
            said = tell("savepoint", "create", "-t", copy.path, *more, *waited)
            assert (said.code, "another process holds" in said.err) == (12, True)
        assert tell("savepoint", "create", "-t", copy.path, *more, *waited).code == 0
        assert not queue.requests


@pytest.mark.slow
def test_settings_from_a_file(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    """What the command line says wins over it."""
    copy = unpack("v9", "cow_part")
    props = put(tmp_path / "writer.properties", f"hoodie.write.lock.provider={FILE_SYSTEM}\nother.key=1\n")
    shown = tell("lock", "show", "-t", copy.path, "--props", props, "-o", "json").json["result"]
    assert shown["configured"]["provider"] == FILE_SYSTEM
    shown = tell("lock", "show", "-t", copy.path, "--props", props, *NODE, "-o", "json").json["result"]
    assert shown["configured"]["provider"] == ZOOKEEPER
    absent = tell("lock", "show", "-t", copy.path, "--props", tmp_path / "absent", "-o", "json")
    assert (absent.code, absent.error["slug"]) == (10, "not-found")


@pytest.mark.parametrize("value", ["hoodie.write.lock.provider", "=x"])
def test_a_setting_that_is_none(unpack: Unpack, tell: Tell, value: str) -> None:
    copy = unpack("v9", "cow_part")
    assert (
        "--hoodie-conf: value number 1 is not KEY=VALUE"
        in tell("lock", "show", "-t", copy.path, "--hoodie-conf", value).err
    )


# Writing


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("number", range(3))
def test_every_command_that_writes_holds_the_lock(
    unpack: Unpack, tell: Tell, version: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it changes the timeline the file is there, and its own; afterwards it is gone."""
    copy = unpack(version, "cow_savepoints")
    command = commands(copy)[number]
    seen = []

    def watched(method: str) -> None:
        real = getattr(LocalStorage, method)

        def call(self: LocalStorage, what: str, *rest: object) -> object:
            if copy.timeline == Path(self.absolute(what)).parent and what != ".hoodie/lock":
                seen.append(json.loads((copy.meta / "lock").read_bytes())["pid"])
            return real(self, what, *rest)

        monkeypatch.setattr(LocalStorage, method, call)

    for method in ("create", "replace", "_delete"):
        watched(method)
    said = tell(*command, "-t", copy.path, "--yes", *LOCKED)
    assert (said.code, said.err) == (0, "")
    assert set(seen) == {os.getpid()}
    assert not (copy.meta / "lock").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_a_held_lock_is_waited_for_then_refused(unpack: Unpack, tell: Tell, number: int) -> None:
    """Nothing of the table is changed, nor the lock; the error says whose it is."""
    copy = unpack("v9", "cow_savepoints")
    put(copy.meta / "lock", "theirs")
    before = tree(copy.path, ".hoodie/.hudictl")
    command = (*commands(copy)[number], "-t", copy.path, "--yes", *LOCKED, "--lock-timeout", "0s", "-o", "json")
    said = tell(*command)
    assert (said.code, said.error["slug"]) == (12, "conflict")
    assert "theirs" in said.error["message"]
    assert tree(copy.path, ".hoodie/.hudictl") == before
    (copy.meta / "lock").unlink()
    assert tell(*command).code == 0


@pytest.mark.parametrize("number", range(3))
def test_a_lock_in_use_that_is_not_configured_is_a_conflict(unpack: Unpack, tell: Tell, number: int) -> None:
    """Also another one than the configured, and under --no-lock."""
    copy = unpack("v9", "cow_savepoints")
    command = (*commands(copy)[number], "-t", copy.path, "--yes", "-o", "json")
    put(copy.meta / "lock")
    before = tree(copy.path)
    for more in ((), ("--no-lock",)):
        said = tell(*command, *more)
        assert (said.code, said.error["fields"]["file"]) == (12, ".hoodie/lock")
    elsewhere = ("--hoodie-conf", f"hoodie.write.lock.filesystem.path={copy.meta}/.aux")
    assert tell(*command, *LOCKED, *elsewhere).code == 12
    assert tree(copy.path) == before


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_a_provider_that_hudictl_cannot_take(unpack: Unpack, tell: Tell, number: int) -> None:
    """Refused before anything is written, unless the operator takes none."""
    copy = unpack("v9", "cow_savepoints")
    command = (*commands(copy)[number], "-t", copy.path)
    before = tree(copy.path)
    said = tell(*command, "--yes", *STORAGE_BASED, "-o", "json")
    assert (said.code, said.error["slug"]) == (11, "unsupported")
    assert "--no-lock" in said.error["hint"]
    asked = tell(*command, *STORAGE_BASED, "--no-lock", "-o", "json")
    assert (asked.code, asked.error["slug"]) == (2, "usage")
    planned = tell(*command, *STORAGE_BASED, "--no-lock", "--plan")
    assert planned.code == 0
    assert "No lock is taken (--no-lock), although StorageBasedLockProvider is configured." in planned.out
    assert tree(copy.path) == before
    assert tell(*command, *STORAGE_BASED, "--no-lock", "--yes").code == 0


@pytest.mark.parametrize("number", range(3))
def test_a_plan_says_which_lock_is_taken(unpack: Unpack, tell: Tell, number: int) -> None:
    copy = unpack("v9", "cow_savepoints")
    command = (*commands(copy)[number], "-t", copy.path, "--plan")
    assert "No lock is taken: none is configured." in tell(*command).out
    place = f"file://{copy.path}/.hoodie/lock"
    assert f"hudictl takes the lock {place} (FileSystemBasedLockProvider), and waits" in tell(*command, *LOCKED).out
    view = tell(*command, *LOCKED, "-o", "json").json["result"]
    assert (view["lock"]["provider"], view["lock"]["lock"]["place"]) == (FILE_SYSTEM, place)


@pytest.mark.slow
def test_apply_takes_the_lock_that_it_is_told(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    """The plan does not remember one: its settings may hold what a file must not."""
    copy = unpack("v9", "cow_savepoints")
    planned = tell("restore", copy.savepoints[-1], *LOCAL, "-t", copy.path, "--plan", "-o", "json", *LOCKED)
    file = put(tmp_path / "plan", planned.out)
    put(copy.meta / "lock", "theirs")
    waited = tell("apply", file, *LOCAL, *LOCKED, "--lock-timeout", "0s")
    assert waited.code == 12
    assert "theirs" in waited.err
    (copy.meta / "lock").unlink()
    assert tell("apply", file, *LOCAL, *STORAGE_BASED).code == 11
    assert tell("apply", file, *LOCAL, *STORAGE_BASED, "--no-lock").code == 0


@pytest.mark.slow
def test_a_lock_that_is_lost_stops_the_restore(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays pending, and the same command finishes it."""
    copy = unpack("v9", "cow_savepoints")
    command = ("restore", copy.savepoints[-1], *LOCAL, "-t", copy.path, "--yes", "-o", "json", *LOCKED)
    real = os.link

    def link(source: str, target: str, **folders: int) -> None:
        real(source, target, **folders)
        if target.endswith(".restore.inflight"):
            # As a Hudi writer that gives up does.
            (copy.meta / "lock").unlink()

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", link)
        lost = tell(*command)
    assert (lost.code, lost.error["slug"]) == (12, "conflict")
    assert "has lost the lock" in lost.error["message"]
    assert any("restore.inflight" in name for name in copy.having("restore"))
    done = tell(*command)
    assert (done.code, done.err) == (0, "")
    assert done.json["result"]["restore"] in operation_instants(copy.table.storage)


def test_secrets_among_the_settings_are_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line stands in the claim, in the lock, and in the operation's record."""
    arguments = ["--hoodie-conf", "hoodie.x.password=hush", "--hoodie-conf=hoodie.x.secret=hush", *NODE, "--props", "f"]
    monkeypatch.setattr(sys, "argv", ["hudictl", "restore", "S", *arguments])
    shown = command_line()
    assert "hush" not in shown
    assert "--hoodie-conf 'hoodie.x.password=***' '--hoodie-conf=hoodie.x.secret=***'" in shown
    assert "hoodie.write.lock.zookeeper.url=zk:2181" in shown
    assert shown.endswith("--props f")
