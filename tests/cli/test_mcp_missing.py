"""``hudictl mcp`` where its package is not installed."""

import sys
from importlib.util import find_spec

import pytest

from hudictl.cli.main import run


@pytest.mark.skipif(find_spec("mcp") is not None, reason="it is installed")
def test_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.delitem(sys.modules, "hudictl.cli.mcp_server", raising=False)
    assert run(["mcp", "-t", "/lake/trips"]) == 2
    assert "pip install 'hudictl[mcp]'" in capsys.readouterr().err
