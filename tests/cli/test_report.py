"""``timeline report``: the command around the page."""

import json
import re
from pathlib import Path

from tests.cli.conftest import Tell, Unpack
from tests.helpers import OWN, put, tree

BEGIN = "<!doctype html><!-- made by hudictl timeline report -->"


def test_a_page_is_written_and_nothing_else_is_changed(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    copy, page = unpack("v9", "mor_failed_lazy"), tmp_path / "page.html"
    before = tree(copy.path)
    said = tell("timeline", "report", "-t", copy.path, "--html", page)
    assert (said.code, said.err) == (0, "")
    assert re.fullmatch(rf"wrote {page} \(\d+\.\d KiB\): open it in a browser\n", said.out)
    # The storage's clock is measured by a file that is gone again.
    assert {path: told for path, told in tree(copy.path).items() if not path.startswith(OWN)} == before
    text = page.read_text(encoding="utf-8")
    assert text.startswith(BEGIN)
    # Commands on it are whole.
    assert f"hudictl failed-writes clean --table={copy.path}</code>" in text

    said = tell("timeline", "report", "-t", copy.path, "--html", page, "--quick", "-o", "json")
    written = {"file": str(page), "bytes": page.stat().st_size, "instants": 6, "pending": 1, "findings": None}
    assert said.json["result"] == written
    assert "was made with --quick" in page.read_text(encoding="utf-8")


def test_to_standard_output(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    said = tell("timeline", "report", "-t", copy.path, "--html", "-")
    assert said.code == 0
    assert said.out.startswith(BEGIN)
    assert said.out.endswith("</html>\n")
    refused = tell("timeline", "report", "-t", copy.path, "--html", "-", "-o", "json")
    assert (refused.code, refused.out) == (2, "")


def test_another_file_is_not_replaced(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    copy, notes = unpack("v9", "cow_part"), tmp_path / "notes.html"
    notes.write_text("mine")
    said = tell("timeline", "report", "-t", copy.path, "--html", notes)
    assert said.code == 13
    assert "is no page of this command: it is not replaced" in said.line
    assert notes.read_text() == "mine"


def test_only_some_instants(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    copy, page = unpack("v9", "cow_cleaned"), tmp_path / "page.html"

    def bars(*options: str) -> int:
        assert tell("timeline", "report", "-t", copy.path, "--html", page, "--quick", *options).code == 0
        data = re.search('id="data">(.*)</script>', page.read_text(encoding="utf-8"))
        assert data
        return sum(len(lane["bars"]) for lane in json.loads(data[1])["lanes"] if not lane["metadata"])

    def rows(*options: str) -> int:
        return len(tell("timeline", "show", "-t", copy.path, "-o", "json", *options).json["rows"])

    shown, archived = rows(), rows("--archived")
    assert (bars(), bars("--archived")) == (shown, archived)
    assert shown < archived
    assert bars("--since", copy.commits[-1]) < shown


def test_a_damaged_part_is_left_out_and_said(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    copy, page = unpack("v9", "cow_savepoints"), tmp_path / "page.html"
    put(*copy.timeline.glob(f"{copy.commits[-1]}_*.commit"), "no Avro")
    said = tell("timeline", "report", "-t", copy.path, "--html", page)
    assert said.code == 14
    assert said.line.startswith("hudictl: unreadable (14): not on the page: sizes: ")
    text = page.read_text(encoding="utf-8")
    assert "Not on this page: it could not be read</h2>" in text
    assert '<span class="error">✖ error</span>' in text
