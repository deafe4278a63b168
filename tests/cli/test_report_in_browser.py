"""The page of ``timeline report`` in headless Chromium, from a file: its marks, its console, its requests.

WRITE_SCREENS=1 pytest -n0 -m slow tests/cli/test_report_in_browser.py writes the pictures of docs/report.md.
"""

import html
import json
import os
import re
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.timeline import Case, generate
from hudictl.render.timeline_page import FIRST_LINE
from hudictl.reports.timeline import TimelineFilter, instants_shown
from hudictl.reports.timeline_bars import metadata_bars
from tests import support
from tests.cli.conftest import Tell
from tests.helpers import Copy, put

CHROMIUM = shutil.which("chromium")
PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
LIGHT, DARK = "1", "0"
"""Blink's preferredColorScheme."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium"),
]


@dataclass(frozen=True)
class Shown:
    """What a browser made of a page: its elements when all is drawn, lines on its console, and URLs that it asked."""

    dom: str
    console: list[str]
    requests: list[str]

    def marks(self, word: str) -> int:
        """The elements of a class."""
        return len(re.findall(rf'class="[^"]*\b{word}\b[^"]*"', self.dom))

    @property
    def bars(self) -> list[str]:
        """The times of the bars."""
        return re.findall(r'<path class="bar[^"]*" data-time="(\d+)"', self.dom)

    @property
    def drawn_ms(self) -> int:
        (found,) = re.findall(r'<html[^>]* data-drawn="(\d+)"', self.dom)
        return int(found)


def browse(page: Path, *more: str, scheme: str = LIGHT) -> Shown:
    log = page.with_suffix(f".{uuid.uuid4().hex}.json")
    done = subprocess.run(
        [
            *(str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
            *(
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
            ),
            *(
                f"--user-data-dir={log}.profile",
                f"--log-net-log={log}",
                "--enable-logging=stderr",
                "--window-size=1280,1130",
            ),
            *(f"--blink-settings=preferredColorScheme={scheme}", "--force-color-profile=srgb", "--timeout=60000"),
            *(more or ("--dump-dom",)),
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return Shown(done.stdout, console, requests_in(log))


def requests_in(log: Path) -> list[str]:
    """The URLs that a page asked for; the browser's own requests have another initiator."""
    text = log.read_text()
    try:
        told: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError:
        # Ended before its end was written.
        told = json.loads(text.rstrip().rstrip(",") + "]}")
    found = (event.get("params", {}) for event in told["events"])
    return [one["url"] for one in found if "url" in one and "initiator" in one and one["initiator"] != "not an origin"]


@pytest.fixture
def lake() -> Iterator[Path]:
    """A folder whose path has always the same length: it is on the pictures."""
    folder = Path("/tmp") / f"lake-{uuid.uuid4().hex[:8]}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def reported(tell: Tell, copy: Copy, *more: str) -> Path:
    page = copy.path.parent / "page.html"
    assert tell("timeline", "report", "-t", copy.path, "--html", page, *more).code == 0
    return page


@pytest.mark.parametrize(
    ("name", "pending"), [("mor_failed_lazy", 2), ("mor_restore_interrupted", 2), ("cow_savepoints", 0)]
)
def test_each_instant_is_drawn(name: str, pending: int, lake: Path, tell: Tell) -> None:
    copy = Copy("v9", name, support.unpack("v9", name, lake))
    shown = browse(reported(tell, copy))
    own, beside = instants_shown(copy.table, TimelineFilter()), metadata_bars(copy.table, TimelineFilter()).lanes
    assert len(shown.bars) == len(own) + sum(len(lane.bars) for lane in beside)
    assert set(shown.bars) >= {entry.time for entry, _ in own}
    assert shown.marks("pending") - 1 == shown.marks("open") == pending
    assert shown.marks("save") - 1 == sum(entry.action == "savepoint" for entry, _ in own)
    assert shown.marks("size") >= 1
    assert shown.marks("limit") == 1
    assert (shown.console, [url for url in shown.requests if not url.startswith("file:")]) == ([], [])


def test_what_this_test_must_notice_it_notices(tmp_path: Path, lake: Path, tell: Tell) -> None:
    """A request, and an error; and the page's policy prevents both a request and a foreign script."""
    bad = '<img src="http://127.0.0.1:9/x.png"><script>document.body.dataset.ran = "yes"; null.x</script>'
    page = put(tmp_path / "bad.html", f"{FIRST_LINE}<body>{bad}")
    shown = browse(page)
    assert 'data-ran="yes"' in shown.dom
    assert any("TypeError" in line for line in shown.console)
    assert "http://127.0.0.1:9/x.png" in shown.requests

    whole = reported(tell, Copy("v9", "cow_part", support.unpack("v9", "cow_part", lake)))
    put(page, whole.read_text(encoding="utf-8").replace("</body>", f"{bad}</body>"))
    shown = browse(page)
    assert shown.drawn_ms >= 0
    assert "data-ran" not in shown.dom
    assert sum("Content Security Policy" in line for line in shown.console) == 2
    assert not [url for url in shown.requests if url.startswith("http")]


