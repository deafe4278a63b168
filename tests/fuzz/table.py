"""Any bytes as what else is in a table: properties, markers, names of files, records of hudictl, a footer."""

from contextlib import suppress
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

from hudictl.errors import Conflict, Unreadable, Unsupported
from hudictl.formats import checksums, file_names, instants, markers, partition_metafile, properties
from hudictl.formats.layouts import layout_of
from hudictl.formats.parquet_footers import column_statistics, own_entries, read_footer
from hudictl.ops.saved_plan import decode_saved_plan
from hudictl.state.metadata.record import encode_record, read_kept
from hudictl.table.locks.claim import living_owner
from hudictl.table.locks.look import read_storage_lock
from hudictl.table.metadata.aside import _read_record
from hudictl.table.metadata.definitions import check_definitions
from hudictl.table.operations import read_operation
from hudictl.table.properties import read_properties
from tests.fuzz.file import Bytes, Everywhere

TIME = "20260101000000000"
MOMENT = datetime(2026, 1, 1, tzinfo=timezone.utc)


def a_table(body: bytes) -> Any:
    """A table whose every file has these bytes."""
    named = {"hoodie.table.version": "9", "hoodie.table.index.defs.path": ".hoodie/.index_defs/index.json"}
    return SimpleNamespace(storage=Everywhere(body, "claim-1"), properties=named, layout=layout_of(named), indexes=())


def of_properties(body: bytes) -> None:
    """What is read is written so that it reads the same."""
    with suppress(ValueError):
        found = properties.decode(body)
        assert properties.decode(properties.encode(found, MOMENT)) == found
        with suppress(ValueError):
            layout_of(found)
    with suppress(ValueError):
        properties.decode_config(body)
    with suppress(Unreadable):
        read_properties(Everywhere(body))  # type: ignore[arg-type]
    partition_metafile.problem("a/b", body)


def of_markers(body: bytes) -> None:
    """Markers with a name and a kind, or a doubt."""
    found, doubt = markers.parse_server_file(body, "it")
    assert all(marker.name and marker.kind in markers.KINDS for marker in found)
    assert doubt or body.endswith(b"\n")


def of_names(body: bytes) -> None:
    """A name is that of nothing, or can be made again out of its parts; each line is one."""
    names = body.decode(errors="replace").split("\n")
    for name in names:
        data = file_names.parse_data_file(name)
        assert data is None or (data.name == name and data.file_id and "/" not in data.instant)
        for layout in (1, 2):
            file = instants.parse_instant_file(name, layout)
            if file is not None and file.known and (file.completion_time is not None or layout == 1):
                made = instants.instant_file_name(file.time, file.action, file.state, layout, file.completion_time)
                assert made == name or name.endswith(".inflight")
    found = [file for name in names if (file := instants.parse_instant_file(name, 2)) is not None]
    assert sum(len(instant.files) for instant in instants.group_instants(found)) == len(found)
    joined = "/".join(name for name in names if name and "/" not in name)
    assert [match[0] for match in file_names.parse_joined(joined)] == file_names.split_names(joined)


def of_records(body: bytes) -> None:
    """The records of hudictl: each is decoded, or refused with a reason."""
    table = a_table(body)
    with suppress(Unreadable):
        kept = read_kept(table, TIME)
        assert kept is None or encode_record(kept)
    with suppress(Unreadable):
        assert all(path.startswith(".hoodie/metadata/") for path in _read_record(table, "it") or ())
    with suppress(Unreadable):
        read_operation(table.storage, TIME)
    with suppress(Unreadable, Unsupported, Conflict):
        decode_saved_plan(body, "it")
    with suppress(Unreadable):
        check_definitions(table)


def of_locks(body: bytes) -> None:
    """Claims, storage locks, and checksums of files."""
    living_owner(a_table(body).storage, 0)
    seen = read_storage_lock(body.decode(errors="replace"), 0)
    assert seen.held or seen.expires_in_ms is not None
    checksums.matches(body, b"x" * 600)


def of_footers(body: bytes) -> None:
    """Statistics and entries of a base file, or a reason; the process goes on."""
    with suppress(Unreadable):
        footer = read_footer(Bytes(body).read_at, len(body))
        own_entries(footer)
        column_statistics(footer)


TARGETS = (of_properties, of_markers, of_names, of_records, of_locks, of_footers)
