"""The layout that hoodie.properties declares."""

import pytest

from hudictl.formats.layouts import Layout, layout_of

VERSION = "hoodie.table.version"
LAYOUT = "hoodie.timeline.layout.version"


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({VERSION: "6", LAYOUT: "1"}, Layout(1, ".hoodie", ".hoodie/archived")),
        ({VERSION: "8", LAYOUT: "1"}, Layout(1, ".hoodie", ".hoodie/archived")),
        ({LAYOUT: "1", "hoodie.archivelog.folder": "old"}, Layout(1, ".hoodie", ".hoodie/old")),
        ({LAYOUT: "1", "hoodie.timeline.path": "timeline"}, Layout(1, ".hoodie", ".hoodie/archived")),
        ({VERSION: "9", LAYOUT: "2"}, Layout(2, ".hoodie/timeline", ".hoodie/timeline/history")),
        (
            {LAYOUT: "2", "hoodie.timeline.path": "t", "hoodie.timeline.history.path": "h"},
            Layout(2, ".hoodie/t", ".hoodie/t/h"),
        ),
        ({LAYOUT: "2", "hoodie.archivelog.folder": "old"}, Layout(2, ".hoodie/timeline", ".hoodie/timeline/history")),
        ({}, Layout(0, ".hoodie", ".hoodie/archived")),
        ({VERSION: "0"}, Layout(0, ".hoodie", ".hoodie/archived")),
        ({VERSION: "1"}, Layout(1, ".hoodie", ".hoodie/archived")),
        ({VERSION: "0", LAYOUT: "0"}, Layout(0, ".hoodie", ".hoodie/archived")),
    ],
)
def test_the_layout_key_decides(properties: dict[str, str], expected: Layout) -> None:
    """Not the table version; that one only where there is no layout key (before 0.5.1)."""
    assert layout_of(properties) == expected


@pytest.mark.parametrize("properties", [{LAYOUT: "two"}, {VERSION: "x"}, {LAYOUT: ""}])
def test_a_version_that_is_no_number(properties: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        layout_of(properties)
