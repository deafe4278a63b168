"""What is said of a metadata table after a command: as planned, made anew, and counted."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests import support
from tests.walks.kept import Metadata, Outcome, listed, made_anew, metadata_of, not_as_planned, plain, planned, summary
from tests.walks.shape import NO_STATISTICS
from tests.walks.walk import walk_of

FOUND = Metadata(frozenset({"files", "record_index"}), frozenset({"00000000000000000_1.deltacommit"}), False)


def plan(fate: str, **partitions: str | None) -> dict[str, Any]:
    """A plan; each partition with the reason why it is deleted."""
    fates = [
        {"partition": name, "fate": "deleted" if reason else "kept", "reason": reason}
        for name, reason in partitions.items()
    ]
    return {"metadata_table": {"fate": fate, "reason": None, "partitions": fates}}


def test_the_outcome_has_what_is_kept_and_of_the_listed_partitions_what_is_deleted() -> None:
    found = planned(
        "restore", plan("rolled back", files=None, record_index="late", remnant="unlisted"), FOUND.partitions
    )
    assert (found.kept, found.deleted) == (["files"], {"record_index": "late"})


@pytest.mark.parametrize("said", [[], {"metadata_table": "kept"}, plan("none")])
def test_a_plan_that_says_nothing_of_it_promises_nothing(said: Any) -> None:
    outcome = planned("orphans", said, FOUND.partitions)
    assert outcome.fate == "unsaid"
    assert not_as_planned(outcome, FOUND) == []


def test_partitions_that_are_lost_or_left_are_not_as_planned() -> None:
    assert not_as_planned(Outcome("restore", "rolled back", kept=["files", "record_index"]), FOUND) == []
    assert len(not_as_planned(Outcome("restore", "rolled back", kept=["files", "column_stats"]), FOUND)) == 2
    assert len(not_as_planned(Outcome("restore", "deleted", deleted={"files": "requested"}), FOUND)) == 2


@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_index_that_was_dropped_or_built_once_more_is_seen(version: str, tmp_path: Path) -> None:
    base = support.unpack_indexed(version, "cow", tmp_path)
    before = metadata_of(base)
    assert {"files", "record_index", "column_stats", "bloom_filters"} <= listed(base)
    assert before.first.startswith("0" * 14)
    assert made_anew(base, before) == []

    since = max(name for name in before.instants if name.endswith("deltacommit"))
    folder = base / ".hoodie/metadata/.hoodie" / ("" if version == "v6" else "timeline")
    later = f"{since[:17]}010.deltacommit" if version == "v6" else "00000000000000009_1.deltacommit"
    (folder / later).write_bytes((folder / since).read_bytes())
    assert [later in problem for problem in made_anew(base, before)] == [True]

    properties = base / ".hoodie/hoodie.properties"
    properties.write_text(properties.read_text().replace("record_index", "").replace("column_stats", ""))
    assert any("have dropped ['column_stats', 'record_index']" in problem for problem in made_anew(base, before))


def test_like_reasons_are_counted_as_one() -> None:
    group = "the group record-index-0001-0 has no base file of 20261124041839378 any more: it was cleaned"
    assert plain(group) == "the group _ has no base file of _ any more: it was cleaned"
    outcomes = [
        Outcome("restore", "rolled back", deleted={"record_index": "late"}),
        Outcome("restore", "deleted", "its clean _ is pending", deleted={"files": "its clean _ is pending"}),
        Outcome("rollback", "kept", lost=["some"], wrong=["some"]),
    ]
    assert summary(asdict(one) for one in outcomes) == {
        "tried": {"restore": {"rolled back": 1, "deleted": 1}, "rollback": {"kept": 1}},
        "reasons": {"partitions": {"record_index: late": 1}, "tables": {"deleted: its clean _ is pending": 1}},
        "lost by a death": 1,
        "wrong": 1,
    }


def test_in_a_walk_with_indexes_writers_build_all_of_them() -> None:
    for walk in (walk_of(seed, indexes=True) for seed in range(1, 30)):
        assert walk.shape.options.items() >= walk.shape.all_indexes.items()
        assert walk.shape.options["hoodie.index.type"] == "RECORD_INDEX"
        assert not walk.shape.options.items() & NO_STATISTICS.items()
        assert 6 <= len(walk.steps) <= 14


def test_the_walks_of_a_seed_are_the_same_whether_or_not_the_others_are_gone() -> None:
    first = walk_of(7)
    assert walk_of(7, indexes=True) == walk_of(7, indexes=True) != first
    assert walk_of(7) == first
    assert not first.shape.compact_every
