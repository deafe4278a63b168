"""``timeline report`` as one HTML page that opens without a network: texts and tables by Python, charts by D3.

All that a table says is a stranger's. So no text becomes markup: elements are built and serialized by the standard
library, the charts' data is JSON whose ``<`` are escaped, the script sets texts only as texts, and the page's policy
runs the page's own two scripts alone, by their hashes, and forbids every request.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Any
from xml.etree.ElementTree import Element, tostring

from hudictl.errors import Refused, StorageFailed
from hudictl.phrases import count_of, printable, span
from hudictl.render.words import age, size
from hudictl.reports.commits import CommitRow
from hudictl.reports.savepoints import SavepointRow
from hudictl.reports.table import DO_NOT_START
from hudictl.reports.timeline import TimelineRow
from hudictl.reports.timeline_report import SliceSizes, TimelineReport

FIRST_LINE = "<!doctype html><!-- made by hudictl timeline report -->"
"""By which a page is known that may be replaced."""
_COMMAND = re.compile("`(hudictl [^`]+)`")
_SIGNS = {"error": "✖", "warning": "▲", "info": "●"}
"""Severity is not said by colour alone."""
_MOST_FINDINGS = 500

_KEYS = (
    ("write", "write"),
    ("service", "table service"),
    ("clean", "clean"),
    ("back", "rollback, restore"),
    ("save", "savepoint"),
    ("pending", "pending: has not ended"),
)

Child = Element | str | None
Cell = Child | list[Child]


def html_page(report: TimelineReport, version: str, clean: Callable[[str], str]) -> str:
    """The page. ``clean`` takes secrets out of a text."""
    page = _Page(clean)
    texts = {name: _asset(name) for name in ("d3.min.js", "page.js", "page.css")}
    data = json.dumps(_data(report, page.said), separators=(",", ":")).replace("<", "\\u003c")
    scripts = " ".join(_hash(texts[name]) for name in ("d3.min.js", "page.js"))
    policy = f"default-src 'none'; script-src {scripts}; style-src {_hash(texts['page.css'])}; base-uri 'none'"
    head = page.tag(
        "head",
        page.tag("meta", charset="utf-8"),
        page.tag("meta", http_equiv="Content-Security-Policy", content=f"{policy}; form-action 'none'"),
        page.tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        page.tag("meta", name="generator", content=f"hudictl {version}"),
        page.tag("title", f"{report.table.name}: timeline report"),
    )
    parts = [
        FIRST_LINE,
        '<html lang="en">',
        tostring(head, encoding="unicode", method="html").replace(
            "</head>", f"<style>{texts['page.css']}</style></head>"
        ),
        tostring(page.body(report, version), encoding="unicode", method="html").removesuffix("</body>"),
        f'<script type="application/json" id="data">{data}</script>',
        f"<script>{texts['d3.min.js']}</script>",
        f"<script>{texts['page.js']}</script>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def write_page(path: str, text: str) -> None:
    """Writes a page, whole or not at all. Only a page of this command is replaced.

    Raises:
        Refused: there is another file.
        StorageFailed: it cannot be written.
    """
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with suppress(FileNotFoundError), open(path, "rb") as found:
            if found.read(len(FIRST_LINE)) != FIRST_LINE.encode():
                raise Refused(
                    f"{path} exists, and is no page of this command: it is not replaced",
                    hint="give --html another name, or move the file away",
                    file=path,
                )
        try:
            with open(temporary, "x", encoding="utf-8", errors="backslashreplace") as out:
                out.write(text)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error.strerror or error}", file=path) from error


def _asset(name: str) -> str:
    return (files("hudictl.render") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(report: TimelineReport, said: Callable[[str], str]) -> dict[str, Any]:
    """What the script draws: bars as lists, for there can be very many."""
    told: dict[tuple[str, str], CommitRow | TimelineRow] = {(row.time, row.action): row for row in report.others}
    told |= {(row.time, row.action): row for row in report.commits}

    def facts(time: str, action: str) -> Iterator[Any]:
        row = told.get((time, action))
        commit = row if isinstance(row, CommitRow) else None
        other = row if isinstance(row, TimelineRow) else None
        yield said((row and (row.operation or row.problem)) or (other and other.detail) or "")
        yield from (getattr(commit, name, None) for name in ("inserted", "updated", "deleted", "bytes"))

    lanes = [
        {
            "action": said(lane.action),
            "metadata": lane.metadata,
            "rows": lane.rows,
            "bars": [
                [
                    *(bar.time, bar.state, bar.begin_ms, bar.end_ms, bar.row),
                    *(() if lane.metadata else facts(bar.time, lane.action)),
                ]
                for bar in lane.bars
            ],
        }
        for lane in report.bars.lanes
    ]
    sizes = report.sizes
    return {
        "lanes": lanes,
        "sizes": sizes
        and {
            "limit": sizes.small_file_limit,
            "bins": [[each.from_bytes, each.to_bytes, each.count] for each in sizes.bins],
        },
    }


class _Page:
    """Makes elements of texts. ``clean`` is applied to each of them."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        self._clean = clean

    def said(self, text: object) -> str:
        """A text without secrets, and without signs that have no picture."""
        return printable(self._clean(str(text)))

    def tag(self, name: str, /, *children: Child, **attributes: str) -> Element:
        """An element; a trailing underscore of an attribute's name is left out, others become hyphens."""
        made = Element(name, {key.rstrip("_").replace("_", "-"): self.said(value) for key, value in attributes.items()})
        last: Element | None = None
        for child in children:
            if isinstance(child, Element):
                made.append(child)
                last = child
            elif child is not None and last is None:
                made.text = (made.text or "") + self.said(child)
            elif child is not None and last is not None:
                last.tail = (last.tail or "") + self.said(child)
        return made

    def sentence(self, text: str) -> list[Child]:
        """A sentence of hudictl with its commands."""
        parts = _COMMAND.split(text)
        return [self.command(part) if number % 2 else part for number, part in enumerate(parts)]

    def command(self, text: str) -> Element:
        return self.tag("code", text, class_="command")

    def table(self, name: str, heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Element:
        """A table for eyes and for screen readers; the first cell of a row is its head."""
        body = self.tag("tbody")
        for row in rows:
            cells = [
                self.tag("td" if number else "th", *(cell if isinstance(cell, list) else [cell]), **_scope(number))
                for number, cell in enumerate(row)
            ]
            body.append(self.tag("tr", *cells))
        head = self.tag("thead", self.tag("tr", *(self.tag("th", text, scope="col") for text in heads)))
        # With the keyboard a wide table can be scrolled.
        return self.tag(
            "div", self.tag("table", head, body), class_="wide", tabindex="0", role="region", aria_label=name
        )

    def section(self, name: str, title: str, *children: Child) -> Element:
        heading = self.tag("h2", title, id=f"{name}-title")
        return self.tag("section", heading, *children, id=name, aria_labelledby=f"{name}-title")

    def body(self, report: TimelineReport, version: str) -> Element:
        return self.tag(
            "body",
            self.tag("a", "Skip to what is pending", href="#pending", class_="skip"),
            self.header(report),
            self.tag(
                "main",
                self.verdict(report),
                self.tiles(report),
                self.problems(report),
                self.timeline(report),
                self.pending(report),
                self.findings(report),
                self.savepoints(report),
                self.writers(report),
                self.sizes(report.sizes, listed=report.found is not None),
            ),
            self.tag(
                "footer", f"Made by hudictl {version}, {_moment(report.made_utc)}. It makes no request to any host."
            ),
        )

    def header(self, report: TimelineReport) -> Element:
        table = report.table
        kind = table.type.replace("_", " ").lower()
        return self.tag(
            "header",
            self.tag(
                "div",
                self.tag("h1", table.name or "(no name)"),
                self.tag("p", self.tag("code", table.uri)),
                self.tag(
                    "p",
                    f"{kind}, table version {table.table_version}; as of {_moment(report.made_utc)}",
                    class_="quiet",
                ),
            ),
            self.tag("button", "Dark", id="theme", type="button", hidden="hidden"),
        )

    def verdict(self, report: TimelineReport) -> Element:
        """On the timeline, and on the files if they were looked at."""
        table, found = report.table, report.found
        severities = [one.severity for one in found.findings] if found else []
        stops = not table.writers_can_start or table.verdict.startswith(DO_NOT_START) or "error" in severities
        kind = "bad" if stops else "good" if table.sound and "warning" not in severities else "doubtful"
        parts = [self.tag("p", self.tag("strong", table.verdict))]
        # That of a sound table is to check it.
        if table.advice and not (table.sound and found):
            parts.append(self.tag("p", *self.sentence(table.advice)))
        if found:
            told = ": see below" if severities else ""
            parts.append(self.tag("p", "hudictl check: ", self.tag("a", _counted(severities), href="#findings"), told))
        return self.tag("div", *parts, class_=f"verdict {kind}")

    def tiles(self, report: TimelineReport) -> Element:
        return self.tag("ul", *(self._tile(*told) for told in _tiles(report)), class_="tiles", aria_label="Summary")

    def _tile(self, name: str, value: str, more: str, kind: str) -> Element:
        link = self.tag("a", self.tag("b", value), self.tag("span", more), href=f"#{name}", class_=kind)
        return self.tag("li", link)

    def problems(self, report: TimelineReport) -> Element | None:
        if not report.problems:
            return None
        items = [self.tag("li", text) for text in report.problems]
        return self.section("problems", "Not on this page: it could not be read", self.tag("ul", *items))

    def timeline(self, report: TimelineReport) -> Element:
        count = sum(len(lane.bars) for lane in report.bars.lanes)
        zone = "UTC" if report.zone_known else "UTC, if the writers' zone is this host's (--timezone)"
        told = f"{count_of(count, 'instant')}; times are {zone}."
        drag = "Drag in the chart to zoom in. Keys in the chart: arrows go to the next instant, + and - zoom, 0 is all."
        chart = f"Bars of {count_of(count, 'instant')} by action; the table below has the same"
        keys = [part for kind, text in _KEYS for part in (self.tag("span", class_=f"key {kind}"), text)]
        undated = f"{count_of(len(report.bars.undated), 'instant')} without a date not drawn: Hudi's reserved times."
        return self.section(
            "timeline",
            "What happened when",
            self.tag("noscript", self.tag("p", "The charts need this page's own script, which is not allowed to run.")),
            self.tag("div", id="controls", class_="controls", role="toolbar", aria_label="Time range"),
            self.tag("p", id="range", class_="quiet", role="status"),
            self.tag("p", *keys, class_="quiet keys"),
            self.tag("figure", id="bars", tabindex="0", role="group", aria_label=chart),
            self.tag("p", drag, id="told", aria_live="polite"),
            self.tag("figure", id="bytes"),
            self.tag("figure", id="records"),
            self.tag("p", told, " ", undated if report.bars.undated else None, class_="quiet"),
            self._details("instants", "Instants of this range as a table"),
            self._details("growth", "Bytes and records of this range as a table"),
        )

    def _details(self, name: str, text: str) -> Element:
        """The script fills it when it is opened."""
        return self.tag("details", self.tag("summary", text), self.tag("div", id=name), id=f"{name}-table")

    def pending(self, report: TimelineReport) -> Element:
        heads = ("instant", "action", "state", "no activity for", "blocks", "what it waits for, and what ends it")
        rows: Iterable[Sequence[Cell]] = (
            (
                self.tag("code", row.time),
                *(row.action, row.state.lower(), span(row.idle_ms), ", ".join(row.blocks) or "nothing yet"),
                self.sentence(row.advice),
            )
            for row in report.pending
        )
        what = self.table("pending instants", heads, rows) if report.pending else self.tag("p", "Nothing is pending.")
        return self.section("pending", "What is pending, and what it blocks", what)

    def findings(self, report: TimelineReport) -> Element:
        found = report.found
        if found is None:
            text = "Not checked: the page was made with --quick, or files could not be read. `hudictl check` checks."
            return self.section("findings", "Findings", self.tag("p", *self.sentence(text)))
        order = [*_SIGNS]
        ordered = sorted(found.findings, key=lambda one: order.index(one.severity))
        rows: Iterable[Sequence[Cell]] = (
            (
                self.tag("span", f"{_SIGNS[one.severity]} {one.severity}", class_=one.severity),
                self.tag("code", one.finding, class_="name"),
                self.tag("code", one.subject, class_="subject"),
                one.meaning,
                self.sentence(one.advice),
            )
            for one in ordered[:_MOST_FINDINGS]
        )
        heads = ("severity", "finding", "subject", "meaning", "what to do")
        what = self.table("findings", heads, rows) if found.findings else self.tag("p", "No findings.")
        notes = []
        if len(ordered) > _MOST_FINDINGS:
            notes.append(f"{len(ordered) - _MOST_FINDINGS:,} more are left out: `hudictl check` names all.")
        if found.skipped:
            skipped = count_of(len(found.skipped), "check")
            notes.append(f"{skipped} by the writers' settings: not done (--props, --assume-defaults).")
        said = (self.tag("p", *self.sentence(text), class_="quiet") for text in notes)
        return self.section("findings", "Findings of hudictl check", what, *said)

    def savepoints(self, report: TimelineReport) -> Element:
        heads = ("savepoint", "created", "by", "comment", "files", "size", "held by it alone", "holds back", "problem")
        rows = (self._savepoint(row, report.held.get(row.instant, ())) for row in report.savepoints)
        what = self.table("savepoints", heads, rows) if report.savepoints else self.tag("p", "No savepoints.")
        return self.section("savepoints", "Savepoints, and what they hold back", what)

    def _savepoint(self, row: SavepointRow, held: Sequence[str]) -> tuple[Child, ...]:
        missing = f"{count_of(row.missing or 0, 'file')} missing"
        return (
            self.tag("code", row.instant),
            *(_moment(row.created_utc), row.user or "", row.comment or "", _count(row.files), _size(row.bytes)),
            *(_size(row.own_bytes), ", ".join(held) or "no service yet"),
            "; ".join(filter(None, (row.problem, row.warning, missing if row.missing else ""))),
        )

    def writers(self, report: TimelineReport) -> Element:
        heads = ("instant", "heartbeat", "last beat", "age", "missed", "action", "state")
        rows = (
            (
                self.tag("code", beat.instant),
                self.tag("span", beat.state, class_=f"beat-{beat.state}"),
                *(_moment(beat.last_beat_utc), age(beat.age_ms), f"{beat.misses:,}"),
                *(beat.action or "not on the timeline", (beat.instant_state or "").lower()),
            )
            for beat in report.heartbeats
        )
        none = "No heartbeats: no writer with lazy clean-up is at work, or has left one."
        beats = self.table("heartbeats", heads, rows) if report.heartbeats else self.tag("p", none)
        locks = [
            self.tag(
                "li", self.tag("code", lock.path), f" {'held' if lock.held else 'free'}, {lock.provider}, {lock.owner}"
            )
            for lock in report.table.locks
        ]
        held = self.tag("ul", *locks, aria_label="Locks") if locks else self.tag("p", "No lock file.")
        return self.section("writers", "Writers, heartbeats and locks", beats, held)

    def sizes(self, sizes: SliceSizes | None, *, listed: bool) -> Element:
        if sizes is None:
            text = "No data files." if listed else "Files were not listed. `hudictl stats sizes` lists them."
            return self.section("sizes", "File sizes", self.tag("p", *self.sentence(text)))
        share = round(100 * sizes.small / sizes.count)
        told = (
            f"{count_of(sizes.count, 'newest file slice')}, {size(sizes.bytes)}: median {size(sizes.median_bytes)}, "
            f"largest {size(sizes.max_bytes)}. Below the small-file limit of {size(sizes.small_file_limit)}: "
            f"{sizes.small:,} ({share} %)."
        )
        rows = (
            (f"{size(one.from_bytes)} to {size(one.to_bytes)}", f"{one.count:,}", size(one.bytes)) for one in sizes.bins
        )
        table = self.table("sizes of the newest file slices", ("size", "slices", "bytes"), rows)
        return self.section(
            "sizes",
            "File sizes",
            self.tag("p", told),
            self.tag("figure", id="histogram"),
            self.tag("details", self.tag("summary", "Sizes as a table"), table),
        )


def _scope(number: int) -> dict[str, str]:
    return {} if number else {"scope": "row"}


def _tiles(report: TimelineReport) -> Iterator[tuple[str, str, str, str]]:
    """Section, number, words, and how grave it is."""

    def counted(name: str, count: int, noun: str, more: str, kind: str) -> tuple[str, str, str, str]:
        number, _, words = count_of(count, noun).partition(" ")
        return name, number, words + more, kind

    pending = report.pending
    kind = "bad" if any("writers" in row.blocks for row in pending) else "doubtful" if pending else "good"
    oldest = max((row.idle_ms for row in pending), default=0)
    yield counted("pending", len(pending), "pending instant", f", idle for {span(oldest)}" if pending else "", kind)
    if report.found is None:
        yield "findings", "?", "findings: not checked", "plain"
    else:
        severities = [one.severity for one in report.found.findings]
        kind = "bad" if "error" in severities else "doubtful" if "warning" in severities else "good"
        told = f": {_counted(severities)}" if severities else ""
        yield counted("findings", len(severities), "finding", told, kind)
    own = sum(row.own_bytes or 0 for row in report.savepoints)
    yield counted("savepoints", len(report.savepoints), "savepoint", f", {size(own)} held" if own else "", "plain")
    live, dead = (sum(beat.state == state for beat in report.heartbeats) for state in ("live", "expired"))
    yield counted("writers", live, "live writer", f", {dead} expired" if dead else "", "doubtful" if dead else "plain")
    written = {row.time for row in report.commits}
    ends = (bar.end_ms for lane in report.bars.lanes if not lane.metadata for bar in lane.bars if bar.time in written)
    last = max(filter(None, ends), default=None)
    ago = f", the last {span(max(0, report.now_ms - last))} ago" if last is not None else ""
    yield counted("timeline", len(written), "completed write", ago, "plain")
    if report.sizes is not None:
        share = round(100 * report.sizes.small / report.sizes.count)
        yield "sizes", f"{share} %", f"of {count_of(report.sizes.count, 'slice')} small", "plain"


def _counted(severities: Sequence[str]) -> str:
    return ", ".join(count_of(severities.count(one), one) for one in _SIGNS if one in severities) or "no findings"


def _moment(utc: str | None) -> str:
    """A moment for eyes: to the second."""
    return "" if utc is None else utc if "T" not in utc else f"{utc[:19].replace('T', ' ')} UTC"


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _size(number: int | None) -> str:
    return "" if number is None else size(number)
