"""What still says how a table is to be read where its hoodie.properties is damaged or missing."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from hudictl.formats import properties as fmt
from hudictl.formats.instants import DELTACOMMIT, InstantFile, parse_instant_file
from hudictl.formats.layouts import LAYOUT, META, METADATA_PROPERTIES, PROPERTIES, PROPERTIES_BACKUP, UNDO
from hudictl.formats.limits import PROPERTIES_BYTES
from hudictl.storage import Storage, entries_of, read_whole
from hudictl.storage.keeping import kept_path
from hudictl.table.copied import not_half_a_copy
from hudictl.table.properties import intact, read_properties
from hudictl.table.properties_known import known_properties
from hudictl.table.rules import WRITABLE_VERSIONS
from hudictl.table.table import COPY_ON_WRITE, MERGE_ON_READ, TYPE

VERSION = "hoodie.table.version"
PRECOMBINE, ORDERING = "hoodie.table.precombine.field", "hoodie.table.ordering.fields"
KEYS_OF_VERSION = {8: {PRECOMBINE, "hoodie.compaction.payload.class"}, 9: {ORDERING, "hoodie.table.format"}}
"""Keys that Hudi writes in one table version alone of those with the same layout."""
OWN_FILE = "the file"
REPAIRED = "hudictl table repair-properties"
"""The command that writes the file again."""
_AS_ITS_TABLE = frozenset(
    {
        *(VERSION, LAYOUT, "hoodie.archivelog.folder", "hoodie.table.initial.version"),
        *("hoodie.timeline.path", "hoodie.timeline.history.path"),
    }
)
"""Properties that a metadata table has in common with its table."""
_OF_METADATA = "_metadata"
_NOW = frozenset({fmt.CHECKSUM, "hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight"})
"""What an earlier copy of the file does not say of today."""


@dataclass(frozen=True)
class Source:
    """Properties, and what says them; ``earlier``: not today's."""

    of: str
    values: Mapping[str, str]
    earlier: bool = False


@dataclass(frozen=True)
class Salvage:
    """What is left. ``damage`` are the reasons why the file cannot stay as it is, none if it can be read. ``own`` are
    its lines. ``backup`` is an intact one; ``body`` the file."""

    damage: tuple[str, ...]
    own: Mapping[str, str]
    sources: tuple[Source, ...]
    body: bytes | None
    backup: bytes | None
    backup_body: bytes | None

    @property
    def merged(self) -> dict[str, str]:
        """Each property as the first source says it."""
        found: dict[str, str] = {}
        for source in reversed(self.sources):
            found |= source.values
        return found | dict(self.own)


def read_salvage(storage: Storage) -> Salvage:
    """Reads the file, its backup, copies that operations have kept, and the metadata table's properties. Raises
    StorageFailed."""
    body, backup = (_read(storage, path) for path in (PROPERTIES, PROPERTIES_BACKUP))
    whole = _whole(body or b"")
    wrong = fmt.illegible(body) if body is not None and whole else []
    own = dict(whole) if whole and not wrong else fmt.legible(body or b"", _known())
    sources = [Source(OWN_FILE, own)] if own else []
    if backup is not None and (found := fmt.legible(backup, _known())):
        sources.append(Source("its backup", found))
    sources += _kept(storage)
    metadata = _of_metadata_table(storage)
    sources += [metadata] if metadata is not None else []
    # Without its value, which may be a secret.
    damage = [f"the line of {line.partition('=')[0]!r} has signs that Hudi does not write" for line in wrong]
    if whole is None:
        damage = ["it is missing" if body is None else "it is empty" if not body else "it is cut or damaged"]
    right = _version(storage, sources)
    # With another layout in the file than on storage, an upgrade was interrupted.
    fits = own.get(LAYOUT) == str(layout_in(storage))
    if whole and not wrong and right and fits and own.get(VERSION, "0") != str(right):
        damage.append(f"it says table version {own.get(VERSION, '0')}, but the table has version {right}")
    backup_intact = backup if backup is not None and _whole(backup) else None
    return Salvage(tuple(damage), own, tuple(sources), body, backup_intact, backup)


def wrong_lines(storage: Storage) -> tuple[str, ...]:
    """What cannot be in a file that Hudi takes all the same; nothing where a backup is intact, by which it is opened.
    Raises StorageFailed."""
    found = read_salvage(storage)
    return found.damage if found.backup is None else ()


