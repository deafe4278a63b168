"""The page of ``timeline report``: nothing of a table becomes markup, and nothing but its own two scripts runs."""

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hudictl.errors import Refused, StorageFailed
from hudictl.render import timeline_page
from hudictl.render.timeline_page import FIRST_LINE, html_page, write_page
from hudictl.reports.health.check import Found
from hudictl.reports.health.finding import Finding
from hudictl.reports.savepoints import SavepointRow
from hudictl.reports.table import TableDescription
from hudictl.reports.timeline import TimelineRow
from hudictl.reports.timeline_bars import Bar, Bars, Lane
from hudictl.reports.timeline_report import PendingInstant, SizeBin, SliceSizes, TimelineReport
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.writers.heartbeats import HeartbeatRow
from hudictl.table.locks.config import LockSign

WORDS = "</script><img src=x onerror=alert(1)>\"'&amp;<!--\u2028\x1b[31m\x00"
TIME = "20261121030000000"
ASSETS = Path(timeline_page.__file__).parent / "page"
D3 = ("7.9.2", "912111098ea99503a6f4967361d2bbdc9dbf58cf9c678c8e27e5b02d1a07f0c1")
"""From the npm registry: ``tar xzOf d3-7.9.2.tgz package/dist/d3.min.js``, after ``npm pack d3@7.9.2``."""


class Parsed(HTMLParser):
    """Elements with their attributes, and what scripts and styles hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, Mapping[str, str | None]]] = []
        self.inside: list[tuple[str, str]] = []
        self.text = ""
        self._apart = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._apart = tag in ("script", "style")
        if self._apart:
            self.inside.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        self._apart = False

    def handle_data(self, data: str) -> None:
        if self._apart:
            tag, before = self.inside.pop()
            self.inside.append((tag, before + data))
        else:
            self.text += data

    def having(self, tag: str) -> list[Mapping[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def described(word: str) -> TableDescription:
    lock = LockSign(word, word, True, False, word, 1, None, word)
    return TableDescription(
        *(word, f"file:///{word}", "COPY_ON_WRITE", 9, 2, word, "PARQUET", (word,), (word,), True, (), ()),
        *((lock,), (), (TIME,), (word,), (), (), (), (word,), False, False, (), (), word, f"`hudictl resume {word}`"),
    )


def report_of(word: str) -> TimelineReport:
    """Every text on it is this word."""
    begin = 1_795_230_000_000
    bars = (Bar(TIME, "COMPLETED", begin, begin + 1000, 0), Bar(TIME, "INFLIGHT", begin, None, 1))
    beat = HeartbeatRow(word, "expired", word, 1, 1, 1, False, word, word)
    way = (Remedy(f"hudictl resume {word}", word),)
    return TimelineReport(
        made_utc="2026-11-21T03:00:00.000+00:00",
        now_ms=1_795_230_003_000,
        zone_known=False,
        table=described(word),
        bars=Bars((Lane(word, False, 2, bars), Lane(word, True, 2, bars)), (word,)),
        commits=(),
        others=(TimelineRow(TIME, word, "COMPLETED", None, "active", operation=word, detail=word, problem=word),),
        pending=(PendingInstant(word, word, word, 1, (word,), word, way),),
        savepoints=(SavepointRow(word, word, word, word, word, word, word, 1, 1, 1, 1, False, word),),
        held={word: (word,)},
        heartbeats=(beat,),
        sizes=SliceSizes(100, 1, 1, 50, 50, 50, (SizeBin(50, 100, 1, 50),)),
        found=Found(tuple(Finding(word, severity, word, word, way) for severity in ("info", "error", "warning"))),
        problems=(word,),
    )


def page_of(report: TimelineReport) -> str:
    return html_page(report, "1.0", lambda text: text.replace("a secret", "***"))


def test_words_of_a_table_are_texts() -> None:
    text = page_of(report_of(WORDS))
    plain, hostile = Parsed(page_of(report_of("plain"))), Parsed(text)
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    assert not hostile.having("img")
    assert text.count("</script>") == 3
    # All signs have a picture, also in the data.
    assert all(line.isprintable() for line in text.splitlines())
    shown = WORDS.replace("\u2028", "\\u2028").replace("\x1b", "\\x1b").replace("\x00", "\\x00")
    assert hostile.text.count(shown) >= 20
    (data,) = (json.loads(data) for tag, data in hostile.inside if data.startswith('{"lanes"'))
    assert data["lanes"][0]["action"] == shown


def test_no_attribute_is_of_a_table_but_labels() -> None:
    for tag, attributes in Parsed(page_of(report_of(WORDS))).elements:
        for name, value in attributes.items():
            assert "onerror" not in (value or ""), (tag, name)
            assert not name.startswith("on")
            assert name != "style"


def test_only_its_own_scripts_run_and_no_request_goes_out() -> None:
    found = Parsed(page_of(report_of("plain")))
    assert [element.get("src") for element in found.having("script")] == [None] * 3
    policy = next(one["content"] for one in found.having("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    given = dict(part.split(" ", 1) for part in policy.split("; "))
    assert given["default-src"] == given["base-uri"] == given["form-action"] == "'none'"
    code = [data for tag, data in found.inside if tag == "script" and not data.startswith('{"lanes"')]
    sections = {one["id"] for one in found.having("section")}
    style = [data for tag, data in found.inside if tag == "style"]
    for key, texts in (("script-src", code), ("style-src", style)):
        hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        assert given[key].split() == [f"'sha256-{one}'" for one in hashes]
    addresses = [str(value) for _, told in found.elements for key, value in told.items() if key in ("href", "src")]
    assert len(addresses) == 8
    assert all(address.startswith("#") and address[1:] in sections for address in addresses)


def test_secrets_are_left_out() -> None:
    assert "a secret" not in page_of(report_of("it is a secret"))


def test_it_can_be_read_by_a_screen_reader() -> None:
    found = Parsed(page_of(report_of("plain")))
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert [attributes["lang"] for attributes in found.having("html")] == ["en"]
    assert all(attributes["aria-labelledby"] in ids for attributes in found.having("section"))
    assert all(attributes.get("scope") in ("row", "col") for attributes in found.having("th"))
    regions = [one for one in found.having("div") if one.get("role") == "region"]
    assert len(regions) == len(found.having("table")) == 5
    assert all(one["tabindex"] == "0" and one["aria-label"] for one in regions)


def test_the_verdict_is_as_grave_as_what_check_found() -> None:
    """A table that a writer can open may have lost files."""

    def kind(*severities: str, sound: bool = True, quick: bool = False) -> str:
        report = report_of("plain")
        table = replace(report.table, writers_can_start=True, sound=sound)
        found = Found(tuple(Finding("x", severity, "", "") for severity in severities))
        text = page_of(replace(report, table=table, found=None if quick else found))
        (verdict,) = re.findall(r'<div class="verdict (\w+)">(.*?)</div>', text)
        # Who has checked is not told to check.
        assert ("hudictl resume" in verdict[1]) == (quick or not sound)
        return str(verdict[0])

    assert [kind(), kind("info"), kind(quick=True)] == ["good"] * 3
    assert [kind("warning"), kind(sound=False)] == ["doubtful"] * 2
    assert [kind("info", "error"), kind("error", sound=False)] == ["bad"] * 2


def test_very_many_findings_are_cut_the_gravest_first() -> None:
    severities = ["info"] * 600 + ["error"] * 30
    found = Found(tuple(Finding("x", severity, f"s-{number}", "") for number, severity in enumerate(severities)))
    text = page_of(replace(report_of("plain"), found=found))
    assert len(re.findall(r">s-\d+<", text)) == 500
    assert text.count("✖ error") == 30
    assert '130 more are left out: <code class="command">hudictl check</code> names all.' in text


def test_without_sizes_and_findings_it_says_so() -> None:
    text = page_of(
        replace(report_of("plain"), sizes=None, found=None, problems=(), pending=(), savepoints=(), heartbeats=())
    )
    for said in ("Not checked: ", "Files were not listed", "Nothing is pending", "No savepoints", "No heartbeats"):
        assert said in text
    assert "could not be read</h2>" not in text


def test_the_library_is_the_published_one() -> None:
    """A new version: take the file out of npm's package, and change its hash here, and NOTICE."""
    version, digest = D3
    body = (ASSETS / "d3.min.js").read_bytes()
    assert hashlib.sha256(body).hexdigest() == digest
    assert body.startswith(f"// https://d3js.org v{version} ".encode())
    notice = (ASSETS.parents[2] / "NOTICE").read_text(encoding="utf-8")
    assert f"D3 {version}" in notice
    assert "Permission to use, copy, modify, and/or distribute this software" in notice


