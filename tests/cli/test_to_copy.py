"""Commands to copy: what is printed can be run as it is, and nothing of a table becomes such a command."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from hudictl.cli.main import hudictl
from hudictl.cli.to_copy import ToCopy
from hudictl.phrases import command_of
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.cli.every_command import changes, looks
from tests.helpers import Copy, put, through_shell

LOCAL = ("--engine", "local")
GIVEN = ToCopy(hudictl, {"--table": ["lake/trips"], "--engine": ["local"], "--config": ["my.toml"]})


@pytest.mark.parametrize(
    ("command", "completed"),
    [
        ("hudictl resume", "hudictl --config=my.toml resume --table=lake/trips --engine=local"),
        (
            "hudictl savepoint show --verify -- -x",
            "hudictl --config=my.toml savepoint show --table=lake/trips --engine=local --verify -- -x",
        ),
        (
            "hudictl history show 20261121030000000",
            "hudictl --config=my.toml history show --table=lake/trips --engine=local 20261121030000000",
        ),
        ("hudictl check --engine=spark", "hudictl --config=my.toml check --table=lake/trips --engine=spark"),
        ("hudictl config list", "hudictl config list"),
        ("hudictl restore --help", "hudictl restore --help"),
        ("hudictl", "hudictl"),
        ("hudictl resume it's", "hudictl resume it's"),
        ("hudictl no-such", "hudictl no-such"),
    ],
)
def test_the_options_are_behind_the_commands_own_words(command: str, completed: str) -> None:
    assert GIVEN.command(command) == completed
    assert GIVEN.command(completed) == completed


@pytest.mark.parametrize(
    "name", ["--help", "--table=other", "it's --table=other", "a -- --engine=spark", "\x1b --help"]
)
def test_no_name_of_a_table_keeps_the_options_away(name: str) -> None:
    words = through_shell(GIVEN.command(command_of("marker delete", name)))
    assert words[:5] == ["--config=my.toml", "marker", "delete", "--table=lake/trips", "--engine=local"]
    assert words[-1] == name


def test_of_several_tables_a_command_for_one_gets_none() -> None:
    several = ToCopy(hudictl, {"--table": ["a", "b"]})
    assert several.command("hudictl resume") == "hudictl resume"
    assert several.command("hudictl check") == "hudictl check --table=a --table=b"


@pytest.mark.parametrize("name", ["my lake", "it's", "-lake", "`id`", "$(id)", "lin\ne", 'a"b', "gr\xf6\xdfe"])
def test_any_table_reaches_hudictl_through_a_shell(
    tell: Tell, unpack: Unpack, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.move(unpack("v9", "mor_failed_lazy").path, tmp_path / name)
    (way,) = tell("table", "show", f"--table={name}", *LOCAL, "-o", "json").json["result"]["remedy"]
    words = through_shell(way["command"])
    assert words == ["failed-writes", "clean", f"--table={name}", "--engine=local"]
    assert tell(*words, "--plan").code == 0


def remedies(tell: Tell, copy: Copy, *more: object) -> set[str]:
    """The commands by which all that look at a table's failed write end it, as they are printed and in JSON."""
    found = set()
    for look in (("table", "show"), ("failed-writes", "list"), ("check", "--idle", "0s")):
        document = tell(*look, *more, "-o", "json").json
        rows = document["rows"] if "rows" in document else [document["result"]]
        commands = [way["command"] for row in rows for way in row["remedy"]]
        assert all(f"`{command}`" in tell(*look, *more).out for command in commands)
        found.update(commands)
    return found


