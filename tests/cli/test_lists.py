"""The manner of all lists: the same rows in each output, options that every list has, times, and errors behind rows."""

import csv
import json
from pathlib import Path

import pytest

from hudictl.table.timeline.active import load_timeline
from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, put


@pytest.fixture
def copy(unpack: Unpack) -> Copy:
    return unpack("v9", "cow_part")


def test_each_output_has_the_same_rows(tell: Tell, copy: Copy) -> None:
    command = ("commit", "list", "-t", copy.path, "--timezone", "UTC", "-o")
    rows = tell(*command, "json").json["rows"]
    assert len(rows) > 3
    assert [json.loads(line) for line in tell(*command, "ndjson").out.splitlines()] == rows
    flags = {True: "yes", False: "no", None: ""}
    as_text = [
        {key: flags[value] if value is None or isinstance(value, bool) else str(value) for key, value in row.items()}
        for row in rows
    ]
    assert list(csv.DictReader(tell(*command, "csv").out.splitlines())) == as_text
    head, bar, *lines = tell(*command, "markdown").out.splitlines()
    assert head == f"| {' | '.join(rows[0])} |"
    assert set(bar) == set("| -")
    assert [line[2:-2].split(" | ") for line in lines] == [[*row.values()] for row in as_text]
    shown = tell(*command, "text").out.splitlines()
    assert [line.split()[0] for line in shown[1:]] == [row["time"] for row in rows]


@pytest.mark.parametrize("output", ["text", "json", "ndjson", "csv", "markdown"])
def test_columns_in_the_order_that_is_asked_for(tell: Tell, copy: Copy, output: str) -> None:
    out = tell("commit", "list", "-t", copy.path, "--columns", "records,time", "--limit", 1, "-o", output).out
    assert out.index("records") < out.index("time")
    assert "bytes" not in out


def test_order_and_limit(tell: Tell, copy: Copy) -> None:
    """Newest first; the limit is on the newest, whatever their order, but where another column sorts them."""

    def column(name: str, *options: object) -> list[str]:
        return tell("commit", "list", "-t", copy.path, "-o", "csv", "--columns", name, *options).out.splitlines()[1:]

    times = [entry.time for entry in load_timeline(copy.table).completed_writes()]
    assert column("time") == column("time", "--desc") == times[::-1]
    assert column("time", "--asc", "--limit", 2) == times[-2:]
    assert column("time", "--limit", 2) == times[::-1][:2]
    assert column("time", "--sort", "time", "--limit", 2) == times[:2]
    sizes = sorted(map(int, column("bytes")))
    assert [*map(int, column("bytes", "--sort", "bytes"))] == sizes
    assert [*map(int, column("bytes", "--sort", "bytes", "--desc", "--limit", 1))] == sizes[-1:]
    assert column("time", "--since", times[1], "--until", times[2]) == [times[2], times[1]]
    assert column("time", "--since", "1h", "--until", "0s") == []
    assert column("time", "--where", f"time!={times[0]}", "--where", f"time~{times[1][:14]}") == [times[1]]


def test_relative_times_are_ages_for_eyes_alone(tell: Tell, copy: Copy) -> None:
    command = ("commit", "list", "-t", copy.path, "--timezone", "UTC", "--columns", "completed_utc", "--relative")
    assert " ago" in tell(*command).out
    assert " ago" not in tell(*command, "-o", "json").out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--columns", "time,size"), "--columns: there is no column size"),
        (("--sort", "size"), "--sort: there is no column size"),
        (("--where", "records>many"), "records is a number"),
        (("--where", "records"), "not a condition"),
        (("--where", "time>=yesterday"), "--where time>= yesterday: not a time"),
        (("--where", "completed_utc<now"), "--where completed_utc< now: not a time"),
        (("--since", "yesterday"), "--since yesterday: not a time"),
    ],
)
def test_2_what_cannot_be_asked_for(tell: Tell, copy: Copy, options: tuple[str, str], said: str) -> None:
    answer = tell("commit", "list", "-t", copy.path, *options)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("time>=2026-11-22", 0),
        ("time<2026-11-22", 5),
        ("time>=20261122", 0),
        ("time<=2026-11-21", 5),
        ("time>2026-11-21", 0),
        ("completed_utc<=2026-11-21", 5),
        ("completed_utc>2026-11-21", 0),
        ("time>99999d", 5),
        ("requested_utc<2026-11-22", 5),
        ("requested_utc<2026-11-21T00:00-02:00", 0),
        ("requested_utc>2026-11-20T22:00:00.000-03:00", 5),
        ("requested_utc<=99999d", 0),
        ("completed_utc>2026-11-21T01:00Z", 5),
    ],
)
def test_a_time_is_compared_however_it_is_written(tell: Tell, copy: Copy, condition: str, count: int) -> None:
    command = ("commit", "list", "-t", copy.path, "--timezone", "UTC", "-o", "json", "--where")
    assert len(tell(*command, condition).json["rows"]) == count


