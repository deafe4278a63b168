"""`hudictl orphans`, as it is typed."""

import json
from pathlib import Path

import pytest

from hudictl.formats.instants import time_plus_ms
from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, drop, tree
from tests.state.orphans.find_support import LONG_AGO, between_commits, listed, orphan, stray

LOCAL = ("--engine", "local")


def dirty(unpack: Unpack) -> tuple[Copy, str]:
    copy = unpack("v9", "cow_part")
    return copy, orphan(copy, between_commits(copy))


def test_list(unpack: Unpack, tell: Tell) -> None:
    copy, path = dirty(unpack)
    other = stray(copy, LONG_AGO)
    said = tell("orphans", "list", "-t", copy.path, *LOCAL)
    assert (said.code, said.err) == (0, "")
    assert path in said.out
    assert "its instant is on no timeline" in said.out
    rows = tell("orphans", "list", "-t", copy.path, *LOCAL, "-o", "json").json["rows"]
    assert [(row["path"], row["certainty"], row["visible"]) for row in rows] == sorted(
        [(path, "sure", False), (other, "unknown", True)]
    )
    assert list(rows[0]) == ["path", "bytes", "modified_utc", "instant", "visible", "certainty", "why"]
    assert rows[0]["modified_utc"] == "2023-11-14T22:13:20.000+00:00"
    assert len(tell("orphans", "list", "-t", copy.path, *LOCAL, "-o", "json", "--limit", "1").json["rows"]) == 1
    assert tell("orphans", "list", "-t", copy.path, *LOCAL, "--limit", "-1").code == 2


def test_none(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    assert tell("orphans", "list", "-t", copy.path, *LOCAL).out == "no orphans\n"
    before = tree(copy.path)
    said = tell("orphans", "delete", "-t", copy.path, *LOCAL, "--yes")
    assert (said.code, said.out) == (0, "no orphans to delete: nothing to do\n")
    assert tree(copy.path) == before


@pytest.mark.slow
def test_delete(unpack: Unpack, tell: Tell) -> None:
    copy, path = dirty(unpack)
    listed(copy, path)
    kept = stray(copy, LONG_AGO)
    before = tree(copy.path)
    said = tell("orphans", "delete", "-t", copy.path, *LOCAL)
    assert said.code == 4
    assert tree(copy.path) == before
    assert f"Kept: {kept}" in said.out
    assert "brought forward: a new delta commit corrects its listing, because it lists 1 file to delete." in said.out
    assert "Metadata partitions that are kept: column_stats, files." in said.out
    assert "The metadata partition partition_stats is deleted: it may hold keys of the files to delete." in said.out
    deleting = tell("orphans", "delete", "-t", copy.path, *LOCAL, "--metadata", "delete").out
    # The listing is no index: folders have it, too.
    assert "The metadata table is deleted with its indexes column_stats, partition_stats: this was" in deleting
    assert tree(copy.path) == before
    assert "No lock is taken: none is configured." in said.out
    said = tell("orphans", "delete", "-t", copy.path, *LOCAL, "--yes", "-o", "json")
    assert said.json["result"]["files_deleted"] == 1
    assert path not in copy.data()
    assert kept in copy.data()
    assert "orphans delete" in tell("history", "-t", copy.path).out


def test_delete_beside_a_metadata_table_that_lists_none(unpack: Unpack, tell: Tell) -> None:
    copy, path = dirty(unpack)
    said = tell("orphans", "delete", "-t", copy.path, *LOCAL, "--yes")
    assert (said.code, "The metadata table is kept: it lists none of these files." in said.out) == (0, True)
    assert path not in copy.data()


def test_a_saved_plan(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    """Fewer files than in it are nothing, more are a conflict."""
    copy, path = dirty(unpack)
    other = orphan(copy, time_plus_ms(copy.commits[0], 2))
    said = tell("orphans", "delete", "-t", copy.path, *LOCAL, "--plan", "-o", "json")
    assert [row["path"] for row in said.json["result"]["files"]] == sorted([path, other])
    assert said.json["notes"] == ["planned only: nothing was changed"]
    plan = tmp_path / "plan.json"
    plan.write_text(said.out)
    drop(copy.path / other)
    third = orphan(copy, time_plus_ms(copy.commits[0], 3))
    said = tell("apply", plan, *LOCAL)
    assert said.code == 12
    assert third in said.line
    drop(copy.path / third)
    said = tell("apply", plan, *LOCAL)
    assert said.code == 0, said.err
    assert path not in copy.data()
    assert tell("apply", plan, *LOCAL).out == "no orphans to delete: nothing to do\n"


def test_a_plan_that_was_changed_by_hand(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    copy, path = dirty(unpack)
    document = tell("orphans", "delete", "-t", copy.path, *LOCAL, "--plan", "-o", "json").json
    document["result"]["files"][0]["path"] = sorted(copy.data() - {path})[0]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(document))
    assert tell("apply", plan, *LOCAL).code == 14


def test_a_metadata_table_that_the_plan_does_not_take(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    orphan(copy, between_commits(copy))
    plan = tmp_path / "plan.json"
    plan.write_text(tell("orphans", "delete", "-t", copy.path, *LOCAL, "--plan", "-o", "json").out)
    (copy.meta / "metadata").mkdir()
    said = tell("apply", plan, *LOCAL)
    assert said.code == 12
    assert "metadata table: was none, is now deleted" in said.line
