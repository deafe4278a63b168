"""The file slices of a version 6 table that need a rollback block, by instant."""

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from types import MappingProxyType

from hudictl.engine.base import Engine
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import DELTACOMMIT, Instant, comparable_action
from hudictl.formats.rollback import StoredRollbackPlan
from hudictl.ops.undo.plan import BlockTarget, MarkedSlice
from hudictl.state.facts import Facts
from hudictl.state.files.instant_files import OwnFiles
from hudictl.table.files.choose import scan_partition
from hudictl.table.files.slices import Group, StoredFile
from hudictl.table.files.sweep import Sweep
from hudictl.table.files.view import pending_compactions
from hudictl.table.timeline.commits import Commits
from hudictl.table.writers.markers import read_markers

SliceKey = tuple[str, str, str]


def plan_blocks(
    facts: Facts,
    engine: Engine,
    removed: Mapping[str, Instant | None],
    restore: str | None,
    *,
    profiles: bool,
    archived: Mapping[str, ArchivedInstant] = MappingProxyType({}),
    backup: Commits = MappingProxyType({}),
    partly_told: Collection[str] = (),
) -> dict[str, tuple[BlockTarget, ...]]:
    """The slices that need a rollback block, by instant. From table version 8 on, and without delta commits, there are
    none: a table that is copy on write now may have been merge on read.

    Left out are slices whose base instant is also removed, because all their logs are deleted, and slices without any
    file on storage.

    Args:
        removed: the instants to remove; None for one that is already removed.
        restore: the pending restore that is continued. Its stored rollback plans are used as they are, because
            un-publishing has removed the write statistics. Older plans may be partial: they only add slices.
        archived: those that the archive has. ``backup`` is the metadata of those that only it has.
        partly_told: completed instants whose statistics are not complete: log headers are read for them, too.
        profiles: also slices that a pending instant was going to update, even if it did not, as Hudi's restore does.

    Raises:
        Unreadable, StorageFailed, EngineFailed.
    """
    table = facts.table
    if not table.rules.needs_rollback_blocks or (table.is_cow and not (archived or facts.timeline.having(DELTACOMMIT))):
        return {}
    stored = {entry.target: entry.plan for entry in facts.signs.live_rollbacks if entry.plan and entry.target}
    trusted = {
        entry.target
        for entry in facts.signs.live_rollbacks
        if entry.target and restore is not None and entry.instant.time > restore
    }
    appended = {}
    for time, entry in removed.items():
        there = entry or archived.get(time)
        if there is not None and time not in trusted and comparable_action(there.action) == DELTACOMMIT:
            pending = entry is not None and entry.pending
            known = backup if entry is None else facts.commits
            # Only a completed instant's statistics are complete; an empty file has none.
            appended[time] = CommitMetadata() if pending else known.get(time, CommitMetadata())
    untold = frozenset(time for time, commit in appended.items() if not commit.stats or time in partly_told)
    scanned = _scan(facts, engine, removed, untold) if untold else {}
    planned = {time: stored_targets(stored[time]) for time in removed if time in stored}
    for time, commit in appended.items():
        targets = planned.setdefault(time, set())
        if time not in untold:
            targets |= _named(facts, OwnFiles([commit]).files)
        else:
            begun = OwnFiles(markers=read_markers(facts.table, time)).files
            targets |= _named(facts, {*begun, *scanned.get(time, ())})
            targets |= _profiled(facts, time) if profiles and removed[time] is not None else set()
    stored_slices = _slices_on_storage(facts, {target.slice for targets in planned.values() for target in targets})
    return {time: _distinct(targets, removed, stored_slices) for time, targets in planned.items()}


def _slices_on_storage(facts: Facts, slices: Collection[SliceKey]) -> set[SliceKey]:
    """The slices that still have a file. In a slice without files, the block would be the only file of the slice, and
    readers would take it for the newest slice of the file group."""
    files = facts.sweep.of_groups((partition, file_id) for partition, file_id, _ in slices)
    keys = ((file.partition, file.data.file_id, file.data.instant) for file in files if not file.data.cdc)
    return {key for key in keys if key in slices}