@pytest.mark.parametrize("output", ["text", "json", "ndjson", "csv", "markdown"])
def test_14_damage_in_one_instant_is_its_row_and_the_end(tell: Tell, copy: Copy, output: str) -> None:
    (file,) = load_timeline(copy.table).completed_writes()[1].completed_files
    (copy.path / copy.table.layout.timeline / file.name).write_bytes(b"{ no commit")
    answer = tell("commit", "list", "-t", copy.path, "-o", output)
    assert answer.code == 14
    assert answer.out.count(file.time) >= 1
    assert all(entry.time in answer.out for entry in load_timeline(copy.table).completed_writes())
    assert "1 row could not be read whole" in answer.err
    if output == "json":
        assert [row["time"] for row in answer.json["rows"] if row["problem"]] == [file.time]


def test_counts_that_an_empty_file_does_not_tell_are_no_zeros(tell: Tell, copy: Copy) -> None:
    """In JSON they are numbers: the key `problem` says that they are not known."""
    (file,) = load_timeline(copy.table).completed_writes()[1].completed_files
    put(copy.path / copy.table.layout.timeline / file.name)
    told = ("-t", copy.path, "--columns", "time,records,updated")
    for words in (("commit", "list"), ("stats", "amplification")):
        (row,) = (line for line in tell(*words, *told).out.splitlines() if file.time in line)
        assert row.split() == [file.time]
    rows = tell("commit", "list", "-t", copy.path, "-o", "json").json["rows"]
    assert [row["records"] for row in rows if row["problem"]] == [0]


def test_a_name_that_a_terminal_would_obey_is_escaped_in_csv(tell: Tell, unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v6", "cow_part")
    (file,) = load_timeline(copy.table).completed_writes()[0].completed_files
    path = copy.path / ".hoodie" / file.name
    path.write_text(path.read_text().replace("part-0", "part\\u001b[2J"))
    for output in ("text", "csv", "markdown"):
        answer = tell("commit", "show", file.time, "-t", copy.path, "-o", output)
        assert "\x1b" not in answer.out
        assert "part\\x1b[2J" in answer.out.replace("\\\\", "\\")


def test_a_named_column_is_shown_also_where_it_is_empty(tell: Tell, copy: Copy) -> None:
    """Under the name that text gives it, too."""
    said = tell("commit", "list", "-t", copy.path, "--columns", "checkpoint,duration", "--sort", "files added")
    assert said.out.splitlines()[0].split() == ["checkpoint", "duration"]
    said = tell("commit", "list", "-t", copy.path, "--where", "duration>=soon")
    assert (said.code, "--where" in said.line) == (2, True)
    said = tell("commit", "list", "-t", copy.path, "--where", "bytes>1,000,000,000")
    assert said.out == "no row meets the conditions\n"


def test_where_rows_are_left_out_nothing_is_said_of_the_table(tell: Tell, copy: Copy) -> None:
    command = ("commit", "list", "-t", copy.path)
    for given in (("--where", "time=1"), ("--since", "1h")):
        assert tell(*command, *given).out == "no row meets the conditions\n"
    assert tell(*command, "--limit", 0).out == "no row is shown: --limit is 0\n"


def test_bytes_of_savepoints_are_counted_where_they_are_asked_for(unpack: Unpack, tell: Tell) -> None:
    asked = ("savepoint", "list", "--engine", "local", "-o", "json", "-t", unpack("v9", "cow_savepoints").path)
    assert {row["bytes"] for row in tell(*asked).json["rows"]} == {None}
    assert len(tell(*asked, "--where", "own_bytes>0").json["rows"]) == 2
