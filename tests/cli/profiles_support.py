"""What the tests of profiles share with others."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Unpack
from tests.helpers import Copy

LOCK = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"


HUSH = "hush-hush/secret+value"


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a configuration file: that of HUDICTL_CONFIG, or the user's."""
    (tmp_path / "work").mkdir(mode=0o755)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))

    def written(text: str, *, user: bool = False) -> Path:
        path = tmp_path / ("home/hudictl/config.toml" if user else "work/hudictl.toml")
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)
        if not user:
            monkeypatch.setenv("HUDICTL_CONFIG", str(path))
        return path

    return written


@pytest.fixture
def copy(unpack: Unpack) -> Copy:
    return unpack("v9", "cow_savepoints")


def profile(copy: Copy, more: str = "", name: str = "trips") -> str:
    return f'[profiles.{name}]\nuri = "{copy.path}"\n{more}\n'


def locking(name: str = "trips") -> str:
    return f'[profiles.{name}.hoodie_conf]\nhoodie.write.lock.provider = "{LOCK}"'
