"""What counts as wrong with a table, and what is Hudi's own way."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from tests.interop.judge import Judge, JudgeError
from tests.walks import verdict
from tests.walks.product import Answer
from tests.walks.shape import by_chance, with_indexes
from tests.walks.table import Table
from tests.walks.verdict import alike, put_all, wrong_indexes

CLUSTERING = ["2", "replacecommit", "INFLIGHT", ""]
REFUSED = "HoodieClusteringUpdateException: Not allowed to update the clustering file group"
CANCELLED = "clustering fails: CancellationException: None"


@dataclass
class Hudi:
    """A Hudi whose writer fails while a clustering is pending."""

    error: str
    entries: list[list[str]] = field(default_factory=lambda: [CLUSTERING])
    written: list[Any] = field(default_factory=list)

    def timeline(self, path: Path) -> list[list[str]]:
        return self.entries

    def rollback(self, path: Path, instant: str, options: object) -> bool:
        self.entries = [entry for entry in self.entries if entry[0] != instant]
        return True

    def upsert(self, path: Path, rows: Sequence[Any], *_: object) -> str:
        if CLUSTERING in self.entries:
            raise JudgeError("upsert", ["HoodieUpsertException: failed", self.error])
        self.written.append(rows)
        return "3"


def table_of(hudi: Hudi) -> Table:
    return Table(cast(Judge, hudi), Path("nowhere"), by_chance(Random(1)))


def test_a_write_that_a_pending_clustering_refuses_is_tried_without_that() -> None:
    hudi = Hudi(REFUSED)
    assert put_all(table_of(hudi), [[1, 1, "a"]])
    assert (hudi.entries, hudi.written) == ([], [[[1, 1, "a"]]])


def test_any_other_failure_of_a_write_is_one() -> None:
    hudi = Hudi("IllegalStateException: None")
    with pytest.raises(JudgeError):
        put_all(table_of(hudi), [[1, 1, "a"]])
    assert hudi.entries == [CLUSTERING]


def test_a_cancelled_clustering_has_failed_as_another_did() -> None:
    failed = "clustering fails: HoodieTimeTravelException: the timestamp '1' must be earlier"
    assert alike(CANCELLED, failed)
    assert alike(failed, CANCELLED)
    assert alike(failed, failed.replace("'1'", "'2'"))


def test_problems_of_different_steps_are_two() -> None:
    assert not alike(CANCELLED, "an upsert of all keys fails: CancellationException: None")
    assert not alike(CANCELLED, "after clustering: rows by listing: 1 of 2")
    assert not alike("clustering fails: ValueError: a", "clustering fails: KeyError: b")


def test_indexes_are_verified_where_the_table_has_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(base: Path, *words: str) -> Answer:
        return Answer(words, 3 if "--indexes" in words else 0, "differences", "")

    monkeypatch.setattr(verdict, "ask", ask)
    table = Table(cast(Judge, Hudi(REFUSED)), Path("nowhere"), with_indexes(Random(1)))
    assert [problem.endswith("differences") for problem in wrong_indexes(table)] == [True]
    assert wrong_indexes(table_of(Hudi(REFUSED))) == []
