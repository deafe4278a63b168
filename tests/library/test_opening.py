"""From a URI, or a profile, to its table; and what options of a program are refused."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import hudictl
from hudictl.errors import HudictlError, NotFound, UsageError
from hudictl.library.table import HudiTable
from hudictl.table.locks.config import FILE_SYSTEM
from tests.cli.conftest import Unpack
from tests.cli.profiles_support import HUSH, Write, copy, profile, write
from tests.helpers import Copy, put

__all__ = ["copy", "write"]


def test_a_table_by_its_path_and_its_uri(copy: Copy) -> None:
    for uri in (copy.path, str(copy.path), f"file://{copy.path}"):
        table = hudictl.open(uri, engine="local")
        assert [row.instant for row in table.savepoints()] == copy.savepoints[::-1]
    assert repr(table) == f"HudiTable('file://{copy.path}', version 9)"


def test_a_table_by_its_profile(write: Write, copy: Copy, unpack: Unpack) -> None:
    """The user's own file, or a given one; what is given wins."""
    write(profile(copy, 'engine = "local"\ntimezone = "Europe/Berlin"'), user=True)
    table = hudictl.open(profile="trips")
    assert (table.uri, table.opened.access.engine.name) == (f"file://{copy.path}", "local")
    assert str(table.core.zone) == "Europe/Berlin"
    assert str(hudictl.open(profile="trips", timezone="UTC-05:00").core.zone) != "Europe/Berlin"
    other = unpack("v9", "cow_part")
    assert hudictl.open(other.path, profile="trips").uri == f"file://{other.path}"
    assert hudictl.open(profile="trips", engine="spark", master="local[2]").opened.access.engine.master == "local[2]"
    given = write(profile(other))
    assert hudictl.open(profile="trips", config=str(given)).uri == f"file://{other.path}"


def test_settings_of_spark_are_those_of_both(write: Write, copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    """References of the profile are hidden from the process list, unless they are given here."""
    monkeypatch.setenv("SPARK_TOKEN", HUSH)
    more = 'master = "local[3]"\n[profiles.trips.spark_conf]\n"a.b" = "1"\n"c.d" = { env = "SPARK_TOKEN" }'
    write(profile(copy, more), user=True)
    engine = hudictl.open(profile="trips", spark_conf={"a.b": "2"}).opened.access.engine
    assert (engine.master, engine.conf, engine.hidden) == ("local[3]", {"a.b": "2", "c.d": HUSH}, {"c.d"})
    assert HUSH not in repr(engine)
    assert hudictl.open(profile="trips", spark_conf={"c.d": "open"}).opened.access.engine.hidden == frozenset()


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({}, UsageError, "no table is given"),
        ({"uri": "/nowhere"}, NotFound, "/nowhere"),
        ({"profile": "nobody"}, UsageError, "there is no profile nobody"),
        ({"engine": "flink"}, UsageError, "engine='flink': write 'spark' or 'local'"),
        ({"engine": "local", "master": "yarn"}, UsageError, "are for Spark"),
        ({"config": "/nowhere.toml", "profile": "trips"}, UsageError, "there is no configuration file /nowhere.toml"),
    ],
)
def test_what_cannot_be_opened(copy: Copy, more: dict[str, Any], error: type[HudictlError], words: str) -> None:
    uri = {"uri": copy.path} if "engine" in more else {}
    with pytest.raises(error, match=words):
        hudictl.open(**uri, **more)


def test_the_lock_of_the_writers_is_taken(copy: Copy) -> None:
    lock = {"hoodie.write.lock.provider": FILE_SYSTEM}
    put(copy.meta / "lock", "", old=False)
    table = hudictl.open(copy.path, engine="local", hoodie_conf=lock, lock_timeout_ms=10)
    planned = table.delete_savepoint(copy.savepoints[0]).plan()
    with pytest.raises(HudictlError, match="lock") as caught:
        planned.execute()
    assert caught.value.slug == "conflict"
    assert len(copy.savepoints) == len(list(table.savepoints()))
    (copy.meta / "lock").unlink()
    planned.execute()
    assert not (copy.meta / "lock").exists()


