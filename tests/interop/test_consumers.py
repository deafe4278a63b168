"""What a restore and a rollback say to consumers and to Hudi Streamer, against the real Hudi: an incremental query that
starts where the result says reads just the rows of the next write."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.ops.undo.afterwards import Afterwards, afterwards_then
from hudictl.state.timeline.checkpoints import StreamerCheckpoint
from hudictl.table.open import open_table
from hudictl.table.operations import operation_instants
from tests import support
from tests.interop import product
from tests.interop.judge import Judge

pytestmark = pytest.mark.hudi

KEYS = {"v6": "deltastreamer.checkpoint.key", "v8": "streamer.checkpoint.key.v2", "v9": "streamer.checkpoint.key.v2"}


def read_since(judge: Judge, base: Path, begin: str | None) -> list[int]:
    query = f"SELECT id FROM hudi_table_changes('{base}', 'latest_state', '{begin}') ORDER BY id"
    return [int(row[0]) for row in judge.sql(base, [query])]


def told(base: Path) -> Afterwards:
    """By the record of the last operation."""
    table = open_table(str(base))
    return afterwards_then(table, operation_instants(table.storage)[-1])


@pytest.mark.full
@pytest.mark.short("v6-COPY_ON_WRITE", "v9-MERGE_ON_READ")
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_consumer_that_starts_again(
    judge: Callable[[str], Judge], version: str, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    base, hudi = tmp_path_factory.mktemp("consumers") / "table", judge(version)

    def write(*ids: int, checkpoint: str) -> str:
        options = {
            "hoodie.datasource.write.table.type": kind,
            "hoodie.datasource.write.commitmeta.key.prefix": KEYS[version],
            KEYS[version]: checkpoint,
        }
        rows = [[number, number, checkpoint, "p1"] for number in ids]
        return hudi.upsert(base, rows, options=options) if base.exists() else hudi.create(base, rows, options)

    write(1, 2, checkpoint="k0")
    target = write(2, 3, checkpoint="kS")
    first, last = write(4, 2, checkpoint="k1"), write(5, checkpoint="k2")
    product.savepoint(base, target)
    restored = product.restore(base, target)
    assert restored is not None
    assert restored.consumers is not None
    assert restored.head is not None
    gone = restored.consumers
    assert (gone.first.time, gone.last.time, gone.gone_from) == (first, last, first)
    assert gone.restart == restored.head
    assert restored.head.time == target
    assert restored.checkpoint == StreamerCheckpoint("k2", "kS")
    assert told(base) == Afterwards(restored.head, restored.checkpoint, gone, restored.catalog)

    newest = write(6, 2, checkpoint="k3")
    assert read_since(hudi, base, gone.begin) == [2, 6]
    unwanted = write(7, checkpoint="k4")
    assert read_since(hudi, base, gone.begin) == [2, 6, 7]
    assert product.rollback(base, unwanted, "--yes") == 0
    after = told(base)
    assert after.head is not None
    assert after.head.time == newest
    assert after.consumers is not None
    assert after.consumers.gone_from == unwanted
    assert after.checkpoint == StreamerCheckpoint("k4", "k3")
    write(8, checkpoint="k5")
    assert read_since(hudi, base, after.consumers.begin) == [8]
    assert read_since(hudi, base, gone.begin) == [2, 6, 8]
