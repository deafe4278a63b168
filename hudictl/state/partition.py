"""What happens to one partition when instants are removed.

``judge`` is a pure function of a listing and of records: it can run where the partition is listed. The same function
judges a plan, and the table after it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.table.file_view import Committed, Slice, StoredFile, file_slices, read_together
from hudictl.table.rules import Rules


@dataclass(frozen=True, slots=True)
class View:
    """The timeline's part, the same for all partitions.

    ``committed`` are the instants that count without the ``removed`` ones. Of those in ``bases_only``, only the base
    files are deleted.
    """

    rules: Rules
    committed: Committed
    removed: frozenset[str]
    bases_only: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Records:
    """The table's records about one partition; files by name, file groups by file id.

    ``owners`` are the removed instants whose own records name the partition. ``written`` are the files of kept commits,
    and ``planned`` those of kept pending table services, each with one such instant. ``saved`` are a savepoint's files.
    ``cleaned`` are files that cleans have, or may have, deleted. ``replaced`` groups are replaced, and readers skip
    them; ``revived`` groups were replaced by a removed instant. ``compactions`` are the pending compactions of groups.
    ``borrowed`` are logs that a removed write has created under another instant's name, each with that write.
    ``compacted`` are the files that completed compactions have read, by file id and compaction, if looked up.
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
        """The instant with which a file is removed."""
        return self.borrowed.get(file.data.name, file.data.instant) if self.borrowed else file.data.instant


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A file of a removed instant, and what still requires it."""

    path: str
    instant: str
    needed_by: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happens to a partition's files.

    ``needed`` are read without the removed instants; ``missing`` are those of them that do not exist, or are empty.
    ``removed`` are deleted: they carry a removed instant's name, in a partition in that instant's own records; or these
    records name the file itself. ``unproved`` carry such a name in another partition: they are kept.
    """

    needed: tuple[StoredFile, ...]
    missing: tuple[str, ...]
    removed: tuple[StoredFile, ...]
    unproved: tuple[StoredFile, ...]
    contradictions: tuple[Contradiction, ...]


def judge(path: str, files: Sequence[StoredFile], records: Records, view: View) -> Verdict:
    """Judges one partition.

    Required is the newest slice of each file group that is not replaced; also the slice before it, if the newest one
    belongs to a pending compaction. The names in commits, a savepoint and cleans are added to the files on storage.
    Otherwise a slice with deleted files would be skipped for an older one.

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
    # A clean of a whole partition deletes files without naming them, a savepoint's too (Hudi 0.15.0, 1.0.2, 1.2.0).
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
    """The files on storage, and those that only records have, by file id."""
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
        # A clean deleted all of a group that nothing else has: it was replaced, and that commit may be archived.
        if file.data.file_id in groups or file.data.file_id in records.revived:
            groups.setdefault(file.data.file_id, []).append(file)
    return groups


def _read(groups: Mapping[str, Sequence[StoredFile]], records: Records, view: View) -> Iterator[StoredFile]:
    for file_id, members in groups.items():
        if file_id not in records.replaced:
            known = _without_lost_compaction(file_id, members, records) if records.compacted else members
            for entry in _together(view, known, records.compactions.get(file_id)):
                for file in entry.files:
                    # A writer that died at once leaves an empty log, which readers skip. An empty base is missing.
                    if file.data.is_base or file.size != 0:
                        yield file


def _without_lost_compaction(file_id: str, members: Sequence[StoredFile], records: Records) -> Sequence[StoredFile]:
    """A file group without the slice of a compaction that a clean has deleted: readers use the slice before, which has
    the same rows. Only if all files that the compaction read exist, and no valid log was written to its slice.

    This happens after a restore beyond later compactions, if a savepoint has kept the slice before (0.15.0).
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
        # By far the most frequent case; a table can have very many groups.
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
            by = f"{records.written[name]} (it has written into this file)"
        elif name in records.planned:
            by = f"the plan of {records.planned[name]}"
        else:
            continue
        yield Contradiction(file.path, records.writer(file), by)