def test_what_the_command_line_gives_is_named(tell: Tell, unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    props = put(tmp_path / "writers.properties", "hoodie.keep.max.commits=30\n")
    more = ("--timezone", "UTC", "--props", props, "--interval", "1m")
    assert remedies(tell, copy, "-t", copy.path, *more, *LOCAL) == {
        f"hudictl failed-writes clean --table={copy.path} --timezone=UTC --props={props} --interval=1m --engine=local"
    }
    cluster = ("--master", "local[1]", "--conf", "spark.executor.cores=2", "--conf", "a.b=c", "--shared-filesystem")
    (way,) = tell("table", "show", "-t", copy.path, *cluster, "-o", "json").json["result"]["remedy"]
    assert way["command"].endswith(" --master='local[1]' --conf=spark.executor.cores=2 --shared-filesystem")


@pytest.mark.slow
def test_what_still_holds_without_being_named_is_not(
    tell: Tell, unpack: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    config = put(tmp_path / "hudictl.toml", f'[profiles.trips]\nuri = "{copy.path}"\nengine = "local"\n')
    config.chmod(0o600)
    monkeypatch.setenv("HUDICTL_TABLE", str(copy.path))
    monkeypatch.setenv("HUDICTL_ENGINE", "local")
    assert remedies(tell, copy) == {"hudictl failed-writes clean"}
    monkeypatch.delenv("HUDICTL_TABLE")
    monkeypatch.setenv("HUDICTL_CONFIG", str(config))
    assert remedies(tell, copy, "--profile", "trips") == {"hudictl failed-writes clean --profile=trips"}
    assert remedies(tell, copy, "-t", "trips") == {"hudictl failed-writes clean --table=trips"}
    monkeypatch.setenv("HUDICTL_PROFILE", "trips")
    assert remedies(tell, copy) == {"hudictl failed-writes clean"}
    monkeypatch.delenv("HUDICTL_CONFIG")
    said = tell("--config", config, "resume", "--withdraw", "--plan")
    assert f"`hudictl --config={config} resume` finishes pending restores" in said.err


@pytest.mark.parametrize(
    ("name", "kind"), [("mor_restore_interrupted", "restore"), ("cow_rollback_interrupted", "rollback")]
)
def test_what_a_pending_one_waits_for(tell: Tell, unpack: Unpack, name: str, kind: str) -> None:
    copy = unpack("v9", name)
    (row,) = tell(kind, "list", "--where", "state=INFLIGHT", "-t", copy.path, "-o", "json").json["rows"]
    (note, *_) = tell(kind, "show", row["time"], "-t", copy.path, *LOCAL, "-o", "json").json["notes"]
    assert f"`hudictl resume --table={copy.path} --engine=local" in note
    assert note == f"INFLIGHT: {row['diagnosis']}".replace(
        f"--table={copy.path}", f"--table={copy.path} --engine=local"
    )
    assert row["diagnosis"] in tell(kind, "list", "-t", copy.path).out


def test_a_secret_is_left_out(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    options = ("--storage-option", "secret=hush-hush", "--storage-option", "anon=false", "--hoodie-conf", "a.key=hush")
    said = tell("table", "show", "-t", copy.path, *options, "-o", "json")
    (way,) = said.json["result"]["remedy"]
    assert way["command"] == f"hudictl failed-writes clean --table={copy.path} --storage-option=anon=false"
    assert "hush" not in said.out + said.err
    refused = tell("rollback", "1", "-t", copy.path, *options)
    assert f"`hudictl timeline show --table={copy.path} --storage-option=anon=false --archived`" in refused.err
    assert "hush" not in refused.err


def test_of_several_tables_each_is_named_as_the_operator_does(
    tell: Tell, unpack: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed, armed = unpack("v9", "mor_failed_lazy"), unpack("v9", "cow_rollback_interrupted")
    monkeypatch.chdir(failed.path.parent)
    listed = put(tmp_path / "tables.txt", f"{armed.path}\n{tmp_path}/nowhere\n")
    said = tell("check", "-t", "table", "--tables", listed, *LOCAL, "--idle", "0s", "-o", "json")
    found = {row["finding"]: [way["command"] for way in row["remedy"]] for row in said.json["rows"]}
    assert found["failed-write"] == ["hudictl failed-writes clean --table=table --engine=local"]
    assert all(f" --table={armed.path} --engine=local " in f"{command} " for command in found["armed-rollback"])
    assert len(found["armed-rollback"]) == 2


def test_a_saved_plan_names_its_table(tell: Tell, unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    plan = put(tmp_path / "plan.json", tell("restore", target, "--plan", *LOCAL, "-t", copy.path, "-o", "json").out)
    saved = json.loads(plan.read_text())["table"]
    for path in copy.timeline.glob(f"{target}*"):
        path.unlink()
    said = tell("apply", plan, *LOCAL)
    assert said.code == 13
    assert f"`hudictl timeline show --table={saved} --engine=local --archived`" in said.err


STRANGER = "`hudictl savepoint delete 20200101000000000`"
"""What hudictl never names here."""


def strange(copy: Copy) -> None:
    """A table in which partitions, comments, users, columns, indexes and extra metadata are like a command."""
    words = json.dumps(STRANGER)[1:-1]
    shutil.rmtree(copy.meta / "metadata")
    for path in copy.meta.iterdir():
        body = path.read_bytes() if path.is_file() else b""
        if body.startswith(b"{"):
            known = json.loads(body.decode().replace("part-0", words))
            put(path, json.dumps(known | {"extraMetadata": {"hint": STRANGER, STRANGER: STRANGER}}))
    (copy.path / "part-0").rename(copy.path / STRANGER)
    put(copy.path / STRANGER / f"{STRANGER}.parquet")
    put(copy.path / STRANGER / "nested/.hoodie/hoodie.properties")
    put(copy.meta / ".temp" / STRANGER / "p/f.parquet.marker.CREATE")
    put(copy.meta / ".heartbeat" / STRANGER)
    put(copy.meta / "metadata" / STRANGER / ".hoodie_partition_metadata")
    with open(copy.meta / "hoodie.properties", "a") as file:
        file.write(f"hoodie.table.metadata.partitions={STRANGER}\nhoodie.table.partition.fields={STRANGER}\n")


def lines_of(copy: Copy) -> list[tuple[str, ...]]:
    more = [
        ("metadata", "files", "no-such"),
        ("metadata", "drop", "no-such", "--idle", "0s"),
        ("rollback", copy.commits[0], *LOCAL, "--require-index", "no-such", "--idle", "0s"),
        ("restore", "--to-instant", copy.commits[0], *LOCAL, "--idle", "0s"),
    ]
    looked = [command.words for command in looks(copy) if command.words[:2] != ("log", "records")]
    return [*looked, *((*words, "--plan") for words in [*(one.words for one in changes(copy)), *more[1:]]), more[0]]


@pytest.mark.slow
@pytest.mark.parametrize("output", [(), ("-o", "json")], ids=["text", "json"])
def test_what_a_table_says_never_becomes_a_command(unpack: Unpack, tell: Tell, output: tuple[str, ...]) -> None:
    copy = unpack("v6", "mor_failed_lazy")
    strange(copy)
    told: set[tuple[str, ...]] = set()
    for words in lines_of(copy):
        said = tell(*words, *output, "-t", copy.path)
        text = said.out + said.err
        assert "savepoint delete --" not in text, words
        if said.err and not output:
            # The hint has the names of a table as words of a shell.
            assert STRANGER not in said.line.rpartition(" (")[2], words
        told |= {words[:2]} if STRANGER in text else set()
    # Else nothing would be tried.
    assert len(told) > 5, told


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_refused_rollback_names_the_restore_that_removes_all(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    before, target, *later = copy.commits
    said = tell("rollback", target, "-t", copy.path, *LOCAL, "--plan")
    assert said.code == 13
    command = f"hudictl restore --table={copy.path} --engine=local --to-instant={before} --plan"
    assert f"one restore: `{command}`" in said.err
    planned = tell(*shlex.split(command)[1:], "-o", "json")
    assert planned.code == 0
    assert {row["time"] for row in planned.json["result"]["instants"]} == {target, *later}


def test_where_nothing_is_before_it_there_is_no_restore(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    said = tell("rollback", copy.commits[0], "-t", copy.path, *LOCAL, "--plan")
    assert said.code == 13
    assert "restore" not in said.err
