"""``hudictl config list``: what profiles there are; ``hudictl doctor``: what is wrong with them."""

from pathlib import Path

import pytest

from tests.cli.conftest import Tell, Unpack
from tests.cli.profiles_support import HUSH, LOCK, Write, locking, profile, write
from tests.helpers import Copy

__all__ = ["write"]


@pytest.fixture
def copy(unpack: Unpack) -> Copy:
    return unpack("v9", "cow_savepoints")


def rows(tell: Tell, *arguments: str) -> list[tuple[str, str]]:
    """What the doctor finds in profiles: outcomes and texts."""
    said = tell("doctor", "-o", "json", "--engine", "local", *arguments)
    found = [(row["outcome"], row["text"]) for row in said.json["rows"] if row["check"] == "profile"]
    assert not found or said.code == 3
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
    said = tell("config", "list")
    assert said.code == 0
    assert f"no profiles: there is no {tmp_path}/home/hudictl/config.toml" in said.out


def test_what_is_wrong_is_found(write: Write, copy: Copy, tell: Tell) -> None:
    """Of one profile, or of all; a sound one is not named."""
    file = write(
        profile(copy, 'timezone = "Europe/Nowhere"')
        + '[profiles.trips.spark_conf]\nmaster = "yarn"\n'
        + profile(copy, 'props = "nowhere"', name="other")
        + '[profiles.third.storage_options]\nkey = { env = "MISSING" }\n'
        + profile(copy, locking("sound"), name="sound")
    )
    assert rows(tell, "--profile", "sound") == []
    found = rows(tell, "--profile", "trips")
    assert [outcome for outcome, _ in found] == ["warning", "missing"]
    assert (f"{file}: profile trips: " in found[0][1], "Europe/Nowhere" in found[1][1]) == (True, True)
    assert [outcome for outcome, _ in rows(tell)] == ["warning", "missing", "missing", "missing"]
    for said in (f"{file}: profile other: ", "profile third: storage_options.key: the variable MISSING is not set"):
        assert any(outcome == "missing" and said in text for outcome, text in rows(tell))


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
        return [text for outcome, text in rows(tell) if outcome == "warning"]

    keys = ("storage_options.secret", "storage_options.kwargs.account_key", "hoodie_conf.hoodie.aws.secret.key")
    assert warned() == [f"{file}: profile trips: {key} is a text" for key in keys]
    file.chmod(0o640)
    assert warned()[0] == f"{file}: profile trips: {keys[0]} is a text, which other users can read"
    secret.chmod(0o644)
    assert f"{file}: profile trips: storage_options.sas: {secret}, which other users can read" in warned()
    assert HUSH not in str(warned())


def test_a_secret_that_looks_like_a_path_is_warned_of_too(write: Write, copy: Copy, tell: Tell) -> None:
    """As every 64th secret of AWS; gcsfs' token may be the path of a file."""
    write(profile(copy, '[profiles.trips.storage_options]\nsecret = "/hush"\ntoken = "/etc/key.json"'))
    ((_, text),) = rows(tell)
    assert "storage_options.secret" in text


def test_a_file_that_is_wrong_is_a_wrong_command(write: Write, tell: Tell) -> None:
    write("[profiles.t]\nyes = true")
    said = tell("config", "list")
    assert (said.code, "unknown key yes" in said.line) == (2, True)


def test_a_check_of_profiles_is_the_doctors(tell: Tell) -> None:
    said = tell("config", "check", "trips")
    assert (said.code, "use `hudictl doctor`" in said.line) == (2, True)
