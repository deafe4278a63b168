"""What happens to one partition when instants are removed.

``judge`` is a pure function of a listing and of records: it can run where the partition is listed. The same function
judges a plan, and the table after it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from hudictl.formats.file_names import data_path, parse_data_file, split_names
from hudictl.table.files.saved import SavedNames, binding
from hudictl.table.files.slices import (
    Committed,
    Slice,
    StoredFile,
    file_slices,
    hiding,
    misnamed_logs,
    newest,
    read_together,
    undated,
)
from hudictl.table.files.written import Written
from hudictl.table.rules import Rules


@dataclass(frozen=True, slots=True)
class View:
    """The timeline's part, the same for all partitions.

    ``committed`` are the instants that count without the ``removed`` ones. Of those in ``bases_only``, only the base
    files are deleted. ``unbound`` are instants whose files in the savepoint do not count: removed ones, and such that
    an earlier restore has removed. ``logs``: whether readers read logs.
    """

    rules: Rules
    committed: Committed
    removed: frozenset[str]
    bases_only: frozenset[str] = frozenset()
    unbound: frozenset[str] = frozenset()
    logs: bool = True


@dataclass(frozen=True, slots=True)
class Records:
    """The table's records about one partition; files by name, file groups by file id.

    ``owners`` are the removed instants whose own records name the partition. ``written`` are the files of kept commits,
    and ``planned`` those of kept pending table services, each with one such instant. ``saved`` are a savepoint's files.
    ``cleaned`` are files that cleans have, or may have, deleted. ``replaced`` groups are replaced, and readers skip
    them; ``revived`` groups were replaced by a removed instant. ``compactions`` are the pending compactions of groups.
    ``cleans`` are pending cleans, each with the names that it would delete; None for all names.
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
    cleans: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    borrowed: Mapping[str, str] = field(default_factory=dict)
    compacted: Mapping[str, Mapping[str, Collection[str]]] = field(default_factory=dict)

    @property
    def names_files(self) -> bool:
        """Whether any file may be known that the listing does not have."""
        return bool(self.written or self.saved or self.cleaned)

    def writer(self, file: StoredFile) -> str:
        """The instant with which a file is removed."""
        return self.borrowed.get(file.data.name, file.data.instant) if self.borrowed else file.data.instant


@dataclass(frozen=True, slots=True)
class PackedRecords:
    """Records in few objects: commits can name very many files. ``written`` are the files of kept commits, by commit,
    without those that the engine has. Names are joined by slashes."""

    others: Records
    written: tuple[tuple[str, str], ...] = ()

    def unpack(self, view: View, written: Sequence[Written] = (), saved: Sequence[SavedNames] = ()) -> Records:
        """All records of the partition, with what writes and the savepoint name in it."""
        kept = [entry for entry in written if entry.time not in view.removed]
        back = [entry for entry in written if entry.time in view.removed]
        names = sorted([*self.written, *((entry.time, entry.names) for entry in kept if entry.names)])
        others = self.others
        if not (names or written or saved):
            return others
        return replace(
            others,
            written={name: time for time, joined in names for name in split_names(joined)},
            saved=binding(saved, view.rules, view.committed, view.unbound),
            replaced=others.replaced.union(*(entry.replaced for entry in kept)),
            revived=others.revived.union(*(entry.replaced for entry in back)),
        )


