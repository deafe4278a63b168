"""Writes blocks into the logs of a slice, as a Hudi writer does.

Each write has files of its own, created complete and exclusively. Hudi 0.15 does so, too, except on HDFS and similar
stores: there it appends to the slice's last log, and so does this module where it is asked to. 1.x never does.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from hudictl.errors import NotFound, StorageFailed, Unreadable, Unsupported
from hudictl.formats.file_names import WRITE_TOKEN, next_log_name, parse_data_file
from hudictl.formats.log_blocks import CDC_DATA, COMMAND, Block, read_blocks, read_blocks_reverse
from hudictl.storage import Leases, Storage
from hudictl.table.files.slices import StoredFile
from hudictl.table.table import Table

MAX_BYTES = 1024**3
"""The default of ``hoodie.logfile.max.size``."""


@dataclass(frozen=True, slots=True)
class LogTarget:
    """A file slice and the instant that writes into it; ``base_instant`` is None for a slice that is yet to begin.
    ``cdc`` is for change logs, which have files of their own."""

    partition: str
    file_id: str
    base_instant: str | None
    instant: str
    cdc: bool = False


def write_logs(
    table: Table,
    target: LogTarget,
    appends: Iterable[bytes],
    *,
    write_token: str = WRITE_TOKEN,
    max_bytes: int = MAX_BYTES,
    append: bool = False,
) -> list[StoredFile]:
    """Writes encoded blocks after the existing ones of the slice, reads their headers back, and returns the files that
    have them.

    Below table version 8 a file is named by the slice's base instant, later by the writing instant. Its version is one
    above the highest of that name, and the token is the writer's own, as in 0.15, which made version 6. (1.0.2 and
    1.2.0 use the token of the last log of such a slice. Readers do not care.)

    The caller creates markers, and the instant on the timeline. A writer that dies leaves complete files of a pending
    instant; a second try writes new files.

    Args:
        appends: one block or several that belong together, the deletes behind the data. None is split: a file gets
            them until it is larger than ``max_bytes``, as Hudi's does.
        append: below table version 8, put them at the end of the slice's last log, if the store appends, the log is not
            full, no other program has it open, and it ends with a whole block.

    Raises:
        ValueError: bytes that are no blocks, or blocks of another instant or of another kind of log.
        NotFound: there is no such partition.
        Unsupported: the store, or a file id that no log can be named by.
        StorageFailed: of the store, or what it has stored is something else; OutcomeUnknown.
    """
    storage = table.storage
    storage.require_writable()
    try:
        sizes = {entry.name: entry.size for entry in storage.list(target.partition)}
    except FileNotFoundError as error:
        raise NotFound(f"{target.partition}: there is no such partition in {table.uri}") from error
    of_slice = not table.rules.logs_named_by_writer and not target.cdc
    name_instant = target.base_instant if of_slice and target.base_instant else target.instant
    written = []
    for body in _bodies(appends, max_bytes):
        blocks = _checked(target, body)
        last = _last_log(target, sizes, name_instant) if append and of_slice else None
        if last is not None and _appended(storage, last, body, max_bytes):
            start, file = last.size or 0, last._replace(size=(last.size or 0) + len(body))
        else:
            start, file = 0, _created(storage, target, sizes, name_instant, write_token, body)
        sizes[file.data.name] = start + len(body)
        _look_again(storage, file.path, start, len(body), blocks)
        written.append(file)
    return written


def _created(
    storage: Storage, target: LogTarget, names: Iterable[str], name_instant: str, write_token: str, body: bytes
) -> StoredFile:
    """The next log of the slice, with the body."""
    taken = set(names)
    while True:
        name = next_log_name(taken, target.file_id, name_instant, write_token, cdc=target.cdc)
        file = _stored_as(target, name, len(body))
        try:
            storage.create(file.path, body)
        except FileExistsError:
            # Another writer created it after the listing: try the next version.
            taken.add(name)
            continue
        return file


def _last_log(target: LogTarget, sizes: Mapping[str, int], name_instant: str) -> StoredFile | None:
    parsed = (parse_data_file(name) for name in sizes)
    logs = [data for data in parsed if data and (data.file_id, data.instant) == (target.file_id, name_instant)]
    last = max(
        (data for data in logs if not data.is_base and not data.cdc), key=lambda log: log.log_order, default=None
    )
    return None if last is None else StoredFile(target.partition, last, sizes[last.name])


def _appended(storage: Storage, log: StoredFile, body: bytes, max_bytes: int) -> bool:
    size = log.size or 0
    if not isinstance(storage, Leases) or not 0 < size <= max_bytes:
        return False
    try:
        # Behind a torn end the last whole block would be corrupt, too: fewer than 6 bytes are ignored only at the end.
        next(read_blocks_reverse(partial(storage.read, log.path), size))
    except (Unreadable, Unsupported):
        return False
    return storage.append(log.path, size, body)


def _bodies(appends: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    """What goes into each file: it is full once it is larger than the limit."""
    held = bytearray()
    for append in appends:
        held += append
        if len(held) > max_bytes:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


def _checked(target: LogTarget, body: bytes) -> list[Block]:
    try:
        blocks = list(read_blocks(lambda offset, length: body[offset : offset + length], len(body), strict=True))
    except Unreadable as error:
        raise ValueError(f"no blocks of a log: {error.message}") from error
    for block in blocks:
        if (block.block_type == CDC_DATA) is not target.cdc:
            raise ValueError(f"a {block.block_type} in a {'change log' if target.cdc else 'log of data'}")
        # A rollback block has the time of the instant that it rolls back.
        if block.instant != target.instant and block.block_type != COMMAND:
            raise ValueError(f"a {block.block_type} of {block.instant} in a log that {target.instant} writes")
    return blocks


def _stored_as(target: LogTarget, name: str, size: int) -> StoredFile:
    data = parse_data_file(name)
    if data is None or data.file_id != target.file_id:
        hint = "Hudi's own file ids have no . or _"
        raise Unsupported(f"file id {target.file_id}: Hudi reads no log by the name of {name}", hint=hint)
    return StoredFile(target.partition, data, size)


def _look_again(storage: Storage, path: str, start: int, size: int, blocks: list[Block]) -> None:
    status = storage.stat(path)
    try:
        same = status is not None and status.size == start + size
        same = (
            same
            and list(read_blocks(lambda at, length: storage.read(path, start + at, length), size, strict=True))
            == blocks
        )
    except (FileNotFoundError, Unreadable, Unsupported):
        same = False
    if not same:
        raise StorageFailed(f"{path}: the stored file differs from what was written", path=path)
