"""Orphans: which files belong to no instant, how sure that is, and their deletion."""

import os
import shutil
import time
from collections.abc import Collection
from dataclasses import replace

import pytest

from hudictl.errors import Conflict, HudictlError, Incomplete, Refused, Unreadable
from hudictl.formats import restore as restore_format
from hudictl.formats import rollback
from hudictl.formats import savepoint as savepoint_format
from hudictl.formats.log_blocks import AVRO_DATA, INSTANT_TIME, encode_block
from hudictl.formats.rollback import InstantInfo, RollbackMetadata
from hudictl.formats.savepoint import SavepointMetadata
from hudictl.ops.facts import read_facts, read_signs
from hudictl.ops.monitor import Silent
from hudictl.ops.orphan_deletion import OrphanOptions, OrphanResult, delete_orphans, plan_orphan_deletion
from hudictl.ops.orphans import ON_NO_TIMELINE, Orphan, find_orphans
from hudictl.table.metadata_table import metadata_table_in_use
from hudictl.table.operations import operation_instants, read_operation
from tests import support
from tests.ops.conftest import Unpack
from tests.ops.helpers import ENGINE, At, Copy, FailDeletion, attempt, drop, pending_restore, put, restore, rollback_plan, tree

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LONG_AGO = "20200101000000000"
LATER = "20261121235959000"


def orphans(copy: Copy) -> list[Orphan]:
    table = copy.table
    return find_orphans(read_facts(table, ENGINE, read_signs(table)), ENGINE)


def found(copy: Copy) -> dict[str, tuple[str, bool]]:
    return {orphan.file.path: (orphan.why, orphan.sure) for orphan in orphans(copy)}


def delete(copy: Copy, monitor: object = None, idle_ms: int = 0) -> OrphanResult:
    table = copy.table
    plan = plan_orphan_deletion(table, ENGINE, OrphanOptions(idle_ms))
    return delete_orphans(table, ENGINE, plan, monitor or Silent(), "test")  # type: ignore[arg-type]


def written_by(copy: Copy, time: str) -> set[str]:
    return {path for path in copy.data() if f"_{time}." in path}


def lose(copy: Copy, time: str) -> set[str]:
    """Takes an instant off the timeline, and nothing else; returns its files."""
    for path in [*copy.timeline.glob(f"{time}[._]*")]:
        drop(path)
    return written_by(copy, time)


def stray(copy: Copy, time: str, *, old: bool = True) -> str:
    """A base file as a killed writer leaves it, of another instant than its neighbour's; returns its path."""
    like = sorted(path for path in copy.data() if path.endswith(".parquet"))[0]
    path = f"{like.rpartition('_')[0]}_{time}.parquet"
    put(copy.path / path, (copy.path / like).read_bytes(), old=old)
    return path


def rolled_back(copy: Copy, target: str, rollback_time: str = LATER) -> None:
    """A completed rollback, as Hudi publishes it."""
    body = rollback.encode_metadata(RollbackMetadata(rollback_time, 1, InstantInfo(target, "commit"), {}))
    suffix = "rollback" if copy.version == "v6" else None
    copy.write(f"{rollback_time}.{suffix}" if suffix else f"{rollback_time}_{rollback_time}.rollback", body)


@pytest.mark.parametrize(("version", "name"), [(v, name) for v in support.VERSIONS for name in support.names(v)])
def test_no_real_table_has_any(unpack: Unpack, version: str, name: str) -> None:
    """Also those of killed writers: what a pending write has left is a failed write's; nor the archived, clustered,
    replaced or change log files."""
    assert orphans(unpack(version, name)) == []
