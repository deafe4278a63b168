"""The examples find their table as an operator's program does: by a profile."""

import time
from pathlib import Path

import pytest

from tests import support

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture
def trips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a real table, with the profile "trips"; the examples can be imported."""
    table = support.unpack("v9", "cow_part", tmp_path)
    file = tmp_path / "home" / "hudictl" / "config.toml"
    file.parent.mkdir(parents=True, mode=0o700)
    file.write_text(f'[profiles.trips]\nuri = "{table}"\nengine = "local"\n')
    file.chmod(0o600)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(time, "sleep", support.short_sleep)
    return table
