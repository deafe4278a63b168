"""Bars and the page from a program: the same as the commands'."""

import re
from pathlib import Path

import pytest

import hudictl
from hudictl.cli.main import run
from tests import support


def data_of(page: str) -> str:
    """What the page draws."""
    (found,) = re.findall('id="data">(.*)</script>', page)
    return str(found)


@pytest.mark.slow
def test_a_page_in_a_program(tmp_path: Path) -> None:
    path = support.unpack("v9", "mor_failed_lazy", tmp_path)
    with hudictl.open(str(path), engine="local") as table:
        report = table.pictures.report()
        page = table.pictures.page(report)
        assert [row.time for row in report.pending] == ["20261121030627840"]
        assert report.found is not None
        assert [one.finding for one in report.found.findings] == ["failed-write"]
        assert table.pictures.report(quick=True).found is None
        later = table.pictures.report(quick=True, since="20261121030620")
        assert [row.time for row in later.commits] == [row.time for row in report.commits[1:]]
    file = tmp_path / "page.html"
    assert run(["timeline", "report", "-t", str(path), "--engine", "local", "--html", str(file)]) == 0
    assert data_of(file.read_text(encoding="utf-8")) == data_of(page)


@pytest.mark.slow
def test_a_page_by_the_settings_of_the_table(tmp_path: Path) -> None:
    """As ``check`` and ``why`` have them."""
    path = support.unpack("v9", "mor_failed_lazy", tmp_path)
    settings = {"hoodie.clean.failed.writes.policy": "EAGER", "hoodie.keep.min.commits": "2"}
    with hudictl.open(str(path), engine="local", hoodie_conf=settings) as table:
        checked = table.check()
        assert table.pictures.report().found == checked
    with hudictl.open(str(path), engine="local") as table:
        assert table.pictures.report().found == table.check() != checked


def test_bars_in_a_program(tmp_path: Path) -> None:
    path = support.unpack("v9", "cow_savepoints", tmp_path)
    with hudictl.open(str(path), engine="local") as table:
        bars = table.pictures.bars()
        assert {lane.action: len(lane.bars) for lane in bars.lanes} == {"commit": 5, "savepoint": 2}
        assert [lane.action for lane in table.pictures.bars(["savepoint"]).lanes] == ["savepoint"]
        assert table.pictures.bars(limit=1).lanes[0].bars == bars.lanes[0].bars[-1:]
        assert {lane.metadata for lane in table.pictures.bars(metadata=True).lanes} == {False, True}