def _whole(body: bytes) -> dict[str, str] | None:
    """The properties of a file that is not cut. Hudi also takes one of which the end is lost, if name and checksum are
    before it, or neither the checksum."""
    values = intact(body)
    if values is None or (fmt.CHECKSUM not in values and not {VERSION, TYPE} <= values.keys()):
        return None
    # An operator's editor may have left out the last line's end.
    last = body.rpartition(b"\n")[2].decode("latin-1")
    return values if not last or last.partition("=")[0] in _known() else None


def _known() -> Collection[str]:
    return known_properties(max(WRITABLE_VERSIONS)).keys() | known_properties(0).keys()


def _version(storage: Storage, sources: Sequence[Source]) -> int | None:
    """The table version: that of today's files, and only where they say nothing, of an earlier copy."""
    now = [source.values for source in sources if not source.earlier]
    return _most_said(storage, now) or _most_said(storage, [source.values for source in sources])


def _most_said(storage: Storage, says: Sequence[Mapping[str, str]]) -> int | None:
    """The table version that fits the folder of the timeline, and that most versions and keys of one version say; the
    first where two are said as often. None if nothing says one."""
    found = [int(values[VERSION]) for values in says if values.get(VERSION, "").isdecimal()]
    layout = layout_in(storage)
    if layout == 1:
        return next((version for version in found if version < min(KEYS_OF_VERSION)), 6)
    there = {key for values in says for key in values}
    found += [version for version, keys in KEYS_OF_VERSION.items() for _ in keys & there]
    fitting = [version for version in found if WRITABLE_VERSIONS.get(version) == layout]
    return max(fitting, key=fitting.count, default=None)


def layout_in(storage: Storage) -> int:
    """The layout of the timeline, by its folder."""
    return 2 if storage.has_folder(f"{META}/timeline") else 1


def salvaged(storage: Storage, given: Mapping[str, str]) -> dict[str, str]:
    """Properties to open a table by, also where its own are damaged or missing: enough to find its timeline and files.

    Args:
        given: what the operator says, where the file does not.

    Raises:
        NotFound: there is no table. Refused: it is half a copy. StorageFailed.
    """
    found = read_salvage(storage)
    if found.body is None and found.backup_body is None:
        # What is left of it would say that it is whole.
        not_half_a_copy(storage)
    if not found.damage or found.backup is not None or (found.body is None and not _instants(storage)):
        return read_properties(storage)
    layout, version = layout_in(storage), _version(storage, found.sources)
    values = dict(given) | found.merged
    values[VERSION] = str(version) if version else given.get(VERSION, "6" if layout == 1 else "8")
    values[LAYOUT] = str(layout)
    if TYPE not in found.merged and TYPE not in given:
        delta = any(file.action == DELTACOMMIT for file in _instants(storage))
        values[TYPE] = MERGE_ON_READ if delta else COPY_ON_WRITE
    values.setdefault(fmt.NAME, "")
    return values


def _instants(storage: Storage) -> list[InstantFile]:
    layout = layout_in(storage)
    folder = f"{META}/timeline" if layout == 2 else META
    files = (parse_instant_file(entry.name, layout) for entry in entries_of(storage, folder) if not entry.is_dir)
    return [file for file in files if file is not None and file.known]


def _kept(storage: Storage) -> Iterator[Source]:
    """The newest earlier copy of the file."""
    times = [entry.name for entry in entries_of(storage, UNDO) if entry.is_dir and entry.name.isdecimal()]
    for time in sorted(times, reverse=True):
        path = kept_path(f"{UNDO}/{time}", PROPERTIES)
        body = _read(storage, path) or b""
        values = intact(body)
        if values and not fmt.illegible(body):
            yield Source(f"the copy kept by {time}", {key: values[key] for key in values.keys() - _NOW}, earlier=True)
            return


def _of_metadata_table(storage: Storage) -> Source | None:
    values = intact(_read(storage, METADATA_PROPERTIES) or b"")
    if not values:
        return None
    said = {key: values[key] for key in values.keys() & _AS_ITS_TABLE}
    if values[fmt.NAME].endswith(_OF_METADATA):
        said[fmt.NAME] = values[fmt.NAME].removesuffix(_OF_METADATA)
    return Source(METADATA_PROPERTIES, said)


def _read(storage: Storage, path: str) -> bytes | None:
    with suppress(FileNotFoundError):
        return read_whole(storage, path, PROPERTIES_BYTES)
    return None