def test_no_secret_is_in_a_record(write: Write, copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a file, or a comment, has it by chance."""
    monkeypatch.setenv("TOKEN", HUSH)
    write(profile(copy, '[profiles.trips.storage_options]\ntoken = { env = "TOKEN" }'), user=True)
    table = hudictl.open(profile="trips", engine="local")
    assert HUSH not in repr(table) + repr(table.opened) + repr(table.opened.access)
    table.create_savepoint(options=hudictl.SavepointOptions(comment=f"with {HUSH}")).plan().execute()
    (record,) = (copy.meta / ".hudictl/operations").iterdir()
    assert HUSH not in record.read_text()
    assert json.loads(record.read_text())["operation"] == "savepoint create"


def test_no_secret_is_in_an_error(write: Write, copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of references, and of options by their keys: a driver may quote both."""
    monkeypatch.setenv("ENDPOINT", f"{HUSH}-too")
    write(profile(copy, '[profiles.trips.storage_options]\nendpoint = { env = "ENDPOINT" }'), user=True)
    hudictl.open(profile="trips", engine="local", storage_options={"secret": HUSH, "region": "eu-central-1"})
    error = HudictlError(f"{HUSH} and {HUSH}-too in eu-central-1", hint=f"not {HUSH}")
    assert (error.message, str(error), error.hint) == (*["*** and *** in eu-central-1"] * 2, "not ***")


@pytest.mark.slow
def test_a_profile_that_keeps_files(write: Write, copy: Copy) -> None:
    """As for commands: its default holds; what is deleted without it would be gone."""
    write(profile(copy, 'keep_files = "7d"'), user=True)
    options = hudictl.RestoreOptions(delete_later_savepoints=True)

    def kept(table: HudiTable) -> bool:
        plan = table.restore(copy.savepoints[0], options).plan().plan
        assert plan is not None
        return plan.options.keep_files

    assert kept(hudictl.open(profile="trips", engine="local"))
    assert not kept(hudictl.open(profile="trips", engine="local", keep_files=False))
    assert not kept(hudictl.open(copy.path, engine="local"))
    table = hudictl.open(copy.path, engine="local", keep_files=True)
    assert kept(table)
    table.restore(copy.savepoints[0], options).plan().execute()
    assert [row.operation for row in table.undos()] == ["restore"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda table: table.restore("1", hudictl.RestoreOptions(settle_s=0)), "settle_s=0: between 2 and 3600"),
        (lambda table: table.restore("1", hudictl.RestoreOptions(settle_s=math.nan)), "settle_s=nan"),
        (lambda table: table.restore("1", hudictl.RestoreOptions(rule="newest")), "rule='newest': write None or 'req"),
        (lambda table: table.restore("1", hudictl.RestoreOptions(table_type="mor")), "table_type='mor'"),
        (lambda table: table.rollback("1", hudictl.RollbackOptions(metadata="drop")), "metadata='drop': write 'keep'"),
        (lambda table: table.rollback("1", hudictl.RollbackOptions(idle_ms=-1)), "idle_ms=-1: the least is 0"),
        (lambda table: table.delete_orphans(hudictl.OrphanOptions(idle_ms=-1)), "idle_ms=-1"),
        (lambda table: table.undo("1", idle_ms=-1), "idle_ms=-1"),
        (lambda table: table.withdraw_restore(-1), "idle_ms=-1"),
        (lambda table: table.restore("1", hudictl.RestoreOptions(idle_ms="5m")), "idle_ms='5m': write a number"),
        (lambda table: table.undo("1", idle_ms=None), "idle_ms=None: write a number"),
        (lambda table: table.restore("1", {"keep_files": True}), "options={'keep_files': True}: write an object"),
        (lambda table: table.create_savepoint("1", {"user": "x"}), "options="),
        (lambda table: table.prune_savepoints({"last": 3}), "options="),
        (lambda table: table.writers.break_lock(1000), "dead_after_ms=1000: the least is 60 s"),
        (lambda table: table.prune_savepoints(hudictl.PruneOptions(hudictl.KeepRules())), "no rule says"),
        (lambda table: table.prune_savepoints(hudictl.PruneOptions(hudictl.KeepRules(last=-1))), "last=-1"),
        (
            lambda table: table.prune_savepoints(hudictl.PruneOptions(hudictl.KeepRules(last=1), "nightly", True)),
            "--tag nightly and --all",
        ),
        (
            lambda table: table.prune_savepoints(hudictl.PruneOptions(hudictl.KeepRules(last=1), "no tag")),
            "tag no tag: not a tag",
        ),
        (lambda table: table.restore(20261121030417808), "to=20261121030417808: write a text"),
        (lambda table: table.restore(None), "to=None: write a text"),
        (lambda table: table.rollback(1), "instant=1"),
        (lambda table: table.create_savepoint(1), "instant=1"),
        (lambda table: table.delete_savepoint(1), "instant=1"),
        (lambda table: table.undo(None), "instant=None"),
        (lambda table: table.drop_undo(1), "instant=1"),
        (lambda table: table.copy("/tmp/absent", 1), "as_of=1"),
        (lambda table: table.writers.delete_heartbeat(1), "instant=1"),
        (lambda table: table.writers.delete_markers(1), "instant=1"),
        (lambda table: table.timeline(limit=-1), "limit=-1: the least is 0"),
        (lambda table: table.timeline(states=["done"]), "states: there is no 'done'"),
        (lambda table: table.timeline_pairs(actions="commits"), "actions: there is no 'commits'"),
        (lambda table: table.records.find(1), "key=1: write a text"),
        (lambda table: table.records.history(1), "key=1: write a text"),
        (lambda table: list(table.timeline(since=20261121)), "--since 20261121: not a time"),
        (lambda table: table.delete_orphans(hudictl.OrphanOptions(paths="a")), r"paths='a': write \('a',\)"),
        (lambda table: table.copy("/tmp/absent", "1", hudictl.CopyOptions(partitions="a")), "partitions='a'"),
        (lambda table: table.restore("1", hudictl.RestoreOptions(require_index="files")), "require_index='files'"),
        (lambda table: table.create_savepoint(tag="no tag"), "tag no tag: not a tag"),
        (lambda table: table.create_savepoint(every="1d"), "--every needs a --tag"),
        (lambda table: table.drop_undo(), "either instants, or an age"),
        (lambda table: table.drop_undo("1", older_than="1d"), "either instants, or an age"),
        (lambda table: table.log("a", partition="b"), "paths exclude"),
        (lambda table: table.clean_failed_writes("all"), "policy='all'"),
        (lambda table: list(table.files.sizes(by="day")), "by='day'"),
        (lambda table: list(table.files.sizes(of="logs")), "of='logs'"),
    ],
)
def test_options_that_no_command_lets_through(copy: Copy, call: Any, words: str) -> None:
    """Before anything is planned: a program is held to what the command line allows."""
    with pytest.raises(UsageError, match=words):
        call(hudictl.open(copy.path, engine="local"))


