"""The fingerprint of a savepoint plan."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from hudictl.formats.instants import Instant
from hudictl.ops.fingerprint import body_digest, names_digest, table_fingerprint
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.table.table import Table


def savepoint_fingerprint(
    table: Table, commit: Instant, options: SavepointOptions, files: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """A savepoint on a commit, with the names of its files by partition."""
    return {
        **table_fingerprint(table, asdict(options)),
        "commit": f"{commit} {body_digest(table, commit)}",
        "files": names_digest(files),
    }


def deletion_fingerprint(table: Table, saved: Instant | None) -> dict[str, str]:
    """A savepoint to delete."""
    return {**table_fingerprint(table, {}), "savepoint": f"{saved} {body_digest(table, saved)}"}
