"""How far Hudi Streamer goes back with a restore."""

import json

import pytest

from hudictl.formats.commit_metadata import CHECKPOINTS
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.timeline.checkpoints import StreamerCheckpoint, checkpoint_after
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy


def write_checkpoints(copy: Copy, values: dict[str, str]) -> None:
    for time, value in values.items():
        path = copy.meta / f"{time}.commit"
        fields = json.loads(path.read_bytes())
        fields["extraMetadata"][CHECKPOINTS[1]] = value
        path.write_text(json.dumps(fields))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, None),
        ({0: "a"}, None),
        ({0: "a", 1: "b", 2: "c", 3: "d"}, StreamerCheckpoint("d", "b")),
        ({0: "a", 2: "c"}, StreamerCheckpoint("c", "a")),
        ({3: "d"}, StreamerCheckpoint("d", None)),
    ],
)
def test_it_goes_on_from_the_last_kept_commit_that_has_one(
    unpack: Unpack, values: dict[int, str], expected: StreamerCheckpoint | None
) -> None:
    copy = unpack("v6", "cow_part")
    commits = copy.commits
    assert len(commits) > 3
    write_checkpoints(copy, {commits[number]: value for number, value in values.items()})
    facts = read_facts(copy.table, ENGINE, read_signs(copy.table))
    assert checkpoint_after(facts, commits[2:]) == expected
