"""Profiles: which one is used, and what wins over it."""

import os
import re
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.engine.open import open_engine
from hudictl.errors import StorageFailed
from hudictl.storage.local import LocalStorage
from tests.cli.conftest import Tell, Unpack
from tests.cli.profiles_support import HUSH, LOCK, Write, copy, locking, profile, write
from tests.helpers import Copy, replace_function
from tests.s3 import S3, SECRET

__all__ = ["copy", "write"]

ROOT = Path(__file__).parent.parent.parent


def facts(tell: Tell, *options: object) -> str:
    """What is shown of the table that is meant."""
    said = tell("table", "show", *options)
    assert said.code == 0
    return said.out.partition("\nwhat to do")[0]


def test_a_table_has_a_name(write: Write, copy: Copy, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    write(profile(copy))
    shown = facts(tell, "-t", copy.path)
    assert facts(tell, "-t", "trips") == shown
    assert facts(tell, "--profile", "trips") == shown
    monkeypatch.setenv("HUDICTL_TABLE", "trips")
    assert facts(tell) == shown
    monkeypatch.setenv("HUDICTL_TABLE", "/nowhere")
    assert facts(tell, "--profile", "trips") == shown
    monkeypatch.delenv("HUDICTL_TABLE")
    monkeypatch.setenv("HUDICTL_PROFILE", "trips")
    assert facts(tell) == shown


def test_a_table_of_the_command_line_wins_over_that_of_the_profile(
    write: Write, unpack: Unpack, copy: Copy, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = unpack("v9", "mor_savepoints")
    write(profile(copy) + profile(other, name="other"))
    shown = facts(tell, "-t", other.path)
    assert facts(tell, "--profile", "trips", "-t", other.path) == shown
    monkeypatch.setenv("HUDICTL_PROFILE", "trips")
    assert facts(tell, "-t", other.path) == shown
    assert facts(tell, "-t", "other") == shown
    said = tell("table", "show", "-t", "other", "--profile", "trips")
    assert said.code == 2
    assert "-t other is a profile" in said.line


def test_the_profile_of_a_given_file_replaces_the_users_as_a_whole(
    write: Write, unpack: Unpack, copy: Copy, tell: Tell
) -> None:
    other = unpack("v9", "mor_savepoints")
    write(profile(copy) + locking() + "\n" + profile(copy, name="mine"), user=True)
    write(profile(other))
    assert facts(tell, "-t", "trips") == facts(tell, "-t", other.path)
    assert LOCK not in tell("lock", "show", "-t", "trips").out
    assert tell("table", "show", "-t", "mine").code == 0


def test_a_folder_of_the_same_name_is_told_apart(write: Write, copy: Copy, tell: Tell) -> None:
    file = write(profile(copy))
    os.symlink(copy.path, file.parent / "trips")
    said = tell("table", "show", "-t", "trips")
    assert said.code == 2
    assert "use --profile trips for the profile, -t ./trips for the folder" in said.line
    assert tell("table", "show", "--profile", "trips").code == 0
    assert tell("table", "show", "-t", "./trips").code == 0


def test_a_name_that_is_mistyped_is_found(write: Write, copy: Copy, tell: Tell) -> None:
    write(profile(copy))
    said = tell("table", "show", "--profile", "tripz")
    assert (said.code, "there is no profile tripz (profiles: trips; " in said.line) == (2, True)
    said = tell("table", "show", "-t", "tripz")
    assert (said.code, "no profile and no folder tripz (profiles: trips; " in said.line) == (10, True)


def test_a_profile_without_table_gives_settings_alone(write: Write, copy: Copy, tell: Tell) -> None:
    write(f"[profiles.locks]\n{locking('locks')}")
    assert LOCK in tell("lock", "show", "--profile", "locks", "-t", copy.path).out
    said = tell("table", "show", "-t", "locks")
    assert (said.code, "use --profile locks -t URI" in said.line) == (2, True)
    assert tell("table", "show", "--profile", "locks").code == 2


def test_a_wrong_file_matters_only_where_it_is_read(write: Write, copy: Copy, tell: Tell) -> None:
    file = write("[profiles.t]\nurl = 'x'")
    assert tell("table", "show", "-t", copy.path).code == 0
    said = tell("table", "show", "-t", "t")
    assert said.code == 2
    assert f"{file}: profile t: unknown key url (known: uri, " in said.line


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """How the engine was opened; threads work in its place."""
    found: list[dict[str, Any]] = []

    def open_it(name: str, master: str | None = None, conf: Any = None, **more: Any) -> LocalEngine:
        found.append({"name": name, "master": master, "conf": dict(conf or {}), **more})
        open_engine("local")
        return LocalEngine()

    monkeypatch.setattr("hudictl.engine.open.open_engine", open_it)
    return found


@pytest.mark.usefixtures("default_engine")
def test_the_command_line_wins_over_variables_and_these_over_the_profile(
    write: Write, copy: Copy, tell: Tell, monkeypatch: pytest.MonkeyPatch, opened: list[dict[str, Any]]
) -> None:
    write(
        profile(
            copy,
            """
            timezone = "Asia/Tokyo"
            engine = "spark"
            master = "local[3]"
            shared_filesystem = true
            [profiles.trips.spark_conf]
            spark.a = 1
            spark.b = 1
            """,
        )
    )
    slices = ("file", "slices", "-t", "trips")
    assert tell(*slices).code == 0
    assert opened[-1] | {"look": 0} == {
        "name": "spark",
        "master": "local[3]",
        "conf": {"spark.a": "1", "spark.b": "1"},
        "one_jvm": False,
        "hidden": frozenset(),
        "look": 0,
    }
    monkeypatch.setenv("HUDICTL_MASTER", "local[4]")
    monkeypatch.setenv("HUDICTL_CONF", "spark.b=2")
    tell(*slices)
    assert (opened[-1]["master"], opened[-1]["conf"]) == ("local[4]", {"spark.a": "1", "spark.b": "2"})
    tell(*slices, "--master", "local[5]", "--conf", "spark.b=3", "--conf", "spark.c=3")
    assert (opened[-1]["master"], opened[-1]["conf"]) == ("local[5]", {"spark.a": "1", "spark.b": "3", "spark.c": "3"})
    monkeypatch.delenv("HUDICTL_MASTER")
    monkeypatch.delenv("HUDICTL_CONF")
    tell(*slices, "--engine", "local")
    assert (opened[-1]["name"], opened[-1]["master"], opened[-1]["conf"]) == ("local", None, {})
    monkeypatch.setenv("HUDICTL_ENGINE", "local")
    tell(*slices)
    assert opened[-1]["name"] == "local"


@pytest.mark.usefixtures("default_engine")
def test_an_option_of_spark_beside_a_profile_with_threads_says_what_to_add(
    write: Write, copy: Copy, tell: Tell
) -> None:
    write(profile(copy, 'engine = "local"'))
    assert tell("file", "slices", "-t", "trips").code == 0
    said = tell("file", "slices", "-t", "trips", "--master", "local[1]")
    assert (said.code, "the profile trips has engine = local: add --engine spark" in said.line) == (2, True)


def test_the_zone_of_the_profile(write: Write, copy: Copy, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    write(profile(copy, 'timezone = "Asia/Tokyo"'))

    def utc() -> str:
        return str(tell("timeline", "show", "-t", "trips", "-o", "json").json["rows"][0]["requested_utc"])

    tokyo = utc()
    monkeypatch.setenv("HUDICTL_TIMEZONE", "UTC")
    assert utc() != tokyo
    shown = tell("timeline", "show", "-t", "trips", "--timezone", "Asia/Tokyo", "-o", "json").json["rows"]
    assert shown[0]["requested_utc"] == tokyo


def test_lock_settings_merge_by_key(write: Write, copy: Copy, tell: Tell, tmp_path: Path) -> None:
    """The file of the profile, its single settings, the file of the command line, its single settings."""
    kept = write(profile(copy, f'props = "kept.properties"\n{locking()}\nhoodie.write.lock.client.num_retries = 2'))
    pause = "hoodie.write.lock.client.wait_time_ms_between_retry"
    (kept.parent / "kept.properties").write_text(f"hoodie.write.lock.client.num_retries=1\n{pause}=100000\n")

    def wait_ms(*arguments: str) -> int:
        found = tell("lock", "show", "-t", "trips", "-o", "json", *arguments).json["result"]["configured"]
        assert found["provider"] == LOCK
        return int(found["wait_ms"])

    assert wait_ms() == 200_000
    (tmp_path / "given").write_text("hoodie.write.lock.client.num_retries=3")
    given = ("--props", str(tmp_path / "given"))
    assert wait_ms(*given) == 300_000
    assert wait_ms(*given, "--hoodie-conf", f"{pause}=200000") == 600_000
    assert wait_ms("--lock-timeout", "5s") == 5000


def test_settings_for_thresholds_come_from_the_profile_too(write: Write, copy: Copy, tell: Tell) -> None:
    write(profile(copy, "[profiles.trips.hoodie_conf]\nhoodie.keep.max.commits = 77"))
    assert "hoodie.keep.max.commits=77" in tell("why", "archive", "-t", "trips", "--assume-defaults").out.replace(
        " ", ""
    )


def test_a_plan_says_where_its_lock_settings_are_from(write: Write, copy: Copy, tell: Tell) -> None:
    file = write(profile(copy, locking()))
    planned = ("savepoint", "create", copy.commits[0], "--plan", "--engine", "local")
    line = f"Lock settings: from the profile trips ({file})."
    assert line in tell(*planned, "-t", "trips").out
    assert line in tell(*planned, "-t", "trips", "-o", "json").json["notes"]
    more = ("--hoodie-conf", "hoodie.write.lock.filesystem.expire=1")
    assert f"({file}), and from the command line." in tell(*planned, "-t", "trips", *more).out
    assert (
        "Lock settings"
        not in tell(*planned, "-t", copy.path, "--hoodie-conf", f"hoodie.write.lock.provider={LOCK}").out
    )
    assert "Lock settings" not in tell(*planned, "-t", "trips", "--no-lock").out


def test_the_lock_of_the_profile_is_taken(write: Write, copy: Copy, tell: Tell) -> None:
    """A plan has no lock settings: ``apply`` gets them from the profile, too."""
    write(profile(copy, locking()))
    create = ("savepoint", "create", copy.commits[0], "--engine", "local")
    Path("plan.json").write_text(tell(*create, "-t", "trips", "--plan", "-o", "json").out)
    lock = copy.meta / "lock"
    lock.touch()
    for command in (
        (*create, "-t", "trips", "--yes"),
        ("apply", "plan.json", "--profile", "trips", "--engine", "local"),
        ("apply", "plan.json", "-t", "trips", "--engine", "local"),
    ):
        said = tell(*command, "--lock-timeout", "0s")
        assert (said.code, "another process holds" in said.line) == (12, True), said.err
    lock.unlink()
    assert tell("apply", "plan.json", "--profile", "trips", "--engine", "local").code == 0


def test_a_plan_is_not_applied_with_the_locks_of_another_table(
    write: Write, copy: Copy, unpack: Unpack, tell: Tell
) -> None:
    other = unpack("v9", "mor_savepoints")
    write(profile(copy) + profile(other, name="other"))
    planned = tell("savepoint", "create", copy.commits[0], "-t", "trips", "--plan", "-o", "json", "--engine", "local")
    Path("plan.json").write_text(planned.out)
    said = tell("apply", "plan.json", "--profile", "other", "--engine", "local")
    assert said.code == 2
    assert f"the plan is for file://{copy.path}, but the profile other is for {other.path}" in said.line


@pytest.mark.usefixtures("default_engine")
def test_several_tables_have_their_own_settings(
    write: Write, copy: Copy, unpack: Unpack, tell: Tell, opened: list[dict[str, Any]]
) -> None:
    other = unpack("v9", "mor_savepoints")
    write(
        profile(copy, 'master = "local[2]"\n[profiles.trips.hoodie_conf]\nhoodie.keep.max.commits = 1')
        + profile(other, 'timezone = "Europe/Nowhere"', name="other")
    )
    Path("tables").write_text(f"# lake\ntrips\n{other.path}\ntrips\n")
    shown = tell("check", "--tables", "tables", "-o", "json").json["rows"]
    assert {row["table"] for row in shown if "keep.max" in row["meaning"]} <= {f"file://{copy.path}"}
    assert opened[-1]["master"] == "local[2]"
    rows = tell("check", "-t", "trips", "-t", "other", "-o", "json").json["rows"]
    (failed,) = (row for row in rows if row["finding"] == "not-checked")
    assert failed["table"] == f"file://{other.path}"
    assert "Europe/Nowhere" in failed["meaning"]


@pytest.mark.slow
@pytest.mark.usefixtures("default_engine")
def test_several_tables_with_other_engines_need_a_choice(
    write: Write, copy: Copy, unpack: Unpack, tell: Tell, opened: list[dict[str, Any]]
) -> None:
    other = unpack("v9", "mor_savepoints")
    write(profile(copy, 'engine = "local"') + profile(other, 'master = "yarn"', name="other"))
    said = tell("check", "-t", "trips", "-t", "other")
    assert said.code == 2
    assert "the profiles trips, other have different settings of the engine (use --engine" in said.line
    tell("check", "-t", "trips", "-t", "other", "--engine", "spark")
    assert (opened[-1]["name"], opened[-1]["master"]) == ("spark", "yarn")
    tell("check", "-t", "trips", "--engine", "spark")
    assert (opened[-1]["name"], opened[-1]["master"]) == ("spark", None)
    write(profile(copy, 'master = "local[2]"') + profile(other, 'master = "yarn"', name="other"))
    assert tell("check", "-t", "trips", "-t", "other").code == 2
    tell("check", "-t", "trips", "-t", "other", "--engine", "spark")
    assert opened[-1]["master"] is None


def test_paths_of_logs_use_the_options_of_a_profile(
    write: Write, unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    write(profile(copy, '[profiles.trips.storage_options]\nkey = { env = "MISSING" }'))
    said = tell("log", "inspect", copy.path / "part-0", "--profile", "trips")
    assert (said.code, "storage_options.key: the variable MISSING is not set" in said.line) == (2, True)
    monkeypatch.setenv("MISSING", "x")
    assert tell("log", "inspect", copy.path / "part-0", "--profile", "trips").code == 0
    assert tell("log", "inspect", "--partition", "part-0", "-t", "trips").code == 0


@pytest.mark.slow
def test_completion_knows_profiles_and_their_tables(write: Write, copy: Copy) -> None:
    write(profile(copy) + "[profiles.others]")

    def completed(*words: str) -> str:
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "_HUDICTL_COMPLETE": "bash_complete",
            "COMP_WORDS": f"hudictl {' '.join(words)}",
            "COMP_CWORD": words[-1],
        }
        command = [sys.executable, "-m", "hudictl"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout

    assert completed("table", "show", "--profile", "tr") == "plain,trips\n"
    assert re.search(copy.savepoints[0], completed("restore", "-t", "trips", "2"))
    assert completed("restore", "-t", "nobody", "2").strip() == ""


class Leaky:
    """A store whose errors tell its options."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    def __call__(self, *_: object, **__: object) -> None:
        raise StorageFailed(f"cannot connect with {self.secret}", hint=f"not with {self.secret}")


def texts(folder: Path) -> str:
    return "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_secrets_are_printed_and_stored_nowhere(
    s3: S3, write: Write, tell: Tell, copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by plans, records, claims, locks, --verbose, nor by what is said about profiles and stores."""
    monkeypatch.setenv("LAKE_SECRET", SECRET)
    bodies: list[bytes] = []

    def noted(environment: dict[str, Any], *_: object) -> None:
        body = environment["wsgi.input"].read(int(environment.get("CONTENT_LENGTH") or 0))
        environment["wsgi.input"] = BytesIO(body)
        bodies.append(body)

    uri = s3.upload(copy.path, "secrets")
    write(
        f"""
        [profiles.trips]
        uri = "{uri}"
        [profiles.trips.storage_options]
        key = "the-key"
        secret = {{ env = "LAKE_SECRET" }}
        endpoint_url = "{s3.endpoint}"
        client_kwargs = {{ region_name = "us-east-1" }}
        [profiles.trips.hoodie_conf]
        hoodie.write.lock.provider = "{LOCK}"
        hoodie.fs.atomic_creation.support = "s3a"
        hoodie.aws.secret.key = {{ env = "LAKE_SECRET" }}
        [profiles.trips.spark_conf]
        spark.hadoop.fs.s3a.secret.key = {{ env = "LAKE_SECRET" }}
        """
    )
    here = ("-t", "trips", "--engine", "local", "-v")
    with s3.interfering(noted):
        said = [
            tell("restore", copy.savepoints[-1], *here, "--plan", "-o", "json"),
            tell("savepoint", "create", *here, "--yes", "-o", "json"),
            tell("history", *here),
            tell("lock", "show", *here),
            tell("check", *here, "--assume-defaults"),
            tell("config", "list", "-o", "json"),
            tell("doctor", *here),
        ]
    assert [entry.code for entry in said[:5]] == [0] * 5, [entry.err for entry in said]
    assert "storage options key and secret" in said[-1].out
    assert not any(SECRET in entry.out + entry.err for entry in said)
    assert any(b"savepoint create" in body and b"attempts" in body for body in bodies)
    assert not any(SECRET.encode() in body for body in bodies)


@pytest.mark.parametrize("output", ["text", "json"])
def test_an_error_of_a_driver_does_not_tell_secrets(
    write: Write, tell: Tell, copy: Copy, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    monkeypatch.setenv("LAKE_SECRET", HUSH)
    write(profile(copy, '[profiles.trips.storage_options]\nsecret = { env = "LAKE_SECRET" }'))
    here = ("-t", "trips", "--engine", "local", "-o", output)
    # In the middle of a change: its record has the error, too.
    monkeypatch.setattr("hudictl.ops.savepoint.execute.create_instant_file", Leaky(HUSH))
    said = [tell("savepoint", "create", copy.commits[0], *here, "--yes"), tell("history", *here)]
    assert (said[0].code, "cannot connect with ***" in said[0].err) == (15, True), said
    said.append(tell("history", "show", re.findall(r"\d{17}", said[1].out)[0], *here))
    assert "cannot connect with ***" in said[2].out
    monkeypatch.setattr(LocalStorage, "read", Leaky(HUSH))
    monkeypatch.setattr(LocalStorage, "list", Leaky(HUSH))
    said += [
        tell("table", "show", *here[:2], "-o", output),
        tell("doctor", *here),
    ]
    said.append(tell("check", "-t", "trips", "-t", copy.path.parent / "none", *here[2:]))
    assert "not-checked" in said[-1].out
    assert not any(HUSH in entry.out + entry.err for entry in said)
    assert HUSH not in texts(copy.path)


def test_a_row_with_an_error_does_not_tell_secrets(
    write: Write, tell: Tell, unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE_SECRET", HUSH)
    write(
        profile(unpack("v9", "mor_failed_lazy"), '[profiles.trips.storage_options]\nsecret = { env = "LAKE_SECRET" }')
    )
    monkeypatch.setattr("hudictl.ops.rollback.failed.plan_rollback", Leaky(HUSH))
    said = tell("failed-writes", "clean", "-t", "trips", "--plan", "--engine", "local", "-o", "json")
    assert said.json["rows"][0]["message"].startswith("cannot connect with ***")
    assert HUSH not in said.out + said.err


def test_a_bug_does_not_tell_secrets(write: Write, tell: Tell, copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_SECRET", HUSH)
    write(profile(copy, '[profiles.trips.storage_options]\nsecret = { env = "LAKE_SECRET" }'))

    def bug(*_: object) -> None:
        raise RuntimeError(f"bug in {HUSH}")

    replace_function(monkeypatch, "hudictl.table.open.table_at", bug)
    said = tell("table", "show", "-t", "trips")
    assert (said.code, "bug in ***" in said.line) == (1, True)
    monkeypatch.setenv("HUDICTL_DEBUG", "1")
    said = tell("table", "show", "-t", "trips")
    assert ("Traceback" in said.err, "RuntimeError: bug in ***" in said.err, HUSH in said.err) == (True, True, False)


@pytest.mark.usefixtures("default_engine")
def test_settings_of_spark_by_reference_are_kept_out_of_the_jvms_command_line(
    write: Write, tell: Tell, copy: Copy, monkeypatch: pytest.MonkeyPatch, opened: list[dict[str, Any]]
) -> None:
    """Every user of the host can read it there; ``tests/engine/test_spark.py`` proves the rest."""
    monkeypatch.setenv("LAKE_SECRET", HUSH)
    write(profile(copy, '[profiles.trips.spark_conf]\nspark.a = 1\nspark.secret = { env = "LAKE_SECRET" }'))
    assert tell("file", "slices", "-t", "trips").code == 0
    assert opened[-1]["conf"] == {"spark.a": "1", "spark.secret": HUSH}
    assert opened[-1]["hidden"] == {"spark.secret"}
    tell("file", "slices", "-t", "trips", "--conf", "spark.secret=x")
    assert opened[-1]["hidden"] == frozenset()


@pytest.mark.slow
def test_no_file_is_read_and_no_toml_imported_for_a_path(write: Write, copy: Copy) -> None:
    write("not TOML")
    program = (
        "import sys; from hudictl.cli.main import run; "
        f"code = run(['table', 'show', '-t', {str(copy.path)!r}]); "
        "print(code, {'tomllib', 'tomli'} & {*sys.modules}, file=sys.stderr)"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.stderr == "0 set()\n"