NO_RECORDS = PackedRecords(Records())


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A file of a removed instant, and what still requires it."""

    path: str
    instant: str
    needed_by: str


class Verdict(NamedTuple):
    """What happens to the files of a partition, or of one file group.

    ``needed`` are read without the removed instants; ``missing`` are those of them that do not exist, or are empty.
    ``removed`` are deleted: they carry a removed instant's name, in a partition in that instant's own records; or these
    records name the file itself. ``unproved`` carry such a name in another partition: they are kept. ``undated`` are
    the archived instants whose completion times decide to which slices their logs belong. ``misnamed`` as in
    ``misnamed_logs``. ``hiding`` are removed files behind which readers miss rows as soon as their writes are not
    committed any more: see ``slices.hiding``.
    """

    needed: Sequence[StoredFile] = ()
    missing: Sequence[str] = ()
    removed: Sequence[StoredFile] = ()
    unproved: Sequence[StoredFile] = ()
    contradictions: Sequence[Contradiction] = ()
    undated: Sequence[str] = ()
    misnamed: Sequence[StoredFile] = ()
    hiding: Sequence[StoredFile] = ()


def judge(path: str, files: Iterable[StoredFile], records: Records, view: View) -> Verdict:
    """Judges one partition.

    Required is the newest slice of each file group that is not replaced; also the slice before it, if the newest one
    belongs to a pending compaction. The names in commits, a savepoint and cleans are added to the files on storage.
    Otherwise a slice with deleted files would be skipped for an older one.

    Args:
        path: the partition path.
        files: its data files.
    """
    groups: dict[str, list[StoredFile]] = {}
    for file in files:
        groups.setdefault(file.data.file_id, []).append(file)
    listed = {file.data.name for members in groups.values() for file in members}
    verdicts = judge_groups(path, groups, told_files(path, listed, records), records, view)
    return Verdict(*(tuple(chain.from_iterable(found)) for found in zip(*verdicts, strict=True)))


Told = Mapping[str, tuple[Sequence[StoredFile], Sequence[StoredFile]]]
"""By file id, the files that only records have: those that commits and the savepoint name, and those in cleans."""


def told_files(path: str, listed: Collection[str], records: Records) -> Told:
    """The files of a partition that records have, but not the listing.

    Args:
        listed: the names in the listing.
    """
    found: dict[str, tuple[list[StoredFile], list[StoredFile]]] = {}
    named = {name for names in (records.written, records.saved) for name in names if name not in listed}
    cleaned = {name for name in records.cleaned if name not in listed and name not in named}
    for number, names in enumerate((named, cleaned)):
        for name in sorted(names):
            data = parse_data_file(name)
            if data is not None:
                found.setdefault(data.file_id, ([], []))[number].append(StoredFile(path, data, None))
    return found


def judge_groups(
    path: str, groups: Mapping[str, Sequence[StoredFile]], told: Told, records: Records, view: View
) -> Iterator[Verdict]:
    """Judges a partition as ``judge``, one file group after the other.

    Args:
        groups: its data files by file id; groups that are plain may be left out: see ``weigh``.
        told: see ``told_files``.
    """
    nothing: tuple[Sequence[StoredFile], Sequence[StoredFile]] = ((), ())
    for file_id in dict.fromkeys((*groups, *told)):
        named, cleaned = told.get(file_id, nothing)
        # A clean deleted all of a group that nothing else has: it was replaced, and that commit may be archived.
        if file_id in groups or named or file_id in records.revived:
            yield _judge_group(file_id, groups.get(file_id, ()), (*named, *cleaned), records, view)
    # A clean of a whole partition deletes files without naming them, a savepoint's too (Hudi 0.15.0, 1.0.2, 1.2.0).
    lost = records.revived.difference(groups, told)
    yield Verdict(missing=[data_path(path, file_id) for file_id in sorted(lost)])


def _judge_group(
    file_id: str, members: Sequence[StoredFile], others: Iterable[StoredFile], records: Records, view: View
) -> Verdict:
    known = [*members, *others]
    needed = {} if file_id in records.replaced else {file.data.name: file for file in _read(known, records, view)}
    if records.saved:
        needed |= {file.data.name: file for file in known if file.data.name in records.saved}
    missing = [file.path for file in needed.values() if not _is_whole(file)]

    going = [file for file in members if records.writer(file) in view.removed]
    if view.bases_only:
        going = [file for file in going if file.data.is_base or file.data.instant not in view.bases_only]
    removed = [file for file in going if records.writer(file) in records.owners]
    unproved = [file for file in going if records.writer(file) not in records.owners] if going else ()
    contradictions = list(_contradictions(removed, needed, records)) if removed else ()
    late = undated(view.rules, known, view.committed, records.compactions.get(file_id))
    misnamed = _misnamed(known, records, view)
    first: Sequence[StoredFile] = ()
    if removed and file_id not in records.replaced:
        # Also those that hide rows once the base files before them in the job are gone.
        logs = [file for file in members if not (file.data.is_base and file in removed)]
        found = (hiding(view.rules, some, view.committed, records.compactions.get(file_id)) for some in (members, logs))
        hides = set(chain.from_iterable(found))
        first = [file for file in removed if file in hides]
    return Verdict([*needed.values()], missing, removed, unproved, contradictions, late, misnamed, first)


def _read(known: Sequence[StoredFile], records: Records, view: View) -> Iterator[StoredFile]:
    """The files of a file group that readers use."""
    if not known:
        return
    file_id = known[0].data.file_id
    if records.compacted:
        known = _without_lost_compaction(file_id, known, records)
    for entry in _together(view, known, records.compactions.get(file_id)):
        for file in entry.files:
            # A writer that died at once leaves an empty log, which readers skip. An empty base is missing.
            if file.data.is_base or (view.logs and file.size != 0):
                yield file


def _misnamed(known: Sequence[StoredFile], records: Records, view: View) -> Sequence[StoredFile]:
    if view.rules.logs_named_by_writer or all(file.data.is_base for file in known):
        return ()
    file_id = known[0].data.file_id
    if file_id in records.replaced:
        return ()
    slices = file_slices(view.rules, known, view.committed, records.compactions.get(file_id))
    return misnamed_logs(view.rules, slices)


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
        last = newest(members, lambda file: file.data.instant, view.committed.__contains__)
        return (Slice(last.data.instant, last, (), False),) if last else ()
    return read_together(file_slices(view.rules, members, view.committed, compaction))


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
