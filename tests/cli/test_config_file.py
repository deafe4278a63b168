"""The text of a configuration file, and the references in it."""

import re
from dataclasses import fields
from pathlib import Path

import click
import pytest

from hudictl.cli.profiles import resolved, secrets_of
from hudictl.errors import UsageError
from hudictl.library.profiles import Profile, parse_profiles
from hudictl.secrets import looks_secret

FILE = "/etc/lake/hudictl.toml"
WHOLE = b"""
[profiles.trips]
uri = "s3a://lake/trips"
timezone = "Europe/Berlin"
engine = "spark"
master = "yarn"
shared_filesystem = true
keep_files = true
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
    assert parse_profiles(WHOLE, FILE) == {
        "trips": Profile(
            name="trips",
            file=FILE,
            uri="s3a://lake/trips",
            timezone="Europe/Berlin",
            engine="spark",
            master="yarn",
            shared_filesystem=True,
            keep_files=True,
            props="/etc/lake/trips.properties",
            storage_options={
                "key": {"env": "LAKE_KEY"},
                "secret": {"file": "secret"},
                "anon": False,
                "max_concurrency": 8,
                "client_kwargs": {
                    "region_name": "eu-1",
                    "verify": True,
                    "aws_session_token": {"env": "LAKE_TOKEN"},
                },
            },
            hoodie_conf={
                "hoodie.write.lock.provider": "x.Lock",
                "hoodie.write.lock.num_retries": 3,
                "hoodie.of.a.file": "x",
                "hoodie.aws.secret.key": {"env": "LAKE_KEY"},
            },
            spark_conf={"spark.executor.instances": 2},
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
    ("text", "named"),
    [
        ("[profile.t]", "profile"),
        ("[profiles.t]\nurl = 'x'", "url"),
        ("[profiles.t]\nname = 'x'", "name"),
        ("[profiles.t.storage-options]\nkey = 'x'", "storage-options"),
        *((f"[profiles.t]\n{key} = true", key) for key in ("yes", "no_lock", "accept_loss", "discard_rollbacks")),
    ],
)
def test_an_unknown_key_is_named_with_its_file(text: str, named: str) -> None:
    """Answers and accepted losses are unknown ones: they are never taken from a file."""
    assert f"unknown key {named}" in refused(text).message


@pytest.mark.parametrize(
    "line",
    [
        "uri = 3",
        "uri = ''",
        "engine = 'flink'",
        "shared_filesystem = 'yes'",
        "keep_files = 'hush-hush'",
        "keep_files = '7'",
        "keep_files = '0d'",
        "keep_files = 7",
        "storage_options = 'hush-hush'",
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


@pytest.mark.parametrize(
    "line",
    [
        "storage_options = { key = ['hush-hush'] }",
        "storage_options = { kwargs = { at = 2026-11-21 } }",
        "hoodie_conf = { a = [1] }",
        "spark_conf = { a = 2026-11-21 }",
    ],
)
def test_a_value_that_is_no_text_is_refused_where_it_is_used_and_not_shown(line: str) -> None:
    with pytest.raises(UsageError, match=f"{FILE}: profile t: .*: write a text") as caught:
        resolved(one(f"[profiles.t]\n{line}"), line.partition(" ")[0])
    assert "hush" not in caught.value.message


def test_a_reference_is_the_variable_or_the_whole_file_without_its_last_newline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE_KEY", " a key ")
    (tmp_path / "secret").write_text("two\nlines\n\n")
    text = """
        [profiles.t.storage_options]
        key = { env = "LAKE_KEY" }
        secret = { file = "secret" }
        kwargs = { a = 1, b = { c = { env = "LAKE_KEY" } }, d = ["e", { env = "LAKE_KEY" }] }
        anon = false
        retries = 2
        name = "text"
    """
    (profile,) = parse_profiles(text.encode(), str(tmp_path / "hudictl.toml")).values()
    assert resolved(profile, "storage_options") == {
        "key": " a key ",
        "secret": "two\nlines\n",
        "kwargs": '{"a": 1, "b": {"c": " a key "}, "d": ["e", " a key "]}',
        "anon": "false",
        "retries": "2",
        "name": "text",
    }
    assert resolved(None, "storage_options") == {}


def test_a_reference_that_leads_nowhere_is_named_by_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    (tmp_path / "binary").write_bytes(b"\xff")
    for reference, said in (
        ('env = "MISSING"', "MISSING"),
        ('env = "EMPTY"', "EMPTY"),
        (f'file = "{tmp_path}"', str(tmp_path)),
        (f'file = "{tmp_path}/binary"', "not text in UTF-8"),
    ):
        profile = one(f"[profiles.t.storage_options]\nkwargs = {{ key = {{ {reference} }} }}")
        with pytest.raises(UsageError, match=f"profile t: storage_options.kwargs.key: .*{said}"):
            resolved(profile, "storage_options")


def test_secrets_are_remembered_by_the_command_that_resolves_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_KEY", "hush-hush")
    profile = one("""
        [profiles.t.hoodie_conf]
        hoodie.a = { env = "LAKE_KEY" }
        hoodie.b = "a text"
        hoodie.write.lock.provider = { env = "PATH" }
    """)
    with click.Context(click.Command("x")) as context:
        resolved(profile, "hoodie_conf")
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
