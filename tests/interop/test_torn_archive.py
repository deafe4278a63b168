"""A killed archiver's torn log (table version 6): Hudi 0.15.0 reads over it, and so does hudictl."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import Unreadable
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.open import open_table
from hudictl.table.timeline.archive import archived_after, torn_logs
from tests.helpers import LONG_AGO
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.needed_support import BY_HAND, keep
from tests.interop.scenarios import batch, digest

pytestmark = pytest.mark.hudi

CREATE = r"create \.hoodie/archived/\.commits_\.archive"


@pytest.fixture(scope="module")
def made(judge: Callable[[str], Judge], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight commits, of which an archiver would take six."""
    base = tmp_path_factory.mktemp("torn") / "table"
    judge("v6").create(base, batch(range(30), 1), options=BY_HAND)
    for ts in range(2, 9):
        judge("v6").upsert(base, batch(range(30), ts), options=BY_HAND)
    return base


def logs(base: Path) -> list[Path]:
    return sorted((base / ".hoodie/archived").glob(".commits_.archive.*"))


def check(base: Path) -> int:
    """The exit code of ``check``; what changed an hour ago counts as dead."""
    for path in logs(base):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return product.run(["check", "--table", str(base), "--engine", "local"])


@pytest.mark.full
@pytest.mark.parametrize("share", [None, 0.0, 0.01, 0.3, 0.6, 0.99])
def test_hudictl_goes_on_beside_the_log_of_a_killed_archiver(
    judge: Callable[[str], Judge], made: Path, tmp_path: Path, share: float | None, capfd: pytest.CaptureFixture[str]
) -> None:
    """Killed when it had created the log, or had written a share of its bytes: as they are in a log that is whole."""
    hudi, base = judge("v6"), shutil.copytree(made, tmp_path / "table")
    if share is None:
        with hudi.dying(base, CREATE, after=True):
            hudi.archive(base, keep(2, 3))
    else:
        whole = shutil.copytree(made, tmp_path / "whole")
        hudi.archive(whole, keep(2, 3))
        (log,) = logs(whole)
        body = log.read_bytes()
        shutil.copytree(log.parent, base / ".hoodie/archived", dirs_exist_ok=True)
        (base / ".hoodie/archived" / f".{log.name}.crc").unlink(missing_ok=True)
        (logs(base)[0]).write_bytes(body[: int(len(body) * share)])
    (torn,) = logs(base)
    assert torn_logs(open_table(str(base))) == (torn.name,)
    assert hudi.both_rows(base) == digest(batch(range(30), 8))
    assert check(base) == 3
    assert "torn-archive" in capfd.readouterr().out

    *_, target, _, newest = sorted(path.name[:17] for path in (base / ".hoodie").glob("*.commit"))
    assert product.rollback(base, newest) == 0
    assert product.restore(base, target, RestoreOptions(to_instant=True, rule="requested")) is not None
    assert hudi.both_rows(base) == digest(batch(range(30), 6))
    product.upsert(hudi, base, BY_HAND)

    # The next archiver takes the same instants into a log of its own. The torn one stays, and that log proves it.
    hudi.archive(base, keep(2, 3))
    assert [path.name for path in logs(base)] == [torn.name, torn.name.replace("archive.1", "archive.2")]
    assert check(base) == 3
    assert "torn-archive" in capfd.readouterr().out
    product.upsert(hudi, base, BY_HAND)
    *_, target, _ = sorted(path.name[:17] for path in (base / ".hoodie").glob("*.commit"))
    assert product.savepoint(base, target) == target
    assert product.restore(base, target, RestoreOptions(rule="requested")) is not None
    product.upsert(hudi, base, BY_HAND)
    hudi.delete_savepoint(base, target)
    newest = max(path.name[:17] for path in (base / ".hoodie").glob("*.commit"))
    assert product.rollback(base, newest) == 0
    assert torn_logs(open_table(str(base))) == (torn.name,)

    # What it names is nowhere else.
    logs(base)[1].unlink()
    with pytest.raises(Unreadable, match="is cut off"):
        archived_after(open_table(str(base)), "")
