"""What a restore means to others is said after it, and again later."""

import pytest

from tests.cli.conftest import Tell
from tests.fixtures import Unpack
from tests.ops.clean_up.service_support import indexing

LOCAL = ("--engine", "local")


@pytest.mark.parametrize("version", ["v6", "v9"])
@pytest.mark.parametrize("command", ["restore", "rollback"])
def test_it_is_said_at_the_end_and_again_later(unpack: Unpack, tell: Tell, version: str, command: str) -> None:
    copy = unpack(version, "cow_part")
    before, last = copy.commits[-2:]
    words = ("restore", "--to-instant", before) if command == "restore" else ("rollback", last)
    said = tell(*words, "-t", copy.path, "--yes", *LOCAL)
    assert (said.code, said.err) == (0, "")
    at = next(
        number for number, line in enumerate(said.out.splitlines()) if line.startswith(("restored", "rolled back"))
    )
    lines = said.out.splitlines()[at + 1 :]
    assert lines[0].startswith(f"Newest commit after it: {before}, completed ")
    assert lines[1].startswith(
        f"Consumers (incremental queries, streams, CDC) at {last} or later have read removed rows"
    )
    assert lines[2] == "Partitions without data afterwards: 1 (part-3)."
    assert "DROP IF EXISTS" in lines[-1]
    (record,) = (copy.meta / ".hudictl/operations").iterdir()
    for again in ((command, "show"), ("history", "show")):
        assert tell(*again, record.stem, "-t", copy.path, *LOCAL).out.splitlines()[-len(lines) :] == lines
    shown = tell("history", "show", record.stem, "-t", copy.path, "-o", "json").json["result"]
    assert shown["attempts"][0]["report"]["head"]["time"] == before


def test_an_indexing_from_before_a_restore_is_named(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    indexing(copy, begun=False)
    said = tell("restore", "--to-instant", copy.commits[0], "-t", copy.path, "--yes", *LOCAL)
    assert said.code == 0
    assert "must not execute the indexing 20261121235959000 any more: `hudictl rollback" in said.out.splitlines()[-1]


def test_a_plan_ends_without_it(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    said = tell("restore", "--to-instant", copy.commits[0], "-t", copy.path, "--plan", *LOCAL)
    assert "Newest commit after it" not in said.out
    assert "Consumers" not in said.out
