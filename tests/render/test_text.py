"""Text for eyes: aligned, whole, and free of what a terminal would obey."""

import io

import pytest

from hudictl.render.text import console, print_facts, print_lines, print_table

ROWS = [
    {"name": "first", "bytes": 1234567, "problem": None, "done": True},
    {"name": "the second", "bytes": 5, "problem": None, "done": False},
]


def printed(rows: list[dict[str, object]], columns: list[str], empty: str = "nothing") -> list[str]:
    out = io.StringIO()
    print_table(console(True, out), rows, columns, empty)
    return out.getvalue().splitlines()


def test_columns_are_aligned_and_empty_ones_left_out() -> None:
    head, first, second = printed(ROWS, ["name", "bytes", "problem"])
    assert "problem" not in head
    assert first.rstrip().endswith("1,234,567")
    assert second.rstrip().endswith("        5")
    assert first.index("1,234,567") + 9 == second.rindex("5") + 1 == head.index("bytes") + 5


def test_no_rows_say_so() -> None:
    assert printed([], ["name"], "no instants") == ["no instants"]


@pytest.mark.parametrize("width", [100, 4000])
def test_nothing_is_cut_or_wrapped_where_nobody_looks(width: int) -> None:
    word = "x" * width
    lines = printed([{"name": word, "problem": f"{word} {word}"}], ["name", "problem"])
    assert len(lines) == 2
    assert lines[1].split() == [word, word, word]


def test_markup_is_text() -> None:
    """Names and comments are not rich's: ``[red]`` stays as it was written."""
    assert printed([{"name": "[red]a[/red] [/]"}], ["name"])[1].strip() == "[red]a[/red] [/]"
    out = io.StringIO()
    print_lines(console(True, out), ["[bold]x[/bold] :smile:"])
    assert out.getvalue() == "[bold]x[/bold] :smile:\n"


@pytest.mark.parametrize("text", ["a\x1b[31mred", "a\x1b]0;title\x07", "over\rwritten", "a\x08b", "half \ud800"])
def test_what_a_terminal_would_obey_is_not_printed(text: str) -> None:
    """A savepoint's comment comes from anybody who can write to the table."""
    shown = printed([{"name": text}], ["name"])
    out = io.StringIO()
    print_facts(console(True, out), [(text, text)])
    print_table(console(True, out), [], [], text)
    assert all(line.isprintable() for line in [*shown, *out.getvalue().split("\n")])


def test_facts() -> None:
    out = io.StringIO()
    print_facts(console(False, out), [("name", "t"), ("savepoints", ()), ("locks held", ("a", "b")), ("size", 1000)])
    assert out.getvalue().splitlines() == ["name        t", "savepoints  none", "locks held  a, b", "size        1,000"]


def test_a_pipe_has_no_colours() -> None:
    out = io.StringIO()
    print_table(console(True, out), [{"state": "COMPLETED"}], ["state"], "")
    assert "\x1b" not in out.getvalue()