def test_an_action_or_a_state_alone(copy: Copy) -> None:
    """Its letters are not meant: "commit" is in "deltacommit", too."""
    table = hudictl.open(copy.path, engine="local")
    assert {row.action for row in table.timeline("commit", "completed")} == {"commit"}
    assert list(table.timeline(states=["COMPLETED"])) == list(table.timeline(states=["completed"]))
    assert not list(table.timeline("deltacommit"))
    assert {row.action for row in table.timeline_pairs("commit")} == {"commit"}
    assert {lane.action for lane in table.pictures.bars("commit").lanes} == {"commit"}


def test_a_savepoint_each_day(copy: Copy) -> None:
    table = hudictl.open(copy.path, engine="local")
    table.create_savepoint(copy.commits[-1], tag="nightly").plan().execute()
    planned = table.create_savepoint(tag="nightly", every="3650d").plan()
    assert planned.plan is None
    assert "is younger than 3650d: nothing to do" in str(planned.nothing)
    assert planned.execute() is None
    with pytest.raises(UsageError, match="there is no plan: the savepoint"):
        planned.to_json()


def test_a_copy_goes_on_and_is_done(copy: Copy, tmp_path: Path) -> None:
    table = hudictl.open(copy.path, engine="local")
    to = f"{tmp_path}/copied"
    options = hudictl.CopyOptions(partitions=("part-1", "part-0", "part-0"))
    result = table.copy(to, copy.commits[0], options).plan().execute()
    assert result is not None
    nothing = table.copy(to, copy.commits[0], options).plan().nothing
    assert nothing == f"the copy at file://{to} is done, and verified: nothing to do"
    assert {row.partition for row in hudictl.open(to, engine="local").partitions()} == {"part-0", "part-1"}


@pytest.mark.parametrize("word", ["limit", "untill", "actions"])
def test_an_argument_that_there_is_not(copy: Copy, word: str) -> None:
    """It is not taken for no condition."""
    with hudictl.open(copy.path) as table, pytest.raises(UsageError, match=f"^{word}: no such argument"):
        list(table.commits(**{word: "7d"}))
