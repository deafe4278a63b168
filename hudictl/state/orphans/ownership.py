"""Which instant owns a data file: decided for one partition, from its files and the table's records; reads nothing.

A sure orphan has two independent reasons. One: its instant is on no timeline. Two: a record proves that the file is not
part of the table. The first reason alone is not enough: if the timeline was put back from an older copy, or its archive
is lost, whole commits look like orphans.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timezone
from itertools import chain
from typing import NamedTuple

from hudictl.formats.instants import TIME_FORMAT_DIGITS, parse_time
from hudictl.table.files.slices import StoredFile, base_files, logs_of, stored
from hudictl.table.files.sweep import Partition

ON_NO_TIMELINE = "its instant is on no timeline"
ASKED = "its path was given"
NO_PROOF = "but no rollback, clean or metadata table proves that it was not completed"

_BUILT = "00000000000000"
"""The beginning of the instants that have built the metadata table, before any write."""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A rolled-back instant, by completed rollbacks and restores: ``by`` which one, in which ``partitions``. ``again``:
    it is a table service, and may have run again under the same instant."""

    by: str
    partitions: frozenset[str]
    again: bool


@dataclass(frozen=True, slots=True)
class Index:
    """The metadata table's files by partition, the instants that it knows as completed, and the ``newest`` completed
    write of the timeline among them. It has missed none of the completed writes."""

    files: Mapping[str, frozenset[str]]
    completed: frozenset[str]
    newest: str


def index_of(
    files: Mapping[str, frozenset[str]], known: Collection[str], archived: Collection[str], writes: Collection[str]
) -> Index | None:
    """The proof from a metadata table; None if it has missed a completed write since it was built.

    Args:
        known, archived: its own completed writes, active and archived.
        writes: the completed writes of the data table's active timeline.
    """
    built = min((time for time in known if not time.startswith(_BUILT)), default="~")
    since = {time for time in writes if time >= built}
    if not since or not since.issubset(known):
        return None
    # Below table version 8 the times of its own table services are a write's time and three digits.
    completed = frozenset(time[:TIME_FORMAT_DIGITS] for time in (*known, *archived))
    return Index(files, completed, max(since))


@dataclass(frozen=True)
class Evidence:
    """The records of a table about instants and files that are not on its timeline.

    ``owned`` are the instants that are active, archived as completed, or named by a pending rollback or restore;
    ``newest`` is the newest completed write of the timeline. ``built_on``, ``partitions`` and ``named`` are from valid
    records (see ``Named``). ``cleaned`` maps the path of a file that a completed clean has deleted to that clean.
    ``marked`` are the paths of files whose writers' markers still exist, ``asked`` those that a person is sure of.
    ``lost_until``: a repair of the archive may have lost instants up to this time.
    """

    owned: frozenset[str]
    newest: str
    logs_named_by_writer: bool
    built_on: frozenset[str] = frozenset()
    partitions: frozenset[str] = frozenset()
    named: Mapping[str, str] = field(default_factory=dict)
    taken_back: Mapping[str, TakenBack] = field(default_factory=dict)
    cleaned: Mapping[str, str] = field(default_factory=dict)
    marked: frozenset[str] = frozenset()
    index: Index | None = None
    asked: frozenset[str] = frozenset()
    lost_until: str = ""


def strangers(owned: Collection[str], place: Partition[object]) -> list[StoredFile] | None:
    """The files of a partition that belong to none of some instants. The engine runs this where it is listed."""
    return [*_strangers(owned, place)] or None


def has_strangers(owned: Collection[str], after: str, place: Partition[object]) -> bool | None:
    """Whether there are any with an instant after some time; None if not."""
    return any(time > after for time in _strange(owned, place)) or None


def strange_times(owned: Collection[str], place: Partition[object]) -> frozenset[str] | None:
    """Their instants; None if there are none."""
    return frozenset(_strange(owned, place)) or None


def _strange(owned: Collection[str], place: Partition[object]) -> Iterator[str]:
    times = (part.times.difference(owned) for part in base_files(place.listing))
    logs = (log.data.instant for log in logs_of(place.path, place.listing) if log.data.instant not in owned)
    return chain(*times, logs)


def _strangers(owned: Collection[str], place: Partition[object]) -> Iterator[StoredFile]:
    for part in base_files(place.listing):
        others = part.times.difference(owned)
        if others:
            places = (at for at, time in enumerate(part.instants) if time in others)
            yield from (stored(place.path, part.entry(at)) for at in places)
    yield from (log for log in logs_of(place.path, place.listing) if log.data.instant not in owned)


class Ownership(NamedTuple):
    """``why`` a file is an orphan, or may be one. ``sure``: there are two reasons, and nothing requires the file.
    ``beyond``: its instant is newer than the timeline's end, and no record explains this."""

    why: str
    sure: bool
    beyond: bool


