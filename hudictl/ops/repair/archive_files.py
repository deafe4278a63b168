"""What takes the place of a damaged archive: logs of layout 1, Parquet files under a manifest of layout 2."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from hudictl.errors import Unreadable
from hudictl.formats import archived_timeline as fmt
from hudictl.formats.archived_timeline import VERSION_FILE, lsm_level, lsm_range, manifest_name
from hudictl.formats.instants import SAVEPOINT
from hudictl.formats.limits import RECORD_BYTES
from hudictl.formats.ranges import ReadAt
from hudictl.ops.repair.plan import FileRepair
from hudictl.phrases import count_of
from hudictl.state.timeline.damaged import first_half
from hudictl.storage import entries_of, read_whole
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, taken_back
from hudictl.table.timeline.archive import names_tell_ranges, torn_logs
from hudictl.table.timeline.archive_logs import mend_logs


@dataclass(frozen=True)
class Loss:
    """What a file of the archive had, and nothing else has: the instants of some ``times``. These are all if it is
    ``exact``; otherwise there may be more, requested from ``first`` to ``last`` ("": not known)."""

    times: tuple[str, ...] = ()
    exact: bool = False
    first: str = ""
    last: str = ""


@dataclass(frozen=True)
class Mended:
    """The changes that make an archive whole, the times of the instants that it then has, and the losses by the name of
    the damaged file. ``guessed`` is what is assumed."""

    files: tuple[FileRepair, ...] = ()
    kept: frozenset[str] = frozenset()
    lost: Mapping[str, Loss] = field(default_factory=dict)
    guessed: tuple[str, ...] = ()


def mend_archive(table: Table, timeline: Timeline) -> Mended:
    """Raises FileNotFoundError: a writer changed the archive meanwhile; StorageFailed."""
    return _mend_files(table, timeline) if table.rules.archive_is_lsm else _mend_logs(table, timeline)


def _mend_logs(table: Table, timeline: Timeline) -> Mended:
    kept, damaged = mend_logs(table, timeline)
    files = []
    for log in damaged:
        left = f"{count_of(log.left, 'record')} in it can be read whole, and are written again"
        reasons = (log.problem, left if log.body else "no record in it can be read")
        files.append(FileRepair(f"{table.layout.archive}/{log.name}", reasons, log.body or None))
    try:
        torn_logs(table)
    except Unreadable:
        return Mended(tuple(files), kept, {log.name: Loss(log.lost) for log in damaged if not log.whole})
    # What a dead archiver wrote is still on the timeline, or in a later log.
    return Mended(tuple(files), kept)


@dataclass(frozen=True)
class _Manifest:
    """A manifest's body, and the files that it names: None where it cannot be read, and ``problem`` says why."""

    body: bytes
    names: list[str] | None
    problem: str = ""


def _mend_files(table: Table, timeline: Timeline) -> Mended:
    sizes = {entry.name: entry.size for entry in entries_of(table.storage, table.layout.archive) if not entry.is_dir}
    manifests = dict(_manifests(table, sizes))
    newest = max(manifests, default=0)
    number = _declared(table, sizes) or newest
    missing = f"{VERSION_FILE} names {manifest_name(number)}, which is missing"
    current = manifests.get(number, _Manifest(b"", None, missing))
    readable = {at: entry.names for at, entry in manifests.items() if entry.names is not None}
    listed = readable.get(number) or readable.get(max(readable, default=0), [])

    looked = _Looked(table, sizes)
    looked.at([*listed, *(name for name in sizes if lsm_level(name) is not None)])
    if not number or (number in readable and not looked.broken and len(readable) == len(manifests)):
        return Mended()
    looked.at(fmt.mentioned_files(current.body) if number not in readable else ())
    # What a writer has left that died is no loss, where the manifest is whole and does not name it.
    broken = {name: why for name, why in looked.broken.items() if name in listed or number not in readable}
    there = {entry.time for entry in timeline.instants if entry.completed and entry.action != SAVEPOINT}
    gone = taken_back(table, timeline).keys()
    chosen = {name: looked.whole[name] for name in listed if name in looked.whole}
    if broken or number not in readable:
        chosen = _chosen(looked.whole, readable.get(number, ()), there, gone)

    files, at = [], number
    problem = current.problem or next(iter(broken.values()), "")
    if number not in manifests and chosen.keys() == set(readable.get(newest, ())):
        # It leads to all that can be read: the number is wrong.
        at = newest
    elif current.names is None or broken:
        at = number if number in manifests or newest in (0, number - 1) else newest
        files.append(_written(table, manifest_name(at), _manifest(current.body, chosen, sizes), problem, chosen))
    if at != number:
        files.append(_written(table, VERSION_FILE, b"%d" % at, problem, chosen))
    unread = "the manifest does not name it now, and Hudi reads no other file"
    aside = {name: (why, unread) for name, why in looked.broken.items() if name in sizes}
    for old in sorted(manifests.keys() - readable.keys() - {at}):
        aside[manifest_name(old)] = (manifests[old].problem, f"{manifest_name(at)} counts, and Hudi needs no other one")
    files += (FileRepair(f"{table.layout.archive}/{name}", reasons) for name, reasons in aside.items())
    cut = number in manifests and number not in readable and not first_half(current.body)
    guessed = (f"that {manifest_name(number)} named no file that is missing altogether",) if cut else ()
    lost = dict(_losses(looked, broken, chosen, there | gone))
    return Mended(tuple(files), frozenset().union(*chosen.values()), lost, guessed)


