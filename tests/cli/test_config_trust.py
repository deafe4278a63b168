"""Which configuration files count: those that nobody else can have written."""

import os

import pytest

from tests.cli.conftest import Tell, Unpack
from tests.cli.profiles_support import Write, profile, write
from tests.helpers import Copy

__all__ = ["write"]


@pytest.fixture
def copy(unpack: Unpack) -> Copy:
    return unpack("v9", "cow_savepoints")


def test_a_file_of_the_working_folder_counts_only_if_it_is_given(
    write: Write, copy: Copy, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can write to a folder would choose the table, its lock, and the programs that Spark starts."""
    file = write(profile(copy))
    monkeypatch.delenv("HUDICTL_CONFIG")
    assert tell("table", "show", "-t", "trips").code == 10
    assert tell("table", "show", "--profile", "trips").code == 2
    for given in (file, file.name):
        assert tell("--config", given, "table", "show", "-t", "trips").code == 0
    said = tell("--config", "absent.toml", "table", "show", "-t", "trips")
    assert (said.code, f"there is no configuration file {file.parent}/absent.toml" in said.line) == (2, True)


@pytest.mark.parametrize("user", [False, True])
@pytest.mark.parametrize("above", [False, True])
def test_a_file_that_others_can_write_is_refused(write: Write, copy: Copy, tell: Tell, user: bool, above: bool) -> None:
    """Who writes it could lead a command to another table, and send secrets to another store."""
    file = write(profile(copy), user=user)
    place = file.parent if above else file
    place.chmod(0o777)
    said = tell("table", "show", "-t", "trips")
    assert (said.code, f"{file} is not used: {place} can be written by every user" in said.line) == (2, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_refused(write: Write, copy: Copy, tell: Tell) -> None:
    file = write(profile(copy))
    os.chown(file, 65534, 65534)
    said = tell("table", "show", "-t", "trips")
    assert (said.code, "belongs to another user (uid 65534)" in said.line) == (2, True)


def test_a_pipe_and_a_huge_file_are_no_configuration(write: Write, copy: Copy, tell: Tell) -> None:
    file = write(profile(copy) + "#" * (1024 * 1024))
    assert "not a configuration file" in tell("table", "show", "-t", "trips").line
    file.unlink()
    os.mkfifo(file)
    assert "not a regular file" in tell("table", "show", "-t", "trips").line
