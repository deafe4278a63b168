"""Savepoints as rows: the bytes that each holds, alone and with others."""

import pytest

from hudictl.reports.savepoints import savepoint_files, savepoint_rows, with_bytes
from hudictl.state.files.savepoints import find_savepoint
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, savepoint


@pytest.mark.parametrize("version", support.VERSIONS)
def test_bytes_that_a_savepoint_holds_alone(unpack: Unpack, version: str) -> None:
    """Files of the newest slices are not its own; nor are those of another savepoint."""
    copy = unpack(version, "cow_savepoints")
    newest, oldest = with_bytes(copy.table, savepoint_rows(copy.table), ENGINE)
    assert newest.instant > oldest.instant
    for row in (newest, oldest):
        files = savepoint_files(
            copy.table, dict(find_savepoint(copy.table, load_timeline(copy.table), row.instant).files)
        )
        assert (row.files, row.bytes, row.missing) == (len(files), sum(file.bytes or 0 for file in files), 0)
    assert oldest.own_bytes == oldest.bytes

    last = savepoint(copy, copy.commits[-1])
    rows = {row.instant: row for row in with_bytes(copy.table, savepoint_rows(copy.table), ENGINE)}
    assert rows[last].bytes
    assert rows[last].own_bytes == 0
    assert rows[oldest.instant] == oldest


def test_two_savepoints_share_a_file(unpack: Unpack) -> None:
    """What both name is of neither."""
    copy = unpack("v9", "mor_savepoints")
    other = next(time for time in copy.commits if time > copy.savepoints[0])
    before = with_bytes(copy.table, savepoint_rows(copy.table), ENGINE)[0].own_bytes
    savepoint(copy, other)
    one, two = with_bytes(copy.table, savepoint_rows(copy.table), ENGINE)
    assert (one.own_bytes or 0) + (two.own_bytes or 0) < (one.bytes or 0) + (two.bytes or 0)
    assert (two.own_bytes or 0) < (before or 0)


def test_a_lost_file_is_missing_and_an_interrupted_savepoint_has_no_files(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    copy.write(f"{copy.commits[-1]}.savepoint.inflight")
    files = find_savepoint(copy.table, load_timeline(copy.table), copy.savepoints[0]).files
    partition, names = next(iter(files.items()))
    (copy.path / partition / names[0]).unlink()
    interrupted, _, oldest = with_bytes(copy.table, savepoint_rows(copy.table), ENGINE)
    assert (interrupted.files, interrupted.own_bytes) == (None, None)
    assert "interrupted" in str(interrupted.warning)
    assert oldest.missing == 1
