"""`savepoint create --tag --every` and `savepoint prune`: what a job of every night says, and its exit codes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hudictl.formats import savepoint as fmt
from hudictl.formats.instants import parse_time
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.helpers import OWN, Copy, drop, put, tree
from tests.ops.savepoint.pruning_support import save, save_all

LOCAL = ("--engine", "local")
NOW = "hudictl.ops.savepoint.planning._now"
CREATE = ("savepoint", "create", "--tag", "nightly", "--every", "24h", "--yes", *LOCAL)
UNTAGGED = ("savepoint", "create", "--yes", *LOCAL)
PRUNE = ("savepoint", "prune", "--tag", "nightly", *LOCAL)
HOUR = timedelta(hours=1)


def later(instant: str, by: timedelta) -> datetime:
    moment = parse_time(instant, timezone.utc)
    assert moment is not None
    return moment + by


# Tags.


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_tag_is_stored_before_the_comment_and_shown(tell: Tell, unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    made = tell(*CREATE, "--comment", "before the load", "-t", copy.path, "-o", "json")
    assert (made.code, made.json["result"]["comment"]) == (0, "[nightly] before the load")
    done = copy.file(copy.commits[-1], "savepoint")
    assert fmt.decode(done.read_bytes(), done.name).comment == "[nightly] before the load"
    (row,) = tell("savepoint", "list", "-t", copy.path, "-o", "json").json["rows"]
    assert (row["tag"], row["comment"]) == ("nightly", "[nightly] before the load")
    assert "nightly" in tell("savepoint", "list", "--columns", "tag", "-t", copy.path).out
    for more in ((), ("--verify", *LOCAL)):
        shown = tell("savepoint", "show", copy.commits[-1], *more, "-t", copy.path)
        assert shown.out.splitlines()[-1] == "tag: nightly"
        said = tell("savepoint", "show", copy.commits[-1], *more, "-t", copy.path, "-o", "json")
        assert said.json["notes"] == ["tag: nightly"]


def test_without_a_tag_the_comment_is_stored_as_it_is(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    assert tell("savepoint", "create", "--comment", "text", "--yes", *LOCAL, "-t", copy.path).code == 0
    (row,) = tell("savepoint", "list", "-t", copy.path, "-o", "json").json["rows"]
    assert (row["tag"], row["comment"]) == (None, "text")
    assert tell("savepoint", "show", copy.commits[-1], "-t", copy.path, "-o", "json").json["notes"] == []


@pytest.mark.parametrize("tag", ["", " ", "a b", "-x", "[a]", "x" * 33, "a/b", "n\u00e4chtlich", "a\n"])
@pytest.mark.parametrize("command", [CREATE[:2], (*PRUNE[:2], "--keep-last", "1")])
def test_2_for_what_is_no_tag(tell: Tell, unpack: Unpack, tag: str, command: tuple[str, ...]) -> None:
    copy = unpack("v9", "cow_part")
    before = tree(copy.path)
    assert tell(*command, f"--tag={tag}", "-t", copy.path, *LOCAL).code == 2
    assert tree(copy.path) == before


# The savepoint of each night.


@pytest.mark.parametrize(
    ("after", "every", "made"),
    [
        (24 * HOUR, "24h", True),
        # The job starts a little earlier than the last one did; or the last one had to wait for two hours.
        (24 * HOUR - timedelta(seconds=20), "24h", True),
        (22 * HOUR, "1d", True),
        (21.5 * HOUR, "24h", False),
        (timedelta(minutes=53), "1h", False),
        (timedelta(minutes=55), "1h", True),
        (timedelta(0), "24h", False),
        # The clock of whoever wrote the commit was ahead: it must not look young for long.
        (-timedelta(days=9), "24h", True),
    ],
)
def test_it_is_due_by_the_age_of_the_savepointed_commit(
    tell: Tell, unpack: Unpack, monkeypatch: pytest.MonkeyPatch, after: timedelta, every: str, made: bool
) -> None:
    copy = unpack("v9", "cow_part")
    last = save(copy, copy.commits[-2])
    monkeypatch.setattr(NOW, lambda: later(last, after))
    command = ("savepoint", "create", "--tag", "nightly", "--every", every, *LOCAL, "--yes", "-t", copy.path)
    before = tree(copy.path)
    planned = tell(*command, "--plan")
    said = tell(*command)
    assert (planned.code, said.code) == (0, 0)
    if made:
        assert copy.savepoints == [last, copy.commits[-1]]
        return
    words = f"the savepoint {last} with the tag nightly is younger than {every}: nothing to do"
    assert said.out == planned.out == f"{words}\n"
    assert tree(copy.path) == before
    as_json = tell(*command, "-o", "json").json
    assert (as_json["outcome"], as_json["notes"], as_json["result"]) == ("nothing to do", [words], None)


def test_the_age_is_right_when_summer_time_ends(tell: Tell, unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 02:53 to 02:30 the clock has gone back, and 97 minutes have passed."""
    copy = unpack("v9", "cow_part")
    wall = "20261025025300000"
    save(copy, copy.commits[-2])
    monkeypatch.setattr("hudictl.ops.savepoint.planning.clock.writers_zone", lambda *_: None)
    monkeypatch.setattr("hudictl.ops.savepoint.planning.parse_time", lambda _, zone: parse_time(wall, zone))
    monkeypatch.setattr(NOW, lambda: datetime(2026, 10, 25, 2, 30, tzinfo=timezone.utc))
    command = ("savepoint", "create", "--tag", "nightly", "--every", "1h", *LOCAL, "--plan", "-t", copy.path)
    said = tell(*command, "--timezone", "Europe/Berlin")
    assert (said.code, "would create" in said.out) == (0, True)


