"""The text of a configuration file, and the references in it."""

import re
from dataclasses import fields
from pathlib import Path

import click
import pytest

from hudictl.cli.config_file import Profile, parse_profiles
from hudictl.cli.references import Reference, Structure, resolve, secrets_of
from hudictl.errors import UsageError
from hudictl.secrets import looks_secret

FILE = "/etc/lake/hudictl.toml"
WHOLE = b"""
[profiles.trips]
uri = "s3a://lake/trips"
timezone = "Europe/Berlin"
engine = "spark"
master = "yarn"
shared_filesystem = true
props = "trips.properties"

[profiles.trips.storage_options]
key = { env = "LAKE_KEY" }
secret = { file = "secret" }
anon = false
max_concurrency = 8
client_kwargs = { region_name = "eu-1", verify = true, aws_session_token = { env = "LAKE_TOKEN" } }

[profiles.trips.hoodie_conf]
hoodie.write.lock.provider = "x.Lock"
hoodie.write.lock.num_retries = 3
"hoodie.of.a.file" = "x"
hoodie.aws.secret.key = { env = "LAKE_KEY" }

[profiles.trips.spark_conf]
spark.executor.instances = 2
"""


def one(text: str) -> Profile:
    (profile,) = parse_profiles(text.encode(), FILE).values()
    return profile


def refused(text: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse_profiles(text.encode(), FILE)
    assert FILE in caught.value.message
    return caught.value


def test_every_key_is_read_and_relative_paths_begin_at_the_file() -> None:
    token = Reference("env", "LAKE_TOKEN")
    assert parse_profiles(WHOLE, FILE) == {
        "trips": Profile(
            name="trips",
            file=FILE,
            uri="s3a://lake/trips",
            timezone="Europe/Berlin",
            engine="spark",
            master="yarn",
            shared_filesystem=True,
            props="/etc/lake/trips.properties",
            storage_options={
                "key": Reference("env", "LAKE_KEY"),
                "secret": Reference("file", "/etc/lake/secret"),
                "anon": "false",
                "max_concurrency": "8",
                "client_kwargs": Structure({"region_name": "eu-1", "verify": True, "aws_session_token": token}),
            },
            hoodie_conf={
                "hoodie.write.lock.provider": "x.Lock",
                "hoodie.write.lock.num_retries": "3",
                "hoodie.of.a.file": "x",
                "hoodie.aws.secret.key": Reference("env", "LAKE_KEY"),
            },
            spark_conf={"spark.executor.instances": "2"},
        )
    }


def test_the_page_about_profiles_shows_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs/profiles.md").read_text()
    shown = [parse_profiles(text.encode(), FILE) for text in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)]
    assert [list(profiles) for profiles in shown] == [["trips"], ["orders"]]
    rows = page.partition("All keys of a profile")[2].partition("```")[0]
    keys = set(re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in rows.splitlines() if "|" in line)))
    assert keys == {field.name for field in fields(Profile)} - {"name", "file"}


@pytest.mark.parametrize(
    ("written", "read"),
    [("/lake/t", "/lake/t"), ("t", "/etc/lake/t"), ("../t/", "/etc/t"), ("file:/lake/t", "file:/lake/t")],
)
def test_a_table_may_be_beside_the_file(written: str, read: str) -> None:
    assert one(f'[profiles.t]\nuri = "{written}"').uri == read


@pytest.mark.parametrize(
    ("text", "named", "near"),
    [
        ("[profile.t]", "profile", "profiles"),
        ("[profiles.t]\nurl = 'x'", "url", "uri"),
        ("[profiles.t]\ntime_zone = 'x'", "time_zone", "timezone"),
        ("[profiles.t.storage-options]\nkey = 'x'", "storage-options", "storage_options"),
    ],
)
def test_an_unknown_key_is_named_with_its_file_and_the_nearest_known_one(text: str, named: str, near: str) -> None:
    error = refused(text)
    assert f"unknown key {named}" in error.message
    assert error.hint == f"did you mean {near}?"


@pytest.mark.parametrize("key", ["yes", "no_lock", "no-lock", "single_operator", "accept_loss", "discard_rollbacks"])
def test_answers_and_accepted_losses_are_never_taken_from_a_file(key: str) -> None:
    error = refused(f"[profiles.t]\n{key} = true")
    assert f"cannot give {key}" in error.message
    assert error.hint == f"use --{key.replace('_', '-')} on the command line"


@pytest.mark.parametrize(
    "line",
    [
        "uri = 3",
        "uri = ''",
        "engine = 'flink'",
        "shared_filesystem = 'yes'",
        "storage_options = 'hush-hush'",
        "storage_options = { key = ['hush-hush'] }",
        "storage_options = { kwargs = { at = 2026-11-21 } }",
        "hoodie_conf = { a = [1] }",
    ],
)
def test_a_value_of_another_type_is_refused_and_not_shown(line: str) -> None:
    error = refused(f"[profiles.t]\n{line}")
    assert "profile t" in error.message
    assert "hush" not in f"{error.message} {error.hint}"


def test_what_is_no_toml_is_refused_by_its_place_without_its_text() -> None:
    error = refused('[profiles.t]\nuri = "a"\nkey = hush-hush')
    assert "(at line 3" in error.message
    assert "hush" not in error.message
    with pytest.raises(UsageError, match="not TOML"):
        parse_profiles(b"\xff", FILE)


@pytest.mark.parametrize("name", ["'a/b'", "'a:b'", "'-t'", "''"])
def test_a_name_can_be_told_from_a_path(name: str) -> None:
    assert "a name has only" in refused(f"[profiles.{name}]").message


def test_a_reference_is_the_variable_or_the_whole_file_without_its_last_newline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE_KEY", " a key ")
    (tmp_path / "secret").write_text("two\nlines\n\n")
    assert resolve(Reference("env", "LAKE_KEY"), "x") == " a key "
    assert resolve(Reference("file", str(tmp_path / "secret")), "x") == "two\nlines\n"
    structure = Structure({"a": 1, "b": Structure({"c": Reference("env", "LAKE_KEY")})})
    assert resolve(structure, "x") == '{"a": 1, "b": {"c": " a key "}}'
    assert resolve("text", "x") == "text"


def test_a_reference_that_leads_nowhere_is_named_by_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    (tmp_path / "binary").write_bytes(b"\xff")
    for reference in (Reference("env", "MISSING"), Reference("env", "EMPTY"), Reference("file", str(tmp_path))):
        with pytest.raises(UsageError, match=f"profile t: key: .*{reference.place}"):
            resolve(reference, "profile t: key")
    with pytest.raises(UsageError, match="not text in UTF-8"):
        resolve(Reference("file", str(tmp_path / "binary")), "x")


def test_secrets_are_remembered_by_the_command_that_resolves_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_KEY", "hush-hush")
    with click.Context(click.Command("x")) as context:
        resolve(Reference("env", "LAKE_KEY"), "x")
        resolve("a text", "x")
        assert secrets_of(context) == {"hush-hush"}
    assert secrets_of(None) == frozenset()


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        *(
            (key, True)
            for key in ("key", "secret", "token", "password", "sas_token", "account_key", "connection_string")
        ),
        *((key, True) for key in ("client_secret", "hoodie.aws.secret.key", "spark.hadoop.fs.azure.account.key.x")),
        *((key, False) for key in ("anon", "endpoint_url", "account_name", "hoodie.write.lock.zookeeper.lock_key")),
    ],
)
def test_what_looks_like_a_secret(key: str, secret: bool) -> None:
    assert looks_secret(key) is secret
