"""A Hive catalog after hudictl's changes: Hudi's own sync, on a real metastore, and Hive's own language."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.rollback.planning import plan_rollback
from hudictl.state.files.catalog import SYNC_ALL, CatalogGap
from hudictl.table.open import open_table
from tests import support
from tests.helpers import session
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.metastore import Metastore, start_metastore

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
ODD = "it's 3%"
LISTED = "p=it%27s 3%25"
"""As Hive lists it."""


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metastore]:
    with start_metastore(tmp_path_factory.mktemp("metastore") / "server") as server:
        yield server


@dataclass(frozen=True)
class Synced:
    """A table whose writers sync it to a Hive metastore: first p=1 and p=2, which a savepoint keeps; then the partition
    ODD was written, and p=1 was dropped."""

    hudi: Judge
    uri: str
    base: Path
    name: str
    savepoint: str

    def listed(self, suffix: str = "") -> list[str]:
        return self.hudi.hiveql(self.uri, [f"SHOW PARTITIONS lake.{self.name}{suffix}"])

    def write(self, partition: str, options: dict[str, str] | None = None) -> str:
        return self.hudi.upsert(
            self.base, [[9, 9, "x", partition]], options=sync(self.uri, self.name) | (options or {})
        )


def sync(uri: str, name: str) -> dict[str, str]:
    own = {"enable": "true", "mode": "hms", "metastore.uris": uri, "database": "lake", "table": name}
    own |= {"partition_fields": "p", "partition_extractor_class": "org.apache.hudi.hive.MultiPartKeysValueExtractor"}
    return {f"hoodie.datasource.hive_sync.{key}": value for key, value in own.items()} | {
        "hoodie.database.name": "lake",
        "hoodie.datasource.write.hive_style_partitioning": "true",
    }


@pytest.fixture
def synced(judge: Judges, metastore: Metastore, version: str, kind: str, tmp_path: Path) -> Synced:
    hudi, base, name = judge(version), tmp_path / "table", f"{kind}_{version}_{tmp_path.name[-12:]}".lower()
    options = sync(metastore.uri, name) | {"hoodie.table.name": name}
    options["hoodie.datasource.write.table.type"] = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[kind]
    hudi.create(base, [[1, 1, "a", "1"], [2, 1, "a", "2"]], options, "upsert")
    made = Synced(hudi, metastore.uri, base, name, product.savepoint(base))
    made.write(ODD)
    hudi.delete_partitions(base, ["p=1"], sync(metastore.uri, name))
    assert made.listed("_ro" if kind == "mor" else "") == ["p=2", LISTED]
    return made


def restored(synced: Synced) -> CatalogGap:
    opened = session(open_table(str(synced.base)))
    plan = plan_restore(opened, synced.savepoint, RestoreOptions(settle_s=0.0, idle_ms=0))
    result = execute_restore(opened, plan)
    assert result.catalog == plan.undo.catalog
    return plan.undo.catalog


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_only_a_sync_of_all_partitions_notices_a_restore(synced: Synced, kind: str) -> None:
    """The next syncs leave in the catalog what is gone, and leave out what is back."""
    gap = restored(synced)
    assert (gap.vanishing_partitions, gap.returning_partitions) == ((f"p={ODD}",), ("p=1",))
    suffixes = ["", "_ro", "_rt"] if kind == "mor" else [""]
    for _ in range(2):
        synced.write("2")
        assert [synced.listed(suffix) for suffix in suffixes] == [["p=2", LISTED]] * len(suffixes)
    synced.write("2", dict([SYNC_ALL.split("=")]))
    assert [synced.listed(suffix) for suffix in suffixes] == [["p=1", "p=2"]] * len(suffixes)


@pytest.mark.full
@pytest.mark.short("v9-mor")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_the_statements_correct_the_catalog(synced: Synced, kind: str) -> None:
    """What is gone at once, what is back with the next sync."""
    gap = restored(synced)
    synced.hudi.hiveql(synced.uri, list(gap.statements))
    suffixes = ["", "_ro", "_rt"] if kind == "mor" else [""]
    assert [synced.listed(suffix) for suffix in suffixes] == [["p=2"]] * len(suffixes)
    synced.write("2")
    assert [synced.listed(suffix) for suffix in suffixes] == [["p=1", "p=2"]] * len(suffixes)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", ["cow"])
def test_a_rollback_is_noticed_as_little(synced: Synced) -> None:
    instant = synced.write("4")
    opened = session(open_table(str(synced.base)))
    plan = plan_rollback(opened, instant, RollbackOptions(settle_s=0.0, idle_ms=0))
    assert execute_rollback(opened, plan).catalog.vanishing_partitions == ("p=4",)
    synced.write("2")
    assert "p=4" in synced.listed()
    synced.hudi.hiveql(synced.uri, list(plan.undo.catalog.statements))
    assert "p=4" not in synced.listed()
