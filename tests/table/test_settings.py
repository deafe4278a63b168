"""The writers' settings: files of them, and what is taken for given."""

from pathlib import Path

import pytest

from hudictl.errors import NotFound, Unreadable, UsageError
from hudictl.table.config_file import read_settings
from hudictl.table.settings import CLEAN_COMMITS, CLEAN_POLICY, KEEP_MAX, KEEP_MIN, Settings, Used


def test_a_file_of_settings(tmp_path: Path) -> None:
    """With what it includes, relative to its own folder or not; what comes later wins."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/base.properties").write_text("a=base\nb=base\nc=base\n")
    (tmp_path / "own.properties").write_text("# own\n\nb=before\ninclude=deep/base.properties\nc=own\nd=x=y\n")
    expected = {"a": "base", "b": "base", "c": "own", "d": "x=y"}
    for uri in (tmp_path / "own.properties", f"file://{tmp_path}/own.properties"):
        assert read_settings(str(uri), {}) == expected
    (tmp_path / "other").write_text(f"include={tmp_path}/own.properties\n")
    assert read_settings(str(tmp_path / "other"), {}) == expected


def test_a_file_of_settings_in_the_folder_of_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own").write_text("include=other\na=b")
    Path("other").write_text("c=d")
    assert read_settings("own", {}) == {"a": "b", "c": "d"}


def test_files_of_settings_that_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "own"
    with pytest.raises(NotFound, match="no such file"):
        read_settings(str(file), {})
    file.write_bytes(b"a=\xff")
    with pytest.raises(Unreadable, match="is not text"):
        read_settings(str(file), {})
    file.write_text("include=absent")
    with pytest.raises(NotFound, match="absent"):
        read_settings(str(file), {})
    file.write_text(f"include={tmp_path}/own")
    with pytest.raises(Unreadable, match="includes itself"):
        read_settings(str(file), {})


def test_a_setting_by_any_of_its_names() -> None:
    for name in ("hoodie.clean.commits.retained", "hoodie.cleaner.commits.retained"):
        given = Settings({name: " 3 "})
        assert given.number(CLEAN_COMMITS) == 3
        assert given.missing(CLEAN_COMMITS, KEEP_MIN) == ("hoodie.keep.min.commits",)
    assert Settings({"hoodie.cleaner.policy": "keep_latest_by_hours"}).word(CLEAN_POLICY) == "KEEP_LATEST_BY_HOURS"


def test_what_is_not_given_is_missing_unless_defaults_are_assumed() -> None:
    assert Settings().missing(KEEP_MIN, KEEP_MAX) == ("hoodie.keep.min.commits", "hoodie.keep.max.commits")
    assert Settings(assume_defaults=True).missing(KEEP_MIN) == ()
    assert Settings().used(KEEP_MAX) == (Used("hoodie.keep.max.commits", "30", False),)


@pytest.mark.parametrize("value", ["-1", "many", "", "\u0661"])
def test_a_number_that_is_none(value: str) -> None:
    with pytest.raises(UsageError, match=r"hoodie\.keep\.max\.commits"):
        Settings({"hoodie.keep.max.commits": value}).number(KEEP_MAX)