def _manifest(damaged: bytes, chosen: Collection[str], sizes: Mapping[str, int]) -> bytes:
    """Of a doubled one, the first half."""
    half = first_half(damaged)
    with suppress(Unreadable):
        if half and set(fmt.decode_manifest(half, "")) == set(chosen):
            return half
    return fmt.encode_manifest({name: sizes[name] for name in sorted(chosen)})


def _written(table: Table, name: str, body: bytes, problem: str, chosen: Collection[str]) -> FileRepair:
    count = count_of(len(chosen), "file")
    proof = f"it leads to {count}, with all that can be read; each was read whole" if chosen else "no file can be read"
    return FileRepair(f"{table.layout.archive}/{name}", (problem, proof), body)


def _manifests(table: Table, names: Iterable[str]) -> Iterator[tuple[int, _Manifest]]:
    for name in names:
        number = fmt.manifest_version(name)
        if number:
            body = read_whole(table.storage, f"{table.layout.archive}/{name}", RECORD_BYTES)
            try:
                yield number, _Manifest(body, fmt.decode_manifest(body, name))
            except Unreadable as error:
                yield number, _Manifest(body, None, error.message)


def _declared(table: Table, names: Collection[str]) -> int | None:
    """The number in the version file; None where Hudi takes the newest manifest."""
    if VERSION_FILE not in names:
        return None
    text = read_whole(table.storage, f"{table.layout.archive}/{VERSION_FILE}", RECORD_BYTES).strip()
    return int(text) if text.isdigit() else None


class _Looked:
    """The Parquet files that were read: the times in the ``whole`` ones, and what is wrong with the ``broken`` ones."""

    def __init__(self, table: Table, sizes: Mapping[str, int]) -> None:
        self.table, self.sizes = table, sizes
        self.whole: dict[str, frozenset[str]] = {}
        self.broken: dict[str, str] = {}

    def at(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.sizes:
                self.broken[name] = f"the manifest names {name}, which is missing"
            elif name not in self.whole | self.broken:
                try:
                    self.whole[name] = self.times(name)
                    fmt.check_lsm(self._read_at(name), self.sizes[name], name)
                except Unreadable as error:
                    self.whole.pop(name, None)
                    self.broken[name] = error.message

    def times(self, name: str) -> frozenset[str]:
        """Raises Unreadable."""
        return frozenset(entry.time for entry in fmt.lsm_instants(self._read_at(name), self.sizes[name], name))

    def _read_at(self, name: str) -> ReadAt:
        path = f"{self.table.layout.archive}/{name}"
        return lambda offset, length: self.table.storage.read(path, offset, length)


def _chosen(
    whole: Mapping[str, frozenset[str]], listed: Collection[str], there: Collection[str], gone: Collection[str]
) -> dict[str, frozenset[str]]:
    """The files of the manifest: those that it lists now, and those with what no other has. Not what a writer has left
    that died before it took its instants from the timeline; nor what would bring back what a restore has removed."""
    found: dict[str, frozenset[str]] = {}
    for name in sorted(whole, key=lambda name: (name not in listed, -(lsm_level(name) or 0), name)):
        more = whole[name].difference(*found.values(), there)
        if name in listed or (more and more.isdisjoint(gone) and whole[name].isdisjoint(gone)):
            found[name] = whole[name]
    return {
        name: times
        for name, times in found.items()
        # A file of a higher level has replaced those whose instants it has.
        if not any((lsm_level(other) or 0) > (lsm_level(name) or 0) and times <= found[other] for other in found)
    }


def _losses(
    looked: _Looked, broken: Iterable[str], chosen: Mapping[str, frozenset[str]], known: Collection[str]
) -> Iterator[tuple[str, Loss]]:
    for name in broken:
        try:
            times = looked.times(name) if name in looked.sizes else None
        except Unreadable:
            times = None
        if times is not None:
            if left := times.difference(*chosen.values(), known):
                yield name, Loss(tuple(sorted(left)), exact=True)
            continue
        first, last = (lsm_range(name) if names_tell_ranges(looked.table) else None) or ("", "")
        higher = (at for other, at in chosen.items() if (lsm_level(other) or 0) > (lsm_level(name) or 0))
        if not last or not any(min(at) <= first and last <= max(at) for at in higher):
            yield name, Loss((), False, first, last)