def marked_slices(targets: Iterable[tuple[str, BlockTarget]], found: Sweep) -> tuple[MarkedSlice, ...]:
    """The slices that get blocks, each with its logs.

    Args:
        targets: (instant, slice) pairs, in the order in which the blocks are written.
        found: the listing.

    Raises:
        StorageFailed, EngineFailed.
    """
    instants: dict[SliceKey, list[str]] = {}
    for time, target in targets:
        instants.setdefault(target.slice, []).append(time)
    logs: dict[SliceKey, list[tuple[str, int]]] = {key: [] for key in instants}
    for file in found.of_groups((partition, file_id) for partition, file_id, _ in instants):
        key = (file.partition, file.data.file_id, file.data.instant)
        if key in logs and not file.data.is_base and not file.data.cdc:
            logs[key].append((file.data.name, file.size or 0))
    return tuple(MarkedSlice(*key, tuple(logs[key]), tuple(times)) for key, times in sorted(instants.items()))


def _distinct(
    targets: Iterable[BlockTarget], removed: Mapping[str, Instant | None], there: Collection[SliceKey]
) -> tuple[BlockTarget, ...]:
    by_slice = {target.slice: target for target in sorted(targets, key=lambda target: target.log)}
    return tuple(by_slice[key] for key in sorted(by_slice) if key[2] not in removed and key in there)


def stored_targets(plan: StoredRollbackPlan) -> set[BlockTarget]:
    """The slices that a stored rollback plan marks."""
    return {
        BlockTarget(request.partition, request.file_id, request.base_instant, _log_name(path), size)
        for request in plan.requests
        if request.file_id
        for path, size in request.logs.items()
    }


def _log_name(path: str) -> str:
    # A pending write's profile names no log: then the key is a folder.
    name = path.rpartition("/")[2]
    return name if parse_data_file(name) else ""


def _named(facts: Facts, files: Iterable[tuple[str, str]]) -> set[BlockTarget]:
    """The slices of the logs, by the names of the logs; base files and change logs need no block."""
    parsed = ((partition, parse_data_file(name)) for partition, name in {*files})
    logs = [(partition, data) for partition, data in parsed if data is not None and not data.is_base and not data.cdc]
    stored = facts.sweep.of_groups((partition, data.file_id) for partition, data in logs)
    sizes = {(file.partition, file.data.name): file.size for file in stored}
    return {
        BlockTarget(partition, data.file_id, data.instant, data.name, sizes.get((partition, data.name)) or 1)
        for partition, data in logs
    }


def _scan(
    facts: Facts, engine: Engine, removed: Mapping[str, Instant | None], instants: frozenset[str]
) -> dict[str, set[tuple[str, str]]]:
    """The logs on kept slices in which the instants have blocks: markers and profile may both be partial."""
    scan = partial(scan_partition, facts.table.storage, frozenset(removed), instants)
    found: dict[str, set[tuple[str, str]]] = {}
    for partition, pairs in facts.sweep.over("read log headers", scan):
        for time, name in pairs:
            found.setdefault(time, set()).add((partition, name))
    return found


def _profiled(facts: Facts, time: str) -> set[BlockTarget]:
    """The newest slices of the file groups that a pending instant was going to update, as Hudi determines them."""
    newest: dict[Group, StoredFile] = {}
    profile = facts.commits[time].stats.items()
    for file in facts.sweep.of_groups((partition, stat.file_id) for partition, stats in profile for stat in stats):
        if file.data.instant <= time and not file.data.cdc:
            current = newest.get(file.group)
            if current is None or _order(current) < _order(file):
                newest[file.group] = file
    compactions = pending_compactions(facts.table, facts.timeline, ())
    found = set()
    for partition, stats in profile:
        for stat in stats:
            last = newest.get((partition, stat.file_id))
            if last is None or stat.previous in (None, "null"):
                continue
            opened = compactions.get(last.group, "")
            base = opened if last.data.instant < opened <= time else last.data.instant
            if base < time:
                found.add(BlockTarget(partition, stat.file_id, base, "", 1))
    return found


def _order(file: StoredFile) -> tuple[str, int]:
    return file.data.instant, file.data.version
