"""What pending writes leave, and since when they are silent."""

import os
import time

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.formats.instants import Instant
from hudictl.state.facts import read_signs
from hudictl.state.writers.activity import Traces, find_traces, last_sign_ms, read_marked
from hudictl.table.files.sweep import sweep
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, appended_log, put

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def found(copy: Copy) -> dict[Instant, Traces]:
    """The traces of all pending writes."""
    timeline = load_timeline(copy.table)
    pending = [entry for entry in timeline.writes() if entry.pending]
    listing = sweep(copy.table, LocalEngine(), ())
    return find_traces(copy.table, timeline, read_marked(copy.table, pending), listing)


@VERSIONS
def test_a_write_leaves_files_of_its_name_and_what_it_appends_to(unpack: Unpack, version: str) -> None:
    """Below table version 8 an upsert's logs carry the names of the slices that they lie on."""
    copy = unpack(version, "mor_failed_direct")
    ((instant, left),) = found(copy).items()
    assert {file.data.instant for file in left.own} == (set() if version == "v6" else {instant.time})
    assert bool(left.appended) is (version == "v6")
    assert instant.time not in {file.data.instant for file in left.appended}


@VERSIONS
def test_each_trace_counts(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_failed_direct")
    ((instant, left),) = found(copy).items()
    ms, markers = left.changed_ms, copy.meta / ".temp" / instant.time
    # Below version 8 this is a log of another name, later one of its own.
    for touched in (
        copy.file(instant.time, "deltacommit.inflight"),
        next(path for path in markers.rglob("*.marker.*") if not path.name.endswith(".crc")),
        appended_log(copy, instant.time) if version == "v6" else copy.path / left.own[0].path,
    ):
        ms += 1_000_000
        os.utime(touched, (ms / 1000, ms / 1000))
        assert [traces.changed_ms for traces in found(copy).values()] == [ms]


@VERSIONS
def test_logs_on_the_slice_of_a_pending_compaction_are_not_its_own(unpack: Unpack, version: str) -> None:
    """Below table version 8 later writes lay them there, under its name."""
    copy = unpack(version, "mor_pending_compaction")
    ((instant, left),) = found(copy).items()
    logs = [copy.path / path for path in copy.data() if f"_{instant.time}.log" in path]
    assert bool(logs) is (version == "v6")
    for log in logs:
        log.touch()
    assert (left.own, found(copy)) == ((), {instant: left})


@VERSIONS
def test_a_completed_write_has_no_traces(unpack: Unpack, version: str) -> None:
    assert found(unpack(version, "cow_part")) == {}


def test_without_a_listing_of_data_files_a_heartbeat_is_a_sign_too(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    ((instant, left),) = found(copy).items()
    seen_ms = last_sign_ms(copy.table, read_signs(copy.table), instant)
    put(copy.meta / ".heartbeat" / instant.time, old=False)
    now_ms = time.time() * 1000
    assert seen_ms < now_ms - 60_000 < last_sign_ms(copy.table, read_signs(copy.table), instant)
    assert [traces.changed_ms for traces in found(copy).values()] == [left.changed_ms]
    assert last_sign_ms(copy.table, read_signs(copy.table), None) == 0
