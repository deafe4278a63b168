"""A clustering that is planned, and run only after other commits: a restore to any instant gives the rows that readers
saw when it was completed; and Hudi goes on from there."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.interop import product
from tests.interop.check_support import findings
from tests.interop.judge import Judge, JudgeError, Rows
from tests.interop.make_overlaps import BY_HAND, CLUSTER, COMPACT, MOR, ONE_VERSION, rows
from tests.interop.overlaps_support import upsert_all

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
ALLOW = {
    "hoodie.clustering.updates.strategy": "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
}
KINDS = {"cow": BY_HAND | ALLOW, "mor": MOR | ALLOW}


class History:
    """A table, its instants, and what readers saw when each was completed."""

    def __init__(self, hudi: Judge, base: Path, options: dict[str, str]) -> None:
        self.hudi, self.base, self.options = hudi, base, options
        self.seen: dict[str, Rows] = {}
        self.planned: set[str] = set()

    def did(self, instant: str) -> str:
        self.seen[instant] = self.hudi.both_rows(self.base)
        return instant

    def upsert(self, partitions: str, ts: int) -> str:
        return self.did(self.hudi.upsert(self.base, rows(partitions, ts), options=self.options))

    def plan(self, pattern: str) -> str:
        before = {entry[0] for entry in self.hudi.timeline(self.base)}
        regex = {"hoodie.clustering.plan.strategy.partition.regex.pattern": pattern}
        self.hudi.cluster(self.base, "schedule", {**self.options, **CLUSTER, **regex})
        (planned,) = {entry[0] for entry in self.hudi.timeline(self.base)} - before
        self.planned.add(planned)
        return planned

    def run(self) -> None:
        self.hudi.cluster(self.base, "execute", {**self.options, **CLUSTER})

    def go_on(self) -> None:
        """No key comes twice, and no update is lost."""
        upsert_all(self.hudi, self.base)
        count = self.hudi.both_rows(self.base)["count"]
        self.hudi.delete(self.base, [self.hudi.read(self.base)[0][0]], options=self.options)
        self.hudi.clean(self.base, {**ONE_VERSION, **self.options})
        if self.options.keys() & {"hoodie.datasource.write.table.type"}:
            self.hudi.compact(self.base, "scheduleAndExecute", {**self.options, **COMPACT})
        assert self.hudi.both_rows(self.base)["count"] == count - 1


def elsewhere(table: History) -> None:
    table.upsert("c", 5)


def overwrite(table: History) -> None:
    table.did(table.hudi.upsert(table.base, rows("a", 5)[:3], "insert_overwrite", table.options))


def update(table: History) -> None:
    table.upsert("ac", 5)


def delete(table: History) -> None:
    table.did(table.hudi.delete(table.base, [row[0] for row in rows("a", 1)[:3]], options=table.options))


def second_clustering(table: History) -> None:
    planned = table.plan("b")
    table.upsert("c", 5)
    table.run()
    table.did(planned)


def savepoint(table: History) -> None:
    table.hudi.savepoint(table.base, table.upsert("c", 5), table.options)


def restore(table: History) -> None:
    """By the rule that keeps the plan: what it reads is there again."""
    target = table.upsert("c", 5)
    table.hudi.upsert(table.base, rows("a", 6)[:3], "insert_overwrite", table.options)
    assert product.command(table.base, "restore", f"--to-instant={target}", "--rule=requested", idle="0s") == 0


MIDDLES = (elsewhere, overwrite, update, delete, second_clustering, savepoint, restore)


def made(hudi: Judge, base: Path, kind: str, middle: Callable[[History], None]) -> tuple[History, str]:
    """Two writes, the plan, what comes between, the run, and a write."""
    table = History(hudi, base, KINDS[kind])
    table.did(hudi.create(base, rows("abc", 1), table.options))
    table.upsert("abc", 2)
    planned = table.plan("a")
    middle(table)
    table.run()
    table.did(planned)
    return table, planned


def short() -> pytest.MarkDecorator:
    return pytest.mark.short("overwrite-cow-v6", "restore-cow-v9")


@pytest.mark.full
@short()
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("middle", MIDDLES, ids=lambda one: one.__name__)
def test_a_restore_to_each_instant(
    judge: Judges, version: str, kind: str, middle: Callable[[History], None], tmp_path: Path
) -> None:
    hudi = judge(version)
    if (version, kind, middle) == ("v6", "mor", overwrite):
        with pytest.raises(JudgeError, match="produced 0 WriteStatus"):
            made(hudi, tmp_path / "made" / "table", kind, middle)
        return
    table, planned = made(hudi, tmp_path / "made" / "table", kind, middle)
    table.upsert("bc", 9)
    *others, _ = table.seen
    # By the rule of 0.15.0 and 1.0.2 a restore to a clustering removes what was requested after it.
    targets = [one for one in others if version == "v9" or one not in table.planned]
    # The last one is what the clustering was run after: there Hudi goes on.
    targets.sort(key=lambda one: (one != planned, others.index(one)))
    for number, target in enumerate(targets):
        base = shutil.copytree(table.base, tmp_path / str(number) / "table")
        code = product.command(base, "restore", f"--to-instant={target}", "--delete-later-savepoints", idle="0s")
        assert (code, hudi.both_rows(base)) == (0, table.seen[target]), (target, list(table.seen))
    History(hudi, base, table.options).go_on()


@pytest.mark.full
def test_what_it_has_replaced_without_writing_is_not_lost(judge: Judges, tmp_path: Path) -> None:
    """0.15.0 writes nothing for a file group that was overwritten since the plan, and replaces it all the same: without
    the overwrite, neither its rows nor those before it are there."""
    hudi = judge("v6")
    table = History(hudi, tmp_path / "table", KINDS["mor"])
    table.did(hudi.create(table.base, rows("abc", 1), table.options))
    planned = table.plan("[abc]")
    overwrite(table)
    table.run()
    table.did(planned)
    table.upsert("bc", 9)
    asked = shutil.copytree(table.base, tmp_path / "asked" / "table")
    assert product.command(asked, "restore", f"--to-instant={planned}", "--rule=requested", idle="0s") == 0
    assert hudi.both_rows(asked)["count"] == len(rows("bc", 1))
    assert product.command(table.base, "restore", f"--to-instant={planned}", idle="0s") == 0
    assert hudi.both_rows(table.base) == table.seen[planned]
    table.go_on()


@pytest.mark.full
@pytest.mark.short("last-overwrite-cow-v6", "later-update-mor-v9")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("middle", [overwrite, update, delete], ids=lambda one: one.__name__)
@pytest.mark.parametrize("last", [True, False], ids=["last", "later"])
def test_check_finds_it_and_its_remedy_ends_it(
    judge: Judges, version: str, kind: str, middle: Callable[[History], None], last: bool, tmp_path: Path
) -> None:
    hudi = judge(version)
    if (version, kind, middle) == ("v6", "mor", overwrite):
        pytest.skip("0.15.0 refuses to run it on merge on read")
    table, planned = made(hudi, tmp_path / "table", kind, middle)
    before = list(table.seen.values())[-2]
    if not last:
        table.upsert("bc", 9)
    (found,) = [one for one in findings(table.base) if one.finding == "changes-undone"]
    assert found.subject.startswith(planned)
    words = [word for word in shlex.split(found.remedy[0].command)[1:] if not word.startswith("--table")]
    assert product.command(table.base, *words, idle="0s") == 0
    assert not [one for one in findings(table.base) if one.finding == "changes-undone"]
    assert hudi.both_rows(table.base) == before
    table.go_on()
