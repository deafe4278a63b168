"""CSV and Markdown say what the rows say; ages in the place of times."""

import csv
import json
import re
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.phrases import printable
from hudictl.render.rows import aged, csv_lines, markdown_lines

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from(',"|\\\n'))
ROWS = st.lists(st.fixed_dictionaries({"a": TEXT, "b": st.none() | st.integers() | st.lists(st.integers())}))


@pytest.mark.slow
@given(ROWS)
def test_csv_is_read_back(rows: list[dict[str, object]]) -> None:
    head, *found = csv.reader(csv_lines(rows, ["a", "b"]))
    assert head == ["a", "b"]
    shown = ["" if row["b"] is None else json.dumps(row["b"]) for row in rows]
    assert found == [[printable(str(row["a"])), b] for row, b in zip(rows, shown, strict=True)]


@pytest.mark.slow
@given(ROWS)
def test_markdown_has_a_line_and_its_cells_for_each_row(rows: list[dict[str, object]]) -> None:
    head, bar, *lines = markdown_lines(rows, ["a", "b"])
    assert (head, bar) == ("| a | b |", "| --- | --- |")
    assert len(lines) == len(rows)
    for line in lines:
        assert "\n" not in line
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3


@pytest.mark.parametrize(
    ("utc", "said"),
    [
        ("2026-11-21T03:00:00+00:00", "3 h ago"),
        ("2026-11-21T05:59:30+00:00", "30 s ago"),
        ("2026-11-21T08:30:00+02:00", "in 30 min"),
        (None, None),
        ("no time", "no time"),
    ],
)
def test_a_utc_time_is_an_age(utc: str | None, said: str | None) -> None:
    now = datetime(2026, 11, 21, 6, tzinfo=timezone.utc)
    row = {"completed_utc": utc, "started_at": utc, "time": utc}
    assert aged(row, now) == {"completed_utc": said, "started_at": said, "time": utc}
