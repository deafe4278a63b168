"""Files that decide for the operator."""

import errno
import os
from pathlib import Path

import pytest

from hudictl.trust import stranger_at

NOBODY = 65534


@pytest.fixture
def file(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    (tmp_path / "etc/lake").mkdir(mode=0o755, parents=True)
    (tmp_path / "etc/lake/file").touch(0o644)
    return tmp_path / "etc/lake/file"


def test_a_file_that_only_this_user_can_change(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stranger_at(str(file)) is None
    monkeypatch.chdir(file.parent)
    assert stranger_at("../lake/./file") is None


@pytest.mark.parametrize("place", ["etc/lake/file", "etc/lake", "etc"])
@pytest.mark.parametrize(("mode", "who"), [(0o020, "a group"), (0o002, "every user")])
def test_what_others_can_write(file: Path, tmp_path: Path, place: str, mode: int, who: str) -> None:
    os.chmod(tmp_path / place, (tmp_path / place).stat().st_mode | mode)
    assert stranger_at(str(file)) == f"{tmp_path / place} can be written by {who}"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("place", ["etc/lake/file", "etc/lake", "etc"])
def test_what_belongs_to_another_user(file: Path, tmp_path: Path, place: str) -> None:
    os.chown(tmp_path / place, NOBODY, 0)
    assert stranger_at(str(file)) == f"{tmp_path / place} belongs to another user (uid {NOBODY})"


def test_a_sticky_folder_is_trusted_above_but_not_as_the_files_own(file: Path, tmp_path: Path) -> None:
    (tmp_path / "etc").chmod(0o1777)
    assert stranger_at(str(file)) is None
    (tmp_path / "etc/lake").chmod(0o1777)
    assert stranger_at(str(file)) is not None


def test_links_on_the_way_are_looked_at_one_by_one(file: Path, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open/second").symlink_to("../etc/lake")
    (tmp_path / "first").symlink_to(tmp_path / "open/second")
    way = str(tmp_path / "first/file")
    assert stranger_at(way) is None
    (tmp_path / "open").chmod(0o777)
    assert stranger_at(way) == f"{tmp_path / 'open'} can be written by every user"
    assert stranger_at(str(file)) is None


def test_nothing_and_a_loop(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        stranger_at(str(tmp_path / "absent"))
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links") as raised:
        stranger_at(str(tmp_path / "loop"))
    assert raised.value.errno == errno.ELOOP
