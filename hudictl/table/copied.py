"""The record of a copy in its target, by which a copy that has begun is known again, and half of one is no table."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass

from hudictl.errors import Refused
from hudictl.formats.decode import decode
from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import OWN
from hudictl.formats.limits import RECORD_BYTES
from hudictl.phrases import command_of
from hudictl.storage import Storage, read_whole

RECORD = f"{OWN}/copy.json"


@dataclass(frozen=True)
class CopyRecord:
    """What a target is a copy of. ``ended``: it was whole; a copy of an older release never says so."""

    source: str
    as_of: str
    partitions: tuple[str, ...]
    name: str
    ended: bool = False

    def encode(self) -> bytes:
        return json.dumps({"schema_version": 1, **asdict(self)}, indent=2).encode()


def read_record(storage: Storage) -> CopyRecord | None:
    """Raises ValueError: it cannot be read."""
    try:
        found = parse_json(read_whole(storage, RECORD, RECORD_BYTES))
    except FileNotFoundError:
        return None
    if not isinstance(found, dict) or found.pop("schema_version", None) != 1:
        raise ValueError("unknown version")
    return decode(CopyRecord, found)


def lacked_by_copy(storage: Storage, time: str) -> str:
    """What a table has not from before an instant because it is a copy as of a later one; "" if it is none."""
    with suppress(ValueError):
        found = read_record(storage)
        if found is not None and time < found.as_of:
            return f"the table is a copy as of {found.as_of}, without the files that only earlier commits have"
    return ""


def not_half_a_copy(storage: Storage) -> None:
    """Of a folder without hoodie.properties. Raises Refused: it is a copy that has not ended."""
    try:
        found = read_record(storage)
    except ValueError as error:
        raise Refused(
            f"{storage.uri} may be half a copy: {RECORD} cannot be read: {error}",
            hint="delete the folder, and copy the table again",
            table=storage.uri,
        ) from error
    if found is None or found.ended:
        return
    options = [f"--table={found.source}", f"--as-of={found.as_of}", f"--to={storage.uri}"]
    options += [f"--partition={path}" for path in found.partitions]
    options += [f"--name={found.name}"] if found.name else []
    raise Refused(
        f"{storage.uri} is half a copy of {found.source} as of {found.as_of}, and no table yet",
        hint=f"the rest is copied by `{command_of('copy', options=options)}`",
        table=storage.uri,
    )