def test_the_script_makes_no_markup_of_texts() -> None:
    """By none of the ways in which a browser has a text parsed, or run."""
    script = (ASSETS / "page.js").read_text(encoding="utf-8")
    ways = (
        r"innerHTML|outerHTML|insertAdjacentHTML|\.html\(|document\.write|\beval\b|new Function|fetch|XMLHttp|import\("
    )
    assert not re.search(ways, script)
    assert re.search(ways, "box.html(text)")


def test_a_page_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    page, other = tmp_path / "page.html", tmp_path / "notes.html"
    write_page(str(page), f"{FIRST_LINE}\n1")
    write_page(str(page), f"{FIRST_LINE}\n2")
    assert page.read_text() == f"{FIRST_LINE}\n2"
    for body in ("", "<!doctype html><p>mine"):
        other.write_text(body)
        with pytest.raises(Refused, match=r"notes\.html exists, and is no page of this command"):
            write_page(str(other), FIRST_LINE)
        assert other.read_text() == body
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.html", "page.html"]


def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StorageFailed, match="cannot be written: No such file"):
        write_page(str(tmp_path / "no" / "page.html"), FIRST_LINE)
    with pytest.raises(StorageFailed, match="cannot be written: Is a directory"):
        write_page(str(tmp_path), FIRST_LINE)

    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StorageFailed, match="No space left"):
        write_page(str(tmp_path / "page.html"), FIRST_LINE)
    assert list(tmp_path.iterdir()) == []
