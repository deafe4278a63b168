"""``hudictl config``: what profiles there are, and what is wrong with them."""

from pathlib import Path

import pytest

from tests.cli.conftest import Tell, Unpack
from tests.cli.test_profiles import HUSH, LOCK, Write, locking, profile, write
from tests.helpers import Copy

__all__ = ["write"]


@pytest.fixture
def copy(unpack: Unpack) -> Copy:
    return unpack("v9", "cow_savepoints")


def rows(tell: Tell, *arguments: str) -> list[tuple[str, str, str]]:
    """The checks of profiles with their outcomes and texts."""
    said = tell("config", "check", "-o", "json", *arguments)
    found = [(row["check"], row["outcome"], row["text"]) for row in said.json["rows"]]
    assert said.code == (3 if any(outcome != "ok" for _, outcome, _ in found) else 0)
    return found


def test_profiles_are_listed_with_their_files_and_without_values(
    write: Write, copy: Copy, tell: Tell, tmp_path: Path
) -> None:
    user = write(profile(copy, 'engine = "local"') + profile(copy, name="alone"), user=True)
    here = write(
        profile(copy, 'props = "p"')
        + '[profiles.trips.storage_options]\nkey = { env = "MISSING" }\nsecret = "hush-hush"\n'
        'kwargs = { password = { file = "/nowhere" } }\n'
    )
    (here.parent / "p").write_text(f"hoodie.write.lock.provider={LOCK}")
    said = tell("config", "list", "-o", "json")
    assert (said.code, "hush" in said.out) == (0, False)
    alone, trips = said.json["rows"]
    assert trips == {
        "profile": "trips",
        "uri": str(copy.path),
        "engine": None,
        "lock_provider": "FileSystemBasedLockProvider",
        "references": ["storage_options.key (env MISSING)", "storage_options.kwargs.password (file /nowhere)"],
        "file": str(here),
    }
    assert (alone["profile"], alone["file"], alone["lock_provider"]) == ("alone", str(user), None)


def test_without_a_file_it_says_where_it_has_looked(write: Write, tell: Tell, tmp_path: Path) -> None:
    for command in ("list", "check"):
        said = tell("config", command)
        assert said.code == 0
        assert f"no profiles: there is no {tmp_path}/home/hudictl/config.toml" in said.out


def test_a_good_profile_is_opened_and_its_lock_shown(write: Write, copy: Copy, tell: Tell) -> None:
    write(profile(copy, locking()))
    ((check, outcome, text),) = rows(tell, "trips")
    assert (check, outcome) == ("table", "ok")
    assert text.startswith("version 9, COPY_ON_WRITE. hudictl takes the lock file://")
    assert rows(tell, "trips", "--offline") == [("values", "ok", "all values can be read")]


def test_what_is_wrong_is_found(write: Write, copy: Copy, tell: Tell, tmp_path: Path) -> None:
    """One finding each; nothing is opened with values that are wrong."""
    write(
        profile(copy, 'timezone = "Europe/Nowhere"\nprops = "nowhere"')
        + '[profiles.trips.spark_conf]\nmaster = "yarn"\n'
        + '[profiles.other]\nuri = "/nowhere"\n'
        + "[profiles.third]\n"
        + f'uri = "{copy.path}"\n[profiles.third.hoodie_conf]\nhoodie.write.lock.provider = "x.Unknown"\n'
        + "[profiles.fourth]\n"
        + f'uri = "{copy.path}"\n[profiles.fourth.storage_options]\nkey = {{ env = "MISSING" }}\n'
    )
    found = {(check, outcome) for check, outcome, _ in rows(tell, "trips")}
    assert found == {("timezone", "error"), ("props", "error"), ("spark_conf", "warning")}
    for name, said in (("other", "is not a Hudi table"), ("third", "x.Unknown"), ("fourth", "MISSING is not set")):
        ((_, outcome, text),) = rows(tell, name)
        assert (outcome, said in text) == ("error", True), text
    assert len(rows(tell)) == 6


def test_secrets_in_the_file_are_warned_of(write: Write, copy: Copy, tell: Tell, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(HUSH)
    file = write(
        profile(copy)
        + f'[profiles.trips.storage_options]\nsecret = "{HUSH}"\ntoken = "anon"\nsas = {{ file = "{secret}" }}\n'
        + f'kwargs = {{ account_key = "{HUSH}", account_name = "a" }}\n'
        + f'[profiles.trips.hoodie_conf]\nhoodie.aws.secret.key = "{HUSH}"\n'
    )
    secret.chmod(0o600)

    def warned() -> list[str]:
        return [text for check, outcome, text in rows(tell, "--offline") if (check, outcome) == ("secrets", "warning")]

    keys = ("storage_options.secret", "storage_options.kwargs.account_key", "hoodie_conf.hoodie.aws.secret.key")
    assert warned() == [f"{key} is a text in {file}" for key in keys]
    file.chmod(0o640)
    assert warned()[0] == f"{keys[0]} is a text in {file}, which other users can read"
    secret.chmod(0o644)
    assert f"storage_options.sas: {secret}, which other users can read" in warned()
    assert HUSH not in str(warned())


def test_a_secret_that_looks_like_a_path_is_warned_of_too(write: Write, copy: Copy, tell: Tell) -> None:
    """As every 64th secret of AWS; gcsfs' token may be the path of a file."""
    write(profile(copy, '[profiles.trips.storage_options]\nsecret = "/hush"\ntoken = "/etc/key.json"'))
    ((check, _, text),) = rows(tell, "--offline")
    assert (check, "storage_options.secret" in text) == ("secrets", True)


def test_a_file_that_is_wrong_is_a_wrong_command(write: Write, tell: Tell) -> None:
    write("[profiles.t]\nyes = true")
    for command in (("config", "list"), ("config", "check"), ("config", "check", "t")):
        said = tell(*command)
        assert said.code == 2
        assert "cannot give yes: it must be given each time" in said.line