@pytest.mark.full
def test_ten_thousand_instants(lake: Path, tell: Tell) -> None:
    base = generate(Case("v9", False, 10_000), lake)
    page = lake / "page.html"
    assert tell("timeline", "report", "-t", base, "--html", page, "--quick").code == 0
    assert page.stat().st_size < 5_000_000
    shown = browse(page)
    assert len(shown.bars) > 10_000
    # With room for a busy machine: the page's promise is 3 s (benchmarks/README.md).
    assert shown.drawn_ms < 15_000
    assert shown.console == []


def busy(copy: Copy) -> Copy:
    """A writer has died three hours ago."""
    newest = copy.having("deltacommit.requested")[-1].partition(".")[0]
    failed = str(int(newest) + 4000)
    for state in ("requested", "inflight"):
        body = (copy.timeline / f"{newest}.deltacommit.{state}").read_bytes()
        put(copy.timeline / f"{failed}.deltacommit.{state}", body)
    put(copy.meta / ".heartbeat" / failed)
    then = time.time() - 3.2 * 3600
    for path in (*copy.timeline.glob(f"{failed}*"), copy.meta / ".heartbeat" / failed):
        os.utime(path, (then, then))
    return copy


@pytest.mark.parametrize(("scheme", "name"), [(LIGHT, "light"), (DARK, "dark")])
def test_pictures(scheme: str, name: str, lake: Path, tell: Tell) -> None:
    copy = busy(Copy("v9", "mor_savepoints", support.unpack("v9", "mor_savepoints", lake)))
    page = reported(tell, copy, "--timezone", "UTC")
    picture = lake / "page.png"
    shown = browse(page, f"--screenshot={picture}", scheme=scheme)
    assert shown.console == []
    body = picture.read_bytes()
    assert body.startswith(b"\x89PNG")
    assert 20_000 < len(body) < 200_000
    if os.environ.get("WRITE_SCREENS"):
        PICTURES.mkdir(exist_ok=True)
        (PICTURES / f"report-{name}.png").write_bytes(body)
    assert (PICTURES / f"report-{name}.png").exists()


USED = """
<script>
  const at = (id) => document.getElementById(id);
  const press = (key) => at("bars").dispatchEvent(new KeyboardEvent("keydown", { key }));
  const cells = (row) => [...row.cells].map((one) => one.textContent);
  const rows = (id) => [...at(id).querySelectorAll("tbody tr")].map(cells);
  const page = () => getComputedStyle(document.body).backgroundColor;
  const seen = { before: at("range").textContent, dark: page() };
  press("ArrowLeft");
  seen.last = at("told").textContent;
  press("ArrowLeft");
  seen.previous = at("told").textContent;
  press("+");
  seen.zoomed = at("range").textContent;
  press("0");
  seen.all = at("range").textContent;
  at("theme").click();
  seen.light = page();
  at("instants-table").open = at("growth-table").open = true;
  setTimeout(() => {
    document.body.dataset.seen = JSON.stringify({ ...seen, instants: rows("instants"), growth: rows("growth") });
  }, 200);
</script></body>"""


def test_by_keyboard_and_as_tables(lake: Path, tell: Tell) -> None:
    """The page's policy is taken out for once, so that a script can press keys."""
    copy = Copy("v9", "mor_failed_lazy", support.unpack("v9", "mor_failed_lazy", lake))
    page = reported(tell, copy, "--timezone", "UTC")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"))
    put(page, text.replace("</body>", USED))
    shown = browse(page, "--dump-dom", "--virtual-time-budget=5000", scheme=DARK)
    assert shown.console == []
    (told,) = re.findall(r'data-seen="([^"]*)"', shown.dom)
    seen = json.loads(html.unescape(told))
    assert seen["last"].startswith("20261121030627840 deltacommit (metadata)")
    assert seen["previous"].startswith(
        "20261121030627840 deltacommit · UPSERT · requested 2026-11-21 03:06:27 · inflight"
    )
    assert seen["before"] == seen["all"] != seen["zoomed"]
    assert (seen["dark"], seen["light"]) == ("rgb(20, 23, 27)", "rgb(255, 255, 255)")
    assert [row[0] for row in seen["instants"]] == sorted(shown.bars, reverse=True)
    written = ["completed", "2026-11-21 03:06:16", "6.7 s", "INSERT", "60", "0", "0", "32 KiB"]
    assert ["20261121030616131", "deltacommit", *written] in seen["instants"]
    assert [row[2:] for row in seen["growth"]] == [["1", "60", "0", "0", "32 KiB"], ["1", "0", "60", "0", "13 KiB"]]
