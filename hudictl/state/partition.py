"""What becomes of one partition where instants are removed.

``judge`` is a pure function of what a listing shows and of what records say: it can run where the partition is listed.
A plan and the table that it leaves are judged by the same function.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.table.file_view import Committed, Slice, StoredFile, file_slices, read_together
from hudictl.table.rules import Rules


@dataclass(frozen=True, slots=True)
class View:
    """The timeline's part, the same for all partitions.

    ``committed`` are the instants that count when the ``removed`` ones are gone; of ``bases_only`` ones only base files
    go with the instant.
    """

    rules: Rules
    committed: Committed
    removed: frozenset[str]
    bases_only: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Records:
    """What the table's records say of one partition; files by name, file groups by file id.

    ``owners`` are the removed instants whose own records name the partition. ``written`` are the files of kept commits,
    ``planned`` those of pending table services that stay, each with one such instant; ``saved`` a savepoint's, and
    ``cleaned`` what cleans took, or may have taken. ``replaced`` groups are out of sight, ``revived`` ones were put out
    of sight by a removed instant; ``compactions`` are the pending compactions of groups. ``borrowed`` are logs that a
    removed write has put under another instant's name, each with that write. ``compacted`` are the files that completed
    compactions have read, by file id and compaction, where that is looked up.
    """

    owners: frozenset[str] = frozenset()
    written: Mapping[str, str] = field(default_factory=dict)
    planned: Mapping[str, str] = field(default_factory=dict)
    saved: frozenset[str] = frozenset()
    cleaned: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()
    revived: frozenset[str] = frozenset()
    compactions: Mapping[str, str] = field(default_factory=dict)
    borrowed: Mapping[str, str] = field(default_factory=dict)
    compacted: Mapping[str, Mapping[str, Collection[str]]] = field(default_factory=dict)

    def writer(self, file: StoredFile) -> str:
        """The instant that a file goes with."""
        return self.borrowed.get(file.data.name, file.data.instant) if self.borrowed else file.data.instant


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A file that goes with a removed instant, and what needs it all the same."""

    path: str
    instant: str
    needed_by: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a partition's files.

    ``needed`` are read when the removed instants are gone, ``missing`` those of them that are not there, or empty.
    ``removed`` go: they carry a removed instant's name, in a partition that its own records name; or these name the
    very file. ``unproved`` carry such a name in another partition: they stay.
    """

    needed: tuple[StoredFile, ...]
    missing: tuple[str, ...]
    removed: tuple[StoredFile, ...]
    unproved: tuple[StoredFile, ...]
    contradictions: tuple[Contradiction, ...]


def judge(path: str, files: Sequence[StoredFile], records: Records, view: View) -> Verdict:
    """Judges one partition.

    Needed is the newest slice of each file group that is not replaced; with the one before it where the newest belongs
    to a pending compaction. To the files on storage come the names that commits, a savepoint and cleans know, so that
    a slice of which something was taken is not passed over for an older one.

    Args:
        path: the partition path.
        files: its data files.
    """
    groups = _known_groups(path, files, records)
    needed = {file.data.name: file for file in _read(groups, records, view)}
    listed = {file.data.name: file for file in files} if records.saved else {}
    for name in records.saved - needed.keys():
        needed |= {file.data.name: file for file in _named(path, [name], listed)}

    missing = [file.path for file in needed.values() if not _is_whole(file)]
    # With a partition that is cleaned whole go files that nobody names: a savepoint's (Hudi 0.15.0, 1.0.2, 1.2.0).
    missing += [data_path(path, file_id) for file_id in records.revived - groups.keys()]

    going = [file for file in files if records.writer(file) in view.removed]
    going = [file for file in going if file.data.is_base or file.data.instant not in view.bases_only]
    removed = tuple(file for file in going if records.writer(file) in records.owners)
    return Verdict(
        tuple(needed.values()),
        tuple(missing),
        removed,
        tuple(file for file in going if records.writer(file) not in records.owners)
        if len(removed) < len(going)
        else (),
        tuple(_contradictions(removed, needed, records)),
    )


def _known_groups(path: str, files: Sequence[StoredFile], records: Records) -> dict[str, list[StoredFile]]:
    """The files on storage, and those of which only records know, by file id."""
    groups: dict[str, list[StoredFile]] = {}
    for file in files:
        groups.setdefault(file.data.file_id, []).append(file)
    if not (records.written or records.saved or records.cleaned):
        return groups
    listed = {file.data.name for file in files}
    told = {*records.written, *records.saved} - listed
    for file in _named(path, told, {}):
        groups.setdefault(file.data.file_id, []).append(file)
    for file in _named(path, records.cleaned - listed - told, {}):
        # Of a group that nothing else knows a clean took all: it was replaced, and that commit may be archived.
        if file.data.file_id in groups or file.data.file_id in records.revived:
            groups.setdefault(file.data.file_id, []).append(file)
    return groups


def _read(groups: Mapping[str, Sequence[StoredFile]], records: Records, view: View) -> Iterator[StoredFile]:
    for file_id, members in groups.items():
        if file_id not in records.replaced:
            known = _without_lost_compaction(file_id, members, records) if records.compacted else members
            for entry in _together(view, known, records.compactions.get(file_id)):
                for file in entry.files:
                    # A writer that died at once leaves an empty log, which readers skip; an empty base is no file.
                    if file.data.is_base or file.size != 0:
                        yield file


def _without_lost_compaction(file_id: str, members: Sequence[StoredFile], records: Records) -> Sequence[StoredFile]:
    """A file group without the slice of a compaction that a clean has taken, where all that the compaction read is
    there, and nothing that counts was written to its slice: the slice before holds the same rows, and readers take it.

    So it is after a restore beyond later compactions, where a savepoint has kept the slice before (0.15.0).
    """
    there = {file.data.name for file in members if _is_whole(file)}
    for time, read in records.compacted.get(file_id, {}).items():
        slice_of = [file for file in members if file.data.instant == time]
        told = {file.data.name for file in slice_of if not file.data.is_base} & (records.written.keys() | records.saved)
        bases = {file.data.name for file in slice_of if file.data.is_base}
        lost = bases and bases <= records.cleaned and there.isdisjoint(file.data.name for file in slice_of)
        if lost and there.issuperset(read) and not told:
            return [file for file in members if file.data.instant != time]
    return members


def _together(view: View, members: Sequence[StoredFile], compaction: str | None) -> Sequence[Slice]:
    if compaction is None and all(file.data.is_base for file in members):
        # The most frequent case by far, and there are as many groups as rows of files.
        seen = [file for file in members if file.data.instant in view.committed]
        newest = max(seen, key=lambda file: file.data.instant, default=None)
        return (Slice(newest.data.instant, newest, (), False),) if newest else ()
    return read_together(file_slices(view.rules, members, view.committed, compaction))


def _named(path: str, names: Iterable[str], listed: Mapping[str, StoredFile]) -> Iterator[StoredFile]:
    for name in names:
        data = parse_data_file(name)
        if data is not None:
            yield listed.get(name) or StoredFile(path, data, None)


def _is_whole(file: StoredFile) -> bool:
    return bool(file.size) if file.data.is_base else file.size is not None


def _contradictions(
    removed: Iterable[StoredFile], needed: Mapping[str, StoredFile], records: Records
) -> Iterator[Contradiction]:
    for file in removed:
        name = file.data.name
        if name in needed:
            by = f"the newest slice of the file group {file.data.file_id}"
        elif name in records.written:
            by = f"{records.written[name]}, which has written into it,"
        elif name in records.planned:
            by = f"the plan of {records.planned[name]}"
        else:
            continue
        yield Contradiction(file.path, records.writer(file), by)
