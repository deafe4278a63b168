"""A restore removes what the real Hudi removed, on every table of tests/tables; and where Hudi failed, it does not."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from hudictl.formats.file_names import parse_data_file
from hudictl.formats.log_blocks import read_blocks
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, assert_kept, attempt, cases, metadata_instants, restore, savepoint, tree

SERVICES = ("compaction", "logcompaction", "clustering")


@dataclass(frozen=True)
class Done:
    """What a restore changed: data files by path, timeline files by name without completion time."""

    removed: set[str]
    added: set[str]
    timeline_removed: set[str]
    timeline_added: set[str]
    removed_instants: set[str]


def changes(copy: Copy, target: str) -> Done:
    data, timeline = copy.data(), copy.instants()
    result = restore(copy, target)
    return Done(
        data - copy.data(),
        copy.data() - data,
        timeline - copy.instants(),
        copy.instants() - timeline,
        set(result.instants),
    )


def outcome(version: str, name: str, instant: str) -> dict[str, Any]:
    return next(entry for entry in support.outcomes(version, name, "restore") if entry["instant"] == instant)


def failed(version: str, name: str, instant: str) -> bool:
    found = outcome(version, name, instant)
    return not found.get("ok") or "write_error" in found


SUCCEEDED = [case for case in cases() if outcome(*case).get("ok")]
FAILED = [case for case in cases() if failed(*case)]


@pytest.mark.slow
@pytest.mark.short(
    "cow_part",
    "mor_part",
    "cow_cluster",
    "cow_flat_nomdt",
    "mor_failed_lazy",
    "mor_pending_compaction",
    "cow_rollback_interrupted",
    "mor_restore_interrupted",
    "mor_savepoints",
)
@pytest.mark.parametrize(("version", "name", "target"), SUCCEEDED)
def test_removes_what_hudi_removed(unpack: Unpack, version: str, name: str, target: str) -> None:
    copy = unpack(version, name)
    hudi = outcome(version, name, target)
    planned = {file for file in copy.instants() if file.endswith("compaction.requested")}
    used, first = copy.table.metadata_partitions, metadata_instants(copy)[:1]
    savepoint(copy, target)
    done = changes(copy, target)

    extra = done.removed - set(hudi["removed"])
    assert set(hudi["removed"]) <= done.removed
    assert {path for path in extra if not allowed(copy, path, done.removed_instants, planned)} == set()
    assert slices(done.added) == slices(hudi["added"]) - {key for key in slices(hudi["added"]) if key in slices(extra)}
    gone = {re.sub(r"^\d+\.rollback", "*.rollback", file) for file in done.timeline_removed}
    assert gone - leftovers(version, done) == set(hudi["timeline_removed"]) - leftovers(version, done)
    assert {re.sub(r"^\d+", "*", file) for file in done.timeline_added} == set(hudi["timeline_added"])
    assert_finished(copy, target, done.removed_instants, used, first)


def allowed(copy: Copy, path: str, removed: set[str], compactions: set[str]) -> bool:
    """Logs over a removed pending compaction (version 6), and change logs, which Hudi leaves behind."""
    data = parse_data_file(path.rpartition("/")[2])
    assert data is not None
    over = copy.version == "v6" and f"{data.instant}.compaction.requested" in compactions
    return data.instant in removed and not data.is_base and (data.cdc or over)


def slices(paths: Any) -> set[tuple[str, str, str]]:
    """(partition, file id, base instant) of log files."""
    found = set()
    for path in paths:
        partition, _, name = path.rpartition("/")
        data = parse_data_file(name)
        assert data is not None
        found.add((partition, data.file_id, data.instant))
    return found


def leftovers(version: str, done: Done) -> set[str]:
    """From version 8 on Hudi leaves a clustering pending, under its own name and under one that it makes up."""
    if version == "v6":
        return set()
    kinds = [f"{action}.{state}" for action in ("clustering", "replacecommit") for state in ("requested", "inflight")]
    return {f"{time}.{kind}" for time in done.removed_instants for kind in kinds}


def assert_finished(copy: Copy, target: str, removed: set[str], used: tuple[str, ...], first: list[str]) -> None:
    """Nothing of the removed instants is left, and nothing is pending that was not before. ``used`` are the partitions
    of the metadata table before, ``first`` is its first instant."""
    table = copy.table
    timeline = load_timeline(table)
    assert not {entry.time for entry in timeline.writes()} & removed
    assert [str(entry) for entry in timeline.having("restore") if entry.pending] == []
    assert [str(entry) for entry in timeline.having("rollback") if entry.time > target] == []
    assert not removed & {path.name for path in copy.meta.glob(".temp/*")}
    assert not removed & {path.name for path in copy.meta.glob(".heartbeat/*")}
    if used:
        assert_kept(copy, *first, removed)
    assert table.metadata_partitions == used
    assert not list(copy.meta.glob("*.backup"))
    assert list((copy.meta / ".hudictl").iterdir())
    assert not list((copy.meta / ".hudictl").glob("restore-*"))


@pytest.mark.parametrize(
    ("version", "name", "target"), [case for case in SUCCEEDED if case[0] == "v6" and case[1].startswith("mor")]
)
def test_every_slice_hudi_marked_is_marked_for_the_same_instants(
    unpack: Unpack, version: str, name: str, target: str
) -> None:
    copy = unpack(version, name)
    before = blocks(copy)
    savepoint(copy, target)
    compactions = {file.partition(".")[0] for file in copy.instants() if file.endswith("compaction.requested")}
    done = changes(copy, target)
    written = {key: count for key, count in (blocks(copy) - before).items() if key[0][2] not in done.removed_instants}
    # Hudi writes one block a file; one file of hudictl holds the blocks of all targets.
    hudi = Counter(
        key
        for path in outcome(version, name, target)["added"]
        for key in slices([path])
        if key[2] not in compactions & done.removed_instants
    )
    assert Counter(key for key, _ in written) == hudi
    assert set(written.values()) <= {1}


def blocks(copy: Copy) -> Counter[tuple[tuple[str, str, str], str]]:
    """How many rollback blocks there are, by slice and target."""
    found: Counter[tuple[tuple[str, str, str], str]] = Counter()
    for path in copy.data():
        if ".log." in path and not path.endswith(".cdc"):
            body = (copy.path / path).read_bytes()
            (key,) = slices([path])
            for block in read_blocks(lambda offset, length, body=body: body[offset : offset + length], len(body)):
                if block.rollback_target:
                    assert block.instant is not None
                    found[key, block.rollback_target] += 1
    return found


@pytest.mark.parametrize(("version", "name", "target"), FAILED)
def test_where_hudi_fails_it_succeeds_or_refuses_first(unpack: Unpack, version: str, name: str, target: str) -> None:
    """Hudi ended these with an error, or with a table that takes no more writes."""
    copy = unpack(version, name)
    before = tree(copy.path)
    removed: set[str] = set()
    used, first = copy.table.metadata_partitions, metadata_instants(copy)[:1]
    error = attempt(lambda: savepoint(copy, target))
    if error is None:
        before = tree(copy.path)
        error = attempt(lambda: removed.update(changes(copy, target).removed_instants))
    if error is None:
        assert_finished(copy, target, removed, used, first)
    else:
        assert error.exit_code == 13
        assert tree(copy.path) == before


def test_the_allowed_differences_are_really_there(unpack: Unpack) -> None:
    """On these tables Hudi leaves files of removed instants behind, which hudictl takes."""
    copy = unpack("v6", "cow_cdc")
    target = outcome("v6", "cow_cdc", copy.commits[0])["instant"]
    savepoint(copy, target)
    assert {path[-4:] for path in changes(copy, target).removed - set(outcome("v6", "cow_cdc", target)["removed"])} == {
        ".cdc"
    }
