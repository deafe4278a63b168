"""The Python in docs/library.md runs, on copies of real tables, and prints what the page shows."""

import contextlib
import io
import re
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests import support

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/library.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"<!-- runs(?: on (?P<table>\S+?))?(?:, with (?P<needs>[^>]+?))? -->\n"
    r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<shown>.*?)```\n)?",
    re.DOTALL,
)
PROFILE = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def stories() -> dict[str, list[re.Match[str]]]:
    """The blocks that share variables and a table, by the line of the first."""
    found: dict[str, list[re.Match[str]]] = {}
    for block in BLOCK.finditer(PAGE):
        if block["table"]:
            found[f"line {PAGE.count(chr(10), 0, block.start()) + 1}"] = []
        found[list(found)[-1]].append(block)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("start", stories())
def test_its_python_runs_as_shown(start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = stories()[start]
    if any(block["needs"] == "pandas" for block in blocks) and find_spec("pandas") is None:
        pytest.skip("pandas is not installed")
    table = support.unpack(*blocks[0]["table"].split("/"), tmp_path)
    config = tmp_path / "home" / "hudictl" / "config.toml"
    config.parent.mkdir(parents=True, mode=0o700)
    assert PROFILE is not None
    config.write_text(PROFILE[1].replace("/lake/trips", str(table)))
    config.chmod(0o600)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "sleep", support.short_sleep)
    names: dict[str, Any] = {}
    for block in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block["code"].replace("/lake/trips", str(table)), start, "exec"), names)
        _compare(block["shown"] or "", out.getvalue())


def _compare(shown: str, printed: str) -> None:
    """``...`` stands for the rest of a line, and on a line of its own for other lines."""
    pattern = re.escape(shown).replace(re.escape("...\n"), r"[^\n]*\n(?:(?s:.*\n))?")
    assert re.fullmatch(pattern, printed), printed


def test_each_block_of_python_is_run() -> None:
    assert len(BLOCK.findall(PAGE)) == PAGE.count("```python\n") > 10