@pytest.mark.parametrize("tag", [None, "hourly"])
def test_only_a_young_one_with_the_same_tag_counts(
    tell: Tell, unpack: Unpack, monkeypatch: pytest.MonkeyPatch, tag: str | None
) -> None:
    copy = unpack("v9", "cow_part")
    save(copy, copy.commits[-2], tag)
    monkeypatch.setattr(NOW, lambda: later(copy.commits[-1], HOUR))
    assert tell(*CREATE, "-t", copy.path).code == 0
    assert copy.savepoints == copy.commits[-2:]


def test_one_that_was_only_begun_does_not_count(tell: Tell, unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    save(copy, copy.commits[-2])
    drop(copy.file(copy.commits[-2], "savepoint"))
    monkeypatch.setattr(NOW, lambda: later(copy.commits[-1], HOUR))
    assert tell(*CREATE, "-t", copy.path).code == 0
    assert copy.savepoints == copy.commits[-1:]


@pytest.mark.parametrize(
    ("tag", "command", "more"),
    [
        ("nightly", CREATE, ""),
        (None, UNTAGGED, ""),
        (None, CREATE, ", without a tag: it does not get the tag nightly"),
        ("hourly", UNTAGGED, ", with the tag hourly, by which `savepoint prune` may delete it"),
    ],
)
def test_nothing_to_do_where_the_newest_commit_has_a_savepoint(
    tell: Tell, unpack: Unpack, tag: str | None, command: Sequence[str], more: str
) -> None:
    copy = unpack("v9", "cow_part")
    last = save(copy, copy.commits[-1], tag)
    said = tell(*command, "-t", copy.path)
    assert (said.code, said.out) == (0, f"{last} already has a savepoint{more}: nothing to do\n")
    told = json.loads(tell(*command, "-t", copy.path, "--output", "json").out)
    assert told["notes"] == [f"{last} already has a savepoint{more}: nothing to do"]


@pytest.mark.parametrize("more", [(), ("--plan",)])
def test_13_where_the_newest_commit_has_one_of_another_series(tell: Tell, unpack: Unpack, more: Sequence[str]) -> None:
    """That series deletes it: a night without its own savepoint is told to who waits for one."""
    copy = unpack("v9", "cow_part")
    last = save(copy, copy.commits[-1], "hourly")
    before = tree(copy.path)
    said = tell(*CREATE, "-t", copy.path, *more)
    assert said.code == 13
    assert f"{last} already has a savepoint, with the tag hourly: a commit has only one" in said.line
    assert re.search(rf"`hudictl savepoint delete [^`]*{last}` first", said.line)
    assert tree(copy.path) == before


def test_13_in_another_zone_than_the_writers(tell: Tell, unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """The age would be wrong by hours."""
    copy = unpack("v9", "cow_part")
    last = save(copy, copy.commits[-2])
    monkeypatch.setattr(NOW, lambda: later(last, HOUR))
    put(copy.meta / "hoodie.properties", (copy.meta / "hoodie.properties").read_text().replace("=UTC", "=LOCAL"))
    said = tell(*CREATE, "--timezone", "Asia/Tokyo", "-t", copy.path)
    assert said.code == 13


@pytest.mark.parametrize(
    "words",
    [
        ("create", "--every", "24h"),
        ("create", "20261121030301559", "--every", "24h", "--tag", "a"),
        ("create", "--every", "nightly", "--tag", "a"),
        ("prune",),
        ("prune", "--tag", "nightly"),
        ("prune", "--all"),
        ("prune", "--tag", "nightly", "--all", "--keep-last", "1"),
        ("prune", "--keep-last", "0"),
        ("prune", "--keep-daily", "-1"),
        ("prune", "--keep-within", "a month"),
        ("prune", "--keep-within", "0d"),
        ("prune", "--tag", "nightly", "--keep-within", "30"),
        ("prune", "20261121030301559", "--keep-last", "1"),
    ],
)
def test_2_before_anything_is_read(tell: Tell, unpack: Unpack, words: tuple[str, ...]) -> None:
    copy = unpack("v9", "cow_part")
    before = tree(copy.path)
    assert tell("savepoint", *words, "-t", copy.path, "--yes", *LOCAL).code == 2
    assert tree(copy.path) == before


# Pruning.


@pytest.mark.slow
def test_the_plan_says_why_and_what_comes_back(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    first, second, third, last = save_all(copy, "nightly", "hourly", "nightly", "nightly")
    before = tree(copy.path)
    said = tell(*PRUNE, "--keep-last", "1", "--keep-within", "30d", "--plan", "-t", copy.path)
    assert (said.code, said.out) == (0, "no savepoint to delete: nothing to do; 4 kept\n")
    said = tell(*PRUNE, "--keep-last", "1", "--plan", "-t", copy.path)
    rows = {line.split()[0]: line.split()[1:] for line in said.out.splitlines() if line[:4] == "2026"}
    assert {time: " ".join(words[:-2]) for time, words in rows.items()} == {
        first: "nightly no none",
        second: "hourly yes it has another tag",
        third: "nightly no none",
        last: "nightly yes last",
    }
    assert "cleaning can delete" in said.out
    as_json = tell(*PRUNE, "--keep-last", "1", "--plan", "-t", copy.path, "-o", "json").json
    result = as_json["result"]
    assert as_json["outcome"] == "planned"
    assert result["savepoints_to_delete"] == [first, third]
    own = {row["instant"]: row["own_bytes"] for row in result["savepoints"]}
    assert result["bytes_freed"] >= own[first] + own[third]
    # The second one is not chosen, and holds the timeline.
    assert result["instants_freed"] == 1
    assert tree(copy.path) == before
    assert tell(*PRUNE, "--keep-last", "1", "--plan", "--detailed-exitcode", "-t", copy.path).code == 20


@pytest.mark.slow
def test_done_and_done_again(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    first, second, last = save_all(copy, "nightly", "nightly", "nightly")
    asked = tell(*PRUNE, "--keep-daily", "1", "-t", copy.path)
    assert asked.code == 4
    assert len(copy.savepoints) == 3
    done = tell(*PRUNE, "--keep-daily", "1", "--yes", "-t", copy.path, "-o", "json")
    assert (done.code, done.json["outcome"]) == (0, "done")
    assert done.json["result"]["savepoints_deleted"] == [first, second]
    assert done.json["result"]["savepoints_kept"] == 1
    again = tell(*PRUNE, "--keep-daily", "1", "--yes", "-t", copy.path)
    assert (again.code, again.out) == (0, "no savepoint to delete: nothing to do; 1 kept\n")
    (row,) = (row for row in tell("history", "-t", copy.path, "-o", "json").json["rows"] if "prune" in row["operation"])
    assert (row["outcome"], row["target"]) == ("completed", "nightly")
    assert copy.savepoints == [last]


def save_plan(tell: Tell, copy: Copy, *rules: str) -> Path:
    said = tell(*PRUNE, *(rules or ("--keep-last", "1")), "--plan", "-t", copy.path, "-o", "json")
    return put(copy.path.parent / "plan.json", said.out)


@pytest.mark.slow
def test_a_saved_plan_is_applied_and_once(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    *going, last = save_all(copy, "nightly", "nightly", "nightly")
    file = save_plan(tell, copy)
    done = tell("apply", file, *LOCAL, "-o", "json")
    assert (done.code, done.json["result"]["savepoints_deleted"]) == (0, going)
    assert copy.savepoints == [last]
    assert tell("apply", file, *LOCAL).code == 0


@pytest.mark.slow
def test_a_saved_plan_is_finished(tell: Tell, unpack: Unpack) -> None:
    """One of its savepoints has gone already."""
    copy = unpack("v9", "cow_part")
    first, second, last = save_all(copy, "nightly", "nightly", "nightly")
    file = save_plan(tell, copy)
    assert tell("savepoint", "delete", first, "--yes", "-t", copy.path).code == 0
    done = tell("apply", file, *LOCAL, "-o", "json")
    assert (done.code, done.json["result"]["savepoints_deleted"]) == (0, [second])
    assert copy.savepoints == [last]


@pytest.mark.slow
@pytest.mark.parametrize("place", [1, 4])
def test_12_for_a_saved_plan_where_there_is_another_savepoint(tell: Tell, unpack: Unpack, place: int) -> None:
    """An older one, which would be deleted too; or a newer one, by which another would be."""
    copy = unpack("v9", "cow_part")
    saved = [save(copy, copy.commits[number]) for number in (0, 2, 3)]
    file = save_plan(tell, copy)
    save(copy, copy.commits[place])
    before = tree(copy.path, OWN)
    said = tell("apply", file, *LOCAL)
    assert said.code == 12
    assert tree(copy.path, OWN) == before
    assert set(saved) < set(copy.savepoints)


def test_12_for_a_saved_plan_whose_options_were_changed(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    save_all(copy, "nightly", "nightly")
    file = save_plan(tell, copy)
    document = json.loads(file.read_text())
    document["result"]["options"]["rules"]["last"] = 2
    put(file, json.dumps(document))
    assert tell("apply", file, *LOCAL).code == 14


# The line for cron.

LINE = (
    "hudictl savepoint create --every 24h --tag nightly --yes --engine local && "
    "hudictl savepoint prune --tag nightly --keep-last 2 --yes --engine local"
)


def cron(copy: Copy, line: str = LINE) -> subprocess.CompletedProcess[str]:
    folder = copy.path.parent / "bin"
    put(folder / "hudictl", f'#!/bin/sh\nexec {sys.executable} -m hudictl "$@"\n').chmod(0o755)
    path = {"PATH": f"{folder}:{os.environ['PATH']}", "HUDICTL_TABLE": str(copy.path)}
    environment = os.environ | path | {"XDG_CONFIG_HOME": "/nonexistent"}
    return subprocess.run(["sh", "-c", line], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_one_line_makes_prunes_and_says_which_of_both_failed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    first, second, third = save_all(copy, "nightly", "nightly", "nightly")
    # The savepoint is made, then the other command is refused: the code is its own, and both say what they did.
    put(copy.file(first, "savepoint"), b"no Avro")
    done = cron(copy)
    assert (done.returncode, copy.savepoints) == (14, [first, second, third, copy.commits[-1]])
    assert f"created a savepoint on {copy.commits[-1]}" in done.stdout
    assert done.stderr.startswith("hudictl: unreadable (14): ")
    drop(copy.file(first, "savepoint"))
    drop(copy.file(first, "savepoint.inflight"))
    done = cron(copy)
    assert (done.returncode, done.stderr, copy.savepoints) == (0, "", [third, copy.commits[-1]])
    assert f"{copy.commits[-1]} already has a savepoint: nothing to do" in done.stdout
    assert "deleted 1 savepoint; 2 kept" in done.stdout
    # If none can be made, none is deleted.
    assert save(copy, copy.commits[0])
    put(copy.meta / "lock", "{}", old=False)
    drop(copy.file(copy.commits[-1], "savepoint"))
    drop(copy.file(copy.commits[-1], "savepoint.inflight"))
    done = cron(copy)
    assert (done.returncode, copy.savepoints) == (12, [copy.commits[0], third])