def judge(
    files: Sequence[StoredFile], holding: Mapping[str, frozenset[str]], records: Evidence
) -> dict[str, Ownership]:
    """The files of one partition that belong to no instant, by path.

    Args:
        files: all data files of their file groups.
        holding: by path, the instants that have written into each log that belongs to no instant by its name.
    """
    newest: dict[str, str] = {}
    for file in files:
        if file.data.is_base and file.data.instant in records.owned:
            newest[file.data.file_id] = max(newest.get(file.data.file_id, ""), file.data.instant)

    found: dict[str, Ownership] = {}
    slices: dict[tuple[str, str], list[StoredFile]] = defaultdict(list)
    for file in files:
        if file.data.instant not in records.owned:
            found[file.path] = _verdict(file, holding.get(file.path, frozenset()), newest, records)
            slices[file.data.file_id, file.data.instant].append(file)

    if not records.logs_named_by_writer:
        # A log may roll back the blocks of another log, and logs need their base file.
        for members in slices.values():
            if any(not found[file.path].sure for file in members if not file.data.is_base):
                for file in members:
                    found[file.path] = _stays(found[file.path], "a log of its slice is kept")
    return found


def _stays(verdict: Ownership, reason: str) -> Ownership:
    return Ownership(f"{verdict.why}; {reason}", False, verdict.beyond) if verdict.sure else verdict


def _verdict(file: StoredFile, writers: frozenset[str], newest: Mapping[str, str], records: Evidence) -> Ownership:
    time = file.data.instant
    beyond = (
        time > records.newest
        and parse_time(time, timezone.utc) is not None
        and not (time in records.taken_back or file.path in records.cleaned or file.path in records.marked)
    )
    proof, lacking = _proof(file, writers, newest, records)
    why = f"{ON_NO_TIMELINE}, {f'and {proof}' if proof else lacking}"
    needs = list(_needs(file, writers, records))
    if beyond and file.path not in records.asked:
        needs.append(f"the instant is newer than the newest completed write {records.newest}".rstrip())
    return Ownership("; ".join([why, *needs]), bool(proof) and not needs, beyond)


def _proof(file: StoredFile, writers: frozenset[str], newest: Mapping[str, str], records: Evidence) -> tuple[str, str]:
    """The second reason; or "", and the missing proof."""
    if file.path in records.asked:
        return ASKED, ""
    time, by_slice = file.data.instant, _named_by_slice(file, records)
    undone = [_undone(writer, file.partition, records) for writer in sorted(writers if by_slice else ()) or [time]]
    if all(proof for proof, _ in undone):
        return undone[0]
    lacking = [lack for _, lack in undone if lack]

    clean = records.cleaned.get(file.path)
    if clean and newest.get(file.data.file_id, "") > time:
        return f"{clean} reported the file as deleted", ""
    if clean:
        # An operator may have copied back a file that a clean deleted by mistake.
        lacking.append(f"and {clean} reported the file as deleted, but its file group has no newer base file")

    if file.path in records.marked and not by_slice:
        if records.index is not None and _passed_over(file, records.index):
            return (
                "its writer's markers still exist, and the metadata table contains later writes, but not this file",
                "",
            )
        lacking.append("and its writer's markers still exist, but no metadata table proves that it was not completed")
    if parse_time(time, timezone.utc) is None:
        lacking.append("and the instant in its name is not a time")
    return "", lacking[0] if lacking else NO_PROOF


def _undone(time: str, partition: str, records: Evidence) -> tuple[str, str]:
    """The record that rolled an instant back in a partition; or "", and the missing proof if a record names it."""
    entry = records.taken_back.get(time)
    if entry is None:
        return "", ""
    if entry.again:
        return "", f"and {entry.by} rolled it back, but it may have run again under the same instant"
    if partition not in entry.partitions and partition not in records.partitions:
        return "", f"and {entry.by} rolled it back, but no write and no rollback names its partition"
    return f"{entry.by} rolled it back", ""


def _passed_over(file: StoredFile, index: Index) -> bool:
    """Whether the metadata table has later writes than the file's instant, but never had that instant as completed."""
    listed = index.files.get(file.partition)
    time = file.data.instant
    return listed is not None and file.data.name not in listed and time < index.newest and time not in index.completed


def _needs(file: StoredFile, writers: frozenset[str], records: Evidence) -> Iterator[str]:
    """The reasons to keep the file, whatever proves that it is an orphan."""
    if file.data.instant in records.built_on:
        yield "later commits are based on its instant"
    if file.data.instant <= records.lost_until and file.path not in records.asked:
        yield f"a repair of the archive has lost instants up to {records.lost_until}"
    if file.path in records.named:
        yield f"{records.named[file.path]} names the file"
    others = writers if _named_by_slice(file, records) else writers - {file.data.instant}
    kept = [time for time in others if time in records.owned or not _undone(time, file.partition, records)[0]]
    if kept:
        yield f"the file contains rows of {min(kept)}"


def _named_by_slice(file: StoredFile, records: Evidence) -> bool:
    """Below table version 8 a log has the base instant of its slice in its name: only its blocks show its writers."""
    return not (file.data.is_base or records.logs_named_by_writer)
