"""A narrow terminal: what is left out, what is folded, and that all of it is named."""

import importlib
import io
import pkgutil
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

import hudictl
from hudictl.render.columns import _BY_IMPORTANCE, by_importance
from hudictl.render.log_records import BLOCK_COLUMNS, MERGED_COLUMNS
from hudictl.render.text import console, print_facts, print_lines, print_table

INSTANT = "20261121030343547"
NAME = f"384bfc70-33f5-4dfa-9fc7-f4f791e27901-0_3-1682-3609_{INSTANT}.parquet"
HISTORY = {
    "instant": INSTANT,
    "operation": "savepoint delete",
    "target": INSTANT,
    "user": "ops",
    "host": "host-1",
    "started_at": "2026-11-21T03:04:13.244+00:00",
    "ended_at": "2026-11-21T03:04:15.309+00:00",
    "attempts": 1,
    "exit_code": 13,
    "outcome": "failed",
    "command": f"hudictl savepoint delete {INSTANT} -t /lake/trips --yes",
    "message": f"the commit {INSTANT} is not there any more, and nobody knows why",
    "problem": "torn",
}
FILE = {"partition": "part-0", "name": NAME, "bytes": 4338}
ORPHAN = {
    "path": f"region=emea/{NAME}",
    "bytes": 1234567,
    "modified_utc": "2026-11-21T03:04:15.309+00:00",
    "instant": INSTANT,
    "visible": True,
    "certainty": "sure",
    "why": f"its instant {INSTANT} was rolled back, and the rollback did not delete it",
}
COMMIT = ("partition", "files", "written", "inserted", "updated", "deleted", "errors", "bytes")
TABLES = {"HistoryRow": HISTORY, "SavepointFile": FILE, "OrphanRow": ORPHAN}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Prints on a terminal of some width: ``screen(80, print_lines, ["..."])``."""

    def shown(width: int, show: Any, *arguments: Any) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        out = Terminal()
        show(console(False, out), *arguments)
        return out.getvalue().splitlines()

    return shown


def table(screen: Any, width: int, kind: str, row: Mapping[str, Any]) -> tuple[list[str], list[str], str]:
    """The lines of the table, the columns that it shows, and the line that names the others."""
    lines = screen(width, print_table, [row, row], list(row), "", kind)
    body, *notes = re.split(r"Columns\s+not\s+shown:\s", "\n".join(lines))
    note = " ".join("".join(notes).split())
    left_out = note.partition(". To see them")[0].split(", ")
    return body.splitlines(), [column for column in row if column.replace("_", " ") not in left_out], note


def every_row_type() -> dict[str, Sequence[str]]:
    """The columns of each type of rows, by its name."""
    found: dict[str, Sequence[str]] = {"RecordRow": BLOCK_COLUMNS, "MergedRow": MERGED_COLUMNS}
    for module in pkgutil.walk_packages(hudictl.__path__, "hudictl."):
        # The server for models needs the extra mcp, and prints nothing.
        if (
            module.name.split(".")[1] in ("table", "state", "reports", "ops", "render", "cli")
            and "mcp" not in module.name
        ):
            for name, value in vars(importlib.import_module(module.name)).items():
                if is_dataclass(value) and name in _BY_IMPORTANCE and name not in found:
                    found[name] = [field.name for field in fields(value)]
    return found


def test_columns_are_those_of_the_rows() -> None:
    commits = ("HoodieCommitMetadata", "HoodieReplaceCommitMetadata")
    types = every_row_type() | dict.fromkeys(commits, COMMIT)
    assert set(_BY_IMPORTANCE) == set(types)
    for kind, columns in types.items():
        always, others = by_importance(kind)
        assert always
        assert len({*always, *others}) == len(always) + len(others)
        assert {*always, *others} <= set(columns), kind


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("width", [*range(60, 260, 7), 80, 100, 120, 200])
def test_the_columns_that_matter_are_shown_and_all_others_named(screen: Any, width: int, kind: str) -> None:
    row = TABLES[kind]
    lines, shown, note = table(screen, width, kind, row)
    always, others = by_importance(kind)
    assert set(always) <= set(shown)
    # The others in the order of their importance: none of the more important ones is missing.
    assert [column for column in others if column in shown] == others[: len(shown) - len(always)]
    assert all(len(line) <= width for line in lines)
    assert not note or "`-o json`" in note
    # A column is shown with all that it has.
    whole = re.sub(r"\s", "", "".join(lines))
    head = lines[0].split()
    assert all(column.split("_")[0] in " ".join(head) for column in shown)
    assert INSTANT in whole


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_a_wider_terminal_never_shows_less(screen: Any, kind: str) -> None:
    before: set[str] = set()
    for width in range(60, 400):
        _, shown, _ = table(screen, width, kind, TABLES[kind])
        assert before <= set(shown), width
        before = set(shown)
    assert before == set(TABLES[kind])


def test_the_outcome_is_not_left_out_first(screen: Any) -> None:
    for width in (60, 80):
        _, shown, _ = table(screen, width, "HistoryRow", HISTORY)
        assert "outcome" in shown


def test_a_state_that_is_completed_in_each_row_goes_first(screen: Any) -> None:
    row = {"time": INSTANT, "action": "commit", "state": "COMPLETED", "operation": "UPSERT", "bytes": 17577}
    assert table(screen, 80, "TimelineRow", row)[1] == list(row)
    assert table(screen, 45, "TimelineRow", row)[1] == ["time", "action", "operation", "bytes"]
    assert table(screen, 45, "TimelineRow", row | {"state": "INFLIGHT"})[1] == ["time", "action", "state"]


def test_a_column_of_which_nothing_is_known_goes_before_the_others(screen: Any) -> None:
    row = {"time": INSTANT, "new": "x" * 30, "action": "commit", "state": "REQUESTED"}
    _, shown, _ = table(screen, 60, "TimelineRow", row)
    assert shown == ["time", "action", "state"]
    _, shown, _ = table(screen, 60, "", row)
    assert shown == ["time", "new", "action"]


def test_a_name_is_folded_between_its_parts(screen: Any) -> None:
    lines, _, _ = table(screen, 60, "SavepointFile", FILE)
    cells = [line.split() for line in lines[1:3]]
    assert (cells[0][0], cells[0][2]) == ("part-0", "4,338")
    assert cells[0][1] + cells[1][0] == NAME
    assert cells[1][0].endswith(f"{INSTANT}.parquet")
    # Where it fits, it is whole.
    lines, _, _ = table(screen, 120, "SavepointFile", FILE)
    assert (NAME in lines[1], len(lines)) == (True, 3)


def test_a_name_without_parts_is_folded_anywhere(screen: Any) -> None:
    lines, _, _ = table(screen, 60, "", {"name": "x" * 100})
    assert [len(line) for line in lines] == [4, 60, 40, 60, 40]


def test_a_terminal_that_is_far_too_narrow_shows_what_it_can(screen: Any) -> None:
    lines, shown, note = table(screen, 24, "HistoryRow", HISTORY)
    assert shown == ["instant"]
    assert INSTANT in lines[1]
    assert "exit code" in note


def test_heads_and_sentences_are_wrapped_between_words(screen: Any) -> None:
    row = {"instant": INSTANT, "opened_by_compaction": 1, "why": "a sentence that is longer than what is left of it"}
    lines, shown, _ = table(screen, 60, "", row)
    assert shown == list(row)
    assert [line.split() for line in lines[:3]] == [
        ["instant", "opened", "by", "why"],
        ["compaction"],
        [INSTANT, "1", *lines[2].split()[2:]],
    ]
    words = " ".join(" ".join(line.split()) for line in lines[2:])
    assert words.replace(f"{INSTANT} 1 ", "") == " ".join([row["why"], row["why"]])


def test_sentences_keep_their_indent_and_commands_stay_whole(screen: Any) -> None:
    command = f"`hudictl restore {INSTANT} --yes`"
    lines = screen(
        60, print_lines, [f"  this sentence is long enough to be wrapped; then {command} ends it, after 16.7 KiB"]
    )
    assert all(line.startswith("  ") and len(line) <= 60 for line in lines)
    assert sum(command in line for line in lines) == 1
    assert screen(60, print_lines, ["x" * 54 + " 16.7 KiB"]) == ["x" * 54, "16.7 KiB"]
    # A path that is longer than the screen is left to the terminal: its copy is whole.
    assert screen(60, print_lines, [f"see {'/x' * 40}"]) == ["see", "/x" * 40]


def test_facts_go_on_below_their_beginning(screen: Any) -> None:
    lines = screen(60, print_facts, [("name", "t"), ("savepoints", [INSTANT] * 3)])
    assert lines == ["name        t", f"savepoints  {INSTANT}, {INSTANT},", f"            {INSTANT}"]
