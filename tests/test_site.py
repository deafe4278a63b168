"""The site of the documentation is built without a warning, has all public names, and loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import hudictl

ROOT = Path(__file__).parent.parent
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("mkdocs") is None, reason="needs the extra docs"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built with --strict: a page that is not in the menu, a link, a heading or a name that is missing ends it."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_reference_has_every_public_name(site: Path) -> None:
    anchors = set(re.findall(r'id="hudictl\.([\w.]+)"', (site / "reference.html").read_text(encoding="utf-8")))
    public = set(re.findall(r'"(\w+)"', (ROOT / "hudictl/__init__.pyi").read_text().partition("__all__")[2]))
    assert public - {"__version__"} <= anchors
    assert public - {"__version__"} <= set(dir(hudictl))
    methods = {f"HudiTable.{name}" for name in vars(hudictl.HudiTable) if not name.startswith("_")}
    assert methods - {"HudiTable.opened"} <= anchors
    errors = {name for name, found in vars(hudictl.errors).items() if isinstance(found, type)}
    assert {f"errors.{name}" for name in errors if name != "Any"} <= anchors


def test_types_that_the_library_returns_are_there(site: Path) -> None:
    text = (site / "reference.html").read_text(encoding="utf-8")
    for name in ("reports.timeline.TimelineRow", "ops.restore.plan.RestorePlan", "ops.restore.execute.RestoreResult"):
        assert f'id="hudictl.{name}"' in text
    # What is inside them, and their properties.
    assert 'id="hudictl.ops.undo.plan.Undo.files_to_delete"' in text


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """Links may lead away: they are followed by whoever clicks. The search is a file of the site, too."""
    loaded = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=[\"']?((?:https?:)?//[^\"'\s>]+)")
    pages = {page.name: set(loaded.findall(page.read_text(encoding="utf-8"))) for page in site.rglob("*.html")}
    assert len(pages) > 20
    assert {name: found for name, found in pages.items() if found} == {}
    styles = "".join(style.read_text(encoding="utf-8") for style in site.rglob("*.css"))
    assert not re.search(r"url\([\"']?(?:https?:)?//|@import", styles)
    assert "verify_savepoint" in (site / "search/search_index.json").read_text(encoding="utf-8")


def test_pages_from_elsewhere_and_examples_are_there(site: Path) -> None:
    """README is the start."""
    start = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="runbooks.html"' in start
    assert (site / "CHANGELOG.html").exists()
    assert {path.name for path in (site / "examples").iterdir()} == {
        path.name for path in (ROOT / "examples").iterdir() if path.is_file()
    }
