"""``wait``: exit codes, text, JSON and Ctrl-C."""

import time

import pytest

from tests.cli.conftest import Tell
from tests.fixtures import Unpack
from tests.helpers import put, tree

LOCAL = ("--engine", "local")


def test_what_holds_at_once(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = tree(copy.path)
    given = ("wait", "--for", "no-writers", "--for", "savepoint-restorable", "--for", "no-writers", *LOCAL)
    said = tell(*given, "-t", copy.path)
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == ["no-writers: holds", "savepoint-restorable: holds", "waited 0 s: 1 look"]
    result = tell(*given, "-t", copy.path, "-o", "json").json["result"]
    assert [list(row.values()) for row in result["conditions"]] == [
        ["no-writers", True, ""],
        ["savepoint-restorable", True, ""],
    ]
    assert result["looks"] == 1
    assert tree(copy.path) == before


def test_it_waits_and_tells_what_for(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    lock = put(copy.meta / "lock", "held")
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", lambda seconds: pauses.append(seconds) or lock.unlink())
    said = tell("wait", "--for", "no-writers", "--every", "7s", "--progress", "ndjson", "-t", copy.path, *LOCAL)
    assert (said.code, pauses) == (0, [7.0])
    assert '{"step": "wait for no-writers: .hoodie/lock"}' in said.err
    assert said.out.startswith("no-writers: holds; waited for: .hoodie/lock: the lock of the table's writers")
    assert "2 looks" in said.out


def test_the_time_is_over(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    put(copy.meta / "lock", "held")
    error = tell("wait", "--for", "no-writers", "--timeout", "0", "-t", copy.path, "-o", "json", *LOCAL).error
    assert error["exit_code"] == 12
    assert error["message"].startswith("not so after 0 s: no-writers: .hoodie/lock")
    (row,) = error["fields"]["conditions"]
    assert (row["condition"], row["holds"], error["fields"]["looks"]) == ("no-writers", False, 1)


def test_it_is_interrupted(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    put(copy.meta / "lock", "held")

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt)
    before = tree(copy.path)
    said = tell("wait", "--for", "no-writers", "-t", copy.path, *LOCAL)
    assert (said.code, said.out) == (130, "")
    assert tree(copy.path) == before


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (("--for", "writers"), 2),
        (("--for", "no-writers", "--every", "4999ms"), 2),
        (("--for", "no-writers", "--timeout", "soon"), 2),
        ((), 2),
        (("--for", "instant=20261121030000001"), 13),
        (("--for", "savepoint-restorable=20261121030415374"), 13),
    ],
)
def test_what_can_never_be(unpack: Unpack, tell: Tell, given: tuple[str, ...], code: int) -> None:
    assert tell("wait", *given, "-t", unpack("v9", "cow_savepoints").path, *LOCAL).code == code
