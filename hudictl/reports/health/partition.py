"""What ``check`` asks of one partition. The engine runs these functions where the partition is listed.

Executors import this module: it imports nothing that reads a table.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple

from hudictl import workers
from hudictl.engine.work import read_each
from hudictl.formats.base_files import has_known_end
from hudictl.formats.file_names import data_path
from hudictl.storage import Storage
from hudictl.table.files.slices import (
    Committed,
    Group,
    StoredFile,
    base_groups,
    has_other_size,
    hiding,
    logs_of,
    stored,
)
from hudictl.table.files.sweep import Partition
from hudictl.table.files.written import recorded_sizes
from hudictl.table.rules import Rules
from hudictl.workers import Packed


@dataclass(frozen=True, slots=True)
class WrongSize:
    """A file with another size, in bytes, than its commit has recorded; ``cdc`` marks a change log."""

    name: str
    found: int
    expected: int
    cdc: bool


@dataclass(frozen=True, slots=True)
class Differences:
    """Where a partition differs from the commits that name its files. Files by name, in the order of the listing.

    ``second`` are slices with several base files: their names, and those of them that commits name. ``unnamed`` are
    other base files of completed commits that no commit names, each with its instant. ``changes_missing`` are missing
    change logs whose base file exists: a clean deletes both.
    """

    path: str
    second: tuple[tuple[list[str], list[str]], ...]
    unnamed: tuple[tuple[str, str], ...]
    sizes: tuple[WrongSize, ...]
    changes_missing: tuple[str, ...]


def differences(committed: Committed, completed: Collection[str], place: Partition[object]) -> Differences | None:
    """Compares a partition with what commits name in it.

    Args:
        committed: the instants that count.
        completed: those of them that are on the timeline.
    """
    if place.listing is None:
        return None
    told = recorded_sizes(place.written)
    second, unnamed = [], []
    for _, entries in base_groups(place.listing):
        slices: dict[str, list[str]] = defaultdict(list)
        for match, _, _ in entries:
            slices[match[3]].append(match[0])
        for time, names in slices.items():
            if len(names) > 1 and time in committed:
                second.append((names, [name for name in names if name in told]))
            elif len(names) == 1 and time in completed and names[0] not in told:
                unnamed.append((names[0], time))

    changes = {log: (size, base) for entry in place.written for log, size, base in entry.change_logs}
    sizes = _wrong_sizes(place.listing, told | {log: size for log, (size, _) in changes.items()})
    there = place.names if changes else frozenset()
    lost = sorted(log for log, (_, base) in changes.items() if log not in there and base in there)
    if second or unnamed or sizes or lost:
        return Differences(place.path, tuple(second), tuple(unnamed), tuple(sizes), tuple(lost))
    return None


def _wrong_sizes(listing: Packed, expected: dict[str, int]) -> list[WrongSize]:
    found = ((name, size, expected.get(name, 0)) for name, size, _ in listing.files)
    wrong = [entry for entry in found if has_other_size(*entry)]
    return [WrongSize(*entry, cdc=entry[0].endswith(".cdc")) for entry in wrong]


def wrong_ends(storage: Storage, committed: Committed, place: Partition[object]) -> list[tuple[str, str]] | None:
    """The paths of logs, and of committed base files, whose end does not match their format, each with the problem."""
    files = [
        (match[0], size)
        for _, entries in base_groups(place.listing)
        for match, size, _ in entries
        if match[3] in committed and has_known_end(match[0])
    ]
    # An empty log is another finding.
    logs = logs_of(place.path, place.listing)
    files += [(log.data.name, log.size) for log in logs if log.size and log.data.instant in committed]
    alone = ([(data_path(place.path, name), size)] for name, size in files)
    return [*chain.from_iterable(read_each(partial(workers.damaged_ends, storage), alone))] or None


class HiddenLog(NamedTuple):
    """A log of a completed write that readers leave out, and the file that hides it, with its instant."""

    path: str
    file: str
    by: str


def hidden_logs(
    rules: Rules, committed: Committed, compacting: Collection[Group], place: Partition[object]
) -> list[HiddenLog] | None:
    """The logs that readers leave out though their writes are completed: see ``hiding``. Of file groups with a pending
    compaction they read two slices together: these are not judged."""
    replaced = {file_id for entry in place.written for file_id in entry.replaced}
    groups: dict[str, list[StoredFile]] = defaultdict(list)
    for log in logs_of(place.path, place.listing):
        if log.data.file_id not in replaced and log.group not in compacting:
            groups[log.data.file_id].append(log)
    for file_id, entries in base_groups(place.listing) if groups else ():
        if file_id in groups:
            groups[file_id] += (stored(place.path, entry) for entry in entries)
    found = []
    for files in groups.values():
        hides = hiding(rules, files, committed, None)
        if not hides:
            continue
        # Beside a base file no log begins a slice.
        begin = [file for file in hides if file.data.is_base] or [min(hides, key=lambda file: file.data.log_order)]
        for file in files:
            time = file.data.instant
            if time in committed and not (file.data.is_base or file.data.cdc):
                ended = committed.completion.get(time, time)
                older = (entry for entry in begin if entry.data.instant <= ended)
                by = max(older, key=lambda entry: entry.data.instant, default=None)
                if by is not None:
                    found.append(HiddenLog(file.path, by.path, by.data.instant))
    return found or None


class OddBases(NamedTuple):
    """What is odd about the base files of a partition: how many have another extension; and the file groups with the
    number of the same bucket, as the bucket index writes it: eight digits before the rest of a UUID, which is another
    one in each group."""

    others: int
    twins: list[Group]


def odd_bases(extension: str, place: Partition[object]) -> OddBases | None:
    """The odd ones in a partition, if there are any. Logs have buckets, too."""
    others = sum(not entry[0][0].endswith(extension) for _, found in base_groups(place.listing) for entry in found)
    groups = {file.data.file_id for file in place.files if file.data.file_id[:8].isdigit()}
    rests: dict[str, set[str]] = defaultdict(set)
    for file_id in groups:
        rests[file_id[:8]].add(file_id[8:36])
    twins = [(place.path, file_id) for file_id in sorted(groups) if len(rests[file_id[:8]]) > 1]
    return OddBases(others, twins) if others or twins else None


def count_logs(place: Partition[object]) -> int | None:
    """The number of logs in a partition, without change logs."""
    return sum(not file.data.cdc for file in logs_of(place.path, place.listing)) or None
