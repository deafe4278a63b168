"""A partition as a plan needs it: what changes, file by file; what stays, as a count and a digest.

The engine runs ``weigh`` where the partition is listed.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from hudictl.formats.file_names import base_format, data_path, parse_data_file
from hudictl.state.files.partition import (
    NO_RECORDS,
    Contradiction,
    PackedRecords,
    Records,
    Told,
    Verdict,
    View,
    judge,
    judge_groups,
    told_files,
)
from hudictl.table.files.decoded import names_of
from hudictl.table.files.slices import BaseFiles, StoredFile, base_files, has_other_size, logs_of, stored
from hudictl.table.files.sweep import Partition
from hudictl.table.files.written import recorded_sizes
from hudictl.workers import Packed

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Needed:
    """The required files of a partition: how many, their size in bytes, and a digest of their names and sizes."""

    count: int
    size: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Future:
    """A partition as it will be: without the files with the names ``going``, with the ``blocks``, which are logs with
    rollback blocks. Such logs are not digested: ``marked`` are their slices (file id and base instant), with the names
    of the logs that these had before."""

    going: frozenset[str] = frozenset()
    blocks: tuple[StoredFile, ...] = ()
    marked: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)


NOTHING_CHANGES = Future()


class Judged(NamedTuple):
    """What the driver knows of a partition, and what is to change in it, if that is of interest."""

    records: PackedRecords = NO_RECORDS
    future: Future | None = None


@dataclass(frozen=True, slots=True)
class Weighed:
    """A judged partition; the fields that are not explained here are those of ``Verdict``.

    ``needed`` is None if readers need nothing in it. ``bare``: they do, and it has no metafile. ``unlisted`` are needed
    files that the metadata table does not list. ``cleans`` are pending cleans with the number of needed files that each
    would delete. ``sizes`` are needed files, by path, with another size than a kept commit has recorded: both sizes, in
    bytes. These are ``missing``, too. ``forms`` are the formats of needed base files.
    """

    path: str
    needed: Needed | None
    bare: bool
    missing: tuple[str, ...]
    sizes: Mapping[str, tuple[int, int]]
    removed: tuple[tuple[str, StoredFile], ...]
    unproved: tuple[StoredFile, ...]
    contradictions: tuple[Contradiction, ...]
    undated: frozenset[str]
    misnamed: tuple[StoredFile, ...]
    hiding: tuple[StoredFile, ...]
    unlisted: tuple[StoredFile, ...]
    cleans: Mapping[str, int]
    forms: frozenset[str]


def weigh(view: View, compares: bool, only_future: bool, place: Partition[Judged]) -> Weighed | None:
    """Judges a partition: it may have very many files.

    Args:
        compares: whether the metadata table's listing is known.
        only_future: whether only partitions with a ``Future`` are of interest.
    """
    packed, future = place.given or Judged()
    if only_future and future is None:
        return None
    records, known = packed.unpack(view, place.written, place.saved), names_of(place.listed)
    tally = tallied(place, records, view, known if compares else None, future or NOTHING_CHANGES)
    kept = (entry for entry in place.written if entry.time not in view.removed)
    return tally.weighed(place.listing, recorded_sizes(kept))


def unseen_in(view: View, today: View, place: Partition[PackedRecords]) -> list[str] | None:
    """The paths of the required files of a partition that readers with the view of ``today`` do not read."""
    records = (place.given or NO_RECORDS).unpack(view, place.written)
    needed, seen = (judge(place.path, place.files, records, entry).needed for entry in (view, today))
    read = {file.path for file in seen}
    return [
        file.path for file in needed if file.path not in read and may_have_rows(file.data.name, records, view)
    ] or None


def may_have_rows(name: str, records: Records, view: View) -> bool:
    """Whether a required file may have rows. Below table version 8 a log whose writers are all on the timeline has only
    the blocks of rolled-back writes, if no kept commit names it."""
    data = parse_data_file(name)
    if data is None:
        return False
    told = not view.rules.logs_named_by_writer and not data.is_base and data.instant >= view.committed.start
    return not data.cdc and (data.name in records.written if told else True)


def tallied(
    place: Partition[object],
    records: Records,
    view: View,
    known: frozenset[str] | None = None,
    future: Future = NOTHING_CHANGES,
) -> "Tally":
    """A judged partition. Arguments as in ``weigh``; ``known`` is None if the metadata table's listing is not."""
    names = place.names if records.names_files else frozenset()
    told = told_files(place.path, names - future.going, records)
    tally = Tally(place.path, records, known, future)
    groups = _special_groups(tally, place.listing, told, view)
    for verdict in judge_groups(place.path, groups, told, records, view):
        tally.add(verdict)
    return tally


@dataclass(slots=True)
class Tally:
    """A partition after some of its file groups; ``needed`` are the sizes of the needed files by name."""

    path: str
    records: Records
    known: frozenset[str] | None
    future: Future
    needed: dict[str, int | None] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    removed: list[tuple[str, StoredFile]] = field(default_factory=list)
    unproved: list[StoredFile] = field(default_factory=list)
    contradictions: list[Contradiction] = field(default_factory=list)
    undated: set[str] = field(default_factory=set)
    misnamed: list[StoredFile] = field(default_factory=list)
    hiding: list[StoredFile] = field(default_factory=list)
    unlisted: list[StoredFile] = field(default_factory=list)

    def add(self, verdict: Verdict) -> None:
        for file in verdict.needed:
            data = file.data
            logs = self.future.marked.get((data.file_id, data.instant)) if self.future.marked else None
            if logs is None or data.is_base or data.cdc or data.name in logs:
                self.needed[data.name] = file.size
            if self.known is not None and not (file.size is None or data.cdc or data.name in self.known):
                self.unlisted.append(file)
        self.missing += verdict.missing
        self.removed += ((self.records.writer(file), file) for file in verdict.removed)
        self.unproved += verdict.unproved
        self.contradictions += verdict.contradictions
        self.undated.update(verdict.undated)
        self.misnamed += verdict.misnamed
        self.hiding += verdict.hiding

    def add_needed(self, files: BaseFiles, places: Sequence[int]) -> None:
        """Adds the needed files of plain groups: those at some places."""
        found = {files.names[at]: files.sizes[at] for at in places}
        self.needed.update(found)
        if 0 in found.values():
            self.missing += (data_path(self.path, name) for name, size in found.items() if not size)
        if self.known is not None and not found.keys() <= self.known:
            new = (files.entry(at) for at in places if files.names[at] not in self.known)
            self.unlisted += (stored(self.path, entry) for entry in new)

    def add_going(self, file: StoredFile) -> None:
        """Adds a file of a removed instant."""
        if file.data.instant in self.records.owners:
            self.removed.append((file.data.instant, file))
        else:
            self.unproved.append(file)

    def weighed(self, listing: Packed | None, told: Mapping[str, int]) -> Weighed:
        if listing is not None and listing.linked:
            linked = "its folder (behind a symbolic link)"
            self.contradictions += [Contradiction(file.path, file.data.instant, linked) for _, file in self.removed]
        there = any(size is not None for size in self.needed.values())
        cleans = {
            time: len(self.needed.keys() if names is None else names & self.needed.keys())
            for time, names in self.records.cleans.items()
        }
        sizes = {
            data_path(self.path, name): (size, told[name])
            for name in self.needed.keys() & told.keys()
            if (size := self.needed[name]) and has_other_size(name, size, told[name])
        }
        return Weighed(
            path=self.path,
            needed=_summed_up(self.needed) if self.needed else None,
            bare=there and (listing is None or not listing.is_partition),
            missing=(*self.missing, *sorted(sizes)),
            sizes=sizes,
            removed=tuple(self.removed),
            unproved=tuple(self.unproved),
            contradictions=tuple(self.contradictions),
            undated=frozenset(self.undated),
            misnamed=tuple(self.misnamed),
            hiding=tuple(self.hiding),
            unlisted=tuple(self.unlisted),
            cleans={time: count for time, count in cleans.items() if count},
            forms=frozenset(map(base_format, {name[name.rfind(".") :] for name in self.needed})) - {""},
        )


def _summed_up(files: Mapping[str, int | None]) -> Needed:
    text = "".join([f"{name} {files[name]}\n" for name in sorted(files)])
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).digest()
    return Needed(len(files), sum(size or 0 for size in files.values()), digest)


def _special_groups(tally: Tally, listing: Packed | None, told: Told, view: View) -> dict[str, list[StoredFile]]:
    """The files of all file groups but the plain ones, by file id. A table can have very many plain groups, so they are
    tallied without objects of what stays."""
    records, future = tally.records, tally.future
    groups: dict[str, list[StoredFile]] = {}
    for file in (*logs_of(tally.path, listing), *future.blocks):
        if file.data.name not in future.going:
            groups.setdefault(file.data.file_id, []).append(file)
    special = {*groups, *told, *records.replaced, *records.revived, *records.compactions, *records.compacted}
    for part in base_files(listing):
        rows: Sequence[int] = range(len(part.names))
        if future.going:
            rows = [at for at in rows if part.names[at] not in future.going]
        others = _add_plain(tally, part, rows, special, view)
        for file_id, entries in part.groups(at for at in rows if part.file_ids[at] in others):
            groups.setdefault(file_id, []).extend(stored(tally.path, entry) for entry in entries)
    return groups


def _add_plain(tally: Tally, part: BaseFiles, rows: Sequence[int], special: Collection[str], view: View) -> set[str]:
    """Tallies all plain file groups at once, mostly without a turn for each file. They have only base files, and no
    record says more of those that are not the newest. The rule of ``judge`` is then: the newest committed one is
    needed, and those of removed instants go.

    Returns:
        The file ids of the other groups.
    """
    records, names, ids, times = tally.records, part.names, part.file_ids, part.instants
    others = {*special, ""}.intersection(ids)
    removed = part.times.intersection(view.removed)
    going = [at for at in rows if times[at] in removed and ids[at] not in others] if removed else []
    others.update(ids[at] for at in going if names[at] in records.written or names[at] in records.planned)

    counts = {time for time in part.times - removed if time in view.committed}
    # Of two of one instant, readers use the first: a dictionary keeps the last.
    places = [at for at in reversed(rows) if times[at] in counts and ids[at] not in others]
    newest = dict(zip(map(ids.__getitem__, places), places, strict=True))
    if len(newest) < len(places):
        places.sort(key=times.__getitem__)
        newest = dict(zip(map(ids.__getitem__, places), places, strict=True))
    if records.saved:
        others.update(ids[at] for at in rows if names[at] in records.saved and newest.get(ids[at]) != at)
    if not others.isdisjoint(newest):
        newest = {file_id: at for file_id, at in newest.items() if file_id not in others}
    tally.add_needed(part, sorted(newest.values()))
    for at in going:
        if ids[at] not in others:
            tally.add_going(stored(tally.path, part.entry(at)))
    return others - {""}
